"""The lines of a long text that a query points at, each with its neighbours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log

from ricordo.consolidation.atoms.atom import plain
from ricordo.tokens import count

LONGEST_LINE = 300
"""Characters of a line; a longer one, such as JSON without line breaks, is read in pieces of about this length."""

NEIGHBOURS = 1
"""Lines that are shown before and after a matching one."""

WEAKEST = 0.25
"""A line that scores less than this share of the best one holds common words of the query alone, and is no match."""

GAP = "…"
"""Stands where lines are left out between two that are shown."""

_PIECE = re.compile(rf".{{1,{LONGEST_LINE}}}(?:(?<=[\s,;])|$)|.{{1,{LONGEST_LINE}}}", re.DOTALL)
_WORD = re.compile(r"\w+")
_SHORT_WORD = 3


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The shown lines, the number of lines that match, and the rank of the first match that is not shown, if any."""

    text: str
    matches: int
    next: int | None


def excerpt(text: str, query: str, budget: int, *, skip: int = 0) -> Excerpt:
    """Return the best matching lines with their neighbours, in the order of the text, within a budget of tokens.

    A line matches by the words of the query that it holds, whatever their case and accents, the rarer the better; a
    word of more than three characters may be part of a longer one. An identifier such as `INV-7` counts as its parts
    and as a whole. `skip` passes over that many best matches, which an
    earlier excerpt has shown. At least one match is shown where there is one.
    """
    lines = list(_lines(text))
    ranked = _ranked([plain(line) for line in lines], plain(query))
    shown: set[int] = set()
    left = budget
    for rank, index in enumerate(ranked[skip:], skip):
        near = set(range(max(index - NEIGHBOURS, 0), min(index + NEIGHBOURS + 1, len(lines)))) - shown
        left -= sum(count(lines[one]) + 2 for one in near)
        if left < 0 and shown:
            return Excerpt(_joined(lines, shown), len(ranked), rank)
        shown |= near
    return Excerpt(_joined(lines, shown), len(ranked), None)


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.strip():
            yield from _PIECE.findall(line) if len(line) > LONGEST_LINE else (line,)


def _ranked(lines: Sequence[str], query: str) -> list[int]:
    """Return the indexes of the matching lines, the best first, the earlier first among equals."""
    words = dict.fromkeys([*_WORD.findall(query), *query.split()])
    holding = {word: _holding(lines, word) for word in words}
    scores: dict[int, float] = {}
    for indexes in holding.values():
        for index in indexes:
            scores[index] = scores.get(index, 0.0) + log((len(lines) + 1) / len(indexes))
    least = max(scores.values(), default=0.0) * WEAKEST
    telling = (index for index in scores if scores[index] >= least)
    return sorted(telling, key=lambda index: (-scores[index], index))


def _holding(lines: Sequence[str], word: str) -> list[int]:
    if len(word) > _SHORT_WORD:
        return [index for index, line in enumerate(lines) if word in line]
    whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
    return [index for index, line in enumerate(lines) if whole.search(line)]


def _joined(lines: Sequence[str], shown: set[int]) -> str:
    ordered = sorted(shown)
    parts: list[str] = []
    for before, index in zip([None, *ordered], ordered, strict=False):
        if before is not None and index != before + 1:
            parts.append(GAP)
        parts.append(lines[index])
    return "\n".join(parts)
