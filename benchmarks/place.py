"""Where benchmarks run: a database of their own on the embedded server, with synthetic threads of any length."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
from psycopg import AsyncConnection, sql

from ricordo import AsyncMemory
from ricordo.config import Settings
from ricordo.database.embedded import EmbeddedServer

TEXT = (
    "On 12 March 2026 Anna Ferrari measured recall@10 of 0.81 on the 4,200 abstracts in /srv/rag/data, with chunks of "
    "512 tokens and 64 of overlap; the invoice INV-2026-0447 over $1,250 is open, and we decided to repeat run zx-4471 "
    "with another seed before the meeting with Professor Lindqvist in Uppsala, because nDCG fell by 3.5 % last time."
)


@asynccontextmanager
async def database() -> AsyncGenerator[str]:
    """Create a database on the embedded server, migrate it, yield its URL, and remove it."""
    server = EmbeddedServer(Settings().data_dir)
    name = f"bench_{uuid4().hex[:8]}"
    with server.start() as lease:
        parts = urlsplit(lease.admin_url)
        with psycopg.connect(lease.admin_url, autocommit=True) as admin:
            admin.execute(sql.SQL("CREATE DATABASE {} OWNER ricordo").format(sql.Identifier(name)))
            with psycopg.connect(urlunsplit(parts._replace(path=f"/{name}")), autocommit=True) as fresh:
                fresh.execute("CREATE EXTENSION IF NOT EXISTS vector")
            url = urlunsplit(urlsplit(lease.url)._replace(path=f"/{name}"))
            await (await AsyncMemory.open(url)).close()
            try:
                yield url
            finally:
                admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


async def grow(connection: AsyncConnection, namespace: str, thread_id: str, count: int) -> None:
    """Write a thread of `count` messages of a paragraph each, straight into the tables."""
    async with connection.transaction():
        await connection.execute(sql.SQL("SET LOCAL ricordo.namespace = {}").format(sql.Literal(namespace)))
        await connection.execute(
            """
            INSERT INTO ricordo.thread (
                namespace, thread_id, next_seq, live_messages, live_tokens, created_at, updated_at
            )
            VALUES (%s, %s, %s + 1, %s, %s * 90, now(), now())
            """,
            [namespace, thread_id, count, count, count],
        )
        await connection.execute(
            """
            INSERT INTO ricordo.conversational_memory (
                namespace, thread_id, seq, id, role, content, message, tokens, "timestamp", digest
            )
            SELECT %(namespace)s, %(thread_id)s, n, gen_random_uuid(), 'user', n || ' ' || %(text)s,
                json_build_object('role', 'user', 'content', n || ' ' || %(text)s), 90, now() + n * interval '1 ms', ''
            FROM generate_series(1, %(count)s) AS n
            """,
            {"namespace": namespace, "thread_id": thread_id, "text": TEXT, "count": count},
        )
    await connection.execute("ANALYZE ricordo.conversational_memory, ricordo.thread")
