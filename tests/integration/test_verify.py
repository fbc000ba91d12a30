from __future__ import annotations

from typing import LiteralString

import psycopg
import pytest

from ricordo import AsyncMemory
from tests.support import fill_thread


@pytest.fixture
async def thread(memory: AsyncMemory) -> str:
    """A thread with a system message, two leaf summaries and six live messages."""
    await memory.conversational.write("t", "system", "You are a research assistant.")
    for _ in range(2):
        await fill_thread(memory, "t", turns=6)
        assert (await memory.summarize_conversation("t")).status == "consolidated"
    await fill_thread(memory, "t", turns=3)
    return "t"


async def codes(memory: AsyncMemory) -> set[str]:
    return {fault.code for fault in (await memory.verify()).faults}


def damage(admin_url: str, statement: LiteralString) -> None:
    """Change rows as nothing in ricordo does: without its checks, its keys and its namespace."""
    with psycopg.connect(admin_url) as connection:
        connection.execute("SET session_replication_role = replica")
        changed = connection.execute(statement).rowcount
        assert changed


async def test_a_sound_namespace_is_proved(memory: AsyncMemory, thread: str) -> None:
    seen: list[str] = []
    proof = await memory.verify(progress=seen.append)
    assert proof.ok, proof.faults
    assert (proof.threads, proof.messages, proof.live, proof.covered, proof.summaries) == (1, 31, 7, 24, 2)
    assert seen == [thread]
    assert (await memory.verify(thread)).ok
    assert (await memory.verify("no such thread")).threads == 0


MESSAGES = "ricordo.conversational_memory"
FIRST = "(SELECT id FROM ricordo.summary_memory ORDER BY first_seq LIMIT 1)"
SECOND = "(SELECT id FROM ricordo.summary_memory ORDER BY first_seq DESC LIMIT 1)"

DAMAGES: list[tuple[str, LiteralString, set[str], tuple[int, ...]]] = [
    ("a covered message is deleted", f"DELETE FROM {MESSAGES} WHERE seq = 5", {"count", "missing", "counter"}, (5,)),
    ("a live message is deleted", f"DELETE FROM {MESSAGES} WHERE seq = 28", {"counter"}, ()),
    (
        "a covered message's original is changed",
        f"""UPDATE {MESSAGES} SET message = '{{"role":"user","content":"no"}}' WHERE seq = 5""",
        {"changed", "digest"},
        (5,),
    ),
    (
        "a live message's original is changed",
        f"""UPDATE {MESSAGES} SET message = '{{"role":"user","content":"no"}}' WHERE seq = 28""",
        {"changed"},
        (28,),
    ),
    ("a timestamp is changed", f"UPDATE {MESSAGES} SET timestamp = timestamp + '1 s' WHERE seq = 5", {"changed"}, (5,)),
    ("a role is changed", f"UPDATE {MESSAGES} SET role = 'system' WHERE seq = 5", {"changed", "digest"}, (5,)),
    ("metadata is changed", f"""UPDATE {MESSAGES} SET metadata = '{{"a":1}}' WHERE seq = 5""", {"changed"}, (5,)),
    (
        "a mark is lost",
        f"UPDATE {MESSAGES} SET summary_id = NULL WHERE seq = 5",
        {"count", "uncovered", "counter"},
        (5,),
    ),
    (
        "a mark points to another summary",
        f"UPDATE {MESSAGES} SET summary_id = {SECOND} WHERE seq = 5",
        {"count", "range", "uncovered", "digest"},
        (5,),
    ),
    (
        "a mark points nowhere",
        f"UPDATE {MESSAGES} SET summary_id = '00000000-0000-4000-8000-000000000000' WHERE seq = 5",
        {"stray", "count"},
        (5,),
    ),
    ("a live message is marked", f"UPDATE {MESSAGES} SET summary_id = {FIRST} WHERE seq = 28", {"count", "range"}, ()),
    ("a summary is deleted", f"DELETE FROM ricordo.summary_memory WHERE id = {FIRST}", {"stray", "counter"}, (5,)),
    ("a summary's range is moved", "UPDATE ricordo.summary_memory SET first_seq = first_seq - 1", {"range"}, ()),
    ("ranges overlap", f"UPDATE ricordo.summary_memory SET last_seq = 20 WHERE id = {FIRST}", {"overlap", "range"}, ()),
    ("a count is changed", "UPDATE ricordo.summary_memory SET message_count = 1", {"count"}, ()),
    ("source tokens are changed", "UPDATE ricordo.summary_memory SET source_tokens = 1", {"tokens"}, ()),
    ("a digest is changed", "UPDATE ricordo.summary_memory SET source_digest = '\\x00'", {"digest"}, ()),
    ("tokens of a message are changed", f"UPDATE {MESSAGES} SET tokens = tokens + 1 WHERE seq = 28", {"counter"}, ()),
    ("tokens of a covered message change", f"UPDATE {MESSAGES} SET tokens = tokens + 1 WHERE seq = 5", {"tokens"}, ()),
    ("two messages change places", f"UPDATE {MESSAGES} SET seq = 60 - seq WHERE seq IN (27, 28)", {"changed"}, ()),
    ("live_messages is off", "UPDATE ricordo.thread SET live_messages = live_messages + 1", {"counter"}, ()),
    ("live_tokens is off", "UPDATE ricordo.thread SET live_tokens = live_tokens + 1", {"counter"}, ()),
    ("covered_messages is off", "UPDATE ricordo.thread SET covered_messages = 0", {"counter"}, ()),
    ("summaries is off", "UPDATE ricordo.thread SET summaries = 9", {"counter"}, ()),
    ("summary_tokens is off", "UPDATE ricordo.thread SET summary_tokens = 0", {"counter"}, ()),
    ("next_seq would give a place twice", "UPDATE ricordo.thread SET next_seq = 31", {"counter"}, (31,)),
    ("a thread is deleted", "DELETE FROM ricordo.thread", {"no_thread"}, (5,)),
]


@pytest.mark.parametrize(("statement", "expected", "rows"), [d[1:] for d in DAMAGES], ids=[d[0] for d in DAMAGES])
async def test_damage_is_noticed_and_its_rows_are_named(
    memory: AsyncMemory,
    thread: str,
    admin_url: str,
    statement: LiteralString,
    expected: set[str],
    rows: tuple[int, ...],
) -> None:
    damage(admin_url, statement)
    proof = await memory.verify()
    assert not proof.ok
    assert expected <= {fault.code for fault in proof.faults}, proof.faults
    assert set(rows) <= {seq for fault in proof.faults for seq in fault.seqs}, proof.faults


async def test_a_changed_free_text_is_noticed(memory: AsyncMemory, admin_url: str) -> None:
    await memory.summarize_context_window("The deadline is 12 March 2026. " + "Retrieval needs evaluation. " * 80)
    assert (await memory.verify()).ok
    damage(admin_url, """UPDATE ricordo.summary_memory SET source_text = '"other"'""")
    assert await codes(memory) == {"digest"}
