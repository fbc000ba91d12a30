"""The synchronous face of ricordo, written by tools/sync_face.py from the asynchronous classes: do not edit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ricordo.config import Policy
from ricordo.consolidation.expand import DEFAULT_MAX_TOKENS, Depth
from ricordo.consolidation.summarise import Summariser
from ricordo.loop import run
from ricordo.memory import AsyncMemory
from ricordo.stores.conversational import AsyncConversationalMemory
from ricordo.stores.summary import AsyncSummaryMemory
from ricordo.tokens import DEFAULT_MODEL
from ricordo.types import (
    JSON,
    AppendedMessage,
    Condensation,
    Consolidation,
    Expansion,
    Message,
    RawMessage,
    Summary,
    Thread,
    Usage,
    Verification,
)
from ricordo.window.segments import Window


class ConversationalMemory:
    """Threads of messages: appended in order under the thread's lock, read newest first, never changed."""

    def __init__(self, source: AsyncConversationalMemory) -> None:
        """Wrap an asynchronous twin."""
        self._async = source

    def write(
        self,
        thread_id: str,
        role: str,
        content: JSON,
        metadata: Mapping[str, JSON] | None = None,
        *,
        pinned: bool = False,
    ) -> str:
        """Append one message and return its id (a UUID); durable when the call returns.

        `content` is a text or a provider's list of content parts. A pinned message is never consolidated.
        Raises InvalidMessageError and InvalidInputError before anything is stored.
        """
        return run(self._async.write(thread_id, role, content, metadata, pinned=pinned))

    def append(
        self,
        thread_id: str,
        messages: Sequence[RawMessage],
        *,
        key: str | Sequence[str] | None = None,
        metadata: Mapping[str, JSON] | None = None,
        pinned: bool = False,
    ) -> tuple[AppendedMessage, ...]:
        """Append messages in any provider's form, in one transaction, and return their places in order.

        Places (`seq`) are taken under the thread's row lock, so two writers never share or invert one. With a
        `key` (one for the batch, or one a message) the call can be repeated: messages that are already there are
        returned, not doubled; KeyReusedError where a key comes back with another message. `metadata` is kept with
        each message. Raises InvalidMessageError and InvalidInputError before anything is stored.
        """
        return run(self._async.append(thread_id, messages, key=key, metadata=metadata, pinned=pinned))

    def read(self, thread_id: str, limit: int = 20) -> str:
        """Return the newest live messages, oldest first, in the published text form for a prompt.

        Where older live messages do not fit the limit, a line says how many there are.
        """
        return run(self._async.read(thread_id, limit))

    def list(
        self, thread_id: str, *, limit: int = 50, before: int | None = None, include_covered: bool = False
    ) -> tuple[Message, ...]:
        """Return the newest messages before the place `before`, oldest first; covered ones only on request.

        To page backwards, pass the first result's `seq` as the next `before`.
        """
        return run(self._async.list(thread_id, limit=limit, before=before, include_covered=include_covered))

    def get(self, id: str) -> Message:
        """Return the message of this id; raises NotFoundError."""
        return run(self._async.get(id))

    def search(self, query: str, k: int = 10, *, thread_id: str | None = None) -> tuple[Message, ...]:
        """Return up to k messages, live or covered, that hold words of the query, the best match first.

        The first 100,000 characters of a message are searched. A query without words finds nothing.
        """
        return run(self._async.search(query, k, thread_id=thread_id))

    def thread(self, thread_id: str) -> Thread | None:
        """Return the thread's counters, or None where nothing was ever written to it."""
        return run(self._async.thread(thread_id))

    def threads(self, *, limit: int = 100) -> tuple[Thread, ...]:
        """Return the namespace's threads, the latest change first."""
        return run(self._async.threads(limit=limit))

    def observe_usage(
        self, thread_id: str, usage: Mapping[str, object], *, model: str, estimated_tokens: int | None = None
    ) -> int:
        """Keep the usage that a provider reported for a prompt of this thread; return its prompt tokens.

        `usage` is the provider's own object as a mapping (OpenAI Chat, OpenAI Responses or Anthropic form).
        From then on the monitor counts from this figure. With `estimated_tokens`, the estimate of the same
        prompt, the model's calibration is updated. Raises NotFoundError for an unknown thread.
        """
        return run(self._async.observe_usage(thread_id, usage, model=model, estimated_tokens=estimated_tokens))


