"""Connections to PostgreSQL: a pool whose every transaction is confined to one namespace."""

from __future__ import annotations

import select
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, LiteralString, Self, TypeAlias

from psycopg import AsyncConnection, sql
from psycopg.rows import TupleRow, tuple_row
from psycopg_pool import AsyncConnectionPool

from ricordo.database.failures import translated
from ricordo.errors import InvalidInputError

Params: TypeAlias = Mapping[str, Any]
Row: TypeAlias = TupleRow

NAMESPACE_LIMIT = 100
"""Characters of a namespace's name; it is part of every key."""


def check_namespace(namespace: str) -> str:
    """Return the namespace, or raise InvalidInputError where it cannot be part of a key."""
    if not namespace or len(namespace) > NAMESPACE_LIMIT or not namespace.isprintable():
        raise InvalidInputError(
            f"a namespace has 1 to {NAMESPACE_LIMIT} printable characters, not {namespace[:40]!r}",
            hint="use a short name such as a team's or a user's id",
        )
    return namespace


def _is_readable(descriptor: int) -> bool:
    """Whether a socket has something to be read; where that cannot be told (Windows has no poll), say so."""
    if not hasattr(select, "poll"):
        return True
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(0))


async def _check_if_readable(connection: AsyncConnection[Row]) -> None:
    """Ask the server whether an idle connection still lives, only where its socket has something to say.

    A server that went away leaves an end-of-file on the socket, so a silent socket needs no round trip.
    """
    if _is_readable(connection.fileno()):
        await AsyncConnectionPool.check_connection(connection)


class Transaction:
    """Statements of one open transaction, in the namespace of its pool."""

    def __init__(self, connection: AsyncConnection[Row]) -> None:
        """Wrap a connection on which a transaction is open."""
        self.connection = connection

    async def fetch(self, query: LiteralString, params: Params) -> list[Row]:
        """Run a query and return all of its rows."""
        cursor = await self.connection.execute(query, params)
        return await cursor.fetchall()

    async def fetch_one(self, query: LiteralString, params: Params) -> Row | None:
        """Run a query and return its first row, or None."""
        cursor = await self.connection.execute(query, params)
        return await cursor.fetchone()

    async def execute(self, query: LiteralString, params: Params) -> int:
        """Run a statement and return the number of rows that it changed."""
        return (await self.connection.execute(query, params)).rowcount


class Database:
    """A pool of connections that sees one namespace only.

    The namespace is set with SET LOCAL inside every transaction, so that row-level security holds behind any
    pooler and on a distributed PostgreSQL.
    """

    def __init__(self, pool: AsyncConnectionPool[AsyncConnection[Row]], namespace: str) -> None:
        """Wrap an open pool."""
        self._pool = pool
        self.namespace = check_namespace(namespace)
        self._confine = sql.SQL("SET LOCAL ricordo.namespace = {}").format(sql.Literal(namespace))

    @classmethod
    async def connect(cls, url: str, *, namespace: str, size: int) -> Self:
        """Open a pool of at most `size` connections, which are made when they are first needed."""
        check_namespace(namespace)
        pool: AsyncConnectionPool[AsyncConnection[Row]] = AsyncConnectionPool(
            url,
            min_size=1,
            max_size=size,
            timeout=30.0,
            open=False,
            kwargs={"autocommit": True, "row_factory": tuple_row},
            check=_check_if_readable,
            num_workers=1,
            name="ricordo",
        )
        await pool.open(wait=False)
        return cls(pool, namespace)

    async def close(self) -> None:
        """Close every connection; open transactions are rolled back by the server."""
        await self._pool.close()

    @asynccontextmanager
    async def transaction(self, *, snapshot: bool = False, rollback: bool = False) -> AsyncGenerator[Transaction]:
        """Open a transaction; it commits at the end of the block and rolls back on any exception.

        With `snapshot` all of its queries see the database as it is at the first one, and none may write.
        With `rollback` it is rolled back at the end too, to see what it would have done.
        """
        with translated():
            async with self._pool.connection() as connection, connection.transaction(force_rollback=rollback):
                if snapshot:
                    await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                await connection.execute(self._confine)
                yield Transaction(connection)

    async def fetch(self, query: LiteralString, params: Params) -> list[Row]:
        """Run one query in a transaction of its own, in one round trip, and return all of its rows."""
        with translated():
            async with self._pool.connection() as connection:
                async with connection.pipeline():
                    # Plain statements: a transaction block of the driver would wait for each of its own.
                    await connection.execute("BEGIN")
                    await connection.execute(self._confine)
                    cursor = await connection.execute(query, params)
                    await connection.execute("COMMIT")
                return await cursor.fetchall()

    async def fetch_one(self, query: LiteralString, params: Params) -> Row | None:
        """Run one query in a transaction of its own, in one round trip, and return its first row, or None."""
        rows = await self.fetch(query, params)
        return rows[0] if rows else None

    @asynccontextmanager
    async def unconfined(self) -> AsyncGenerator[AsyncConnection[Row]]:
        """Lend a connection outside any transaction, for migrations and other statements about the schema."""
        with translated():
            async with self._pool.connection() as connection:
                yield connection
