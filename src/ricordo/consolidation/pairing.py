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

from ricordo.consolidation.atoms.atom import Atom, plain
from ricordo.consolidation.atoms.compare import agree, comparable
from ricordo.consolidation.atoms.scan import Reading

_HOLDERS = frozenset({"name", "identifier"})
_VALUES = frozenset({"number", "date"})
_WORD_BEFORE = re.compile(r"([^\W\d_][\w-]*) \Z")
LONGEST_LABEL = 40
_SENTENCE = re.compile(r"[.!?](?=\s)|[;\n:](?=\s)")
_HEADER = re.compile(r"(?:\[[^\]\n]{1,40}\]\s?){1,3}")
"""The time and role before a message: they tie nothing."""

_CLAUSE = re.compile(r",\s|\s(?:and|but|while|whereas|or|e|ed|ma|mentre|o)\s")
_STRUCTURE = re.compile(r"[{}|\t<>=]|respectively|rispettivamente", re.IGNORECASE)
_PRONOUN = re.compile(
    r"\b(?:he|she|they|we|you|his|her|their|him|them|io|lui|lei|loro|noi|voi|suo|sua)\b"
    r"|\b(?-i:I)(?=['’]| (?:am|was|have|had|will|would|can|paid|pay|need|want|put|owe|get|got|took|spent)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Tie:
    """A figure or date, the names that own it (none where that is not told), and the capitalised word before it."""

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

    def __init__(self, reading: Reading, known: frozenset[str]) -> None:
        self.text = reading.text
        told = (atom for atom in reading.atoms if atom.kind in _HOLDERS | _VALUES)
        opening = (word for word in reading.openings if word.key in known or self._is_listed(word))
        self._atoms = sorted([*told, *opening], key=lambda atom: atom.start)
        self._starts = [atom.start for atom in self._atoms]
        self._values = [atom.start for atom in self._atoms if atom.kind in _VALUES]

    def _is_listed(self, word: Atom) -> bool:
        return self.text[max(0, word.start - 2) : word.start] in (": ", "; ")

    def spans(self, mark: re.Pattern[str], start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the stretches between marks that do not fall inside an atom."""
        first = start
        for match in mark.finditer(self.text, start, end):
            before = bisect_right(self._starts, match.start()) - 1
            if before < 0 or self._atoms[before].end <= match.start():
                yield first, match.end()
                first = match.end()
        yield first, end

    def has_value(self, start: int, end: int) -> bool:
        return bisect_left(self._values, start) < bisect_left(self._values, end)

    def clause(self, start: int, end: int) -> _Clause:
        inside = self._atoms[bisect_left(self._starts, start) : bisect_left(self._starts, end)]
        return _Clause(
            self.text[start:end],
            [atom for atom in inside if atom.kind in _HOLDERS],
            [atom for atom in inside if atom.kind in _VALUES],
        )


def ties(reading: Reading, known: frozenset[str] = frozenset()) -> tuple[Tie, ...]:
    """Return the figures and dates of a text in order, each with the names that own it.

    A word that opens a sentence is a name where it is among the `known` ones, or opens a list after ":" or ";".
    """
    found = _Found(reading, known)
    header = _HEADER.match(reading.text)
    start = header.end() if header else 0
    return tuple(
        tie
        for first, last in found.spans(_SENTENCE, start, len(reading.text))
        if found.has_value(first, last)
        for tie in _sentence(found, first, last)
    )


def contradictions(line: Sequence[Tie], sources: Sequence[Tie], mentioned: str) -> Iterator[tuple[Tie, str]]:
    """Yield the ties of a line that the source contradicts, each with the name that the source gives its value to.

    `mentioned` is the line's text: a name that stands in it is not another, unless the line ties it to its own value.
    """
    for tie in line:
        busy = owner_words(other for other in line if other is not tie and comparable(tie.value, other.value))
        said = words(mentioned) - (busy - owner_words([tie]))
        same, others = stating(tie.value, sources), _others(tie, sources)
        common = owner_words(same) & owner_words(others)
        telling = (owner_words([tie]) - common) & owner_words(others)
        if same and telling and all(_given_elsewhere(other, said, common) for other in same):
            yield tie, same[0].owners[0]


def stating(value: Atom, sources: Iterable[Tie]) -> list[Tie]:
    """Return the ties whose value states the given one, in order."""
    return [tie for tie in sources if tie.value.kind == value.kind and agree(value, tie.value)]


def words(text: str) -> frozenset[str]:
    """Return the words of a text without differences of case and accent."""
    return frozenset(re.findall(r"\w+", plain(text)))


def _given_elsewhere(tie: Tie, said: frozenset[str], common: frozenset[str]) -> bool:
    """Whether a tie has an owner, other than what owns everything, and the line mentions none of them."""
    owners = owner_words([tie]) - common
    return bool(owners) and said.isdisjoint(owners)


def _others(tie: Tie, sources: Iterable[Tie]) -> list[Tie]:
    """Return the ties of another value of the same sort to a name of the given tie."""
    owners = owner_words([tie])
    return [
        other
        for other in sources
        if comparable(tie.value, other.value)
        and not agree(tie.value, other.value)
        and not owners.isdisjoint(owner_words([other]))
    ]


def owner_words(sources: Iterable[Tie]) -> frozenset[str]:
    """Return the words of all names that own something."""
    return frozenset(word for tie in sources for owner in tie.owners for word in words(owner))


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
