"""The published text forms of the memories: what a prompt shows of each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from ricordo.types import Message

Kind: TypeAlias = Literal["conversational", "summary"]

NO_RESULT = "(no result)"
TIME_FORMAT = "%Y-%m-%d %H:%M:%S"

_FORGERY = re.compile(
    r"""^(?=\s{0,3}(?:
        \#{1,6}(?:\s|$)                            # a heading, which begins a segment
      | \[Summary\ ID:                             # a reference
      | \[\d{4}-\d\d-\d\d\ \d\d:\d\d:\d\d\]        # a line of a conversation
      | (?:MEMORY\ TYPE|DESCRIPTION|USAGE|CONVERSATION\ HISTORY|ORIGINAL\ MESSAGES):
    ))""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Descriptor:
    """How a memory introduces itself in a prompt."""

    name: str
    description: str
    usage: str


DESCRIPTORS: dict[Kind, Descriptor] = {
    "conversational": Descriptor(
        "Conversational Memory (episodic memory)",
        "What was said in this thread so far, in order.",
        "Use it to stay consistent with earlier turns and to resolve what the user refers to.",
    ),
    "summary": Descriptor(
        "Summary Memory (semantic memory)",
        "References to older stretches of this thread that were condensed; each opens again to its original messages.",
        "Read the descriptions, and call expand_summary(id) before you rely on a detail that only a summary holds.",
    ),
}


def block(kind: Kind, body: str) -> str:
    """Return a memory's text: its name, description and usage, then the body."""
    descriptor = DESCRIPTORS[kind]
    return (
        f"MEMORY TYPE: {descriptor.name}\n\nDESCRIPTION: {descriptor.description}\n\n"
        f"USAGE: {descriptor.usage}\n\n{body}"
    )


def quote(text: str, *, behind_prefix: bool = False) -> str:
    """Return stored text in which no line can pass for a heading, a reference or a message of its own.

    Such a line gets a leading backslash, as Markdown escapes it; all other text stays as it is. A first line that
    stands `behind_prefix` cannot pass for anything and is left alone.
    """
    lines = text.splitlines(keepends=True)
    kept, checked = (lines[:1], lines[1:]) if behind_prefix else ([], lines)
    return "".join([*kept, *(_FORGERY.sub("\\\\", line) for line in checked)])


def stamp(timestamp: datetime | None) -> str:
    """Return a timestamp in the published form, in UTC."""
    return timestamp.astimezone(UTC).strftime(TIME_FORMAT) if timestamp else "Unknown"


def conversation_line(message: Message) -> str:
    """Return `[time] role: content`."""
    return f"[{stamp(message.timestamp)}] {message.role}: {quote(message.content, behind_prefix=True)}"


def conversation_lines(messages: Iterable[Message]) -> str:
    """Return the messages' lines in order, or the mark for none."""
    return "\n".join(conversation_line(message) for message in messages) or NO_RESULT


def conversation(lines: str, *, older: int = 0) -> str:
    """Return the conversational memory's text; `older` live messages that are not shown are announced."""
    note = f"{omission(older)}\n" if older else ""
    return block("conversational", f"CONVERSATION HISTORY:\n{note}{lines}")


def omission(count: int) -> str:
    """Return the line that tells of what a segment leaves out."""
    return f"({count} older ones of this thread are not shown here)"


def originals(lines: str) -> str:
    """Return the text of messages that an expansion brings back."""
    return block("conversational", f"ORIGINAL MESSAGES:\n{lines}")
