"""Forgetting: messages and texts go, with everything that was derived from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from ricordo.consolidation.paging import parse_id
from ricordo.database.pool import Database, Params, Row, Transaction
from ricordo.database.queries import load
from ricordo.errors import InvalidInputError
from ricordo.messages import searchable
from ricordo.stores.conversational import check_thread_id
from ricordo.types import ForgottenMessage

_SQL = load("ricordo.consolidation", "forget.sql")

SHORTEST_MATCH = 3
"""Characters that a text to forget must have: a shorter one stands in almost every message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What is to be forgotten; whole threads, single messages, free texts, and summaries that mention a text."""

    messages: tuple[ForgottenMessage, ...] = ()
    threads: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    mentions: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Outcome:
    """What forgetting did to the summaries: emptied until they are rebuilt, or removed."""

    emptied: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    removed: list[str] = field(default_factory=list[str])


class Forgetter:
    """Finds what is to be forgotten, and forgets it a thread at a time, each in one transaction."""

    def __init__(self, database: Database) -> None:
        """Use an open database."""
        self._database = database

    def _params(self, **values: object) -> Params:
        return {"namespace": self._database.namespace, **values}

    async def select(
        self, *, messages: Sequence[str], thread_id: str | None, summary_id: str | None, matching: str | None
    ) -> Selection:
        """Return all that any of the criteria names; see `Memory.forget`."""
        rows: list[Row] = []
        texts: list[Row] = []
        mentions: list[Row] = []
        logs: list[Row] = []
        if messages:
            rows += await self._database.fetch(_SQL["by_id"], self._params(ids=[_id(id) for id in messages]))
        if thread_id is not None:
            rows += await self._database.fetch(_SQL["by_thread"], self._params(thread_id=check_thread_id(thread_id)))
        if summary_id is not None:
            params = self._params(id=_id(summary_id))
            rows += await self._database.fetch(_SQL["by_summary"], params)
            texts += await self._database.fetch(_SQL["text_by_id"], params)
        if matching is not None:
            params = self._params(text=searchable(_checked(matching)), encoded=json.dumps(matching)[1:-1])
            rows += await self._database.fetch(_SQL["by_text"], params)
            texts += await self._database.fetch(_SQL["texts_by_text"], params)
            logs += await self._database.fetch(_SQL["logs_by_text"], params)
            mentions += await self._database.fetch(_SQL["summaries_by_text"], params)
        return Selection(
            messages=tuple(ForgottenMessage(thread_id=thread, seq=seq, id=id) for thread, seq, id in sorted(set(rows))),
            threads=() if thread_id is None else (thread_id,),
            texts=tuple(sorted({id for (id,) in texts})),
            logs=tuple(id for (id,) in logs),
            mentions=tuple((id, thread) for id, thread in mentions),
        )

    async def forget(self, selection: Selection, *, dry_run: bool) -> Outcome:
        """Delete the selection, and empty or remove every summary above it, in one transaction a thread.

        A dry run rolls each of them back.
        """
        outcome = Outcome()
        threads = {one.thread_id for one in selection.messages} | {thread for _, thread in selection.mentions}
        for thread_id in sorted(threads | set(selection.threads)):
            async with self._database.transaction(rollback=dry_run) as transaction:
                await self._forget_in(transaction, thread_id, selection, outcome)
        async with self._database.transaction(rollback=dry_run) as transaction:
            for id in selection.texts:
                await transaction.execute(_SQL["delete_summary"], self._params(id=id))
                outcome.removed.append(id)
            for id in selection.logs:
                await transaction.execute(_SQL["delete_log"], self._params(id=id))
        return outcome

    async def _forget_in(
        self, transaction: Transaction, thread_id: str, selection: Selection, outcome: Outcome
    ) -> None:
        mine = [one for one in selection.messages if one.thread_id == thread_id]
        params = self._params(thread_id=thread_id, seqs=[one.seq for one in mine])
        await transaction.fetch_one(_SQL["lock_thread"], params)
        if thread_id in selection.threads:
            await self._forget_thread(transaction, params, outcome)
            return
        await transaction.execute(_SQL["delete_logs"], self._params(ids=[one.id for one in mine]))
        deleted = await transaction.fetch(_SQL["delete_messages"], params)
        calls = [call for *_, links in deleted if links for call in links["calls"]]
        await transaction.execute(_SQL["delete_inputs"], {**params, "calls": calls})
        named = {id for id, thread in selection.mentions if thread == thread_id} | {id for id, *_ in deleted if id}
        for id, level in await transaction.fetch(_SQL["summaries_above"], {**params, "ids": sorted(named)}):
            # Lowest level first: a parent counts what is left of its children.
            if await transaction.execute(_SQL["empty_parent" if level else "empty_leaf"], {**params, "id": id}):
                outcome.emptied.append((id, thread_id))
            else:
                await transaction.execute(_SQL["delete_summary"], self._params(id=id))
                outcome.removed.append(id)
        live = [tokens for summary_id, tokens, _ in deleted if summary_id is None]
        counted = {"live": len(live), "live_tokens": sum(live), "covered": len(deleted) - len(live)}
        await transaction.execute(_SQL["recount"], {**params, **counted})

    async def _forget_thread(self, transaction: Transaction, params: Params, outcome: Outcome) -> None:
        await transaction.execute(_SQL["delete_thread_logs"], params)
        await transaction.execute(_SQL["delete_thread_messages"], params)
        outcome.removed += [id for (id,) in await transaction.fetch(_SQL["delete_thread_summaries"], params)]
        await transaction.execute(_SQL["delete_thread"], params)


def _id(text: str) -> str:
    """Return the id that a text names; raises InvalidInputError where it names none."""
    id = parse_id(str(text))
    if id is None:
        raise InvalidInputError(f"{str(text)[:60]!r} is not an id", hint="pass ids as ricordo returned them")
    return id


def _checked(text: str) -> str:
    if len(text.strip()) < SHORTEST_MATCH:
        raise InvalidInputError(
            f"a text to forget has at least {SHORTEST_MATCH} characters", hint="name the messages by their ids instead"
        )
    return text
