"""Retention of stored summaries, in the library, in the table and by the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from ricordo import AsyncMemory, Memory
from ricordo.consolidation.recall import PREFIX
from tests.stored import rows
from tests.support import conversation


def run(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "RICORDO_DATABASE_URL": url, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, "-m", "ricordo", *arguments],
        capture_output=True,
        encoding="utf-8",
        env=environment,
        check=False,
    )


async def test_recall_keys_and_the_share_kept_are_stored_with_the_summary(memory: AsyncMemory, admin_url: str) -> None:
    await memory.conversational.append("t", conversation(12))
    result = await memory.summarize_conversation("t")
    assert result.id
    summary = await memory.summary.get(result.id)
    assert summary.recall_keys
    assert summary.content.splitlines()[-1] == PREFIX + ", ".join(summary.recall_keys)
    assert summary.content == result.summary
    ((share,),) = rows(admin_url, "SELECT retention FROM ricordo.summary_memory")
    found = await memory.retention("t")
    assert found.total.kept / found.total.atoms == share
    assert 0 < share < 1


async def test_every_recall_key_leads_to_a_message(memory: AsyncMemory) -> None:
    await memory.conversational.append("t", conversation(12))
    result = await memory.summarize_conversation("t")
    assert result.id
    for key in (await memory.summary.get(result.id)).recall_keys:
        page = await memory.expand_summary(result.id, query=key)
        assert any(key in message.content for message in page.messages)


async def test_all_atoms_of_covered_messages_come_back(memory: AsyncMemory) -> None:
    await memory.conversational.append("t", conversation(12))
    assert (await memory.retention("t")).total.atoms == 0
    await memory.summarize_conversation("t")
    await memory.conversational.append("t", conversation(12, start=12))
    await memory.summarize_conversation("t")
    found = await memory.retention("t")
    assert (found.summaries, found.messages) == (2, 48)
    assert found.total.reachable == found.total.atoms
    assert found.total.kept + found.total.keyed <= found.total.atoms
    assert sum(kept.atoms for kept in found.kinds.values()) == found.total.atoms


async def test_a_rebuilt_summary_has_keys_and_a_share_of_its_own(memory: AsyncMemory, admin_url: str) -> None:
    await memory.conversational.append("t", conversation(12))
    await memory.summarize_conversation("t")
    assert (await memory.forget(matching="INV-2026-0447")).rebuilt
    ((keys, share),) = rows(admin_url, "SELECT recall_keys::text, retention FROM ricordo.summary_memory")
    assert json.loads(keys)
    assert "INV-2026-0447" not in keys
    assert 0 < share < 1


def test_the_command_shows_and_tells_what_a_thread_keeps(database_url: str) -> None:
    with Memory.open(database_url) as memory:
        memory.conversational.append("t", conversation(12))
        nothing = run(database_url, "retention", "t")
        assert nothing.returncode == 0
        assert "ricordo consolidate" in nothing.stdout
        memory.summarize_conversation("t")
        found = memory.retention("t")
    shown = run(database_url, "retention", "t")
    assert shown.returncode == 0
    for kind, kept in found.kinds.items():
        assert f"{kind} " in shown.stdout
        assert f"{kept.kept / kept.atoms:.0%}" in shown.stdout
    assert all(len(line) <= 80 for line in shown.stdout.splitlines())
    told = json.loads(run(database_url, "retention", "t", "--json").stdout)
    assert told["retention"]["total"]["atoms"] == found.total.atoms
    assert told["retention"] == told["threads"]["t"]


def test_the_command_measures_a_file_and_stores_nothing(database_url: str, tmp_path: Path) -> None:
    path = tmp_path / "talks.json"
    path.write_text(
        json.dumps([{"messages": conversation(9)}, {"messages": conversation(9, start=3)}]), encoding="utf-8"
    )
    told = json.loads(run(database_url, "retention", str(path), "--json").stdout)
    assert told["retention"]["summaries"] == len(told["threads"]) == 2
    assert told["retention"]["messages"] == 36
    assert 0 < told["retention"]["total"]["kept"] < told["retention"]["total"]["atoms"]
    with Memory.open(database_url) as memory:
        assert memory.threads() == ()


def test_what_cannot_be_measured_is_an_error_with_a_hint(database_url: str, tmp_path: Path) -> None:
    unknown = run(database_url, "retention", "nobody", "--json")
    assert (unknown.returncode, json.loads(unknown.stderr)["error"]["code"]) == (1, "not_found")
    broken = tmp_path / "broken.json"
    broken.write_text('[{"role": "user", "content": "a"}, {', encoding="utf-8")
    cut = run(database_url, "retention", str(broken), "--json")
    assert (cut.returncode, json.loads(cut.stderr)["error"]["code"]) == (1, "invalid_input")
    empty = tmp_path / "empty.json"
    empty.write_text("[]", encoding="utf-8")
    assert run(database_url, "retention", str(empty)).returncode == 1
