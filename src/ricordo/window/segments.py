"""A window: the memories' parts of one prompt, under one budget, with a reason for all that is in or out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ricordo.stores.format import block, omission
from ricordo.types import Usage

SegmentKind: TypeAlias = Literal["question", "conversational", "summary"]

HEADINGS: dict[SegmentKind, str] = {
    "question": "# Question",
    "conversational": "## Conversation Memory",
    "summary": "## Summary Memory",
}
"""The published headings, in their published order."""

_BODIES: dict[SegmentKind, str] = {"conversational": "CONVERSATION HISTORY:", "summary": "AVAILABLE SUMMARIES:"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One line of a segment: its text, its tokens, whether it is in the window, and why or why not."""

    text: str
    tokens: int
    included: bool = False
    reason: str = "over budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One memory's part of a window; its items are in reading order.

    `older` counts what lies before the items and was not even considered.
    """

    kind: SegmentKind
    items: tuple[Item, ...]
    older: int = 0

    @property
    def included(self) -> tuple[Item, ...]:
        """The items that are in the window."""
        return tuple(item for item in self.items if item.included)

    def render(self) -> str:
        """Return the segment's text, or nothing where none of its items is in the window."""
        lines = [item.text for item in self.included]
        if not lines:
            return ""
        if self.kind == "question":
            return "\n".join([HEADINGS[self.kind], *lines])
        omitted = self.older + len(self.items) - len(lines)
        body = "\n".join([_BODIES[self.kind], *([omission(omitted)] if omitted else []), *lines])
        return f"{HEADINGS[self.kind]}\n{block(self.kind, body)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What a prompt shows of the memory: never more than `budget` tokens, every one of them accounted for."""

    segments: tuple[Segment, ...]
    budget: int
    usage: Usage

    def render(self) -> str:
        """Return the one-text form: the segments in their published order, a blank line between them."""
        return render(self.segments)

    @property
    def left_out(self) -> tuple[Item, ...]:
        """What did not fit, in reading order, each with its reason."""
        return tuple(item for segment in self.segments for item in segment.items if not item.included)


def render(segments: Sequence[Segment]) -> str:
    """Return the texts of the segments that show anything, a blank line between them."""
    return "\n\n".join(text for segment in segments if (text := segment.render()))
