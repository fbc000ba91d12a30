"""Real conversations of agents: all of each comes back, byte for byte, after any number of consolidations."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ricordo import AsyncMemory, Memory, Policy
from ricordo.importers import import_file
from ricordo.messages import pairs, parse
from ricordo.types import Consolidation
from tests.integrity import assert_whole, exactly, live_messages, originals

SAMPLE = 15
"""Airline conversations in the default run."""

REFUSALS = {"nothing_to_summarize", "not_worthwhile", "open_tool_call"}
"""What ends a series of consolidations that keeps nothing verbatim."""


@dataclass(frozen=True, slots=True)
class Transcript:
    name: str
    messages: list[dict[str, Any]]


@pytest.fixture(scope="module")
def folder(pytestconfig: pytest.Config) -> Path:
    """The folder of transcripts beside the repository, which are other projects' and not part of it."""
    found = pytestconfig.rootpath.parent / "shared" / "data" / "transcripts"
    if not found.is_dir():
        pytest.skip(f"there are no transcripts in {found}")
    return found


@pytest.fixture(scope="module")
def airline(folder: Path) -> list[Transcript]:
    """Customers of an airline with an agent that has tools (tau-bench)."""
    found = json.loads((folder / "tau-bench-airline.json").read_text(encoding="utf-8"))
    return [Transcript(f"airline-{one['task_id']}-{one['trial']}", one["traj"]) for one in found]


@pytest.fixture(scope="module")
def coding(folder: Path) -> list[Transcript]:
    """Agents that mend programs, with long outputs of commands (SWE-agent)."""
    files = sorted((folder / "swe-agent").glob("*.traj"))
    return [Transcript(file.stem, json.loads(file.read_text(encoding="utf-8"))["history"]) for file in files]


async def append(memory: AsyncMemory, transcript: Transcript, *, batch: int = 7) -> None:
    for start in range(0, len(transcript.messages), batch):
        await memory.conversational.append(transcript.name, transcript.messages[start : start + batch])


async def consolidate_all(memory: AsyncMemory, thread_id: str, keep_recent_tokens: int = 0) -> list[Consolidation]:
    """Consolidate until nothing more can be; return the summaries that were stored."""
    stored: list[Consolidation] = []
    while True:
        result = await memory.summarize_conversation(thread_id, keep_recent_tokens)
        if result.status != "consolidated":
            assert result.status in REFUSALS | {"below_threshold"}, result
            return stored
        stored.append(result)


async def assert_comes_back(memory: AsyncMemory, transcript: Transcript) -> int:
    """Store a transcript, consolidate it and compare all of it; return how many of its messages are covered."""
    await append(memory, transcript)
    await assert_whole(memory, transcript.name, transcript.messages)
    stored = await consolidate_all(memory, transcript.name)
    await assert_whole(memory, transcript.name, transcript.messages, max_tokens=100_000)
    for one in stored:
        assert one.id
        small = await originals(memory, one.id, max_tokens=400)
        large = await originals(memory, one.id, max_tokens=100_000)
        assert small == large
        assert len(small) == one.num_messages_summarized
    return sum(one.num_messages_summarized for one in stored)


async def assert_all_come_back(memory: AsyncMemory, transcripts: list[Transcript]) -> None:
    covered = sum([await assert_comes_back(memory, transcript) for transcript in transcripts])
    total = sum(len(transcript.messages) for transcript in transcripts)
    proof = await memory.verify()
    assert proof.ok, proof.faults
    assert (proof.threads, proof.messages, proof.covered) == (len(transcripts), total, covered)
    assert covered > total * 0.8


async def test_conversations_with_tools_come_back_exactly(memory: AsyncMemory, airline: list[Transcript]) -> None:
    await assert_all_come_back(memory, airline[:SAMPLE])


@pytest.mark.slow
async def test_all_conversations_with_tools_come_back_exactly(memory: AsyncMemory, airline: list[Transcript]) -> None:
    assert len(airline) == 100
    await assert_all_come_back(memory, airline)


async def test_coding_sessions_come_back_exactly(memory: AsyncMemory, coding: list[Transcript]) -> None:
    assert len(coding) == 6
    await assert_all_come_back(memory, coding)


async def test_a_thread_of_many_conversations_comes_back_from_under_summaries_of_summaries(
    database_url: str, airline: list[Transcript], coding: list[Transcript]
) -> None:
    """Consolidated as an agent does it: whenever some more was said, with the latest part kept verbatim."""
    parts = [*airline[:SAMPLE], *coding]
    whole = [message for part in parts for message in part.messages]
    async with await AsyncMemory.open(database_url, policy=Policy(reference_percent=0.1)) as memory:
        count = 0
        for part in parts:
            await append(memory, Transcript("all", part.messages))
            count += len(await consolidate_all(memory, "all", keep_recent_tokens=2_000))
        summaries = await memory.summary.list("all")
        assert len(summaries) < count
        assert max(summary.level for summary in summaries) >= 1
        await assert_whole(memory, "all", whole)
        await assert_whole(memory, "all", whole, max_tokens=1_000)


async def test_every_cut_leaves_calls_with_their_results(memory: AsyncMemory, airline: list[Transcript]) -> None:
    """Consolidated after every message: in the live part and under each summary every call has its result."""
    for transcript in airline[:4]:
        for message in transcript.messages:
            await memory.conversational.append(transcript.name, [message])
            await memory.summarize_conversation(transcript.name)
        summaries = await memory.summary.list(transcript.name)
        assert summaries
        parts = [await originals(memory, summary.id, max_tokens=50_000) for summary in summaries]
        for part in [*parts, await live_messages(memory, transcript.name)]:
            facts = [parse(one.message) for one in part]
            assert all(pair.result is not None for pair in pairs(facts))
            assert sum(len(fact.calls) for fact in facts) == sum(len(fact.results) for fact in facts)
        await assert_whole(memory, transcript.name, transcript.messages)


def test_imported_files_come_back_exactly(
    database_url: str, folder: Path, airline: list[Transcript], coding: list[Transcript]
) -> None:
    with Memory.open(database_url) as memory:
        for file in sorted((folder / "swe-agent").glob("*.traj")):
            report = import_file(memory, file)
            assert (report.bad_count, report.skipped) == (0, 0)
        report = import_file(memory, folder / "tau-bench-airline.json", thread_id="airline")
        assert (report.bad_count, report.skipped, len(report.threads)) == (0, 0, len(airline))
        again = import_file(memory, folder / "tau-bench-airline.json", thread_id="airline")
        assert (again.added, again.skipped) == (0, report.messages)
        for transcript in [*airline[:SAMPLE], *coding]:
            found = memory.conversational.list(transcript.name, limit=1_000)
            assert [exactly(one.message) for one in found] == [exactly(one) for one in transcript.messages]
        assert memory.verify().ok
