"""What a database holds, seen past ricordo: as a superuser, whom row-level security does not bind."""

from __future__ import annotations

from typing import Any

import psycopg


def rows(admin_url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(admin_url) as connection:
        return connection.execute(query.encode()).fetchall()


def summaries(admin_url: str) -> int:
    return int(rows(admin_url, "SELECT count(*) FROM ricordo.summary_memory")[0][0])
