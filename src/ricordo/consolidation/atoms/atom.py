"""The atom, and the normal forms in which atoms are compared."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from itertools import filterfalse
from typing import Literal, TypeAlias

AtomKind: TypeAlias = Literal["number", "date", "name", "identifier", "path", "url", "error", "quote"]
"""What an atom is. A time of day is a "date", an e-mail address a "url"."""

_SINGLE_QUOTES = "‘’‚‛′ʼ`´"
_DOUBLE_QUOTES = "“”„‟″«»"
_DASHES = "‐‑‒–—−"
_ALIKE = str.maketrans(
    _SINGLE_QUOTES + _DOUBLE_QUOTES + _DASHES,
    "'" * len(_SINGLE_QUOTES) + '"' * len(_DOUBLE_QUOTES) + "-" * len(_DASHES),
)


@dataclass(frozen=True, slots=True)
class Atom:
    """One checkable particle of a text.

    `text` is what stands there, from character `start` to `end`. `key` is its comparable form: equal keys state
    the same thing. Where a text can be read in several ways ("12/03/2026", "1.234") the key holds the readings,
    likeliest first, joined by "|".
    """

    kind: AtomKind
    text: str
    key: str
    start: int
    end: int

    @property
    def readings(self) -> tuple[str, ...]:
        """The ways in which a number or a date can be read; any other atom has one."""
        return tuple(self.key.split("|")) if self.kind in ("number", "date") else (self.key,)


def fold(text: str) -> str:
    """Return a text without differences of case, width, spacing, quotation marks and dashes."""
    if text.isascii():
        return " ".join(text.lower().replace("`", "'").split())
    # NFKC turns "´" and "″" into sequences with a space, so look-alikes are replaced before it.
    alike = unicodedata.normalize("NFKC", text.translate(_ALIKE)).translate(_ALIKE)
    return " ".join(alike.casefold().split())


def plain(text: str) -> str:
    """Return a folded text without accents: "Università" and "universita" are the same word."""
    folded = fold(text)
    if folded.isascii():
        return folded
    return "".join(filterfalse(unicodedata.combining, unicodedata.normalize("NFD", folded)))
