from __future__ import annotations

import re
import sys
from importlib import resources
from pathlib import Path
from typing import LiteralString, cast

import psycopg
import pytest

from ricordo.database.queries import load

SOURCE = Path(str(resources.files("ricordo")))
FILES = sorted(
    path.relative_to(SOURCE)
    for path in SOURCE.rglob("*.sql")
    if "migrations" not in path.parts and "demo" not in path.parts
)
QUERIES = [
    (f"{file}: {name}", text)
    for file in FILES
    for name, text in load(".".join(["ricordo", *file.parent.parts]), file.name).items()
]


def test_every_store_with_queries_is_covered() -> None:
    assert {str(file) for file in FILES} >= {
        "stores/conversational.sql",
        "stores/summary.sql",
        "consolidation/commit.sql",
    }


@pytest.mark.parametrize("query", [text for _, text in QUERIES], ids=[name for name, _ in QUERIES])
def test_a_named_query_fits_the_schema(admin_url: str, query: str) -> None:
    """Plan the query against the migrated schema, its parameters unknown, as the server would prepare it."""
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", query)))
    numbered = re.sub(r"%\((\w+)\)s", lambda found: f"${names.index(found[1]) + 1}", query)
    with psycopg.connect(admin_url) as connection:
        connection.execute(cast("LiteralString", f"PREPARE named AS {numbered}"))
        if connection.info.server_version >= 160000:
            connection.execute(cast("LiteralString", f"EXPLAIN (GENERIC_PLAN) {numbered}"))


def test_a_file_that_names_a_query_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "twice").mkdir()
    (tmp_path / "twice/__init__.py").write_text("", encoding="utf-8")
    (tmp_path / "twice/q.sql").write_text("-- name: a\nSELECT 1\n-- name: a\nSELECT 2\n", encoding="utf-8")
    monkeypatch.setattr("sys.path", [str(tmp_path), *sys.path])
    with pytest.raises(ValueError, match="twice"):
        load("twice", "q.sql")


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("newest_live", "conversational_memory_live"),
        ("newest", "conversational_memory_pkey"),
        ("covered", "conversational_memory_pkey"),
        ("get", "conversational_memory_namespace_id_key"),
    ],
)
def test_reading_uses_an_index_whatever_the_length_of_the_history(admin_url: str, query: str, index: str) -> None:
    text = load("ricordo.stores", "conversational.sql")[query]
    params = {
        "namespace": "n",
        "thread_id": "t",
        "before": 10**6,
        "limit": 50,
        "id": "00000000-0000-4000-8000-000000000000",
        "last_seq": 10**5,
        "from_seq": 0,
    }
    with psycopg.connect(admin_url) as connection:
        connection.execute("SET LOCAL enable_seqscan = off")
        plan = "\n".join(row[0] for row in connection.execute("EXPLAIN " + text, params).fetchall())
    assert index in plan
    assert "Sort" not in plan
