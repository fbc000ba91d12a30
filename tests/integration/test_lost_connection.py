"""A connection that is cut at any message: never a wrong success, and nothing half done."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from itertools import count

import pytest
from psycopg.conninfo import make_conninfo

from ricordo import AsyncMemory
from ricordo.errors import DatabaseUnavailableError
from ricordo.types import RawMessage
from tests.integrity import assert_sound, assert_whole
from tests.proxy import Proxy, Rule, WireMessage, commits, confirms_commit, proxy
from tests.support import conversation, fill_thread
from tests.workers import APPLICATION, LEASE_SECONDS, batch, consolidate_rest, disconnected

Call = Callable[[AsyncMemory], Awaitable[object]]

TALK = conversation(3)


def append(thread_id: str, messages: Sequence[RawMessage], key: str | None = None) -> Call:
    return lambda memory: memory.conversational.append(thread_id, messages, key=key)


def consolidate(thread_id: str) -> Call:
    return lambda memory: memory.summarize_conversation(thread_id)


def note(answers: list[object], read: Call) -> Call:
    """Return a call that keeps the answer of another."""

    async def call(memory: AsyncMemory) -> None:
        answers.append(await read(memory))

    return call


@pytest.fixture(autouse=True)
def short_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_LEASE_SECONDS", LEASE_SECONDS)


@pytest.fixture
async def wire(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Proxy]:
    """A wire to the test's database; a memory on it has one connection at a time."""
    monkeypatch.setenv("RICORDO_POOL_SIZE", "1")
    async with proxy(make_conninfo(database_url, application_name=APPLICATION)) as standing:
        yield standing


class Cutting:
    """Calls whose connection is cut, each on a memory of its own."""

    def __init__(self, wire: Proxy, admin_url: str) -> None:
        self._wire = wire
        self._admin_url = admin_url
        self.cut = True

    async def succeeds(self, rule: Rule | int, *calls: Call) -> list[bool]:
        """Make calls in turn, the first cut before a message; return which succeeded.

        The only error that may come of it is DatabaseUnavailableError. `cut` tells whether the rule ever applied.
        """
        async with await AsyncMemory.open(self._wire.url) as memory:
            await memory.conversational.thread("this opens the connection")
            self._wire.cut_before(rule)
            said = [await self._succeeds(memory, call) for call in calls]
            self.cut = self._wire.disarm()
            await memory.conversational.thread("this opens another")
        await disconnected(self._admin_url)
        return said

    async def _succeeds(self, memory: AsyncMemory, call: Call) -> bool:
        try:
            await call(memory)
        except DatabaseUnavailableError:
            return False
        return True


@pytest.fixture
def cutting(wire: Proxy, admin_url: str) -> Cutting:
    return Cutting(wire, admin_url)


MOMENTS = [pytest.param(commits, id="before the commit"), pytest.param(confirms_commit, id="before the answer")]
STRIDES = [pytest.param(17, id="some messages"), pytest.param(1, id="every message", marks=pytest.mark.slow)]


async def count_messages(memory: AsyncMemory, thread_id: str) -> int:
    thread = await memory.conversational.thread(thread_id)
    return thread.messages if thread else 0


@pytest.mark.parametrize("rule", MOMENTS)
@pytest.mark.parametrize("size", [1, 5])
async def test_f19_an_append_that_is_cut_off_at_its_commit_fails_and_is_whole_or_never_was(
    memory: AsyncMemory, cutting: Cutting, rule: Rule, size: int
) -> None:
    messages = batch("w", 0, size)
    assert await cutting.succeeds(rule, append("t", messages)) == [False]
    await assert_whole(memory, "t", messages if rule is confirms_commit else [])


@pytest.mark.parametrize("rule", MOMENTS)
async def test_g7_a_keyed_append_that_is_repeated_after_a_lost_answer_is_stored_once(
    memory: AsyncMemory, cutting: Cutting, rule: Rule
) -> None:
    messages = batch("w", 0, 5)
    repeated = append("t", messages, "k")
    assert await cutting.succeeds(rule, repeated, repeated) == [False, True]
    await assert_whole(memory, "t", messages)


@pytest.mark.parametrize("rule", MOMENTS)
async def test_f19_a_consolidation_whose_commit_is_cut_off_fails_and_is_whole_or_never_was(
    memory: AsyncMemory, cutting: Cutting, rule: Rule
) -> None:
    await memory.conversational.append("t", TALK)
    inserted = False

    def after_insert(message: WireMessage) -> bool:
        nonlocal inserted
        inserted = inserted or b"INSERT INTO ricordo.summary_memory" in message.body
        return inserted and rule(message)

    assert await cutting.succeeds(after_insert, consolidate("t")) == [False]
    assert len(await memory.summary.list("t")) == (1 if rule is confirms_commit else 0)
    await assert_whole(memory, "t", TALK)
    await consolidate_rest(memory, "t")
    await assert_whole(memory, "t", TALK)
    assert len(await memory.summary.list("t")) == 1


@pytest.mark.parametrize("stride", STRIDES)
async def test_f19_an_append_that_is_cut_off_anywhere_is_whole_or_never_was(
    memory: AsyncMemory, cutting: Cutting, stride: int
) -> None:
    for size, key in ((1, None), (5, None), (5, "k")):
        messages = batch("w", 0, size)
        for number in count(0, stride):
            thread_id = f"{size} {key} {number}"
            (succeeded,) = await cutting.succeeds(number, append(thread_id, messages, key))
            stored = await count_messages(memory, thread_id)
            assert stored == size or (stored == 0 and not succeeded)
            if not cutting.cut:
                assert succeeded
                break
    await assert_sound(memory)


@pytest.mark.parametrize("stride", STRIDES)
async def test_f19_a_consolidation_that_is_cut_off_anywhere_is_whole_or_never_was(
    memory: AsyncMemory, cutting: Cutting, stride: int
) -> None:
    cuts = 0
    for cuts in count():
        thread_id = str(cuts)
        await memory.conversational.append(thread_id, TALK)
        (succeeded,) = await cutting.succeeds(cuts * stride, consolidate(thread_id))
        covered = (await assert_sound(memory, thread_id)).covered
        assert covered == len(TALK) or (covered == 0 and not succeeded)
        if not cutting.cut:
            assert succeeded
            break
    print(cuts, "cuts")
    for number in range(cuts):
        await consolidate_rest(memory, str(number))
        assert len(await memory.summary.list(str(number))) == 1
        await assert_whole(memory, str(number), TALK)


READS: list[Call] = [
    lambda memory: memory.window("t", "What about the budget?"),
    lambda memory: memory.monitor("t"),
    lambda memory: memory.conversational.list("t", include_covered=True),
    lambda memory: memory.conversational.search("budget"),
    lambda memory: memory.summary.list("t"),
    lambda memory: memory.verify(),
]


@pytest.mark.parametrize("stride", STRIDES)
async def test_a_reader_that_is_cut_off_gets_the_whole_answer_or_an_error(
    memory: AsyncMemory, cutting: Cutting, stride: int
) -> None:
    for start in (0, 3):
        await fill_thread(memory, "t", turns=3, start=start)
        await memory.summarize_conversation("t", 100)
    for read in READS:
        expected = await read(memory)
        answers: list[object] = []
        for number in count(0, stride):
            await cutting.succeeds(number, note(answers, read))
            if not cutting.cut:
                break
        assert answers
        assert all(answer == expected for answer in answers)
