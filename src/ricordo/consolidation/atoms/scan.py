"""All atoms of a text, each character read as part of one."""

from __future__ import annotations

from collections.abc import Iterable

from ricordo.consolidation.atoms import dates, names, numbers, quotes, tokens
from ricordo.consolidation.atoms.atom import Atom


def atoms(text: str) -> tuple[Atom, ...]:
    """Return the atoms of a text in order of appearance, in time linear in its length.

    Atoms do not overlap, except that a quotation also yields the atoms inside it, after itself.
    """
    taken = bytearray(len(text))
    found = [
        *_claimed(tokens.addresses(text), taken),
        *_claimed(dates.find(text), taken),
        *_claimed(tokens.find(text), taken),
        *_claimed(numbers.find(text), taken),
        *_claimed(names.find(text), taken),
        *quotes.find(text),
    ]
    return tuple(sorted(found, key=lambda atom: (atom.start, -atom.end)))


def _claimed(candidates: Iterable[Atom], taken: bytearray) -> Iterable[Atom]:
    """Yield the candidates whose characters are still free, and take them."""
    for atom in candidates:
        if taken.find(1, atom.start, atom.end) < 0:
            taken[atom.start : atom.end] = b"\x01" * (atom.end - atom.start)
            yield atom
