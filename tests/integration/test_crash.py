"""Kill -9 of a client or of the server: nothing is lost, doubled or half done, and the next one goes on."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from ricordo import AsyncMemory
from ricordo.database.embedded import EmbeddedServer
from ricordo.errors import DatabaseUnavailableError
from tests.integrity import assert_sound, assert_whole, everything
from tests.support import conversation
from tests.workers import (
    CONDENSING,
    LEASE_SECONDS,
    NO_PAUSE,
    TURNS,
    Worker,
    batch,
    batches_of,
    consolidate_rest,
    disconnected,
    eventually,
)


def kills(few: int, many: int) -> pytest.MarkDecorator:
    """Run a test with a few kills always, and with many where slow tests are asked for."""
    return pytest.mark.parametrize("kills", [few, pytest.param(many, marks=pytest.mark.slow)])


@pytest.fixture
def rng() -> random.Random:
    """Random numbers of this run's own, from a seed that a failing test shows."""
    seed = random.randrange(2**32)
    print(f"random.Random({seed})")
    return random.Random(seed)


@pytest.fixture(autouse=True)
def short_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_LEASE_SECONDS", LEASE_SECONDS)


def held_threads(admin_url: str) -> set[str]:
    """Return the threads whose lease was not given back."""
    with psycopg.connect(admin_url) as connection:
        rows = connection.execute("SELECT thread_id FROM ricordo.thread WHERE lease_token IS NOT NULL").fetchall()
    return {thread_id for (thread_id,) in rows}


class Killing:
    """Rounds of: some threads, a process that consolidates them, its end in the middle, and what is then there."""

    def __init__(self, memory: AsyncMemory, url: str, admin_url: str, rng: random.Random) -> None:
        self._memory = memory
        self._url = url
        self._admin_url = admin_url
        self._rng = rng
        self.moments: Counter[str] = Counter()

    async def round(self, number: int) -> None:
        threads = {f"{number}-{place}": conversation(3, start=10 * number + place) for place in range(4)}
        for thread_id, messages in threads.items():
            await self._memory.conversational.append(thread_id, messages)
        said = await self._killed(0.03 if number % 2 else NO_PAUSE, [*threads])
        await disconnected(self._admin_url)
        await assert_sound(self._memory)
        for thread_id, messages in threads.items():
            await assert_whole(self._memory, thread_id, messages)
        for _, thread_id, _, summary_id in (words for words in said if words[0] == "consolidated"):
            assert [one.id for one in await self._memory.summary.list(thread_id)] == [summary_id]
        held = held_threads(self._admin_url) & threads.keys()
        self.moments[await self._moment(held)] += 1
        for thread_id in threads:
            await consolidate_rest(self._memory, thread_id)
        for thread_id in held:
            await assert_whole(self._memory, thread_id, threads[thread_id])

    async def _killed(self, pause: float, threads: Sequence[str]) -> list[list[str]]:
        """Let a process work on the threads and kill it a random instant after one of its reports."""
        worker = await Worker.start("consolidate", self._url, pause, *threads)
        for _ in range(self._rng.randrange(len(threads) if pause == NO_PAUSE else 3 * len(threads))):
            await worker.listen()
        await asyncio.sleep(self._rng.choice([0, self._rng.uniform(0, 0.02), self._rng.uniform(0, 0.08)]))
        return await worker.kill()

    async def _moment(self, held: set[str]) -> str:
        if not held:
            return "without a lease"
        (thread_id,) = held
        return "after the commit" if await self._memory.summary.list(thread_id) else "before the commit"


@kills(6, 200)
async def test_f19_a_killed_consolidation_is_whole_or_never_was(
    memory: AsyncMemory, database_url: str, admin_url: str, rng: random.Random, kills: int
) -> None:
    killing = Killing(memory, database_url, admin_url, rng)
    for number in range(kills):
        await killing.round(number)
    print(kills, "kills:", dict(killing.moments))
    assert killing.moments["before the commit"]


@kills(3, 60)
async def test_a_killed_writer_leaves_whole_batches_and_all_that_it_reported(
    memory: AsyncMemory, database_url: str, admin_url: str, rng: random.Random, kills: int
) -> None:
    appended = 0
    for number in range(kills):
        worker = await Worker.start("append", database_url, NO_PAUSE, "t", f"w{number}", 400, 60)
        for _ in range(rng.randrange(6)):
            await worker.listen()
        await asyncio.sleep(rng.uniform(0, 0.05))
        said = await worker.kill()
        await disconnected(admin_url)
        reported = [(int(words[2]), int(words[3])) for words in said]
        found = batches_of([one.message for one in await everything(memory, "t")], f"w{number}")
        assert found[: len(reported)] == reported
        assert len(found) - len(reported) in (0, 1)
        appended += len(found)
        await assert_sound(memory)
        await memory.summarize_conversation("t")
    print(kills, "kills,", appended, "batches")
    assert appended


