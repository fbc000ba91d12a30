"""Processes of their own that use a memory while tests look on, kill them, or cut them off.

A worker reports each thing that it has done in a line on its standard output, after the call has returned: what was
reported must be there whatever happens next, and of what was not reported only one call can have taken effect.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import signal
import sys
import time
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

import psycopg

from ricordo import AsyncMemory, Policy
from ricordo.consolidation.draft import Draft
from ricordo.consolidation.expand import parse_id
from ricordo.consolidation.extractive import ExtractiveSummariser
from ricordo.consolidation.source import Chunk
from ricordo.tokens import count
from ricordo.types import RawMessage, Summary
from tests.integrity import assert_sound, originals
from tests.support import conversation

APPLICATION = "ricordo-worker"
LEASE_SECONDS = "1"
NO_PAUSE = -1
"""In place of a pause: the extractive summariser alone."""

CONDENSING = Policy(reference_percent=0.1)
"""256 tokens of gpt-5-mini's window: about five references, so that condensing is frequent."""

TURNS = 3
"""Turns that an agent at work appends at once."""


class Worker:
    """A running program of this module, seen from the test."""

    def __init__(self, process: Process) -> None:
        """Watch a process whose output is a pipe."""
        self._process = process
        self.said: list[list[str]] = []

    @classmethod
    async def start(cls, program: str, url: str, *args: object, lease_seconds: str = LEASE_SECONDS) -> Self:
        """Start a program and return when its memory is open."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.workers",
            url,
            program,
            *(str(arg) for arg in args),
            stdout=PIPE,
            stderr=STDOUT,
            cwd=Path(__file__).parent.parent,
            env={**os.environ, "PGAPPNAME": APPLICATION, "RICORDO_LEASE_SECONDS": lease_seconds},
        )
        worker = cls(process)
        assert await worker.listen() == ["open"]
        return worker

    async def listen(self) -> list[str]:
        """Return the words of the next report, or nothing at the end."""
        assert self._process.stdout
        line = (await self._process.stdout.readline()).decode()
        words = line.split() or ([""] if line else [])
        if words:
            self.said.append(words)
        return words

    async def kill(self) -> list[list[str]]:
        """Kill the process where it stands, and return all of its reports."""
        if self._process.returncode is None:
            self._process.kill()
        return await self._rest({0, -signal.SIGKILL})

    async def end(self) -> list[list[str]]:
        """Wait for the end of the program, which must be a good one, and return all of its reports."""
        return await self._rest({0})

    async def _rest(self, statuses: set[int]) -> list[list[str]]:
        while await self.listen():
            pass
        failure = next((place for place, words in enumerate(self.said) if words[0] == "Traceback"), None)
        assert failure is None, "\n".join(" ".join(words) for words in self.said[failure:][:50])
        assert await self._process.wait() in statuses
        return self.said[1:]


async def eventually(condition: Callable[[], Awaitable[bool]], seconds: float = 60.0) -> None:
    """Wait until the condition holds; raise TimeoutError if it does not in that time."""
    async with asyncio.timeout(seconds):
        # What is waited for happens in other processes, which set no event here.
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def disconnected(admin_url: str) -> None:
    """Wait until the server has noticed that the workers are gone, and is through with what they asked for."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND datname = current_database()"
    async with await psycopg.AsyncConnection.connect(admin_url, autocommit=True) as connection:

        async def reached() -> bool:
            return await (await connection.execute(query, [APPLICATION])).fetchone() == (0,)

        await eventually(reached)


async def consolidate_rest(memory: AsyncMemory, thread_id: str) -> None:
    """Consolidate what a process left that is gone, as soon as its lease is over; nothing stays live."""
    statuses: set[str] = set()

    async def reached() -> bool:
        statuses.add((await memory.summarize_conversation(thread_id)).status)
        return bool(statuses - {"busy"})

    await eventually(reached, 20)
    assert statuses <= {"busy", "consolidated", "nothing_to_summarize"}
    thread = await memory.conversational.thread(thread_id)
    assert thread is None or thread.live_messages == 0


class Pausing:
    """The extractive summariser behind a pause of random length, as a model has one; it reports begin and end."""

    name = "pausing"

    def __init__(self, pause: float) -> None:
        """Wait `pause` seconds at most."""
        self._extractive = ExtractiveSummariser()
        self._pause = pause
        self.window = self._extractive.window

    async def summarise(self, chunk: Chunk, *, budget: int) -> Draft:
        """Summarise after the pause."""
        report("drafting")
        await asyncio.sleep(random.uniform(0, self._pause))
        draft = await self._extractive.summarise(chunk, budget=budget)
        report("drafted")
        return draft


def report(*words: object) -> None:
    """Tell the test, at once and in one piece, whoever else reports on the same pipe."""
    os.write(1, f"{' '.join(map(str, words))}\n".encode())


def batch(writer: str, number: int, size: int) -> list[RawMessage]:
    """Return messages that say whose they are, which batch they belong to, their place in it, and its size."""
    told = "is done; the index took {} ms and Anna Ferrari checks it on 3 April."
    return [
        {"role": "assistant", "content": f"{writer} {number} {index} {size} {told.format(number * 7 + index)}"}
        for index in range(size)
    ]