class SummaryMemory:
    """Summaries by id and by thread; they are written by a consolidation only."""

    def __init__(self, source: AsyncSummaryMemory) -> None:
        """Wrap an asynchronous twin."""
        self._async = source

    def find(self, id: str) -> Summary | None:
        """Return the summary of this id, or None for a malformed or unknown one."""
        return run(self._async.find(id))

    def get(self, id: str) -> Summary:
        """Return the summary of this id; raises NotFoundError."""
        return run(self._async.get(id))

    def list(self, thread_id: str, *, limit: int = 100) -> tuple[Summary, ...]:
        """Return the newest summaries that stand in the thread's window, oldest first."""
        return run(self._async.list(thread_id, limit=limit))

    def children(self, id: str) -> tuple[Summary, ...]:
        """Return the summaries right below a parent, oldest first."""
        return run(self._async.children(id))

    def references(self, thread_id: str, *, limit: int = 100) -> tuple[tuple[str, int], ...]:
        """Return the thread's reference lines with their tokens, newest first."""
        return run(self._async.references(thread_id, limit=limit))

    def read(self, thread_id: str, limit: int = 10) -> str:
        """Return the thread's newest references in the published text form for a prompt."""
        return run(self._async.read(thread_id, limit))

    def source_text(self, id: str) -> str:
        """Return the exact text that a free-text summary was made from; raises NotFoundError."""
        return run(self._async.source_text(id))


