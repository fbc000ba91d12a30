from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from ricordo import AsyncMemory, Memory
from ricordo.database import migrate
from ricordo.errors import (
    ConfigurationError,
    DatabaseError,
    DatabaseUnavailableError,
    EmbeddedServerError,
    ExtensionMissingError,
    InvalidInputError,
    SchemaDamagedError,
    SchemaTooNewError,
)


def snapshot(url: str) -> list[object]:
    """Return what the catalogue says of the schema, and every row of the bookkeeping."""
    with psycopg.connect(url) as connection:
        columns = connection.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'ricordo' "
            "ORDER BY 1, 2"
        ).fetchall()
        applied = connection.execute("SELECT * FROM ricordo.schema_migration ORDER BY 1").fetchall()
        return [*columns, *applied]


async def test_opening_twice_changes_nothing(database_url: str) -> None:
    async with await AsyncMemory.open(database_url) as memory:
        await memory.conversational.write("t", "user", "x")
    before = snapshot(database_url)
    async with await AsyncMemory.open(database_url) as memory:
        assert len(await memory.conversational.list("t")) == 1
    assert snapshot(database_url) == before


@pytest.fixture
def empty_url(server: tuple[str, str]) -> Iterator[str]:
    """The URL of a database that nothing was migrated in."""
    url, admin_url = server
    name = f"empty_{uuid4().hex[:12]}"
    with psycopg.connect(admin_url, autocommit=True) as admin:
        owner = sql.Identifier(str(conninfo_to_dict(url).get("user")))
        admin.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(name), owner))
    with psycopg.connect(urlunsplit(urlsplit(admin_url)._replace(path=f"/{name}")), autocommit=True) as admin:
        admin.execute("CREATE EXTENSION IF NOT EXISTS vector")
    yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
    with psycopg.connect(admin_url, autocommit=True) as admin:
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


OPENER = "import sys; from ricordo import Memory; Memory.open(sys.argv[1]).close()"


async def test_processes_that_open_a_new_database_at_once_migrate_it_once(empty_url: str) -> None:
    processes = [await asyncio.create_subprocess_exec(sys.executable, "-c", OPENER, empty_url) for _ in range(4)]
    assert [await process.wait() for process in processes] == [0, 0, 0, 0]
    with psycopg.connect(empty_url) as connection:
        applied = connection.execute("SELECT version FROM ricordo.schema_migration ORDER BY 1").fetchall()
    assert applied == [(migration.version,) for migration in migrate.migrations()]


async def test_a_schema_newer_than_the_code_is_a_clear_error(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("INSERT INTO ricordo.schema_migration VALUES (9999, 'future', 'x', now())")
    with pytest.raises(SchemaTooNewError, match=r"9999.*upgrade ricordo"):
        await AsyncMemory.open(database_url)


async def test_a_migration_that_was_changed_after_it_was_applied_is_a_clear_error(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE ricordo.schema_migration SET checksum = 'x' WHERE version = 1")
    with pytest.raises(SchemaDamagedError, match="conversations"):
        await AsyncMemory.open(database_url)


async def test_a_server_without_pgvector_is_a_clear_error(empty_url: str, server: tuple[str, str]) -> None:
    admin_url = urlunsplit(urlsplit(server[1])._replace(path=urlsplit(empty_url).path))
    with psycopg.connect(admin_url, autocommit=True) as admin:
        admin.execute("DROP EXTENSION vector")
    with psycopg.connect(empty_url) as connection:
        trusted = connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
    if trusted == (True,):
        pytest.skip("a superuser may create the extension")
    with pytest.raises(ExtensionMissingError, match="pgvector"):
        await AsyncMemory.open(empty_url)


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("postgresql://nobody@127.0.0.1:1/none", DatabaseUnavailableError),
        ("postgresql:///none?host=/no/such/folder", DatabaseUnavailableError),
        ("no url at all", DatabaseError),
        ("http://127.0.0.1/", DatabaseError),
    ],
)
async def test_a_wrong_url_is_a_clear_error(url: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        await AsyncMemory.open(url)


async def test_an_unknown_database_is_a_clear_error(database_url: str) -> None:
    url = urlunsplit(urlsplit(database_url)._replace(path="/no_such_database"))
    with pytest.raises(DatabaseError, match="no_such_database"):
        await AsyncMemory.open(url)


async def test_a_password_never_shows_in_an_error() -> None:
    with pytest.raises(DatabaseError) as caught:
        await AsyncMemory.open("postgresql://u:s3cr3t-word@127.0.0.1:1/none")
    assert "s3cr3t-word" not in str(caught.value)


@pytest.mark.parametrize("namespace", ["", "x" * 101, "a\x00b", "a\nb"])
async def test_a_bad_namespace_is_a_clear_error(database_url: str, namespace: str) -> None:
    with pytest.raises(InvalidInputError, match="namespace"):
        await AsyncMemory.open(database_url, namespace=namespace)


async def test_a_namespace_with_quotes_is_only_a_name(database_url: str) -> None:
    name = "o'neil\"; DROP SCHEMA ricordo; --"
    async with await AsyncMemory.open(database_url, namespace=name) as memory:
        await memory.conversational.write("t", "user", "x")
        assert [thread.messages for thread in await memory.threads()] == [1]


async def test_a_data_folder_that_cannot_be_made_is_a_clear_error(open_folder: Path) -> None:
    file = open_folder / "a-file"
    file.write_text("", encoding="utf-8")
    with pytest.raises(EmbeddedServerError, match="a-file"):
        await AsyncMemory.open(data_dir=file / "below")


async def test_the_environment_names_database_and_namespace(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_DATABASE_URL", database_url)
    monkeypatch.setenv("RICORDO_NAMESPACE", "from-environment")
    async with await AsyncMemory.open() as memory:
        assert memory.namespace == "from-environment"
    async with await AsyncMemory.open(namespace="argument") as memory:
        assert memory.namespace == "argument"
    monkeypatch.setenv("RICORDO_POOL_SIZE", "many")
    with pytest.raises(ConfigurationError, match="RICORDO_POOL_SIZE"):
        await AsyncMemory.open()


async def test_without_a_url_the_embedded_server_of_the_data_folder_is_used(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_DATA_DIR", str(open_folder / "embedded"))
    monkeypatch.setenv("RICORDO_EMBEDDED_GRACE", "0")
    async with await AsyncMemory.open() as memory:
        await memory.conversational.write("t", "user", "kept")
    async with await AsyncMemory.open() as memory:
        assert [message.content for message in await memory.conversational.list("t")] == ["kept"]


def test_the_synchronous_face_does_the_same(database_url: str) -> None:
    with Memory.open(database_url) as memory:
        memory.conversational.write("t", "user", "from a script")
        assert memory.monitor("t").status == "ok"
        assert [message.content for message in memory.conversational.list("t")] == ["from a script"]
        assert memory.verify().ok


async def test_the_pool_survives_the_loss_of_its_connections(memory: AsyncMemory, admin_url: str) -> None:
    await memory.conversational.write("t", "user", "before")
    with psycopg.connect(admin_url, autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    await asyncio.sleep(0.1)
    await memory.conversational.write("t", "user", "after")
    assert [message.content for message in await memory.conversational.list("t")] == ["before", "after"]
