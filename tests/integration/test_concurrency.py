"""Many writers, consolidators and readers of one thread; many tasks and threads of one memory."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import LiteralString

import psycopg
import pytest

from ricordo import AsyncMemory, Memory
from ricordo.consolidation.draft import Draft
from ricordo.consolidation.extractive import ExtractiveSummariser
from ricordo.consolidation.source import Chunk
from ricordo.errors import DatabaseError
from tests.integrity import assert_sound, assert_whole, everything
from tests.support import conversation, fill_thread
from tests.workers import CONDENSING, NO_PAUSE, Worker, batch, batches_of, consolidate_rest

WRITERS = 8
READERS = 2


@pytest.mark.parametrize("seconds", [5, pytest.param(60, marks=pytest.mark.slow)])
async def test_g4_processes_that_append_consolidate_and_read_one_thread_lose_and_double_nothing(
    memory: AsyncMemory, database_url: str, seconds: int
) -> None:
    lines = [f"append {NO_PAUSE} t w{number} 3 {seconds}" for number in range(WRITERS)]
    lines += [f"keep_consolidating {pause} t {seconds}" for pause in (NO_PAUSE, 0, 0.05, 0.2)]
    lines += [f"read {NO_PAUSE} t {seconds}"] * READERS
    # Longer than a dozen processes on two processors wait for each other, mostly.
    said = await (await Worker.start("crowd", database_url, *lines, lease_seconds="10")).end()
    appended: dict[str, list[tuple[int, int]]] = {f"w{number}": [] for number in range(WRITERS)}
    for _, writer, number, size in (words for words in said if words[0] == "appended"):
        appended[writer].append((int(number), int(size)))
    statuses = Counter(words[0] for words in said)
    print(dict(statuses))

    proof = await assert_sound(memory)
    assert proof.messages == sum(size for batches in appended.values() for _, size in batches)
    consolidated = [words for words in said if words[0] == "consolidated"]
    assert proof.covered == sum(int(words[1]) for words in consolidated)
    assert proof.summaries == len(consolidated) + sum(int(words[2]) for words in consolidated)
    messages = [one.message for one in await everything(memory, "t")]
    for writer, batches in appended.items():
        assert batches_of(messages, writer) == batches
    summaries = await memory.summary.list("t", limit=10_000)
    assert all((one.last_seq or 0) < (two.first_seq or 0) for one, two in pairwise(summaries))
    assert statuses["consolidated"]
    assert statuses["read"] >= READERS
    await consolidate_rest(memory, "t")


class Watching:
    """A summariser that looks, while it works, at what the server's other connections are doing."""

    name = "watching"
    window = 100_000

    def __init__(self, admin_url: str) -> None:
        self._admin_url = admin_url
        self._extractive = ExtractiveSummariser()
        self.seen: list[tuple[str, bool]] = []

    async def summarise(self, chunk: Chunk, *, budget: int) -> Draft:
        query = """
            SELECT state, xact_start IS NOT NULL FROM pg_stat_activity
            WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
        """
        async with await psycopg.AsyncConnection.connect(self._admin_url, autocommit=True) as connection:
            for _ in range(3):
                await asyncio.sleep(0.1)
                self.seen += await (await connection.execute(query)).fetchall()
        return await self._extractive.summarise(chunk, budget=budget)


