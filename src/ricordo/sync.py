"""The synchronous face of ricordo, written by tools/sync_face.py from the asynchronous classes: do not edit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ricordo.config import Policy
from ricordo.consolidation.expand import Depth
from ricordo.consolidation.paging import DEFAULT_MAX_TOKENS
from ricordo.consolidation.redact import Redact, redact_secrets
from ricordo.consolidation.summarise import Summariser
from ricordo.loop import run
from ricordo.memory import AsyncMemory
from ricordo.stores.conversational import AsyncConversationalMemory
from ricordo.stores.summary import AsyncSummaryMemory
from ricordo.stores.tool_log import AsyncToolLog
from ricordo.tokens import DEFAULT_MODEL
from ricordo.types import (
    JSON,
    AppendedMessage,
    Condensation,
    Consolidation,
    Expansion,
    Forgetting,
    Message,
    Pruning,
    RawMessage,
    Retention,
    Summary,
    Thread,
    ToolExecution,
    ToolLogPage,
    ToolStatus,
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


class ToolLog:
    """Executions of tools, by thread and time; an output of any length is kept whole."""

    def __init__(self, source: AsyncToolLog) -> None:
        """Wrap an asynchronous twin."""
        self._async = source

    def write(
        self,
        thread_id: str,
        tool_name: str,
        tool_input: JSON = None,
        tool_output: JSON = None,
        status: ToolStatus = "success",
        error_message: str | None = None,
        duration_ms: int | None = None,
        metadata: Mapping[str, JSON] | None = None,
        *,
        call_id: str | None = None,
    ) -> str:
        """Keep one execution of a tool and return its id (a UUID).

        `tool_input` and `tool_output` are any JSON value and come back equal. `duration_ms` is in milliseconds,
        `call_id` the id of the model's call. Raises InvalidInputError before anything is stored.
        """
        return run(
            self._async.write(
                thread_id,
                tool_name,
                tool_input,
                tool_output,
                status,
                error_message,
                duration_ms,
                metadata,
                call_id=call_id,
            )
        )

    def read(self, thread_id: str, limit: int = 10, only_errors: bool = False) -> str:
        """Return the newest executions, oldest first, in the published text form for a prompt.

        A long output is shown by its preview, which says how to read the rest.
        """
        return run(self._async.read(thread_id, limit, only_errors))

    def list(
        self, thread_id: str, *, limit: int = 50, before: str | None = None, only_errors: bool = False
    ) -> tuple[ToolExecution, ...]:
        """Return the newest executions before the one of the id `before`, oldest first; failed ones alone on request.

        To page backwards, pass the first result's id as the next `before`.
        """
        return run(self._async.list(thread_id, limit=limit, before=before, only_errors=only_errors))

    def get(self, id: str) -> ToolExecution:
        """Return the execution of this id; raises NotFoundError."""
        return run(self._async.get(id))


class Memory:
    """An agent's memory in one namespace of one PostgreSQL.

    Open it with `Memory.open()` and close it, or use it as a context manager. It may be
    shared by any number of threads.
    """

    conversational: ConversationalMemory

    summary: SummaryMemory

    tool_log: ToolLog

    def __init__(self, source: AsyncMemory) -> None:
        """Wrap an asynchronous twin."""
        self._async = source
        self.conversational = ConversationalMemory(source.conversational)
        self.summary = SummaryMemory(source.summary)
        self.tool_log = ToolLog(source.tool_log)

    @classmethod
    def open(
        cls,
        url: str | None = None,
        *,
        namespace: str | None = None,
        data_dir: str | Path | None = None,
        model: Summariser | str | None = None,
        policy: Policy | None = None,
        redact: Redact | None = redact_secrets,
    ) -> Self:
        """Open the memory, migrating the database where needed; opening again changes nothing.

        Without a URL (argument or RICORDO_DATABASE_URL) the embedded PostgreSQL in `data_dir` is started, or
        joined where it runs. `model` names the model that summarises at any OpenAI-compatible server
        (OPENAI_BASE_URL, OPENAI_API_KEY), or is a summariser; without one (argument or RICORDO_MODEL) summaries
        are extracted without a model. `redact` takes the text of a message and returns what may be summarised of it;
        by default common secrets are replaced, with None nothing is. Originals stay as they are.

        Raises DatabaseUnavailableError, ExtensionMissingError, SchemaTooNewError, EmbeddedServerError and
        ConfigurationError.
        """
        return cls(
            run(
                AsyncMemory.open(url, namespace=namespace, data_dir=data_dir, model=model, policy=policy, redact=redact)
            )
        )

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

    def policy(self, thread_id: str) -> Policy:
        """Return the policy that holds for a thread: its own, or the one that this memory was opened with.

        Raises ConfigurationError where what is stored is out of range.
        """
        return run(self._async.policy(thread_id))

    def set_policy(self, thread_id: str, policy: Policy | None) -> None:
        """Store a policy with a thread, for every process that works on it; None takes it away again."""
        return run(self._async.set_policy(thread_id, policy))

    def prune(self, thread_id: str) -> Pruning:
        """Shorten old tool results in the thread's window, without a model, and say what that freed.

        A result of more tokens than the thread's policy allows, older than the newest turn, is shown by its beginning,
        its end, the identifiers in it, and the call of `read_tool_log` that reads the rest. The messages themselves
        stay as they are, and expand and are summarised whole. All or nothing, in one transaction.
        """
        return run(self._async.prune(thread_id))

    def summarize_conversation(
        self,
        thread_id: str,
        keep_recent_tokens: int = 0,
        *,
        keep_recent_turns: int = 0,
        force: bool = False,
        model: str | None = None,
        overhead_tokens: int = 0,
    ) -> Consolidation:
        """Summarise the thread's live messages, store the summary and mark them with its id, all or nothing.

        Takes the oldest stretch that the planner allows (see `ricordo.consolidation.plan`) and leaves at least
        `keep_recent_tokens` and `keep_recent_turns` of the newest messages live, or what the thread's policy says.
        Where that policy has a target, only a window above it is touched, long tool results are shortened first, and
        nothing is summarised that cannot bring it there; `model` names the model whose window is meant, and
        `overhead_tokens` what only the caller knows of, as in `monitor`. With `force` the policy's target and what it
        keeps do not count. Where there is nothing to do, or another process is at it, the result's status is the
        reason. Raises ModelError where the model gave nothing usable; then nothing was stored and the next attempt
        starts from the originals.
        """
        return run(
            self._async.summarize_conversation(
                thread_id,
                keep_recent_tokens,
                keep_recent_turns=keep_recent_turns,
                force=force,
                model=model,
                overhead_tokens=overhead_tokens,
            )
        )

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

        The text has about `max_tokens` tokens at most; `cursor` continues with the original messages where a page
        ended. With a `query` the best matching messages and their neighbours are shown. A parent summary opens to the
        summaries right below it (`depth="children"`, its default) or to all messages under it (`depth="originals"`).
        A reference may be passed whole ("[Summary ID: …] description"); a malformed or unknown id is answered with
        `found=False` and a text that says so. Raises InvalidInputError for a cursor that is not one.
        """
        return run(self._async.expand_summary(summary_id, query, max_tokens=max_tokens, cursor=cursor, depth=depth))

    def read_tool_log(
        self, id: str, query: str | None = None, *, max_tokens: int = DEFAULT_MAX_TOKENS, cursor: str | None = None
    ) -> ToolLogPage:
        """Open a tool's output again, whole and page by page, or where a query points.

        The text has about `max_tokens` tokens at most; `cursor` continues where a page ended. With a `query` the best
        matching lines are shown, each with its neighbours. The id may be pasted with text around it; a malformed or
        unknown one is answered with `found=False` and a text that says so. Raises InvalidInputError for a cursor that
        is not one.
        """
        return run(self._async.read_tool_log(id, query, max_tokens=max_tokens, cursor=cursor))

    def read_summary_by_id(self, summary_id: str) -> str:
        """Return a summary's text, or "(summary not found)"."""
        return run(self._async.read_summary_by_id(summary_id))

    def read_conversations_by_summary_id(self, summary_id: str) -> str:
        """Return all original messages under a summary in the published text form, whatever their length."""
        return run(self._async.read_conversations_by_summary_id(summary_id))

    def offload_to_summary(self, context: str, thread_id: str, *, model: str = DEFAULT_MODEL) -> str:
        """Consolidate the thread and return the context with its conversation replaced by the reference.

        Messages that stay live (kept, pinned, or waiting for an answer) stay below it, and every other segment stays
        as it is. Where nothing is left to summarise the context comes back unchanged, unless it is critically full:
        then its longest other segment is stored as a text and replaced by a reference to it. Raises ModelError as
        `summarize_conversation`.
        """
        return run(self._async.offload_to_summary(context, thread_id, model=model))

    def window(
        self, thread_id: str, question: str | None = None, *, budget: int | None = None, model: str | None = None
    ) -> Window:
        """Return what a prompt should show of the thread's memory, never above `budget` tokens.

        The budget is the model's window where none is given (the named model's, or the one last observed), less what
        the model is known to count more than the estimate. Reads the newest live messages, as many as can fit,
        and the thread's references.
        """
        return run(self._async.window(thread_id, question, budget=budget, model=model))

    def forget(
        self,
        *,
        messages: Sequence[str] = (),
        thread_id: str | None = None,
        summary_id: str | None = None,
        matching: str | None = None,
        dry_run: bool = False,
    ) -> Forgetting:
        """Forget messages, with everything that was derived from them; what stays is consistent and provable.

        Names messages by id, a whole thread, all that a summary covers (or a free text), or whatever holds a text
        (case does not matter). Rows, tool logs and free texts are deleted. Every summary above them loses its text
        in the same transaction and leaves the windows, and is then written again from what remains; where the model
        fails, it stays withdrawn until `rebuild`. A dry run changes nothing and tells what would go. One transaction
        a thread. Raises InvalidInputError where nothing is named, or an id is none.
        """
        return run(
            self._async.forget(
                messages=messages, thread_id=thread_id, summary_id=summary_id, matching=matching, dry_run=dry_run
            )
        )

    def rebuild(self, thread_id: str) -> tuple[str, ...]:
        """Write the thread's withdrawn summaries again and return their ids; raises ModelError."""
        return run(self._async.rebuild(thread_id))

    def retention(self, thread_id: str) -> Retention:
        """Measure, without a model, what the summaries in the thread's window keep of the messages under them.

        Reads every covered message. A thread without summaries has nothing to measure.
        """
        return run(self._async.retention(thread_id))

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
