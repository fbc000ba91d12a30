"""Which atoms a set of texts states, whatever form they are written in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from typing import Self

from ricordo.consolidation.atoms.atom import Atom, AtomKind, fold, plain
from ricordo.consolidation.atoms.compare import (
    EDGES,
    HASH_EDGES,
    HOST_EDGES,
    occurs,
    same_day,
    same_time,
    split,
    units_agree,
)
from ricordo.consolidation.atoms.lexicon import GIVEN_NAMES
from ricordo.consolidation.atoms.numbers import LONGEST_ROUNDED, WORDS, rounding
from ricordo.consolidation.atoms.scan import Reading, read

_LETTERS = re.compile(r"[^\W\d_]+")
_CAMEL_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_]+")
_CLOCK_POINT = re.compile(r"([01]?\d|2[0-3])\.([0-5]\d)")
_DAY_MONTH = re.compile(r"(\d{1,2})/(\d{1,2})")
_SHORTEST_PREFIX = 5
_CLOSE_LENGTH = 0.7
_SHORTEST_SIMILAR = 4
_SHORTEST_SPACED = 5
_SHORTEST_ACRONYM = 3
_ABBREVIATED_HASH = re.compile(r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,40}")


@dataclass(frozen=True, slots=True)
class _Text:
    """What one text states."""

    keys: frozenset[tuple[AtomKind, str]]
    folded: str
    words: frozenset[str]
    names: tuple[str, ...]
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
        self._texts = tuple(_stated(read(text)) for text in texts)

    @classmethod
    def of(cls, reading: Reading) -> Self:
        """Return an index of one text that is already read."""
        index = cls(())
        index._texts = (_stated(reading),)
        return index

    @classmethod
    def union(cls, indexes: Iterable[AtomIndex]) -> Self:
        """Return an index of all texts of some indexes, without reading them again."""
        union = cls(())
        union._texts = tuple(text for index in indexes for text in index._texts)
        return union

    def contains(self, atom: Atom) -> bool:
        """Whether the texts state the atom: in the same words, or in another form of the same thing."""
        same = any((atom.kind, atom.key) in text.keys for text in self._texts)
        return same or self._in_some_form(atom) or self._verbatim(atom)

    def _in_some_form(self, atom: Atom) -> bool:
        match atom.kind:
            case "number":
                return self._number(atom)
            case "date":
                return self._date(atom)
            case "name":
                return self._name(atom)
            case "path":
                return self._path(atom)
            case "url":
                return self._address(atom)
            case "quote":
                return self._quote(atom)
            case "identifier" | "error":
                return self._token(atom)

    def resembled(self, name: Atom) -> str | None:
        """Return a name of the texts that a word misspells or replaces by a similar one, or None.

        Similar means a ratio of at least 0.75 in the sense of `difflib` between words of four letters or more.
        """
        word = name.key
        if len(word) < _SHORTEST_SIMILAR or self._word(word):
            return None
        known = {part for name in self._names() for part in name.split(" ") if part[0] == word[0]}
        return next(iter(get_close_matches(word, sorted(known), n=1, cutoff=0.75)), None)

    def is_surname(self, word: str) -> bool:
        """Whether a word stands in names of the texts, and never as their first word."""
        places = [name.split(" ").index(word) for name in self._names() if word in name.split(" ")]
        return bool(places) and 0 not in places

    def _names(self) -> Iterator[str]:
        return (name for text in self._texts for name in text.names)

    def _verbatim(self, atom: Atom) -> bool:
        written = fold(atom.text)
        if written.isdecimal() and len(written) < _SHORTEST_SPACED:
            return False
        return any(occurs(text.folded, written, EDGES[atom.kind]) for text in self._texts) or self._spaced(written)

    def _spaced(self, written: str) -> bool:
        """Whether a long run of digits occurs with other spacing, as telephone numbers do."""
        if len(written) < _SHORTEST_SPACED or not written.isdecimal():
            return False
        holding = [one.folded for one in self._texts if written in one.folded.replace(" ", "").replace("-", "")]
        if not holding:
            return False
        digits = re.compile(rf"(?<![\d.,]){'[ -]?'.join(written)}(?![.,]?\d)")
        return any(digits.search(folded) for folded in holding)

    def _number(self, atom: Atom) -> bool:
        if any(self._value(*split(reading)) for reading in atom.readings):
            return True
        clock = _CLOCK_POINT.fullmatch(atom.text)
        return self._moment(f"T{int(clock[1]):02}:{clock[2]}") if clock else self._rounded(atom)

    def _rounded(self, atom: Atom) -> bool:
        bounds = rounding(atom.text)
        if bounds is None:
            return False
        _, unit = split(atom.readings[0])
        return any(
            len(value) <= LONGEST_ROUNDED and bounds[0] <= Decimal(value) <= bounds[1] and units_agree(unit, units)
            for text in self._texts
            for value, units in text.values.items()
        )

    def _value(self, value: str, unit: str) -> bool:
        return any(units_agree(unit, text.values[value]) for text in self._texts if value in text.values)

    def _date(self, atom: Atom) -> bool:
        return any(self._moment(reading) for reading in atom.readings)

    def _moment(self, reading: str) -> bool:
        if reading.startswith("T"):
            return any(same_time(reading, other) for text in self._texts for other in text.dates)
        known = any(same_day(reading, other) for text in self._texts for other in text.dates)
        return (known or self._ordinal_day(reading)) and self._year(reading)

    def _ordinal_day(self, reading: str) -> bool:
        """Whether a date is told in two pieces: "on the 23rd", in texts that name its month."""
        year, month, day = reading.split("-")
        named = any(same_day(f"{year}-{month}-00", other) for text in self._texts for other in text.dates)
        return named and any("ordinal" in text.values.get(day.lstrip("0"), ()) for text in self._texts)

    def _year(self, reading: str) -> bool:
        """Whether the texts know the year of a date, or no year at all."""
        year = reading[:4]
        known = {other[:4] for text in self._texts for other in text.dates if other[0] not in "T0"}
        return year == "0000" or not known or year in known or self._value(year, "")

    def _name(self, atom: Atom) -> bool:
        words = _LETTERS.findall(atom.key)
        if len(words) == 1 and self._form(words[0]):
            return True
        return all(self._word(word) for word in words) or (
            len(words) >= _SHORTEST_ACRONYM and self._spelled("".join(word[0] for word in words))
        )

    def _word(self, word: str) -> bool:
        if any(word in text.words or word in text.initials for text in self._texts):
            return True
        return word.endswith("s") and any(word[:-1] in text.words for text in self._texts)

    def _form(self, word: str) -> bool:
        """Whether the texts hold a longer or shorter form: "Postgres" and "PostgreSQL", "Milan" and "Milano"."""
        if word in GIVEN_NAMES or len(word) < _SHORTEST_PREFIX:
            return False
        others = (other for text in self._texts for other in text.words if other[0] == word[0])
        return any(
            len(other) >= _SHORTEST_PREFIX and _is_prefix(*sorted((word, other), key=len)) and other not in GIVEN_NAMES
            for other in others
        )

    def _spelled(self, word: str) -> bool:
        return any(word in text.words for text in self._texts)

    def _token(self, atom: Atom) -> bool:
        if any(occurs(text.folded, atom.key, EDGES[atom.kind]) for text in self._texts):
            return True
        if _ABBREVIATED_HASH.fullmatch(atom.key):
            return any(occurs(text.folded, atom.key, HASH_EDGES) for text in self._texts)
        if atom.kind == "error" and atom.key.isdigit():
            return self._value(atom.key.lstrip("0") or "0", "")
        return self._parted([plain(part) for part in _PARTS.findall(atom.text)])

    def _parted(self, parts: Sequence[str]) -> bool:
        """Whether the parts of a token occur with other marks between them, or none: "snake_case" and "snakeCase"."""
        holding = [one.folded for one in self._texts if all(part in one.folded for part in parts)]
        if len(parts) < 2 or not holding:
            return False
        spaced = re.compile(rf"(?<![\w-]){r'[-_ ./]?'.join(map(re.escape, parts))}(?![\w-])")
        return any(spaced.search(folded) for folded in holding)

    def _address(self, atom: Atom) -> bool:
        edges = HOST_EDGES if "/" not in atom.key else EDGES["url"]
        return any(occurs(text.folded.replace("\\/", "/"), atom.key, edges) for text in self._texts)

    def _path(self, atom: Atom) -> bool:
        return any(occurs(text.folded.replace("\\", "/"), atom.key, EDGES["path"]) for text in self._texts)

    def _quote(self, atom: Atom) -> bool:
        pieces = [piece.strip(" .,;:!?") for piece in atom.key.replace("[...]", "...").split("...")]
        return all(any(piece in text.folded for text in self._texts) for piece in pieces)


def _is_prefix(short: str, long: str) -> bool:
    return long.startswith(short) and len(short) >= _CLOSE_LENGTH * len(long)


def _stated(reading: Reading) -> _Text:
    values: dict[str, set[str]] = {}
    dates: set[str] = set()
    for atom in reading.atoms:
        if atom.kind == "number":
            _add_number(atom, values, dates)
        elif atom.kind == "date":
            _add_date(atom, values, dates)
        elif atom.kind == "error" and atom.key.isdecimal():
            values.setdefault(atom.key.lstrip("0") or "0", set()).add("")
    words = set(_LETTERS.findall(plain(reading.text)))
    for word in words & WORDS.keys():
        values.setdefault(WORDS[word], set()).add("")
    words.update(part.lower() for part in _CAMEL_PART.findall(reading.text))
    names = tuple(dict.fromkeys(atom.key for atom in reading.atoms if atom.kind == "name"))
    keys = frozenset[tuple[AtomKind, str]]((atom.kind, atom.key) for atom in reading.atoms)
    return _Text(keys, fold(reading.text), frozenset(words), names, _initials(names), values, frozenset(dates))


def _initials(names: Iterable[str]) -> frozenset[str]:
    parts = (name.split(" ") for name in names)
    return frozenset("".join(word[0] for word in words) for words in parts if len(words) > 1)


def _add_number(atom: Atom, values: dict[str, set[str]], dates: set[str]) -> None:
    for reading in atom.readings:
        value, unit = split(reading)
        values.setdefault(value, set()).add(unit)
    if clock := _CLOCK_POINT.fullmatch(atom.text):
        dates.add(f"T{int(clock[1]):02}:{clock[2]}")


def _add_date(atom: Atom, values: dict[str, set[str]], dates: set[str]) -> None:
    """Note a date and the figures told from it: its year, day ("the 12th") and hour, and both numbers of "7/10"."""
    dates.update(atom.readings)
    if fraction := _DAY_MONTH.fullmatch(atom.text):
        for figure in fraction.groups():
            values.setdefault(str(int(figure)), set()).add("")
    for reading in atom.readings:
        if reading.endswith(":00") and ":" not in atom.text:
            values.setdefault(str(int(reading[1:3])), set()).add("hour")
        elif not reading.startswith("T"):
            year, _, day = reading.split("-")
            values.setdefault(year, set()).add("")
            values.setdefault(day.lstrip("0") or "0", set()).add("day")
