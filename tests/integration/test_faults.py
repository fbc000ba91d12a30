"""Faults of the published design, and of products like this one, that no other module's tests are named after."""

from __future__ import annotations

import asyncio
import re
from importlib import resources
from pathlib import Path

import psycopg
import pytest

from ricordo import AsyncMemory
from ricordo.consolidation.draft import HEADINGS
from ricordo.consolidation.offload import replace_conversation
from tests.support import fill_thread


async def test_c1_f5_every_message_is_shown_covered_or_announced(memory: AsyncMemory) -> None:
    await fill_thread(memory, "t", turns=20)
    await memory.summarize_conversation("t", keep_recent_tokens=1500)
    live = await memory.conversational.list("t", limit=1000)
    (summary,) = await memory.summary.list("t")
    assert summary.message_count + len(live) == 40
    assert summary.last_seq is not None
    assert [message.seq for message in live] == list(range(summary.last_seq + 1, 41))
    text = await memory.conversational.read("t", limit=5)
    assert f"({len(live) - 5} older ones of this thread are not shown here)" in text


async def test_f8_the_rendered_window_has_the_headings_that_compaction_looks_for(memory: AsyncMemory) -> None:
    await fill_thread(memory, "t", turns=3)
    rendered = (await memory.window("t", "What now?")).render()
    assert re.findall(r"^#+ .*$", rendered, re.MULTILINE) == ["# Question", "## Conversation Memory"]
    assert "MEMORY TYPE: Conversational Memory (episodic memory)" in rendered
    assert "arXiv" not in replace_conversation(rendered, "[Summary ID: x] y")


async def test_f20_the_number_reported_is_the_number_marked(memory: AsyncMemory, admin_url: str) -> None:
    await fill_thread(memory, "t", turns=6)
    results = await asyncio.gather(*(memory.summarize_conversation("t") for _ in range(3)))
    reported = sum(result.num_messages_summarized for result in results)
    with psycopg.connect(admin_url) as connection:
        row = connection.execute(
            "SELECT count(*) FROM ricordo.conversational_memory WHERE summary_id IS NOT NULL"
        ).fetchone()
    assert row == (reported,) == (12,)


async def test_f24_a_summary_is_looked_up_by_its_key(admin_url: str) -> None:
    with psycopg.connect(admin_url) as connection:
        connection.execute("SET LOCAL enable_seqscan = off")
        plan = connection.execute(
            "EXPLAIN SELECT * FROM ricordo.summary_memory WHERE namespace = 'n' AND id = gen_random_uuid()::text::uuid"
        ).fetchall()
        duplicate = connection.execute(
            "SELECT indisunique FROM pg_index WHERE indrelid = 'ricordo.summary_memory'::regclass AND indisprimary"
        ).fetchone()
    assert "summary_memory_pkey" in str(plan)
    assert duplicate == (True,)


def test_f25_no_query_is_built_from_text() -> None:
    source = Path(str(resources.files("ricordo")))
    statement = re.compile(r"""f(?:"{3}|'{3}|"|')[^"']*\b(?:SELECT|INSERT|UPDATE|DELETE|DROP|TRUNCATE)\b""")
    for file in source.rglob("*.py"):
        assert not statement.search(file.read_text(encoding="utf-8")), file


def test_f26_nothing_is_ever_dropped_or_truncated() -> None:
    for file in Path(str(resources.files("ricordo"))).rglob("*.sql"):
        code = re.sub(r"--.*", "", file.read_text(encoding="utf-8"))
        assert not re.search(r"\b(DROP\s+(TABLE|SCHEMA|COLUMN|DATABASE)|TRUNCATE)\b", code, re.IGNORECASE), file


async def test_f26_every_memory_is_still_there_after_a_restart(database_url: str) -> None:
    async with await AsyncMemory.open(database_url) as memory:
        await fill_thread(memory, "t", turns=6)
        id = str((await memory.summarize_conversation("t")).id)
    for _ in range(2):
        async with await AsyncMemory.open(database_url) as memory:
            assert len((await memory.expand_summary(id)).messages) == 12


async def test_f29_a_summary_cannot_be_deleted_under_its_messages(memory: AsyncMemory, admin_url: str) -> None:
    await fill_thread(memory, "t", turns=6)
    await memory.summarize_conversation("t")
    with psycopg.connect(admin_url) as connection, pytest.raises(psycopg.errors.ForeignKeyViolation):
        connection.execute("DELETE FROM ricordo.summary_memory")


async def test_f39_the_four_headings_are_always_there_and_in_order(memory: AsyncMemory) -> None:
    await fill_thread(memory, "t", turns=6)
    result = await memory.summarize_conversation("t")
    assert re.findall(r"^### .*$", result.summary, re.MULTILINE) == list(HEADINGS.values())


async def test_p3_writing_the_same_twice_keeps_both(memory: AsyncMemory) -> None:
    for _ in range(2):
        await memory.conversational.write("t", "user", "yes")
    assert [message.content for message in await memory.conversational.list("t")] == ["yes", "yes"]
    first = await memory.summarize_context_window("The corpus holds 4,200 abstracts. " * 30)
    second = await memory.summarize_context_window("The corpus holds 4,200 abstracts. " * 30)
    assert first.id != second.id
    assert (await memory.expand_summary(str(first.id))).found
