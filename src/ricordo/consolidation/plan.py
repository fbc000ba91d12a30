"""What a consolidation may take: a pure decision on the light facts of a thread's live messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from ricordo.config import Policy
from ricordo.messages import cut_positions, pairs, unanswered
from ricordo.types import Reason

_HELD_ROLES = frozenset({"system", "developer"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What the planner knows of a live message.

    `question` marks a message with words of the user, `calls` and `results` the ids of tool calls that it makes
    and answers.
    """

    seq: int
    role: str
    tokens: int
    pinned: bool = False
    question: bool = False
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()

    @property
    def answer(self) -> bool:
        """Whether the message closes a turn: the assistant speaks and calls no tool."""
        return self.role == "assistant" and not self.calls


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The messages of one leaf summary: `seqs` ascending, no row of another summary between them."""

    seqs: tuple[int, ...]
    tokens: int

    @property
    def first_seq(self) -> int:
        """The place of the oldest message taken."""
        return self.seqs[0]

    @property
    def last_seq(self) -> int:
        """The place of the newest message taken."""
        return self.seqs[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why there is nothing to do, decided before any model is asked."""

    reason: Reason
    detail: str


def plan(facts: Sequence[Fact], policy: Policy, *, keep_recent_tokens: int = 0) -> Plan | Refusal:
    """Choose the oldest stretch of live messages that is worth a summary, or say why there is none.

    A stretch leaves out system, developer and pinned messages and the newest user message that has no answer yet.
    It never holds a tool call without its results or the other way round (matched by id), leaves at least
    `keep_recent_tokens` of the newest messages verbatim, and has no message of another summary inside. A call
    without any result blocks what follows it until `policy.orphan_after_messages` messages have come. Linear in
    the number of facts.
    """
    held = _held(facts)
    if all(held):
        return Refusal(reason="nothing_to_summarize", detail="every live message is held: system, pinned or unanswered")
    allowed = _cuts(facts, policy)
    end = _recent_start(facts, keep_recent_tokens)
    runs = [_run(facts, held, allowed, start, min(stop, end)) for start, stop in _stretches(facts, held)]
    best = next((run for run in runs if run and run.tokens >= policy.minimum_source_tokens), None)
    return best or _refuse(runs, held, allowed, end)


def _held(facts: Sequence[Fact]) -> list[bool]:
    """Mark what stays live whatever happens, with the other side of its tool calls."""
    held = [fact.pinned or fact.role in _HELD_ROLES for fact in facts]
    for index in range(len(facts) - 1, -1, -1):
        if facts[index].answer:
            break
        if facts[index].question:
            held[index] = True
            break
    _hold_partners(held, [(call, result) for _, call, result in pairs(facts) if result is not None])
    return held


def _hold_partners(held: list[bool], links: Sequence[tuple[int, int]]) -> None:
    """Hold the other side of every held tool call or result, until nothing more follows."""
    split = [link for link in links if held[link[0]] != held[link[1]]]
    while split:
        for call, result in split:
            held[call] = held[result] = True
        split = [link for link in links if held[link[0]] != held[link[1]]]


def _cuts(facts: Sequence[Fact], policy: Policy) -> list[bool]:
    """Mark the positions where a stretch may begin or end.

    A young call without result forbids every position behind it: its result may still come.
    """
    allowed = cut_positions(facts)
    young = [index for index, _ in unanswered(facts) if len(facts) - 1 - index < policy.orphan_after_messages]
    if young:
        first = min(young)
        allowed[first + 1 :] = [False] * (len(allowed) - first - 1)
    return allowed


def _recent_start(facts: Sequence[Fact], keep_recent_tokens: int) -> int:
    """Return the position from which on messages stay verbatim."""
    if keep_recent_tokens <= 0:
        return len(facts)
    kept = accumulate(fact.tokens for fact in reversed(facts))
    return next((len(facts) - n for n, total in enumerate(kept, 1) if total >= keep_recent_tokens), 0)


def _stretches(facts: Sequence[Fact], held: Sequence[bool]) -> list[tuple[int, int]]:
    """Return the ranges of positions that no covered message and no waiting question interrupts.

    System and pinned messages stay for good, so a summary may reach over them. A held question is free one day,
    and its own summary must then not lie inside this one's range.
    """
    breaks = [0]
    for index, fact in enumerate(facts):
        if index and fact.seq != facts[index - 1].seq + 1:
            breaks.append(index)
        if held[index] and not fact.pinned and fact.role not in _HELD_ROLES:
            breaks += [index, index + 1]
    breaks.append(len(facts))
    return [(start, stop) for start, stop in pairwise(breaks) if start < stop]


def _run(facts: Sequence[Fact], held: Sequence[bool], allowed: Sequence[bool], start: int, stop: int) -> Plan | None:
    """Return the longest plan between two positions that begins and ends where a cut is allowed."""
    positions = [position for position in range(start, stop + 1) if allowed[position]]
    if not positions:
        return None
    taken = [facts[index] for index in range(positions[0], positions[-1]) if not held[index]]
    if not taken:
        return None
    return Plan(seqs=tuple(fact.seq for fact in taken), tokens=sum(fact.tokens for fact in taken))


def _refuse(runs: Sequence[Plan | None], held: Sequence[bool], allowed: Sequence[bool], end: int) -> Refusal:
    found = [run for run in runs if run]
    if found:
        tokens = max(run.tokens for run in found)
        return Refusal(reason="not_worthwhile", detail=f"{tokens} tokens are too few for a summary to be shorter")
    if all(held[:end]):
        return Refusal(reason="below_threshold", detail="all that could be taken is within the recent part to keep")
    return Refusal(reason="open_tool_call", detail="a tool call that has no result yet holds the rest back")
