"""Cutting numbered messages into chunks that a summariser can read: all of the text, nothing left off."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from ricordo.consolidation.source import Chunk, SourceMessage

OVERLAP = 20
"""A split message repeats one part in this many at each seam, so that a sentence on the seam is read whole."""

FRAME_TOKENS = 26
"""The most tokens that a message's number, time and role take in a prompt."""

_SMALL = 4
"""A last chunk that fills less than one part in this many of its budget is evened out with the one before it."""


@dataclass(frozen=True, slots=True)
class _Sized:
    """A message, or a part of one, with the tokens that it takes in a prompt."""

    message: SourceMessage
    size: int


def chunk(messages: Sequence[SourceMessage], *, budget: int, count: Callable[[str], int]) -> tuple[Chunk, ...]:
    """Return chunks that take at most `budget` tokens of a prompt, in order, and together hold all of the messages.

    A chunk ends before a user message where that leaves it at least half full, between messages otherwise. The last
    two are about equal where the last would be small. A message longer than the budget is split into overlapping
    parts under its number.
    """
    chunks: list[Sequence[_Sized]] = []
    held: list[_Sized] = []
    tokens = 0
    for part in _fitting(messages, budget, count):
        while held and tokens + part.size > budget:
            cut = _turn_start(held, budget, part.message.role)
            chunks.append(held[:cut])
            held = held[cut:]
            tokens = sum(kept.size for kept in held)
        held.append(part)
        tokens += part.size
    if chunks and tokens * _SMALL < budget:
        chunks[-1:] = _halves([*chunks[-1], *held], budget)
    elif held:
        chunks.append(held)
    return tuple(_chunk(parts) for parts in chunks)


def _chunk(parts: Sequence[_Sized]) -> Chunk:
    messages = tuple(part.message for part in parts)
    return Chunk(messages=messages, tokens=sum(message.tokens for message in messages))


def _turn_start(parts: Sequence[_Sized], budget: int, following: str) -> int:
    """Return how many messages to close: up to the last user message behind the middle, or all of them.

    A result's call stays with it, unless the call is all there is.
    """
    before = 0
    calls = [index for index, part in enumerate(parts) if part.message.role != "tool"]
    best = (calls[-1] if calls and following == "tool" else 0) or len(parts)
    for index, part in enumerate(parts):
        if part.message.role == "user" and before * 2 >= budget:
            best = index
        before += part.size
    return best


def _halves(parts: Sequence[_Sized], budget: int) -> tuple[Sequence[_Sized], Sequence[_Sized]]:
    """Cut where the larger half is smallest: before a user message if both halves fit then."""
    before = list(accumulate(part.size for part in parts))
    larger = {cut: max(before[cut - 1], before[-1] - before[cut - 1]) for cut in range(1, len(parts))}
    turns = [cut for cut in larger if parts[cut].message.role == "user" and larger[cut] <= budget]
    best = min(turns or larger, key=larger.__getitem__)
    return parts[:best], parts[best:]


def _fitting(messages: Sequence[SourceMessage], budget: int, count: Callable[[str], int]) -> Iterator[_Sized]:
    """Yield every message with its size, one that does not fit in parts."""
    for message in messages:
        size = count(message.text) + FRAME_TOKENS
        if size <= budget:
            yield _Sized(message, size)
        else:
            for text in split(message.text, budget - FRAME_TOKENS, count):
                tokens = count(text)
                yield _Sized(replace(message, text=text, tokens=tokens), tokens + FRAME_TOKENS)


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