def batches_of(messages: Iterable[RawMessage], writer: str) -> list[tuple[int, int]]:
    """Return number and size of a writer's batches in order; assert that each is whole and uninterrupted."""
    mine = [words[1:4] for message in messages if (words := str(message["content"]).split())[0] == writer]
    found: list[tuple[int, int]] = []
    while mine:
        number, _, size = mine[0]
        assert mine[: int(size)] == [[number, str(index), size] for index in range(int(size))]
        found.append((int(number), int(size)))
        mine = mine[int(size) :]
    return found


async def append(memory: AsyncMemory, thread_id: str, writer: str, largest: str, seconds: str) -> None:
    """Append batches of 1 to `largest` messages; a keyed call each second time."""
    end = time.monotonic() + float(seconds)
    number = 0
    while time.monotonic() < end:
        size = random.randint(1, int(largest))
        key = f"{writer} {number}" if number % 2 else None
        await memory.conversational.append(thread_id, batch(writer, number, size), key=key)
        report("appended", writer, number, size)
        number += 1


async def consolidate(memory: AsyncMemory, *threads: str) -> None:
    """Consolidate each thread once."""
    for thread_id in threads:
        result = await memory.summarize_conversation(thread_id)
        report("consolidated", thread_id, result.status, result.id)


async def keep_consolidating(memory: AsyncMemory, thread_id: str, seconds: str) -> None:
    """Consolidate one thread again and again, with a part of random size kept verbatim."""
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        result = await memory.summarize_conversation(thread_id, random.choice((0, 0, 200, 1_000)))
        report(result.status, result.num_messages_summarized, result.condensed)
        if result.status != "consolidated":
            await asyncio.sleep(random.uniform(0, 0.1))


async def read(memory: AsyncMemory, thread_id: str, seconds: str) -> None:
    """Read one thread in every way, and check each answer, while others write to it."""
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        assert (await memory.monitor(thread_id)).tokens >= 0
        await memory.conversational.read(thread_id)
        shown, summaries = await check_window(memory, thread_id)
        for summary in summaries[-2:]:
            found = await originals(memory, summary.id, max_tokens=5_000)
            assert len(found) == summary.message_count
        proof = await assert_sound(memory, thread_id)
        report("read", shown, len(summaries), proof.messages)


async def check_window(memory: AsyncMemory, thread_id: str) -> tuple[int, list[Summary]]:
    """Assert that a window lacks none of the messages before its newest: each is shown, or under a reference of it."""
    window = await memory.window(thread_id, budget=10_000_000)
    assert not window.left_out
    items = {segment.kind: segment.included for segment in window.segments}
    shown = {item.text.partition(": ")[2] for item in items["conversational"]}
    summaries = [await memory.summary.get(parse_id(item.text) or "") for item in items["summary"]]
    places = await places_of(memory, thread_id, shown)
    for summary in summaries:
        places |= set(range(summary.first_seq or 0, (summary.last_seq or 0) + 1))
    assert places == set(range(1, max(places, default=0) + 1))
    return len(shown), summaries


async def places_of(memory: AsyncMemory, thread_id: str, contents: set[str]) -> set[int]:
    """Return the places of the messages that have these contents, each of which occurs once."""
    found: dict[str, int] = {}
    before = None
    while len(found) < len(contents):
        page = await memory.conversational.list(thread_id, limit=500, before=before, include_covered=True)
        found |= {message.content: message.seq for message in page if message.content in contents}
        before = page[0].seq
    return set(found.values())


async def converse(memory: AsyncMemory, thread_id: str, start: str) -> None:
    """Append a conversation by TURNS, from a turn on, and consolidate it all the time: an agent at work."""
    for turn in range(int(start), 1_000_000, TURNS):
        await memory.conversational.append(thread_id, conversation(TURNS, start=turn))
        report("appended", turn)
        result = await memory.summarize_conversation(thread_id, 200)
        report(result.status, result.condensed)


PROGRAMS: Mapping[str, Callable[..., Awaitable[None]]] = {
    "append": append,
    "consolidate": consolidate,
    "keep_consolidating": keep_consolidating,
    "read": read,
    "converse": converse,
}


async def work(url: str, program: str, pause: str, *args: str) -> None:
    """Run a program on a memory of its own; a `pause` of a number of seconds stands for a model's."""
    model = None if float(pause) == NO_PAUSE else Pausing(float(pause))
    async with await AsyncMemory.open(url, model=model, policy=CONDENSING) as memory:
        report("open")
        await PROGRAMS[program](memory, *args)


def crowd(url: str, lines: Sequence[str]) -> int:
    """Run a program for each line, all at once, each in a process of its own; return 0 if all ended well."""
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=main, args=(url, *line.split())) for line in lines]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return max(abs(process.exitcode or 0) for process in processes)


def main(url: str, program: str, *args: str) -> int:
    """Run one program, or a crowd of them."""
    # The tokenizer is loaded at its first use, which takes longer than some tests.
    count("")
    if program == "crowd":
        return crowd(url, args)
    asyncio.run(work(url, program, *args))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
