"""What a consolidation may take: a pure decision on the light facts of a thread's live messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from ricordo.config import Policy
from ricordo.messages import Pair, cut_positions, pairs
from ricordo.types import Reason

_HELD_ROLES = frozenset({"system", "developer"})

REFERENCE_TOKENS = 45
"""Tokens of a reference line: 25 for the id and its frame, 20 for a description of 8 to 12 words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What the planner knows of a live message.

    `question` marks a message with words of the user, `calls` and `results` the ids of tool calls that it makes
    and answers, `tools` the names that its calls are for. `preview_tokens` counts what a window shows in its place.
    `silent` marks one of the assistant without words, such as its reasoning alone. `passed` marks one that a summary
    was already made of later messages than: it stays live, so that the ranges of summaries follow each other and any
    neighbours among them can be condensed.
    """

    seq: int
    role: str
    tokens: int
    pinned: bool = False
    passed: bool = False
    silent: bool = False
    question: bool = False
    calls: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    preview_tokens: int | None = None

    @property
    def window_tokens(self) -> int:
        """The tokens that it takes in a window."""
        return self.tokens if self.preview_tokens is None else self.preview_tokens

    @property
    def held(self) -> bool:
        """Whether it stays for good: a system, developer or pinned message, or one that was passed over."""
        return self.pinned or self.passed or self.role in _HELD_ROLES

    @property
    def answer(self) -> bool:
        """Whether the message can close a turn: the assistant says something and calls no tool."""
        return self.role == "assistant" and not self.calls and not self.silent


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The messages of one leaf summary: `seqs` ascending, no row of another summary between them.

    `tokens` counts the originals, `window_tokens` what a window shows of them.
    """

    seqs: tuple[int, ...]
    tokens: int
    window_tokens: int

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What the window should be at most after a consolidation, in tokens.

    `references` counts the lines of the thread's summaries, `overhead` what the window holds beside the thread.
    """

    tokens: int
    references: int = 0
    overhead: int = 0


def plan(
    facts: Sequence[Fact],
    policy: Policy,
    *,
    keep_recent_tokens: int = 0,
    keep_recent_turns: int = 0,
    target: Target | None = None,
) -> Plan | Refusal:
    """Choose the live messages to summarise, from the oldest on, or say why there are none.

    A plan leaves out system, developer and pinned messages and the newest user message that has no answer yet. It
    never holds a tool call without its results or the other way round (matched by id), leaves at least
    `keep_recent_tokens` and `keep_recent_turns` of the newest messages verbatim, or what the policy says where that is
    more. A call without any result blocks what follows it until
    `policy.orphan_after_messages` messages have come. With a `target` there is nothing to do at or below it, nor where
    what must stay is above it. Linear in the number of facts, but for chains of held calls.
    """
    found = pairs(facts)
    held = _held(facts, found)
    tokens, turns = max(keep_recent_tokens, policy.keep_recent_tokens), max(keep_recent_turns, policy.keep_recent_turns)
    end = recent_start(facts, tokens, turns)
    missed = _missed(facts, held, end, target) if target and facts else None
    if missed:
        return missed
    if all(held):
        return Refusal(reason="nothing_to_summarize", detail="every live message is held: system, pinned or unanswered")
    allowed = _cuts(facts, found, policy)
    run = _run(facts, held, allowed, end)
    return run if run and _is_worthwhile(run, policy) else _refuse(run, held, end)


def recent_start(facts: Sequence[Fact], tokens: int, turns: int) -> int:
    """Return the index from which on messages stay verbatim: the newest turns, and the newest tokens in a window.

    A turn begins with a message that holds words of the user. All messages stay where there are fewer turns.
    """
    return min(_newest_tokens(facts, tokens), _newest_turns(facts, turns))


def _newest_turns(facts: Sequence[Fact], turns: int) -> int:
    if turns <= 0:
        return len(facts)
    questions = [index for index, fact in enumerate(facts) if fact.question]
    return questions[-turns] if turns <= len(questions) else 0


def _newest_tokens(facts: Sequence[Fact], tokens: int) -> int:
    if tokens <= 0:
        return len(facts)
    kept = accumulate(fact.window_tokens for fact in reversed(facts))
    return next((len(facts) - n for n, total in enumerate(kept, 1) if total >= tokens), 0)


def _missed(facts: Sequence[Fact], held: Sequence[bool], end: int, target: Target) -> Refusal | None:
    """Say why a window cannot be brought to its target, or needs not."""
    used = target.overhead + target.references + sum(fact.window_tokens for fact in facts)
    if used <= target.tokens:
        detail = f"the window has {used} tokens, its target is {target.tokens}"
        return Refusal(reason="below_threshold", detail=detail)
    stays = [fact.window_tokens for index, fact in enumerate(facts) if held[index] or index >= end]
    floor = target.overhead + sum(stays) + REFERENCE_TOKENS
    if floor > target.tokens:
        detail = f"what must stay has {floor} tokens, the window's target is {target.tokens}"
        return Refusal(reason="floor_above_target", detail=detail)
    return None


def _is_worthwhile(run: Plan, policy: Policy) -> bool:
    gain = run.window_tokens - REFERENCE_TOKENS
    return run.tokens >= policy.minimum_source_tokens and gain >= policy.minimum_gain_tokens


def _held(facts: Sequence[Fact], found: Sequence[Pair]) -> list[bool]:
    """Mark what stays live whatever happens, with the other side of its tool calls."""
    held = [fact.held for fact in facts]
    question = _waiting(facts)
    if question is not None:
        held[question] = True
    _hold_partners(held, [(call, result) for _, call, result in found if result is not None])
    return held


def _waiting(facts: Sequence[Fact]) -> int | None:
    """Return the index of the newest user message that has no answer yet: nothing was said after the last tool."""
    working = False
    for index in range(len(facts) - 1, -1, -1):
        fact = facts[index]
        if fact.question:
            return index
        if fact.answer and not working:
            return None
        working = working or bool(fact.calls or fact.results)
    return None


def _hold_partners(held: list[bool], links: Sequence[tuple[int, int]]) -> None:
    """Hold the other side of every held tool call or result, until nothing more follows."""
    split = [link for link in links if held[link[0]] != held[link[1]]]
    while split:
        for call, result in split:
            held[call] = held[result] = True
        split = [link for link in links if held[link[0]] != held[link[1]]]


def _cuts(facts: Sequence[Fact], found: Sequence[Pair], policy: Policy) -> list[bool]:
    """Mark the positions where a plan may end.

    A young call without result forbids every position behind it: its result may still come.
    """
    allowed = cut_positions(facts, found)
    oldest = len(facts) - policy.orphan_after_messages
    young = [call for _, call, result in found if result is None and call >= oldest]
    if young:
        first = min(young)
        allowed[first + 1 :] = [False] * (len(allowed) - first - 1)
    return allowed


def _run(facts: Sequence[Fact], held: Sequence[bool], allowed: Sequence[bool], end: int) -> Plan | None:
    """Return the longest plan up to a position that ends where a cut is allowed, or None where it would be empty."""
    stop = max(position for position in range(end + 1) if allowed[position])
    taken = [fact for fact, is_held in zip(facts[:stop], held, strict=False) if not is_held]
    if not taken:
        return None
    return Plan(
        seqs=tuple(fact.seq for fact in taken),
        tokens=sum(fact.tokens for fact in taken),
        window_tokens=sum(fact.window_tokens for fact in taken),
    )


def _refuse(run: Plan | None, held: Sequence[bool], end: int) -> Refusal:
    if run:
        detail = f"{run.window_tokens} tokens of the window are too few for a summary to be shorter"
        return Refusal(reason="not_worthwhile", detail=detail)
    if all(held[:end]):
        return Refusal(reason="below_threshold", detail="all that could be taken is within the recent part to keep")
    return Refusal(reason="open_tool_call", detail="a tool call that has no result yet holds the rest back")
