"""A conversation as every provider accepts it: each tool call answered once and at once, nothing answered twice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Literal, TypeAlias

from ricordo.messages.pairing import pairs
from ricordo.messages.parse import ParsedMessage, read
from ricordo.messages.parts import Call, Part, Reasoning, Result, Text

NO_RESULT = "No result was recorded for this tool call."
"""What a view says in place of a result that storage does not have."""

SHARED_RESULT = "This call was answered together with the one before it."
"""What a view says where one stored result answers several calls."""

Speaker: TypeAlias = Literal["system", "user", "assistant"]

_PORTABLE_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_SPEAKERS: dict[str, Speaker] = {"system": "system", "developer": "system", "assistant": "assistant"}


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one call; `id` is the call's id in the view."""

    id: str
    parts: tuple[Part, ...]
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker says, and the answers to its tool calls in their order; the answers' ids are the calls'.

    `role` is as it was given. A call that its provider runs has its result among the parts.
    """

    speaker: Speaker
    role: str
    name: str | None
    parts: tuple[Part, ...]
    answers: tuple[Answer, ...] = ()


@dataclass(frozen=True, slots=True)
class _Step:
    """One part of a conversation as pairing sees it."""

    calls: tuple[str, ...]
    results: tuple[str, ...]


class _ViewIds:
    """The ids of one view: each as it was, if every provider takes it and it is new, or else one derived from it."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._attempts: Counter[str] = Counter()

    def choose(self, id: str) -> str:
        """Return the id in the view of the next call that has this id in storage."""
        chosen = id
        while chosen in self._taken or not _PORTABLE_ID.fullmatch(chosen):
            self._attempts[id] += 1
            seed = f"{self._attempts[id]}:{id}".encode("utf-8", "surrogatepass")
            chosen = f"call_{sha256(seed).hexdigest()[:24]}"
        self._taken.add(chosen)
        return chosen


def turns(messages: Sequence[ParsedMessage | Mapping[str, Any]]) -> list[Turn]:
    """Return a conversation's turns, in order.

    A result stands with its call wherever it came; a call without one is answered by `NO_RESULT`; a result without
    a call is left out. Neighbouring calls, and reasoning and what follows it, are one turn.
    An id that is used twice, or that a provider would refuse, is replaced in call and answer alike. Raises
    InvalidMessageError as `parse` does.
    """
    raws = [message.message if isinstance(message, ParsedMessage) else message for message in messages]
    spoken = [(raw, *read(raw)) for raw in raws]
    results = _results([part for _, _, parts in spoken for part in parts])
    ids = _ViewIds()
    found: list[Turn] = []
    last = -1
    for index, (raw, role, parts) in enumerate(spoken):
        turn = _turn(raw, role, parts, results, ids)
        if not turn.parts:
            continue
        if last == index - 1 and found and _belong_together(found[-1], turn):
            turn = replace(turn, parts=found[-1].parts + turn.parts, answers=found.pop().answers + turn.answers)
        found.append(turn)
        last = index
    return found


def _results(parts: Sequence[Part]) -> Iterator[tuple[tuple[Part, ...], bool]]:
    """Yield, for each call in order, the parts of its result and whether it failed."""
    given: set[int] = set()
    for pair in pairs([_step(part) for part in parts]):
        result = None if pair.result is None else parts[pair.result]
        if not isinstance(result, Result) or pair.result is None:
            yield (Text(NO_RESULT),), True
        elif pair.result in given:
            yield (Text(SHARED_RESULT),), result.failed
        else:
            given.add(pair.result)
            yield result.parts, result.failed


def _step(part: Part) -> _Step:
    return _Step((part.id,) if isinstance(part, Call) else (), part.ids if isinstance(part, Result) else ())


def _turn(
    raw: Mapping[str, Any],
    role: str,
    parts: tuple[Part, ...],
    results: Iterator[tuple[tuple[Part, ...], bool]],
    ids: _ViewIds,
) -> Turn:
    """Return one message as a turn; without parts where it holds nothing but results of earlier calls."""
    kept: list[Part] = []
    answers: list[Answer] = []
    for part in parts:
        if isinstance(part, Call):
            words, failed = next(results)
            if not part.hosted:
                part = replace(part, id=ids.choose(part.id))
                answers.append(Answer(part.id, words, failed))
        if not isinstance(part, Result) or part.hosted:
            kept.append(part)
    speaker = "assistant" if answers else _SPEAKERS.get(role, "user")
    return Turn(speaker, role, _name(raw, role), tuple(kept), tuple(answers))


def _name(raw: Mapping[str, Any], role: str) -> str | None:
    """Return the speaker's name; a tool message and an item such as `function_call` have a tool's name there."""
    name = raw.get("name")
    named = isinstance(name, str) and role not in {"tool", "function"} and raw.get("type") in {None, "message"}
    return name or None if named else None


def _belong_together(first: Turn, second: Turn) -> bool:
    """Return whether two neighbouring turns are one answer of the model, stored in pieces.

    That is so after reasoning, and where calls follow a call. Words after a call are a turn of their own: the
    call's result stands before them.
    """
    if first.speaker != "assistant" or second.speaker != "assistant":
        return False
    if first.answers:
        return bool(second.answers)
    return any(isinstance(part, Reasoning) or (isinstance(part, Call) and part.hosted) for part in first.parts)
