"""Which figure or date belongs to whom: told from names and values that stand in one clause.

"Anna pays 300, Marco 500" ties 300 to Anna and 500 to Marco. The reading is cautious: structured text, pronouns and
clauses without a name tie nothing, and a line is only contradicted where the source ties its value to another name
and its name to another value.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ricordo.consolidation.atoms import Atom, atoms
from ricordo.consolidation.atoms.atom import plain
from ricordo.consolidation.atoms.index import agree, comparable

_HOLDERS = frozenset({"name", "identifier"})
_VALUES = frozenset({"number", "date"})
_WORD_BEFORE = re.compile(r"([^\W\d_][\w-]*) \Z")
LONGEST_LABEL = 40
_SENTENCE = re.compile(r"[.!?](?=\s)|[;\n:](?=\s)")
_CLAUSE = re.compile(r",\s|\s(?:and|but|while|whereas|or|e|ed|ma|mentre|o)\s")
_STRUCTURE = re.compile(r"[{}|\t<>=]|respectively|rispettivamente", re.IGNORECASE)
_PRONOUN = re.compile(
    r"\b(?:(?-i:I)|he|she|they|we|you|his|her|their|him|them|io|lui|lei|loro|noi|voi|suo|sua)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Tie:
    """A figure or date, the names that it belongs to (none where that is not told), and the capitalised word before it."""

    value: Atom
    owners: tuple[str, ...]
    label: str


@dataclass(frozen=True, slots=True)
class _Clause:
    text: str
    holders: list[Atom]
    values: list[Atom]

    @property
    def names_first(self) -> bool:
        return bool(self.holders) and (not self.values or self.holders[0].start < self.values[0].start)


class _Found:
    """The atoms of a text that can own or be owned, for looking up by position."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._atoms = [atom for atom in atoms(text) if atom.kind in _HOLDERS | _VALUES]
        self._starts = [atom.start for atom in self._atoms]

    def spans(self, mark: re.Pattern[str], start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the stretches between marks that do not fall inside an atom."""
        first = start
        for match in mark.finditer(self.text, start, end):
            before = bisect_right(self._starts, match.start()) - 1
            if before < 0 or self._atoms[before].end <= match.start():
                yield first, match.end()
                first = match.end()
        yield first, end

    def clause(self, start: int, end: int) -> _Clause:
        inside = self._atoms[bisect_left(self._starts, start) : bisect_left(self._starts, end)]
        return _Clause(
            self.text[start:end],
            [atom for atom in inside if atom.kind in _HOLDERS],
            [atom for atom in inside if atom.kind in _VALUES],
        )


def ties(text: str) -> tuple[Tie, ...]:
    """Return the figures and dates of a text in order, each with the names that own it."""
    found = _Found(text)
    return tuple(tie for start, end in found.spans(_SENTENCE, 0, len(text)) for tie in _sentence(found, start, end))


def contradictions(line: Sequence[Tie], sources: Sequence[Tie], mentioned: str) -> Iterator[tuple[Tie, str]]:
    """Yield the ties of a line that the source contradicts, each with the name that the source gives its value to.

    `mentioned` is the line's text: a name that stands in it anywhere is not another.
    """
    said = words(mentioned)
    for tie in line:
        same = stating(tie.value, sources)
        if same and tie.owners and _given_elsewhere(same, said) and _has_another(tie, sources):
            yield tie, same[0].owners[0]


def stating(value: Atom, sources: Iterable[Tie]) -> list[Tie]:
    """Return the ties whose value states the given one, in order."""
    return [tie for tie in sources if tie.value.kind == value.kind and agree(value, tie.value)]


def words(text: str) -> frozenset[str]:
    """Return the words of a text without differences of case and accent."""
    return frozenset(re.findall(r"\w+", plain(text)))


def _given_elsewhere(same: Iterable[Tie], said: frozenset[str]) -> bool:
    return all(tie.owners and said.isdisjoint(_owner_words(tie)) for tie in same)


def _has_another(tie: Tie, sources: Iterable[Tie]) -> bool:
    """Whether the source gives a name of the tie another value of the same sort."""
    return any(
        not _owner_words(tie).isdisjoint(_owner_words(other))
        and comparable(tie.value, other.value)
        and not agree(tie.value, other.value)
        for other in sources
    )


def _owner_words(tie: Tie) -> frozenset[str]:
    return frozenset(word for owner in tie.owners for word in words(owner))


def _sentence(found: _Found, start: int, end: int) -> Iterator[Tie]:
    carried: _Clause | None = None
    structured = bool(_STRUCTURE.search(found.text, start, end))
    for first, last in found.spans(_CLAUSE, start, end):
        clause = found.clause(first, last)
        owners = () if structured else tuple(holder.key for holder in _owners(clause, carried))
        yield from (Tie(value, owners, _label(found.text, value)) for value in clause.values)
        carried = clause if clause.holders else carried


def _label(text: str, value: Atom) -> str:
    before = _WORD_BEFORE.search(text, max(0, value.start - LONGEST_LABEL), value.start)
    return before[1] if before and before[1][0].isupper() else ""


def _owners(clause: _Clause, carried: _Clause | None) -> list[Atom]:
    """Return the names of a clause; a clause without one belongs to those before it, a pronoun to nobody known."""
    if _PRONOUN.search(clause.text):
        return []
    if not clause.holders:
        return carried.holders if carried else []
    if carried and carried.names_first and not clause.names_first:
        return [*clause.holders, *carried.holders]
    return clause.holders
