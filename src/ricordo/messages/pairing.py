"""Which tool call is answered by which message: by id and in order, never by position."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple, Protocol


class Fact(Protocol):
    """What pairing must know of a message; `ricordo.messages.ParsedMessage` tells it."""

    @property
    def calls(self) -> Sequence[str]:
        """The ids of the tool calls that it makes, in order."""
        ...

    @property
    def results(self) -> Sequence[str]:
        """The ids of the tool calls that it answers, in order."""
        ...


class Pair(NamedTuple):
    """A tool call by its id, the index of the message that makes it, and of the one that answers it, if any."""

    id: str
    call: int
    result: int | None


def pairs(facts: Sequence[Fact]) -> list[Pair]:
    """Return every tool call of a sequence of messages, in order, with the message that answers it.

    A result answers the earliest call with its id that has no answer yet, in an earlier message or in its own. A
    result without such a call answers nothing, and an id may be used again. Linear in calls and results.
    """
    calls: list[tuple[str, int]] = []
    answers: dict[int, int] = {}
    waiting: defaultdict[str, deque[int]] = defaultdict(deque)
    for index, fact in enumerate(facts):
        for id in fact.calls:
            waiting[id].append(len(calls))
            calls.append((id, index))
        for id in fact.results:
            if waiting[id]:
                answers[waiting[id].popleft()] = index
    return [Pair(id, call, answers.get(place)) for place, (id, call) in enumerate(calls)]


def cut_positions(facts: Sequence[Fact], found: Sequence[Pair] | None = None) -> list[bool]:
    """Return, for each position from 0 to `len(facts)`, whether the messages may be cut before it.

    A position is False if a call before it is answered at or after it. A call without any result forbids nothing
    here; see `unanswered`. `found` are the messages' pairs, where they are known. Linear.
    """
    opened = [0] * (len(facts) + 1)
    for _, call, result in pairs(facts) if found is None else found:
        if result is not None:
            opened[call + 1] += 1
            opened[result + 1] -= 1
    return [count == 0 for count in accumulate(opened)]


def unanswered(facts: Sequence[Fact]) -> list[tuple[int, str]]:
    """Return the index of the message and the id of each call that has no result, in order."""
    return [(pair.call, pair.id) for pair in pairs(facts) if pair.result is None]
