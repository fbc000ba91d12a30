"""Cutting numbered messages into chunks that a summariser can read: all of the text, nothing left off."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ricordo.consolidation.source import Chunk, SourceMessage

OVERLAP = 20
"""A split message repeats one part in this many at each seam, so that a sentence on the seam is read whole."""


def chunk(messages: Sequence[SourceMessage], *, budget: int, count: Callable[[str], int]) -> tuple[Chunk, ...]:
    """Return chunks of at most `budget` tokens, in order, that together hold all of the messages.

    A chunk ends before a user message where that leaves it at least half full, between messages otherwise. A
    message longer than the budget is split into overlapping parts under its number.
    """
    chunks: list[Chunk] = []
    held: list[SourceMessage] = []
    tokens = 0
    for message in _fitting(messages, budget, count):
        while held and tokens + message.tokens > budget:
            cut = _turn_start(held, budget)
            chunks.append(_chunk(held[:cut]))
            held = held[cut:]
            tokens -= chunks[-1].tokens
        held.append(message)
        tokens += message.tokens
    return (*chunks, _chunk(held)) if held else tuple(chunks)


def _chunk(messages: Sequence[SourceMessage]) -> Chunk:
    return Chunk(messages=tuple(messages), tokens=sum(message.tokens for message in messages))


def _turn_start(messages: Sequence[SourceMessage], budget: int) -> int:
    """Return how many messages to close: up to the last user message behind the middle, or all of them."""
    before = 0
    best = len(messages)
    for index, message in enumerate(messages):
        if message.role == "user" and before * 2 >= budget:
            best = index
        before += message.tokens
    return best


def _fitting(messages: Sequence[SourceMessage], budget: int, count: Callable[[str], int]) -> Iterator[SourceMessage]:
    for message in messages:
        if message.tokens <= budget:
            yield message
        else:
            yield from (replace(message, text=part, tokens=count(part)) for part in split(message.text, budget, count))


def split(text: str, budget: int, count: Callable[[str], int]) -> Iterator[str]:
    """Return overlapping parts of a text of at most `budget` tokens each, which together are all of it."""
    start = 0
    size = max(budget, 1)
    while start < len(text):
        end = min(start + size * 4, len(text))
        while end - start > 1 and count(text[start:end]) > budget:
            end = start + (end - start) * 3 // 4
        end = _at_space(text, start, end)
        yield text[start:end]
        start = end if end == len(text) else max(_at_space(text, start, end - (end - start) // OVERLAP), start + 1)


def _at_space(text: str, start: int, end: int) -> int:
    """Move an end back to behind the last white space, if there is one in the second half."""
    if end == len(text):
        return end
    space = max(text.rfind(" ", start, end), text.rfind("\n", start, end))
    return space + 1 if space > (start + end) // 2 else end
