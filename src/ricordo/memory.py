"""AsyncMemory: opens the database, holds the stores, and offers the pipeline's verbs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from psycopg import AsyncConnection
from psycopg.rows import tuple_row

from ricordo.config import Policy, Settings, load_settings
from ricordo.consolidation.consolidator import Consolidator
from ricordo.consolidation.expand import NOT_FOUND, Depth, Expander, lines_of
from ricordo.consolidation.forget import Forgetter
from ricordo.consolidation.offload import largest_section, replace_conversation, replace_section
from ricordo.consolidation.paging import DEFAULT_MAX_TOKENS, parse_id
from ricordo.consolidation.prune import preview
from ricordo.consolidation.redact import Redact, redact_secrets
from ricordo.consolidation.retention import of_thread
from ricordo.consolidation.standing import Wish, policy_of
from ricordo.consolidation.summarise import Summariser
from ricordo.consolidation.tool_pages import ToolLogReader
from ricordo.consolidation.verify import Verifier
from ricordo.database.embedded import EmbeddedServer, Lease
from ricordo.database.failures import translated
from ricordo.database.migrate import migrate
from ricordo.database.pool import Database, check_namespace
from ricordo.errors import InvalidInputError, RicordoError
from ricordo.stores.conversational import AsyncConversationalMemory, check_limit, check_thread_id
from ricordo.stores.format import originals, quote, window_line
from ricordo.stores.summary import AsyncSummaryMemory
from ricordo.stores.tool_log import AsyncToolLog
from ricordo.tokens import DEFAULT_MODEL, count_tools, model_limit
from ricordo.types import (
    Condensation,
    Consolidation,
    Expansion,
    Forgetting,
    Message,
    Pruning,
    Retention,
    Thread,
    ToolLogPage,
    Usage,
    Verification,
)
from ricordo.window.fill import fill, sizes
from ricordo.window.monitor import monitor_context_window, usage
from ricordo.window.segments import Window

_BATCH = 200


class AsyncMemory:
    """An agent's memory in one namespace of one PostgreSQL.

    Open it with `await AsyncMemory.open()` and close it, or use it as an asynchronous context manager. It may be
    shared by any number of tasks of one event loop.
    """

    conversational: AsyncConversationalMemory
    summary: AsyncSummaryMemory
    tool_log: AsyncToolLog

    def __init__(
        self,
        database: Database,
        *,
        settings: Settings,
        policy: Policy,
        summariser: Summariser | str | None,
        redact: Redact | None,
        server: Lease | None,
    ) -> None:
        """Assemble the stores and the pipeline on an open database; use `open` instead."""
        self._policy = policy
        self._redact = redact
        self._database = database
        self._server = server
        self.conversational = AsyncConversationalMemory(database)
        self.summary = AsyncSummaryMemory(database)
        self.tool_log = AsyncToolLog(database, partial(preview, above=policy.prune_above_tokens))
        self._consolidator = Consolidator(
            database,
            self.conversational,
            self.summary,
            settings=settings,
            policy=policy,
            model=summariser,
            redact=redact,
        )
        self._tool_logs = ToolLogReader(self.tool_log)
        self._expander = Expander(database, self.conversational, self.summary)
        self._verifier = Verifier(database)
        self._forgetter = Forgetter(database)

    @classmethod
    async def open(
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
        given: dict[str, Any] = {"database_url": url, "namespace": namespace, "data_dir": data_dir}
        settings = load_settings(**{name: value for name, value in given.items() if value is not None})
        check_namespace(settings.namespace)
        server = None
        if settings.database_url is None:
            server = await asyncio.to_thread(EmbeddedServer(settings.data_dir).start)
        try:
            address = server.url if server else settings.database_url or ""
            await _prepare(address)
            database = await Database.connect(address, namespace=settings.namespace, size=settings.pool_size)
            try:
                return cls(
                    database,
                    settings=settings,
                    policy=policy or Policy(),
                    summariser=model or settings.model,
                    redact=redact,
                    server=server,
                )
            except BaseException:
                await database.close()
                raise
        except BaseException:
            if server:
                server.release()
            raise

    async def close(self) -> None:
        """Close the connections; an embedded server that nobody uses any more stops by itself."""
        try:
            await self._consolidator.close()
        finally:
            await self._database.close()
            if self._server:
                await asyncio.to_thread(self._server.release)

    async def __aenter__(self) -> Self:
        """Return the open memory."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        await self.close()

    @property
    def namespace(self) -> str:
        """The namespace that this memory reads and writes; it never sees another's rows."""
        return self._database.namespace

    async def monitor(
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
        row = await self.conversational.counters(thread_id, model)
        name = model or row.model or DEFAULT_MODEL
        ratio = row.ratio or 1.0
        if row.observed_tokens is not None and row.model == name:
            since = round((row.live_tokens + row.summary_tokens - (row.observed_estimate or 0)) * ratio)
            segments = {"observed": row.observed_tokens, "since": max(since, 0)}
        else:
            segments = {
                "conversational": round(row.live_tokens * ratio),
                "summary": round(row.summary_tokens * ratio),
                "tools": count_tools(tools),
                "overhead": overhead_tokens,
            }
        policy = policy_of(row, self._policy)
        return usage(segments, limit=model_limit(name), warn=policy.warn_percent, critical=policy.critical_percent)

    async def policy(self, thread_id: str) -> Policy:
        """Return the policy that holds for a thread: its own, or the one that this memory was opened with.

        Raises ConfigurationError where what is stored is out of range.
        """
        return await self._consolidator.policy(check_thread_id(thread_id))

    async def set_policy(self, thread_id: str, policy: Policy | None) -> None:
        """Store a policy with a thread, for every process that works on it; None takes it away again."""
        await self.conversational.set_policy(thread_id, None if policy is None else asdict(policy))

    async def prune(self, thread_id: str) -> Pruning:
        """Shorten old tool results in the thread's window, without a model, and say what that freed.

        A result of more tokens than the thread's policy allows, older than the newest turn, is shown by its beginning,
        its end, the identifiers in it, and the call of `read_tool_log` that reads the rest. The messages themselves
        stay as they are, and expand and are summarised whole. All or nothing, in one transaction.
        """
        return await self._consolidator.prune(check_thread_id(thread_id))

    async def summarize_conversation(
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
        wish = Wish(
            keep_recent_tokens=_not_negative("keep_recent_tokens", keep_recent_tokens),
            keep_recent_turns=_not_negative("keep_recent_turns", keep_recent_turns),
            force=force,
            model=model,
            overhead_tokens=_not_negative("overhead_tokens", overhead_tokens),
        )
        return await self._consolidator.thread(check_thread_id(thread_id), wish)

    async def condense(self, thread_id: str, *, budget: int | None = None) -> Condensation:
        """Put the oldest references of a thread under parent summaries until they take at most `budget` tokens.

        Without a budget it is the policy's share of the model's window; consolidations do this by themselves. The
        children leave the window and stay stored. Raises ModelError; parents that were committed before stay.
        """
        return await self._consolidator.condense(check_thread_id(thread_id), budget)

    async def summarize_context_window(self, content: str | None) -> Consolidation:
        """Summarise a text and store the summary with the exact text, so that it can be expanded.

        A blank text is answered with status "nothing_to_summarize". Raises ModelError as `summarize_conversation`.
        """
        return await self._consolidator.text(content or "")

    async def summarize_and_store(self, text: str = "", thread_id: str | None = None) -> str:
        """Consolidate a thread, or else a text, and answer in a sentence for an agent.

        The answer holds the new reference, or says why nothing was stored. Raises ModelError as
        `summarize_conversation`.
        """
        if thread_id:
            result = await self.summarize_conversation(thread_id)
            nothing = f"No unsummarized messages found for thread {thread_id}."
        else:
            result = await self.summarize_context_window(text)
            nothing = "No content to summarize."
        if result.id:
            return f"Stored as {result.reference}"
        return nothing if result.status == "nothing_to_summarize" else f"Nothing was stored: {result.detail}."

    async def expand_summary(
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
        return await self._expander.expand(summary_id, query=query, max_tokens=max_tokens, cursor=cursor, depth=depth)

    async def read_tool_log(
        self, id: str, query: str | None = None, *, max_tokens: int = DEFAULT_MAX_TOKENS, cursor: str | None = None
    ) -> ToolLogPage:
        """Open a tool's output again, whole and page by page, or where a query points.

        The text has about `max_tokens` tokens at most; `cursor` continues where a page ended. With a `query` the best
        matching lines are shown, each with its neighbours. The id may be pasted with text around it; a malformed or
        unknown one is answered with `found=False` and a text that says so. Raises InvalidInputError for a cursor that
        is not one.
        """
        return await self._tool_logs.read(id, query=query, max_tokens=max_tokens, cursor=cursor)

    async def read_summary_by_id(self, summary_id: str) -> str:
        """Return a summary's text, or "(summary not found)"."""
        uuid = parse_id(summary_id)
        summary = uuid and await self.summary.find(uuid)
        return summary.content if summary else NOT_FOUND

    async def read_conversations_by_summary_id(self, summary_id: str) -> str:
        """Return all original messages under a summary in the published text form, whatever their length."""
        uuid = parse_id(summary_id)
        summary = uuid and await self.summary.find(uuid)
        found: list[Message] = []
        while summary and summary.kind == "thread":
            batch = await self.conversational.covered(summary, from_seq=found[-1].seq + 1 if found else 0)
            found += batch
            if not batch:
                break
        return originals(lines_of(found))

    async def offload_to_summary(self, context: str, thread_id: str, *, model: str = DEFAULT_MODEL) -> str:
        """Consolidate the thread and return the context with its conversation replaced by the reference.

        Messages that stay live (kept, pinned, or waiting for an answer) stay below it, and every other segment stays
        as it is. Where nothing is left to summarise the context comes back unchanged, unless it is critically full:
        then its longest other segment is stored as a text and replaced by a reference to it. Raises ModelError as
        `summarize_conversation`.
        """
        result = await self.summarize_conversation(thread_id)
        if result.id:
            live = await self.conversational.list(thread_id, limit=_BATCH)
            return replace_conversation(context, result.reference, [window_line(message) for message in live])
        largest = largest_section(context)
        if largest is None or monitor_context_window(context, model)["status"] != "critical":
            return context
        heading, text = largest
        stored = await self.summarize_context_window(text)
        return replace_section(context, heading, stored.reference) if stored.id else context

    async def window(
        self, thread_id: str, question: str | None = None, *, budget: int | None = None, model: str | None = None
    ) -> Window:
        """Return what a prompt should show of the thread's memory, never above `budget` tokens.

        The budget is the model's window where none is given (the named model's, or the one last observed), less what
        the model is known to count more than the estimate. Reads the newest live messages, as many as can fit,
        and the thread's references.
        """
        *_, observed_model, ratio = (await self.conversational.counters(thread_id, model))[:6]
        limit = model_limit(model or observed_model or DEFAULT_MODEL)
        # Where the model is known to count more than the estimate, the estimate must stay that much below.
        budget = int((limit if budget is None else max(budget, 0)) / max(ratio or 1.0, 1.0))
        thread = await self.conversational.thread(thread_id)
        lines = await self._recent_lines(thread, budget) if thread else ()
        references = [line for line, _ in await self.summary.references(thread_id, limit=1000)] if thread else []
        older = thread.live_messages - len(lines) if thread else 0
        segments = fill(quote(question) if question else None, lines, references, budget, older=max(older, 0))
        policy = await self.policy(thread_id)
        measured = usage(
            sizes(segments), limit=max(budget, 1), warn=policy.warn_percent, critical=policy.critical_percent
        )
        return Window(segments=segments, budget=budget, usage=measured)

    async def _recent_lines(self, thread: Thread, budget: int) -> list[str]:
        """Return the newest live messages' lines, oldest first, one batch more than the budget needs at most."""
        newest: list[Message] = []
        before: int | None = None
        while sum(message.window_tokens for message in newest) <= budget:
            batch = await self.conversational.list(thread.thread_id, limit=_BATCH, before=before)
            newest = [*batch, *newest]
            if len(batch) < _BATCH:
                break
            before = batch[0].seq
        return [window_line(message) for message in newest]

    async def forget(
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
        if not (messages or thread_id or summary_id or matching):
            raise InvalidInputError(
                "nothing is named to be forgotten", hint="name messages, a thread, a summary or a text"
            )
        selection = await self._forgetter.select(
            messages=messages, thread_id=thread_id, summary_id=summary_id, matching=matching
        )
        outcome = await self._forgetter.forget(selection, dry_run=dry_run)
        forgotten = Forgetting(
            dry_run=dry_run,
            messages=selection.messages,
            threads=selection.threads,
            summaries_emptied=tuple(id for id, _ in outcome.emptied),
            summaries_removed=tuple(outcome.removed),
            tool_logs=selection.logs,
        )
        return forgotten if dry_run else await self._rebuilt(forgotten, {thread for _, thread in outcome.emptied})

    async def _rebuilt(self, forgotten: Forgetting, threads: Iterable[str]) -> Forgetting:
        rebuilt: list[str] = []
        detail = ""
        for thread in sorted(threads):
            try:
                rebuilt += await self._consolidator.rebuild(thread)
            except RicordoError as error:
                # What was to go is gone; only the new text of the summaries is missing.
                detail = f"summaries wait to be rebuilt: {error.message}"
        pending = tuple(id for id in forgotten.summaries_emptied if id not in rebuilt)
        return replace(forgotten, rebuilt=tuple(rebuilt), pending=pending, detail=detail)

    async def rebuild(self, thread_id: str) -> tuple[str, ...]:
        """Write the thread's withdrawn summaries again and return their ids; raises ModelError."""
        return await self._consolidator.rebuild(check_thread_id(thread_id))

    async def retention(self, thread_id: str) -> Retention:
        """Measure, without a model, what the summaries in the thread's window keep of the messages under them.

        Reads every covered message. A thread without summaries has nothing to measure.
        """
        return await of_thread(self.conversational, self.summary, check_thread_id(thread_id), self._redact)

    async def threads(self, *, limit: int = 100) -> tuple[Thread, ...]:
        """Return the namespace's threads with their counters, the latest change first."""
        return await self.conversational.threads(limit=check_limit(limit))

    async def verify(
        self, thread_id: str | None = None, *, progress: Callable[[str], object] | None = None
    ) -> Verification:
        """Prove that nothing is lost in a thread, or in the whole namespace, or name the exact rows that are off.

        Every message must be live or under exactly one leaf summary, unchanged since its append; the ranges of
        summaries must be disjoint, their counts and digests right, and the counters equal to the rows. Reads every
        row; `progress` is called with each thread's id.
        """
        return await self._verifier.verify(thread_id, progress=progress)


def _not_negative(name: str, value: int) -> int:
    if value < 0:
        raise InvalidInputError(f"{name} must not be negative: {value}")
    return value


async def _prepare(url: str) -> None:
    """Bring the schema up to date over a connection of its own, whose errors say what is wrong with the URL."""
    with translated():
        async with await AsyncConnection.connect(
            url, autocommit=True, row_factory=tuple_row, connect_timeout=10
        ) as connection:
            await migrate(connection)
