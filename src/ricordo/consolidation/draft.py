"""A summary before it is stored: cited lines under four headings, and a short description."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ricordo.types import LineStatus, Section

HEADINGS: dict[Section, str] = {
    "technical": "### Technical Information",
    "emotional": "### Emotional Context",
    "entities": "### Entities & References",
    "actions": "### Action Items & Decisions",
}
"""The published headings, in their published order."""

EMPTY_SECTION = "- (none)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One statement of a summary: a single line of text, and the numbers of the messages that it rests on."""

    section: Section
    text: str
    sources: tuple[int, ...]
    status: LineStatus = "confirmed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a summariser returns for one chunk: a description of 8 to 12 words, and lines in reading order."""

    description: str
    lines: tuple[Line, ...]


def render(lines: Iterable[Line]) -> str:
    """Return the summary's text: the four headings, each followed by its lines as a list.

    An open line ends with "(open)". A section without lines holds a single "(none)".
    """
    by_section: dict[Section, list[str]] = {section: [] for section in HEADINGS}
    for line in lines:
        by_section[line.section].append(f"- {line.text}{' (open)' if line.status == 'open' else ''}")
    return "\n\n".join(
        "\n".join([heading, *(by_section[section] or [EMPTY_SECTION])]) for section, heading in HEADINGS.items()
    )