@kills(3, 60)
async def test_a_killed_agent_goes_on_where_it_was(
    database_url: str, admin_url: str, rng: random.Random, kills: int
) -> None:
    """Killed while it appends, consolidates and condenses; the next process goes on with the same thread."""
    turns = condensed = 0
    async with await AsyncMemory.open(database_url, policy=CONDENSING) as memory:
        for _ in range(kills):
            worker = await Worker.start("converse", database_url, NO_PAUSE, "t", turns)
            for _ in range(rng.randrange(1, 16)):
                await worker.listen()
            await asyncio.sleep(rng.uniform(0, 0.05))
            said = await worker.kill()
            await disconnected(admin_url)
            reported = [int(words[1]) for words in said if words[0] == "appended"]
            condensed += sum(int(words[1]) for words in said if words[0] == "consolidated")
            assert reported == [turns + TURNS * place for place in range(len(reported))]
            thread = await memory.conversational.thread("t")
            stored = thread.messages // 2 if thread else 0
            assert stored - (turns + TURNS * len(reported)) in (0, TURNS)
            turns = stored
            await assert_whole(memory, "t", conversation(turns))
        await consolidate_rest(memory, "t")
        await assert_whole(memory, "t", conversation(turns))
    print(kills, "kills,", turns, "turns,", condensed, "parents")
    assert condensed


class Writer:
    """Appends batches while the server is killed, and knows which of them must be there afterwards."""

    def __init__(self, name: str, *, keyed: bool) -> None:
        self.name = name
        self.stored: set[int] = set()
        self.unknown: set[int] = set()
        self.stopped = False
        self._keyed = keyed

    async def write(self, memory: AsyncMemory, thread_id: str) -> None:
        """Append until stopped: a keyed batch again and again until it is stored, another once."""
        number = 0
        while not self.stopped:
            key = f"{self.name} {number}" if self._keyed else None
            try:
                await memory.conversational.append(thread_id, batch(self.name, number, 1 + number % 20), key=key)
            except DatabaseUnavailableError:
                if self._keyed:
                    continue
                self.unknown.add(number)
            else:
                self.stored.add(number)
            number += 1

    async def consolidate(self, memory: AsyncMemory, thread_id: str) -> None:
        """Consolidate until stopped."""
        while not self.stopped:
            with suppress(DatabaseUnavailableError):
                await memory.summarize_conversation(thread_id, 200)
            await asyncio.sleep(0.02)


async def progress(writers: Sequence[Writer]) -> None:
    """Wait until each writer has stored some more."""
    goals = [len(writer.stored) + 5 for writer in writers]

    async def reached() -> bool:
        return all(len(writer.stored) >= goal for writer, goal in zip(writers, goals, strict=True))

    await eventually(reached)


@kills(2, 15)
async def test_a_killed_server_loses_nothing_that_it_confirmed(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch, rng: random.Random, kills: int
) -> None:
    monkeypatch.setenv("RICORDO_EMBEDDED_GRACE", "0.3")
    server = EmbeddedServer(open_folder / f"killed-{kills}")
    writers = [Writer(f"w{number}", keyed=number % 2 == 0) for number in range(4)]
    async with await AsyncMemory.open(data_dir=server.status().data_dir) as memory, asyncio.TaskGroup() as tasks:
        for writer in writers:
            tasks.create_task(writer.write(memory, "t"))
        tasks.create_task(writers[0].consolidate(memory, "t"))
        for _ in range(kills):
            await progress(writers)
            await asyncio.sleep(rng.uniform(0, 0.2))
            os.kill(postmaster_pid(server), signal.SIGKILL)
        await progress(writers)
        for writer in writers:
            writer.stopped = True
    async with await AsyncMemory.open(data_dir=server.status().data_dir) as memory:
        proof = await assert_sound(memory)
        messages = [one.message for one in await everything(memory, "t")]
    await asyncio.to_thread(server.stop)
    for writer in writers:
        found = [number for number, _ in batches_of(messages, writer.name)]
        assert found == sorted(set(found))
        assert writer.stored <= set(found) <= writer.stored | writer.unknown
    lost_answers = sum(len(writer.unknown) for writer in writers)
    print(kills, "kills,", len(messages), "messages,", proof.summaries, "summaries,", lost_answers, "lost answers")


def postmaster_pid(server: EmbeddedServer) -> int:
    pid = server.status().pid
    assert pid
    return pid
