"""Which atoms a set of texts states, whatever form they are written in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Self

from ricordo.consolidation.atoms.atom import Atom, AtomKind, fold, plain
from ricordo.consolidation.atoms.names import GIVEN_NAMES
from ricordo.consolidation.atoms.numbers import WORDS
from ricordo.consolidation.atoms.scan import atoms

_LETTERS = re.compile(r"[^\W\d_]+")
_CAMEL_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_]+")
_CLOCK_POINT = re.compile(r"([01]?\d|2[0-3])\.([0-5]\d)")
_DAY_MONTH = re.compile(r"(\d{1,2})/(\d{1,2})")
_SHORTEST_PREFIX = 5
_SHORTEST_SIMILAR = 4
_SHORTEST_SPACED = 5
_SHORTEST_ACRONYM = 3
_ABBREVIATED_HASH = re.compile(r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,40}")


@dataclass(frozen=True, slots=True)
class _Text:
    """What one text states."""

    folded: str
    words: frozenset[str]
    names: frozenset[str]
    initials: frozenset[str]
    values: dict[str, set[str]]
    dates: frozenset[str]


class AtomIndex:
    """The atoms of some texts, for asking whether an atom of another text is among them.

    Comparison is lenient in form and strict in substance: "1.500 €" states "EUR 1,500", "12 March" states
    "2026-03-12", "Rossi" states "Anna Rossi's"; 400 is not in 1400, nor 3 in 3.5, nor "400 USD" in "400 EUR".
    """

    __slots__ = ("_texts",)

    def __init__(self, texts: Iterable[str]) -> None:
        """Read the texts once; asking then takes time that grows with their number, not with their length."""
        self._texts = tuple(_read(text) for text in texts)

    @classmethod
    def union(cls, indexes: Iterable[AtomIndex]) -> Self:
        """Return an index of all texts of some indexes, without reading them again."""
        union = cls(())
        union._texts = tuple(text for index in indexes for text in index._texts)
        return union

    def contains(self, atom: Atom) -> bool:
        """Whether the texts state the atom: in the same words, or in another form of the same thing."""
        return _FORMS[atom.kind](self, atom) or self._verbatim(atom)

    def resembled(self, name: Atom) -> str | None:
        """Return a name of the texts that a word misspells or replaces by a similar one, or None.

        Similar means a ratio of at least 0.75 in the sense of `difflib` between words of four letters or more.
        """
        word = name.key
        if len(word) < _SHORTEST_SIMILAR or self._word(word):
            return None
        known = {other for text in self._texts for other in text.names if other[0] == word[0]}
        return next(iter(get_close_matches(word, sorted(known), n=1, cutoff=0.75)), None)

    def _verbatim(self, atom: Atom) -> bool:
        written = fold(atom.text)
        return any(_occurs(text.folded, written, _EDGES[atom.kind]) for text in self._texts) or self._spaced(written)

    def _spaced(self, written: str) -> bool:
        """Whether a long run of digits occurs with other spacing, as telephone numbers do."""
        if len(written) < _SHORTEST_SPACED or not written.isdecimal():
            return False
        digits = re.compile(rf"(?<![\d.,])(?:\d+[ -])*?{'[ -]?'.join(written)}(?![.,]?\d)")
        return any(digits.search(text.folded) for text in self._texts)

    def _number(self, atom: Atom) -> bool:
        return any(self._value(*reading.split(" ", 1)) for reading in atom.readings) or (
            bool(clock := _CLOCK_POINT.fullmatch(atom.text)) and self._moment(f"T{int(clock[1]):02}:{clock[2]}")
        )

    def _value(self, value: str, unit: str) -> bool:
        return any(_units_agree(unit, text.values[value]) for text in self._texts if value in text.values)

    def _date(self, atom: Atom) -> bool:
        return any(self._moment(reading) for reading in atom.readings)

    def _moment(self, reading: str) -> bool:
        if reading.startswith("T"):
            return any(_same_time(reading, other) for text in self._texts for other in text.dates)
        known = any(_same_day(reading, other) for text in self._texts for other in text.dates)
        return (known or self._ordinal_day(reading)) and self._year(reading)

    def _ordinal_day(self, reading: str) -> bool:
        """Whether a date is told in two pieces: "on the 23rd", in texts that name its month."""
        year, month, day = reading.split("-")
        named = any(_same_day(f"{year}-{month}-00", other) for text in self._texts for other in text.dates)
        return named and any("ordinal" in text.values.get(day.lstrip("0"), ()) for text in self._texts)

    def _year(self, reading: str) -> bool:
        """Whether the texts know the year of a date, or no year at all."""
        year = reading[:4]
        known = {other[:4] for text in self._texts for other in text.dates if other[0] not in "T0"}
        return year == "0000" or not known or year in known or self._value(year, "")

    def _name(self, atom: Atom) -> bool:
        words = _LETTERS.findall(atom.key)
        return all(self._word(word) for word in words) or (
            len(words) >= _SHORTEST_ACRONYM and self._spelled("".join(word[0] for word in words))
        )

    def _word(self, word: str) -> bool:
        if any(word in text.words or word in text.initials for text in self._texts):
            return True
        if word.endswith("s") and any(word[:-1] in text.words for text in self._texts):
            return True
        return word not in GIVEN_NAMES and len(word) >= _SHORTEST_PREFIX and self._prefix(word)

    def _spelled(self, word: str) -> bool:
        return any(word in text.words for text in self._texts)

    def _prefix(self, word: str) -> bool:
        """Whether a word of the texts is a longer or shorter form: "Postgres" and "PostgreSQL", "Milan" and "Milano"."""
        return any(
            other.startswith(word) or (len(other) >= _SHORTEST_PREFIX and word.startswith(other))
            for text in self._texts
            for other in text.words
            if other not in GIVEN_NAMES
        )

    def _token(self, atom: Atom) -> bool:
        if any(_occurs(text.folded, atom.key, _EDGES[atom.kind]) for text in self._texts):
            return True
        if _ABBREVIATED_HASH.fullmatch(atom.key):
            return any(_occurs(text.folded, atom.key, _HASH_EDGES) for text in self._texts)
        if atom.kind == "error" and atom.key.isdigit():
            return self._value(atom.key.lstrip("0") or "0", "")
        parts = [re.escape(plain(part)) for part in _PARTS.findall(atom.text)]
        spaced = re.compile(rf"(?<![\w-]){r'[-_ ./]?'.join(parts)}(?![\w-])")
        return len(parts) > 1 and any(spaced.search(text.folded) for text in self._texts)

    def _address(self, atom: Atom) -> bool:
        edges = _HOST_EDGES if "/" not in atom.key else _EDGES["url"]
        return any(_occurs(text.folded.replace("\\/", "/"), atom.key, edges) for text in self._texts)

    def _path(self, atom: Atom) -> bool:
        return any(_occurs(text.folded.replace("\\", "/"), atom.key, _EDGES["path"]) for text in self._texts)

    def _quote(self, atom: Atom) -> bool:
        pieces = [piece.strip(" .,;:!?") for piece in atom.key.replace("[...]", "...").split("...")]
        return all(any(piece in text.folded for text in self._texts) for piece in pieces)


_FORMS: dict[AtomKind, Callable[[AtomIndex, Atom], bool]] = {
    "number": AtomIndex._number,
    "date": AtomIndex._date,
    "name": AtomIndex._name,
    "identifier": AtomIndex._token,
    "error": AtomIndex._token,
    "path": AtomIndex._path,
    "url": AtomIndex._address,
    "quote": AtomIndex._quote,
}


@dataclass(frozen=True, slots=True)
class _Edges:
    """What may not stand before and after an occurrence for it to be whole."""

    before: re.Pattern[str]
    after: re.Pattern[str]


_WORD_EDGES = _Edges(re.compile(r"\w$|\d[.,]$"), re.compile(r"\w|[.,]\d"))
_FIGURE_EDGES = _Edges(re.compile(r"\w$|\d[.,:/-]$"), re.compile(r"\w|[.,:/-]\d"))
_TOKEN_EDGES = _Edges(re.compile(r"[\w-]$"), re.compile(r"\w|-\w|\.\d"))
_HASH_EDGES = _Edges(re.compile(r"[\w-]$"), re.compile(r"[^\W0-9a-f]"))
_PATH_EDGES = _Edges(re.compile(r"[\w-]$|\w\.$"), re.compile(r"\w|[.-]\w"))
_HOST_EDGES = _Edges(re.compile(r"[\w-]$"), re.compile(r"[\w-]|\.\w"))
_URL_EDGES = _Edges(re.compile(r"[\w-]$"), re.compile(r"[\w%~&=+-]|\.\w"))
_EDGES: dict[AtomKind, _Edges] = {
    "number": _FIGURE_EDGES,
    "date": _FIGURE_EDGES,
    "name": _WORD_EDGES,
    "identifier": _TOKEN_EDGES,
    "error": _TOKEN_EDGES,
    "path": _PATH_EDGES,
    "url": _URL_EDGES,
    "quote": _WORD_EDGES,
}


def _occurs(text: str, wanted: str, edges: _Edges) -> bool:
    """Whether a text holds the wanted characters as a whole, not as a part of a longer token."""
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not (edges.before.search(text[max(0, at - 2) : at]) or edges.after.match(text, end)):
            return True
        at = text.find(wanted, at + 1)
    return False


def _units_agree(unit: str, known: set[str]) -> bool:
    """Whether a figure with this unit, or with none, is among figures of equal value with the known units."""
    if unit == "ordinal":
        return not known.isdisjoint(("ordinal", "day", ""))
    cardinal = known - {"day"}
    return bool(cardinal) and (not unit or not cardinal.isdisjoint((unit, "")))


def agree(atom: Atom, other: Atom) -> bool:
    """Whether a number or date is stated by another one: equal values with compatible units, or the same day or time."""
    if atom.kind == "number":
        return any(
            value == other_value and _units_agree(unit, {other_unit})
            for value, unit in map(_split, atom.readings)
            for other_value, other_unit in map(_split, other.readings)
        )
    pairs = ((one, two) for one in atom.readings for two in other.readings)
    return any(_same_time(one, two) if one.startswith("T") else _same_day(one, two) for one, two in pairs)


def comparable(atom: Atom, other: Atom) -> bool:
    """Whether two atoms measure the same kind of thing: two times, two days, or figures of compatible units."""
    if atom.kind != other.kind:
        return False
    if atom.kind == "date":
        return atom.key.startswith("T") == other.key.startswith("T")
    units = [_split(one.readings[0])[1] for one in (atom, other)]
    return units[0] == units[1] or "" in units


def _split(reading: str) -> tuple[str, str]:
    value, _, unit = reading.partition(" ")
    return value, unit


def _same_time(one: str, other: str) -> bool:
    return other.startswith("T") and (other.startswith(one) or one == other)


def _same_day(wanted: str, known: str) -> bool:
    """Whether a known date says at least what is wanted; an unknown year agrees with any."""
    if known.startswith("T"):
        return False
    pairs = list(zip(wanted.split("-"), known.split("-"), strict=True))
    year, known_year = pairs[0]
    return (known_year in (year, "0000") or year == "0000") and all(one in ("00", two) for one, two in pairs[1:])


def _read(text: str) -> _Text:
    found = atoms(text)
    values: dict[str, set[str]] = {}
    dates: set[str] = set()
    for atom in found:
        if atom.kind == "number":
            _add_number(atom, values, dates)
        elif atom.kind == "date":
            _add_date(atom, values, dates)
    spelled = plain(text)
    words = set(_LETTERS.findall(spelled))
    for word in words & WORDS.keys():
        values.setdefault(WORDS[word], set()).add("")
    words.update(part.lower() for part in _CAMEL_PART.findall(text))
    return _Text(fold(text), frozenset(words), _name_words(found), _initials(found), values, frozenset(dates))


def _name_words(found: Iterable[Atom]) -> frozenset[str]:
    words = (word for atom in found if atom.kind == "name" for word in atom.key.split(" "))
    return frozenset(word for word in words if len(word) >= _SHORTEST_SIMILAR)


def _initials(found: Iterable[Atom]) -> frozenset[str]:
    names = (atom.key.split(" ") for atom in found if atom.kind == "name")
    return frozenset("".join(word[0] for word in words) for words in names if len(words) > 1)


def _add_number(atom: Atom, values: dict[str, set[str]], dates: set[str]) -> None:
    for reading in atom.readings:
        value, unit = reading.split(" ", 1)
        values.setdefault(value, set()).add(unit)
    if clock := _CLOCK_POINT.fullmatch(atom.text):
        dates.add(f"T{int(clock[1]):02}:{clock[2]}")


def _add_date(atom: Atom, values: dict[str, set[str]], dates: set[str]) -> None:
    """Note a date, and the figures that can be told from it: its year, its day for "the 12th", "7/10" as two numbers."""
    dates.update(atom.readings)
    if fraction := _DAY_MONTH.fullmatch(atom.text):
        for figure in fraction.groups():
            values.setdefault(str(int(figure)), set()).add("")
    for reading in atom.readings:
        if not reading.startswith("T"):
            year, _, day = reading.split("-")
            values.setdefault(year, set()).add("")
            values.setdefault(day.lstrip("0"), set()).add("day")
