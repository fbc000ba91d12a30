"""When two numbers or dates state the same, and when a text holds a token whole."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ricordo.consolidation.atoms.atom import Atom, AtomKind


@dataclass(frozen=True, slots=True)
class Edges:
    """What may not stand before and after an occurrence for it to be whole."""

    before: re.Pattern[str]
    after: re.Pattern[str]


_WORD_EDGES = Edges(re.compile(r"\w$|\d[.,]$"), re.compile(r"\w|[.,]\d"))
_FIGURE_EDGES = Edges(re.compile(r"\w$|\d[.,:/-]$"), re.compile(r"\w|[.,:/-]\d"))
_TOKEN_EDGES = Edges(re.compile(r"[\w-]$"), re.compile(r"\w|-\w|\.\d"))
HASH_EDGES = Edges(re.compile(r"[\w-]$"), re.compile(r"[^\W0-9a-f]"))
_PATH_EDGES = Edges(re.compile(r"[\w-]$|\w\.$"), re.compile(r"\w|[.-]\w"))
HOST_EDGES = Edges(re.compile(r"[\w-]$"), re.compile(r"[\w-]|\.\w"))
_URL_EDGES = Edges(re.compile(r"[\w-]$"), re.compile(r"[\w%~&=+-]|\.\w"))
EDGES: dict[AtomKind, Edges] = {
    "number": _FIGURE_EDGES,
    "date": _FIGURE_EDGES,
    "name": _WORD_EDGES,
    "identifier": _TOKEN_EDGES,
    "error": _TOKEN_EDGES,
    "path": _PATH_EDGES,
    "url": _URL_EDGES,
    "quote": _WORD_EDGES,
}
"""What may not adjoin an atom of each kind."""


def occurs(text: str, wanted: str, edges: Edges) -> bool:
    """Whether a text holds the wanted characters as a whole, not as a part of a longer token."""
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not (edges.before.search(text[max(0, at - 2) : at]) or edges.after.match(text, end)):
            return True
        at = text.find(wanted, at + 1)
    return False


def agree(atom: Atom, other: Atom) -> bool:
    """Whether another number or date states this one: equal values with compatible units, or the same day or time."""
    if atom.kind == "number":
        return any(
            value == other_value and units_agree(unit, {other_unit})
            for value, unit in map(split, atom.readings)
            for other_value, other_unit in map(split, other.readings)
        )
    pairs = ((one, two) for one in atom.readings for two in other.readings)
    return any(same_time(one, two) if one.startswith("T") else same_day(one, two) for one, two in pairs)


def comparable(atom: Atom, other: Atom) -> bool:
    """Whether two atoms measure the same kind of thing: two times, two days, or figures of compatible units."""
    if atom.kind != other.kind:
        return False
    if atom.kind == "date":
        return atom.key.startswith("T") == other.key.startswith("T")
    units = [split(one.readings[0])[1] for one in (atom, other)]
    return units[0] == units[1] or "" in units


def units_agree(unit: str, known: set[str]) -> bool:
    """Whether a figure with this unit, or with none, is among figures of equal value with the known units."""
    if unit == "ordinal":
        return not known.isdisjoint(("ordinal", "day", ""))
    cardinal = known - {"day"}
    return bool(cardinal) and (not unit or not cardinal.isdisjoint((unit, "")))


def same_time(wanted: str, known: str) -> bool:
    """Whether a known time says at least what is wanted; seconds may be left out."""
    return known.startswith(wanted)


def same_day(wanted: str, known: str) -> bool:
    """Whether a known date says at least what is wanted; an unknown year agrees with any."""
    if known.startswith("T"):
        return False
    pairs = list(zip(wanted.split("-"), known.split("-"), strict=True))
    year, known_year = pairs[0]
    return (known_year in (year, "0000") or year == "0000") and all(one in ("00", two) for one, two in pairs[1:])


def split(reading: str) -> tuple[str, str]:
    """Return the value and the unit of a number's reading; the unit may be empty."""
    value, _, unit = reading.partition(" ")
    return value, unit
