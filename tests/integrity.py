"""What tests use to prove, without `verify`, that nothing was lost: all of a thread is read back and compared."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ricordo import AsyncMemory
from ricordo.types import Message, RawMessage, Verification


def exactly(value: object) -> str:
    """Return a text that differs for values of different types, key orders or characters."""
    return json.dumps(value)


async def live_messages(memory: AsyncMemory, thread_id: str) -> list[Message]:
    """Return all live messages of a thread in order, page by page."""
    found: list[Message] = []
    while True:
        page = await memory.conversational.list(thread_id, limit=200, before=found[0].seq if found else None)
        found = [*page, *found]
        if len(page) < 200:
            return found


async def originals(memory: AsyncMemory, summary_id: str, *, max_tokens: int) -> list[Message]:
    """Return all messages under a summary in order, page by page; one that is on several pages is given once."""
    found: list[Message] = []
    cursor = None
    while True:
        page = await memory.expand_summary(summary_id, depth="originals", cursor=cursor, max_tokens=max_tokens)
        assert page.found
        known = found[-1].seq if found else 0
        assert all(message.seq >= known for message in page.messages)
        found += [message for message in page.messages if message.seq > known]
        assert page.cursor != cursor or page.cursor is None
        cursor = page.cursor
        if cursor is None:
            return found


async def everything(memory: AsyncMemory, thread_id: str, *, max_tokens: int = 20_000) -> list[Message]:
    """Return all of a thread's messages in order, as its window gives them: the live ones and those to expand.

    No message comes twice, the live ones carry no summary's id and the others do.
    """
    live = await live_messages(memory, thread_id)
    assert all(message.summary_id is None for message in live)
    summaries = await memory.summary.list(thread_id, limit=10_000)
    covered: list[Message] = []
    for summary in summaries:
        under = await originals(memory, summary.id, max_tokens=max_tokens)
        assert len(under) == summary.message_count
        assert all(message.summary_id is not None for message in under)
        covered += under
    assert [message.seq for message in covered] == sorted({message.seq for message in covered})
    found = sorted([*live, *covered], key=lambda message: message.seq)
    assert [message.seq for message in found] == sorted({message.seq for message in found})
    return found


async def assert_sound(memory: AsyncMemory, thread_id: str | None = None) -> Verification:
    """Assert that `verify` finds nothing wrong, in a thread or anywhere, and return what it counted."""
    proof = await memory.verify(thread_id)
    assert proof.ok, proof.faults
    assert proof.messages == proof.live + proof.covered
    return proof


async def assert_whole(
    memory: AsyncMemory, thread_id: str, expected: Sequence[RawMessage], *, max_tokens: int = 20_000
) -> None:
    """Assert that a thread holds exactly these messages, in order, live or covered, and that `verify` proves it."""
    found = await everything(memory, thread_id, max_tokens=max_tokens)
    assert len(found) == len(expected)
    for message, original in zip(found, expected, strict=True):
        assert exactly(message.message) == exactly(original), (thread_id, message.seq)
    assert (await assert_sound(memory, thread_id)).messages == len(expected)
