"""Reading what a consolidation works on, and storing its summary only if that is still what stands there."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from ricordo.consolidation.lease import Lease
from ricordo.consolidation.plan import Fact, Plan
from ricordo.consolidation.recalled import calls_of, placeholder, recalls, without_recalled
from ricordo.database.pool import Database, Params, Row
from ricordo.database.queries import load
from ricordo.messages import decode, searchable
from ricordo.stores.summary import AsyncSummaryMemory
from ricordo.tokens import count

_SQL = load("ricordo.consolidation", "commit.sql")


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A live message as a summariser needs it; `digest` stands for its exact original."""

    seq: int
    role: str
    content: str
    timestamp: datetime
    tokens: int
    digest: bytes


def source_digest(rows: Sequence[SourceRow]) -> bytes:
    """Return the SHA-256 over the rows' digests in order: what a commit and `verify` compare."""
    return hashlib.sha256(b"".join(row.digest for row in rows)).digest()


def _fact(
    seq: int,
    role: str,
    tokens: int,
    pinned: bool,
    links: Mapping[str, Any] | None,
    preview_tokens: int | None = None,
    passed: bool = False,
) -> Fact:
    links = links or {"question": role == "user"}
    calls = tuple(links.get("calls", ()))
    return Fact(
        seq=seq,
        role=role,
        tokens=tokens,
        pinned=pinned,
        question=bool(links["question"]),
        calls=calls,
        tools=tuple(links.get("tools", [""] * len(calls))),
        results=tuple(links.get("results", ())),
        preview_tokens=preview_tokens,
        passed=passed,
        silent=bool(links.get("silent")),
    )


async def source_rows(database: Database, thread_id: str, stored: Sequence[Row]) -> list[SourceRow]:
    """Return messages as they are summarised: what ricordo itself brought back is left out, and named.

    Each row of `stored` has a source's columns and its tool links, in the order of the thread.
    """
    rows = [SourceRow(*row[:-1]) for row in stored]
    found = recalls([_fact(row[0], row[1], row[4], False, row[-1]) for row in stored])
    if not found:
        return rows
    seqs = sorted({rows[index].seq for one in found for index in (one.call, one.result)})
    params = {"namespace": database.namespace, "thread_id": thread_id, "seqs": seqs}
    messages = {seq: decode(message) for seq, message in await database.fetch(_SQL["messages"], params)}
    for index in {one.result for one in found}:
        said = {
            one.id: placeholder(calls_of(messages[rows[one.call].seq]).get(one.id), one.tool)
            for one in found
            if one.result == index
        }
        text = searchable(without_recalled(messages[rows[index].seq], said))
        rows[index] = replace(rows[index], content=text, tokens=count(text))
    return rows


class Ledger:
    """The thread's rows as a consolidation sees them: facts to plan on, sources to read, one commit at the end."""

    def __init__(self, database: Database, summaries: AsyncSummaryMemory) -> None:
        """Use an open database."""
        self._database = database
        self._summaries = summaries

    def _params(self, thread_id: str, **values: object) -> Params:
        return {"namespace": self._database.namespace, "thread_id": thread_id, **values}

    async def facts(self, thread_id: str) -> list[Fact]:
        """Return the light facts of the thread's live messages, in order."""
        return [_fact(*row) for row in await self._database.fetch(_SQL["facts"], self._params(thread_id))]

    async def sources(self, thread_id: str, plan: Plan) -> list[SourceRow]:
        """Return the planned messages, in order; fewer than planned where some are live no longer."""
        rows = await self._database.fetch(_SQL["sources"], self._params(thread_id, seqs=list(plan.seqs)))
        return await source_rows(self._database, thread_id, rows)

    async def commit(self, held: Lease, seqs: Sequence[int], summary: Mapping[str, Any]) -> bool:
        """Store the summary and mark its messages in one transaction; return False where nothing was stored.

        Nothing is stored when the lease is lost, or when the messages are not exactly those that were summarised:
        one is gone, covered, or changed. The thread's row is locked throughout, so appends wait a moment and stay
        live.
        """
        params = self._params(held.thread_id, seqs=list(seqs), token=held.token)
        async with self._database.transaction() as transaction:
            if await transaction.fetch_one(_SQL["hold"], params) is None:
                return False
            number, tokens, digest = await transaction.fetch_one(_SQL["sources_now"], params) or (0, 0, b"")
            if number != len(seqs) or digest != summary["source_digest"]:
                return False
            await self._summaries.insert(transaction, summary)
            await transaction.execute(_SQL["mark"], {**params, "id": summary["id"]})
            settled = {"count": number, "tokens": tokens, "reference_tokens": summary["reference_tokens"]}
            await transaction.execute(_SQL["settle"], {**params, **settled})
        return True
