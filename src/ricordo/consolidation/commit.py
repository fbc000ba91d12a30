"""Reading what a consolidation works on, and storing its summary only if that is still what stands there."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ricordo.consolidation.lease import Lease
from ricordo.consolidation.plan import Fact, Plan
from ricordo.database.pool import Database, Params
from ricordo.database.queries import load
from ricordo.stores.summary import AsyncSummaryMemory

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


def _fact(seq: int, role: str, tokens: int, pinned: bool, links: Mapping[str, Any] | None) -> Fact:
    if links is None:
        return Fact(seq=seq, role=role, tokens=tokens, pinned=pinned, question=role == "user")
    return Fact(
        seq=seq,
        role=role,
        tokens=tokens,
        pinned=pinned,
        question=bool(links["question"]),
        calls=tuple(links["calls"]),
        results=tuple(links["results"]),
    )


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
        return [SourceRow(*row) for row in rows]

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
            count, tokens, digest = await transaction.fetch_one(_SQL["sources_now"], params) or (0, 0, b"")
            if count != len(seqs) or digest != summary["source_digest"]:
                return False
            await self._summaries.insert(transaction, summary)
            await transaction.execute(_SQL["mark"], {**params, "id": summary["id"]})
            settled = {"count": count, "tokens": tokens, "reference_tokens": summary["reference_tokens"]}
            await transaction.execute(_SQL["settle"], {**params, **settled})
        return True
