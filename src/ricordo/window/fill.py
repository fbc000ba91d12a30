"""Filling a window: which items of which memory get into the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from ricordo.tokens import count
from ricordo.window.segments import Item, Segment, SegmentKind, render

REFERENCE_SHARE = 0.25
"""The part of a budget that references may take before the conversation has had its turn."""


def item(text: str) -> Item:
    """Return an item of this text with its tokens counted."""
    return Item(text=text, tokens=count(text) + 1)


def fill(
    question: str | None, conversation: Sequence[str], references: Sequence[str], budget: int, *, older: int = 0
) -> tuple[Segment, ...]:
    """Choose what a window of `budget` tokens shows: the question, then references, then the newest messages.

    `conversation` is oldest first, `references` newest first; both are shown oldest first, and the newest win.
    References take at most REFERENCE_SHARE of the budget unless the conversation leaves more. `older` counts the live
    messages before `conversation`. The rendered segments never have more than `budget` tokens.
    """
    asked = Segment(kind="question", items=(item(question),) if question else ())
    said = Segment(kind="conversational", items=tuple(item(text) for text in conversation), older=older)
    condensed = Segment(kind="summary", items=tuple(item(text) for text in reversed(references)))

    asked = _admit(asked, budget)
    left = budget - _cost(asked)
    first = _admit(condensed, min(left, int(budget * REFERENCE_SHARE)))
    said = _admit(said, left - _cost(first))
    condensed = _admit(condensed, left - _cost(said))
    return _trim([asked, said, condensed], budget)


def _admit(segment: Segment, budget: int) -> Segment:
    """Let in the newest items that fit, without a gap."""
    left = budget - _frame(segment.kind)
    admitted: list[Item] = []
    for candidate in reversed(segment.items):
        left -= candidate.tokens
        admitted.append(candidate if left < 0 else replace(candidate, included=True, reason="newest that fit"))
    return replace(segment, items=tuple(reversed(admitted)))


def _cost(segment: Segment) -> int:
    tokens = sum(one.tokens for one in segment.included)
    return tokens + _frame(segment.kind) if tokens else 0


@cache
def _frame(kind: SegmentKind) -> int:
    """Return the tokens of a segment's heading, description and note of what is left out, with the line before."""
    return count(Segment(kind=kind, items=(Item(text="", tokens=0, included=True),), older=10**6).render()) + 2


def _trim(segments: list[Segment], budget: int) -> tuple[Segment, ...]:
    """Drop oldest items while the whole text is above the budget: tokens across a line's end may differ by one."""
    while (text := render(segments)) and count(text) > budget:
        index = next(index for index in (1, 2, 0) if segments[index].included)
        segments[index] = _without_oldest(segments[index])
    return tuple(segments)


def _without_oldest(segment: Segment) -> Segment:
    oldest = next(index for index, one in enumerate(segment.items) if one.included)
    dropped = replace(segment.items[oldest], included=False, reason="over budget")
    return replace(segment, items=(*segment.items[:oldest], dropped, *segment.items[oldest + 1 :]))


def sizes(segments: Sequence[Segment]) -> dict[str, int]:
    """Return the tokens of each segment's rendered text; the blank lines between count with the later one."""
    totals = [count(render(segments[: index + 1])) for index in range(len(segments))]
    before = [0, *totals]
    return {
        segment.kind: total - before[index] for index, (segment, total) in enumerate(zip(segments, totals, strict=True))
    }