TEXT = "\n\n".join(str(one["content"]) for one in conversation(4))
CALLS: dict[str, Callable[[AsyncMemory], Awaitable[object]]] = {
    "a thread": lambda memory: memory.summarize_conversation("t"),
    "a text": lambda memory: memory.summarize_context_window(
        "\n\n".join(str(one["content"]) for one in conversation(4))
    ),
    "references": lambda memory: memory.condense("t", budget=1),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
async def test_f21_no_transaction_is_open_during_a_model_call(
    database_url: str, admin_url: str, call: Callable[[AsyncMemory], Awaitable[object]]
) -> None:
    async with await AsyncMemory.open(database_url) as memory:
        for start in (0, 8, 16):
            await fill_thread(memory, "t", turns=4, start=start)
            if start < 16:
                await memory.summarize_conversation("t")
    watching = Watching(admin_url)
    async with await AsyncMemory.open(database_url, model=watching) as memory:
        await call(memory)
    assert watching.seen
    assert set(watching.seen) == {("idle", False)}


@pytest.fixture
def poisoned(admin_url: str) -> None:
    """The server refuses messages that hold the word poison, as it may refuse any statement."""
    run(admin_url, "ALTER TABLE ricordo.conversational_memory ADD CHECK (content !~ 'poison')")


def run(admin_url: str, statement: LiteralString) -> None:
    with psycopg.connect(admin_url) as connection:
        connection.execute(statement)


def backends(admin_url: str) -> list[int]:
    query = """
        SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
    """
    with psycopg.connect(admin_url) as connection:
        return [pid for (pid,) in connection.execute(query).fetchall()]


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize(("size", "key"), [(1, None), (5, None), (5, "k")])
async def test_f22_a_statement_that_fails_does_not_poison_the_next(
    database_url: str, admin_url: str, monkeypatch: pytest.MonkeyPatch, size: int, key: str | None
) -> None:
    monkeypatch.setenv("RICORDO_POOL_SIZE", "1")
    good, bad = batch("w", 0, size), [*batch("w", 1, size - 1), {"role": "user", "content": "poison"}]
    async with await AsyncMemory.open(database_url) as memory:
        await memory.conversational.append("t", good)
        before = backends(admin_url)
        for _ in range(7):
            with pytest.raises(DatabaseError, match="23514"):
                await memory.conversational.append("t", bad, key=key)
            await assert_whole(memory, "t", good)
        await memory.conversational.append("t", batch("w", 2, size), key=key)
        assert backends(admin_url) == before
        await assert_whole(memory, "t", [*good, *batch("w", 2, size)])


async def test_f22_a_commit_that_fails_leaves_the_thread_free_and_the_next_one_works(
    memory: AsyncMemory, admin_url: str
) -> None:
    await memory.conversational.append("t", conversation(4))
    run(admin_url, "ALTER TABLE ricordo.summary_memory ADD CONSTRAINT none CHECK (false)")
    with pytest.raises(DatabaseError, match="23514"):
        await memory.summarize_conversation("t")
    await assert_whole(memory, "t", conversation(4))
    run(admin_url, "ALTER TABLE ricordo.summary_memory DROP CONSTRAINT none")
    assert (await memory.summarize_conversation("t")).status == "consolidated"
    await assert_whole(memory, "t", conversation(4))


@pytest.mark.usefixtures("poisoned")
async def test_f27_tasks_that_share_a_memory_do_not_share_transactions(database_url: str) -> None:
    async with await AsyncMemory.open(database_url, policy=CONDENSING) as memory:

        async def write(number: int) -> bool:
            messages = batch(f"w{number}", number, 5)
            if number % 3 == 0:
                messages[-1] = {"role": "user", "content": "poison"}
            try:
                await memory.conversational.append("t", messages, key=str(number) if number % 2 else None)
            except DatabaseError:
                return False
            return True

        async def consolidate() -> None:
            for _ in range(8):
                await memory.summarize_conversation("t", 100)

        tasks = [write(number) for number in range(90)]
        *stored, _ = await asyncio.gather(*tasks, consolidate())
        assert stored == [number % 3 != 0 for number in range(90)]
        messages = [one.message for one in await everything(memory, "t")]
        assert len(messages) == 60 * 5
        for number in range(90):
            assert batches_of(messages, f"w{number}") == ([(number, 5)] if number % 3 else [])
        await assert_sound(memory)


@pytest.mark.usefixtures("poisoned")
def test_f27_threads_that_share_a_memory_do_not_share_transactions(database_url: str) -> None:
    with Memory.open(database_url) as memory, ThreadPoolExecutor(8) as pool:

        def write(number: int) -> str:
            messages = batch("w", number, 5)
            if number % 3 == 0:
                messages[-1] = {"role": "user", "content": "poison"}
            try:
                memory.conversational.append(f"t{number % 4}", messages)
            except DatabaseError as error:
                return error.code
            return memory.summarize_conversation(f"t{number % 4}").status

        said = list(pool.map(write, range(60)))
        assert [code == "database" for code in said] == [number % 3 == 0 for number in range(60)]
        assert "consolidated" in said
        proof = memory.verify()
        assert proof.ok, proof.faults
        assert proof.messages == 40 * 5
