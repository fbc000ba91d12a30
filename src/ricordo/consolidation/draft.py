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

FULL_FORM_TOKENS = 120
"""A summary with a smaller budget has no room for empty sections: the four headings alone take 44 tokens."""


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


def render(lines: Iterable[Line], *, budget: int | None = None) -> str:
    """Return the summary's text: the four headings, each followed by its lines as a list.

    An open line ends with "(open)". A section without lines holds a single "(none)"; where the whole may have fewer
    than FULL_FORM_TOKENS tokens it is left out.
    """
    by_section: dict[Section, list[str]] = {section: [] for section in HEADINGS}
    for line in lines:
        by_section[line.section].append(f"- {line.text}{' (open)' if line.status == 'open' else ''}")
    empty = [] if budget is not None and budget < FULL_FORM_TOKENS else [EMPTY_SECTION]
    sections = {HEADINGS[section]: told or empty for section, told in by_section.items()}
    return "\n\n".join("\n".join([heading, *told]) for heading, told in sections.items() if told)
