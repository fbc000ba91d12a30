"""The right to consolidate a thread: held by one process at a time, and lost by a process that goes silent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from uuid import uuid4

from ricordo.database.pool import Database, Params
from ricordo.database.queries import load
from ricordo.errors import DatabaseError

_SQL = load("ricordo.consolidation", "lease.sql")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Lease:
    """A thread that this process alone may consolidate; `token` proves it to the database."""

    thread_id: str
    token: str


@asynccontextmanager
async def lease(database: Database, thread_id: str, *, seconds: float) -> AsyncGenerator[Lease | None]:
    """Hold the thread's lease for the block, or yield None where another process holds it.

    The lease ends `seconds` after its last renewal, so a killed process blocks the thread no longer than that.
    It protects against paying twice, not against losing data: a commit checks the lease and the rows again.
    """
    token = str(uuid4())
    params = {"namespace": database.namespace, "thread_id": thread_id, "token": token, "seconds": seconds}
    if await database.fetch_one(_SQL["claim"], params) is None:
        yield None
        return
    renewal = asyncio.create_task(_renew(database, params, seconds / 3))
    try:
        yield Lease(thread_id, token)
    finally:
        renewal.cancel()
        await asyncio.wait([renewal])
        # A lease that cannot be given back runs out by itself.
        with suppress(DatabaseError):
            await database.fetch(_SQL["release"], params)


async def _renew(database: Database, params: Params, interval: float) -> None:
    while True:
        await asyncio.sleep(interval)
        try:
            if await database.fetch_one(_SQL["renew"], params) is None:
                return
        except DatabaseError as error:
            _log.warning("the lease of thread %r could not be renewed: %s", params["thread_id"], error)
