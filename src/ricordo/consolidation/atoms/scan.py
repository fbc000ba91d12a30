"""All atoms of a text, each character read as part of one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter

from ricordo.consolidation.atoms import dates, names, numbers, quotes, tokens
from ricordo.consolidation.atoms.atom import Atom

_OTHER_THAN_SPACE = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Reading:
    """A text with its atoms, and the opening words that may be names; both in order of appearance."""

    text: str
    atoms: tuple[Atom, ...]
    openings: tuple[Atom, ...]


def atoms(text: str) -> tuple[Atom, ...]:
    """Return the atoms of a text in order of appearance, in time linear in its length.

    Atoms do not overlap, except that a quotation also yields the atoms inside it, after itself.
    """
    return read(text).atoms


def read(text: str) -> Reading:
    """Return the atoms of a text, and the capitalised words that open a sentence and are perhaps names."""
    taken = bytearray(len(text))
    found = [
        *_claimed(tokens.addresses(text), taken),
        *_claimed(dates.find(text), taken),
        *_claimed(tokens.find(text), taken),
        *_claimed(numbers.find(text), taken),
    ]
    named, openings = names.find(_blanked(text, found))
    found += [*named, *quotes.find(text)]
    return Reading(text, tuple(sorted(found, key=lambda atom: (atom.start, -atom.end))), tuple(openings))


def _claimed(candidates: Iterable[Atom], taken: bytearray) -> Iterator[Atom]:
    """Yield the candidates whose characters are still free, and take them."""
    for atom in candidates:
        if taken.find(1, atom.start, atom.end) < 0:
            taken[atom.start : atom.end] = b"\x01" * (atom.end - atom.start)
            yield atom


def _blanked(text: str, found: Iterable[Atom]) -> str:
    """Return a text of the same length in which atoms are blanked, so that no name is read across them."""
    pieces: list[str] = []
    end = 0
    for atom in sorted(found, key=attrgetter("start")):
        pieces += [text[end : atom.start], _OTHER_THAN_SPACE.sub(names.BLANK, atom.text)]
        end = atom.end
    return "".join([*pieces, text[end:]])
