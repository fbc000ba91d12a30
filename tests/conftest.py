"""What the tests share: one real PostgreSQL a session, and a fresh database a test."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from ricordo import AsyncMemory
from ricordo.database.embedded import EmbeddedServer

for name in [name for name in os.environ if name.startswith(("RICORDO_", "OPENAI_")) and "TEST" not in name]:
    del os.environ[name]


def _with_database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


@pytest.fixture(scope="session")
def open_folder() -> Iterator[Path]:
    """A folder that an unprivileged account can reach, as an embedded server of root needs."""
    folder = Path(tempfile.mkdtemp(prefix="ricordo-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def server(open_folder: Path) -> Iterator[tuple[str, str]]:
    """The URLs of a server: as the application's role and as a superuser.

    RICORDO_TEST_DATABASE_URL names another server than the embedded one; its role must be a superuser.
    """
    if given := os.environ.get("RICORDO_TEST_DATABASE_URL"):
        yield given, given
        return
    embedded = EmbeddedServer(open_folder / "server")
    with embedded.start() as lease:
        # Only the loss of the machine's power needs the disk to be waited for; the server's own death does not.
        with psycopg.connect(lease.admin_url, autocommit=True) as admin:
            admin.execute("ALTER SYSTEM SET fsync = off")
            admin.execute("SELECT pg_reload_conf()")
        yield lease.url, lease.admin_url
    embedded.stop()


@pytest.fixture(scope="session")
def template(server: tuple[str, str]) -> Iterator[str]:
    """The name of a migrated database, which the tests' databases are copies of."""
    import asyncio

    url, admin_url = server
    name = f"template_{uuid4().hex[:8]}"
    with psycopg.connect(admin_url, autocommit=True) as admin:
        _create(admin, name, "template1", owner=conninfo_to_dict(url).get("user"))
        with psycopg.connect(_with_database(admin_url, name), autocommit=True) as database:
            database.execute("CREATE EXTENSION IF NOT EXISTS vector")

        async def migrated() -> None:
            await (await AsyncMemory.open(_with_database(url, name))).close()

        asyncio.run(migrated())
        yield name
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _create(admin: psycopg.Connection, name: str, template: str, owner: str | int | None) -> None:
    admin.execute(
        sql.SQL("CREATE DATABASE {} TEMPLATE {} OWNER {}").format(
            sql.Identifier(name), sql.Identifier(template), sql.Identifier(str(owner))
        )
    )


@pytest.fixture
def database_url(server: tuple[str, str], template: str) -> Iterator[str]:
    """The URL of a fresh, migrated database, as the application's role."""
    url, admin_url = server
    name = f"test_{uuid4().hex[:12]}"
    with psycopg.connect(admin_url, autocommit=True) as admin:
        _create(admin, name, template, owner=conninfo_to_dict(url).get("user"))
        yield _with_database(url, name)
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def admin_url(server: tuple[str, str], database_url: str) -> str:
    """The URL of the test's database as a superuser, whom row-level security does not bind."""
    return _with_database(server[1], urlsplit(database_url).path.lstrip("/"))


@pytest.fixture
async def memory(database_url: str) -> AsyncIterator[AsyncMemory]:
    """An open memory on the test's own database."""
    async with await AsyncMemory.open(database_url) as opened:
        yield opened
