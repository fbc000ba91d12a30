"""Writing emptied summaries again, from what remains of their sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ricordo.consolidation.commit import source_digest, source_rows
from ricordo.consolidation.compose import Composer
from ricordo.consolidation.condense import Sibling, compose_parent, parent_record
from ricordo.consolidation.lease import Lease
from ricordo.consolidation.record import numbered, record
from ricordo.database.pool import Database, Params
from ricordo.database.queries import load
from ricordo.stores.summary import to_items

_SQL = load("ricordo.consolidation", "forget.sql")
_HOLD = load("ricordo.consolidation", "commit.sql")["hold"]


class Rebuilder:
    """Rebuilds a thread's stale summaries, leaves first; an id keeps its place and its messages."""

    def __init__(self, database: Database, composer: Composer) -> None:
        """Use an open database and the same composer as consolidations."""
        self._database = database
        self._composer = composer

    def _params(self, thread_id: str, **values: object) -> Params:
        return {"namespace": self._database.namespace, "thread_id": thread_id, **values}

    async def stale(self, thread_id: str) -> list[str]:
        """Return the ids of the thread's emptied summaries, lowest level first."""
        return [id for id, _ in await self._database.fetch(_SQL["stale"], self._params(thread_id))]

    async def rebuild(self, held: Lease) -> list[str]:
        """Write every stale summary of the thread again and return their ids.

        Each is committed by itself, and only if its sources are still those that were read. Raises ModelError;
        what was committed before stays, the rest stays withdrawn.
        """
        rebuilt: list[str] = []
        for id, level in await self._database.fetch(_SQL["stale"], self._params(held.thread_id)):
            write = self._parent if level else self._leaf
            if await write(held, id):
                rebuilt.append(id)
        return rebuilt

    async def _leaf(self, held: Lease, id: str) -> bool:
        stored = await self._database.fetch(_SQL["leaf_sources"], self._params(held.thread_id, id=id))
        rows = await source_rows(self._database, held.thread_id, stored)
        if not rows:
            return False
        composition = await self._composer.compose(numbered(rows))
        values = record(composition, [[row.seq] for row in rows], id=id)
        return await self._commit(held, values | {"source_digest": source_digest(rows)}, "leaf_digest")

    async def _parent(self, held: Lease, id: str) -> bool:
        rows = await self._database.fetch(_SQL["children"], self._params(held.thread_id, id=id))
        if not rows or any(row[8] for row in rows):
            return False
        children = [Sibling(*row[:8], items=to_items(row[9]), digest=bytes(row[10])) for row in rows]
        composition = await compose_parent(self._composer, children)
        return await self._commit(held, parent_record(composition, children, id=id), "children_digest")

    async def _commit(self, held: Lease, values: Mapping[str, Any], digest: str) -> bool:
        params = self._params(held.thread_id, token=held.token, id=values["id"])
        async with self._database.transaction() as transaction:
            if await transaction.fetch_one(_HOLD, params) is None:
                return False
            now = await transaction.fetch_one(_SQL[digest], params)
            if now is None or bytes(now[0] or b"") != values["source_digest"]:
                return False
            await transaction.execute(_SQL["restore"], {**params, **values})
            await transaction.execute(_SQL["recount"], {**params, "live": 0, "live_tokens": 0, "covered": 0})
        return True
