"""Numbered migrations: applied in order, once, under a lock, each with a checksum that is checked ever after."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import LiteralString, cast

from psycopg import AsyncConnection, errors, sql

from ricordo.database.pool import Row
from ricordo.errors import (
    DatabaseError,
    ExtensionMissingError,
    SchemaDamagedError,
    SchemaTooNewError,
)

MINIMUM_SERVER = 150000
"""PostgreSQL 15, as `server_version_num` counts."""

_LOCK = 0x7269636F72646F
"""The advisory lock's key: "ricordo" in ASCII."""

_FILE = re.compile(r"(\d{4})_(\w+)\.sql")
_BOOKKEEPING: LiteralString = """
CREATE SCHEMA IF NOT EXISTS ricordo;
CREATE TABLE IF NOT EXISTS ricordo.schema_migration (
    version integer PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered SQL file; `checksum` is the SHA-256 of its text in hexadecimal digits."""

    version: int
    name: str
    text: str
    checksum: str


@cache
def migrations() -> tuple[Migration, ...]:
    """Return the migrations that this version ships, in order; the numbers have no gaps."""
    found: list[Migration] = []
    for file in resources.files("ricordo.database").joinpath("migrations").iterdir():
        if match := _FILE.fullmatch(file.name):
            text = file.read_text(encoding="utf-8")
            found.append(Migration(int(match[1]), match[2], text, hashlib.sha256(text.encode()).hexdigest()))
    return tuple(sorted(found, key=lambda migration: migration.version))


async def migrate(connection: AsyncConnection[Row]) -> int:
    """Bring the schema up to this version and return how many migrations were applied.

    Any number of processes may call it at once; all that is missing is applied in one transaction. A current
    schema costs one query. Raises SchemaTooNewError, SchemaDamagedError, ExtensionMissingError or DatabaseError
    and then leaves the database as it was.
    """
    if not _pending(await _applied(connection)):
        return 0
    if connection.info.server_version < MINIMUM_SERVER:
        raise DatabaseError(
            f"PostgreSQL {connection.info.server_version // 10000} is too old",
            hint="ricordo needs PostgreSQL 15 or newer",
        )
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        await connection.execute(_BOOKKEEPING)
        pending = _pending(await _applied(connection))
        await _ensure_pgvector(connection)
        for migration in pending:
            await connection.execute(sql.SQL(cast("LiteralString", migration.text)))
            await connection.execute(
                "INSERT INTO ricordo.schema_migration (version, name, checksum) VALUES (%s, %s, %s)",
                [migration.version, migration.name, migration.checksum],
            )
    return len(pending)


async def _applied(connection: AsyncConnection[Row]) -> dict[int, str]:
    known = await (await connection.execute("SELECT to_regclass('ricordo.schema_migration')")).fetchone()
    if known is None or known[0] is None:
        return {}
    cursor = await connection.execute("SELECT version, checksum FROM ricordo.schema_migration")
    return dict(await cursor.fetchall())


def _pending(applied: dict[int, str]) -> list[Migration]:
    shipped = {migration.version: migration for migration in migrations()}
    if newer := applied.keys() - shipped.keys():
        raise SchemaTooNewError(
            f"the database's schema has version {max(newer)}, this ricordo knows {max(shipped)}",
            hint="upgrade ricordo; an older version must not write to a newer schema",
        )
    for version, checksum in applied.items():
        if shipped[version].checksum != checksum:
            raise SchemaDamagedError(
                f"migration {version} ({shipped[version].name}) was applied with another text",
                hint="this database was migrated by a build that was never released; use another database",
            )
    return [migration for version, migration in shipped.items() if version not in applied]


async def _ensure_pgvector(connection: AsyncConnection[Row]) -> None:
    query = (
        "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE extname = 'vector'"
    )
    row = await (await connection.execute(query)).fetchone()
    if row is None:
        try:
            await connection.execute("CREATE EXTENSION vector WITH SCHEMA public")
        except (errors.UndefinedFile, errors.FeatureNotSupported, errors.InsufficientPrivilege) as error:
            raise ExtensionMissingError(
                f"pgvector is missing in this database: {str(error).splitlines()[0]}",
                hint="install pgvector on the server and run CREATE EXTENSION vector as a superuser, "
                "or leave the URL out to use the embedded PostgreSQL",
            ) from error
        row = ("public",)
    path = sql.SQL("SET LOCAL search_path TO pg_catalog, {}").format(sql.Identifier(str(row[0])))
    await connection.execute(path)