class Memory:
    """An agent's memory in one namespace of one PostgreSQL.

    Open it with `Memory.open()` and close it, or use it as a context manager. It may be
    shared by any number of threads.
    """

    conversational: ConversationalMemory

    summary: SummaryMemory

    def __init__(self, source: AsyncMemory) -> None:
        """Wrap an asynchronous twin."""
        self._async = source
        self.conversational = ConversationalMemory(source.conversational)
        self.summary = SummaryMemory(source.summary)

    @classmethod
    def open(
        cls,
        url: str | None = None,
        *,
        namespace: str | None = None,
        data_dir: str | Path | None = None,
        model: Summariser | str | None = None,
        policy: Policy | None = None,
    ) -> Self:
        """Open the memory, migrating the database where needed; opening again changes nothing.

        Without a URL (argument or RICORDO_DATABASE_URL) the embedded PostgreSQL in `data_dir` is started, or
        joined where it runs. `model` names the model that summarises at any OpenAI-compatible server
        (OPENAI_BASE_URL, OPENAI_API_KEY), or is a summariser; without one (argument or RICORDO_MODEL) summaries
        are extracted without a model. Raises DatabaseUnavailableError, ExtensionMissingError, SchemaTooNewError,
        EmbeddedServerError and ConfigurationError.
        """
        return cls(run(AsyncMemory.open(url, namespace=namespace, data_dir=data_dir, model=model, policy=policy)))

    def close(self) -> None:
        """Close the connections; an embedded server that nobody uses any more stops by itself."""
        return run(self._async.close())

    def __enter__(self) -> Self:
        """Return the open memory."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    @property
    def namespace(self) -> str:
        """The namespace that this memory reads and writes; it never sees another's rows."""
        return self._async.namespace

    def monitor(
        self,
        thread_id: str,
        *,
        model: str | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
        overhead_tokens: int = 0,
    ) -> Usage:
        """Measure how full the model's window is with this thread: one row is read, whatever its length.

        Counts the live messages and the references of the thread, the schemas of `tools`, and `overhead_tokens`
        for what only the caller knows, such as the system prompt. Where the provider's usage was observed, the
        count goes on from that figure, which holds all of this already.
        """
        return run(self._async.monitor(thread_id, model=model, tools=tools, overhead_tokens=overhead_tokens))

    def summarize_conversation(self, thread_id: str, keep_recent_tokens: int = 0) -> Consolidation:
        """Summarise the thread's live messages, store the summary and mark them with its id, all or nothing.

        Takes the oldest stretch that the planner allows (see `ricordo.consolidation.plan`) and leaves at least
        `keep_recent_tokens` of the newest messages live. Where there is nothing to do, or another process is at
        it, the result's status is the reason. Raises ModelError where the model gave nothing usable; then nothing
        was stored and the next attempt starts from the originals.
        """
        return run(self._async.summarize_conversation(thread_id, keep_recent_tokens))

    def condense(self, thread_id: str, *, budget: int | None = None) -> Condensation:
        """Put the oldest references of a thread under parent summaries until they take at most `budget` tokens.

        Without a budget it is the policy's share of the model's window; consolidations do this by themselves. The
        children leave the window and stay stored. Raises ModelError; parents that were committed before stay.
        """
        return run(self._async.condense(thread_id, budget=budget))

    def summarize_context_window(self, content: str | None) -> Consolidation:
        """Summarise a text and store the summary with the exact text, so that it can be expanded.

        A blank text is answered with status "nothing_to_summarize". Raises ModelError as `summarize_conversation`.
        """
        return run(self._async.summarize_context_window(content))

    def summarize_and_store(self, text: str = "", thread_id: str | None = None) -> str:
        """Consolidate a thread, or else a text, and answer in a sentence for an agent.

        The answer holds the new reference, or says why nothing was stored. Raises ModelError as
        `summarize_conversation`.
        """
        return run(self._async.summarize_and_store(text, thread_id))

    def expand_summary(
        self,
        summary_id: str,
        query: str | None = None,
        *,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        cursor: str | None = None,
        depth: Depth | None = None,
    ) -> Expansion:
        """Open a summary again: its text, then its original messages in order, with their timestamps.

        The text has about `max_tokens` tokens at most; `cursor` continues where a page ended. With a `query` the
        best matching messages and their neighbours are shown. A parent summary opens to the summaries right below it
        (`depth="children"`, its default) or to all messages under it (`depth="originals"`). A reference may be passed whole
        ("[Summary ID: …] description"); a malformed or unknown id is answered with `found=False` and a text that
        says so. Raises InvalidInputError for a cursor that is not one.
        """
        return run(self._async.expand_summary(summary_id, query, max_tokens=max_tokens, cursor=cursor, depth=depth))

    def read_summary_by_id(self, summary_id: str) -> str:
        """Return a summary's text, or "(summary not found)"."""
        return run(self._async.read_summary_by_id(summary_id))

    def read_conversations_by_summary_id(self, summary_id: str) -> str:
        """Return all original messages under a summary in the published text form, whatever their length."""
        return run(self._async.read_conversations_by_summary_id(summary_id))

    def offload_to_summary(self, context: str, thread_id: str, *, model: str = DEFAULT_MODEL) -> str:
        """Consolidate the thread and return the context with its conversation replaced by the reference.

        Every other segment stays as it is. Where nothing is left to summarise the context comes back unchanged,
        unless it is critically full: then its longest other segment is stored as a text and replaced by a
        reference to it. Raises ModelError as `summarize_conversation`.
        """
        return run(self._async.offload_to_summary(context, thread_id, model=model))

    def window(
        self, thread_id: str, question: str | None = None, *, budget: int | None = None, model: str | None = None
    ) -> Window:
        """Return what a prompt should show of the thread's memory, never above `budget` tokens.

        The budget is the model's window where none is given. Reads the newest live messages, as many as can fit,
        and the thread's references.
        """
        return run(self._async.window(thread_id, question, budget=budget, model=model))

    def threads(self, *, limit: int = 100) -> tuple[Thread, ...]:
        """Return the namespace's threads with their counters, the latest change first."""
        return run(self._async.threads(limit=limit))

    def verify(self, thread_id: str | None = None, *, progress: Callable[[str], object] | None = None) -> Verification:
        """Prove that nothing is lost in a thread, or in the whole namespace, or name the exact rows that are off.

        Every message must be live or under exactly one leaf summary, unchanged since its append; the ranges of
        summaries must be disjoint, their counts and digests right, and the counters equal to the rows. Reads every
        row; `progress` is called with each thread's id.
        """
        return run(self._async.verify(thread_id, progress=progress))
