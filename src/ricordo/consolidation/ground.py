"""Grounding: whether each line of a summary rests on the messages that it cites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ricordo.consolidation.atoms import Atom, AtomIndex, atoms
from ricordo.consolidation.atoms.names import openings
from ricordo.consolidation.draft import Line
from ricordo.consolidation.pairing import Tie, contradictions, stating, ties, words


@dataclass(frozen=True, slots=True)
class Checked:
    """A line and what is wrong with it; a line without faults is grounded.

    A fault is one sentence that begins with a stable code: `no_source`, `unknown_source: 17`,
    `not_in_source: "400 euros"`, `mixed: …`.
    """

    line: Line
    faults: tuple[str, ...]

    @property
    def grounded(self) -> bool:
        """Whether nothing is wrong with the line."""
        return not self.faults


def check(lines: Sequence[Line], sources: Mapping[int, str]) -> tuple[Checked, ...]:
    """Return each line, in order, with its faults.

    `sources` gives the text of each message by the number that lines cite, as the summariser saw it. Every atom of
    a line must occur in the messages that this line cites; that it occurs in others does not help.
    """
    grounding = _Grounding(sources)
    return tuple(Checked(line, tuple(grounding.faults(line))) for line in lines)


class _Grounding:
    """The messages of one summary, each read once and only when a line cites it."""

    def __init__(self, sources: Mapping[int, str]) -> None:
        self._sources = sources
        self._indexes: dict[int, AtomIndex] = {}
        self._ties: dict[int, tuple[Tie, ...]] = {}

    def faults(self, line: Line) -> Iterator[str]:
        unknown = [number for number in line.sources if number not in self._sources]
        yield from (f"unknown_source: {number}" for number in unknown)
        known = [number for number in dict.fromkeys(line.sources) if number in self._sources]
        if not line.sources:
            yield "no_source: the line cites no message"
        if known:
            cited = AtomIndex.union(self._index(number) for number in known)
            absent = [f'not_in_source: "{atom.text}"' for atom in atoms(line.text) if not cited.contains(atom)]
            absent += [f'not_in_source: "{name.text}"' for name in self._replaced(line.text, known, cited)]
            yield from dict.fromkeys(absent) or self._mixed(line.text, known)

    def _replaced(self, text: str, known: list[int], cited: AtomIndex) -> Iterator[Atom]:
        """Yield opening words that stand where the source has a similar name, or another name before the same figure."""
        labelled = {tie.value.start: tie for tie in ties(text)}
        for word in openings(text):
            if cited.contains(word):
                continue
            tie = labelled.get(word.end + 1)
            if cited.resembled(word) or (tie and self._label_differs(tie, text, known)):
                yield word

    def _label_differs(self, tie: Tie, text: str, known: list[int]) -> bool:
        same = stating(tie.value, self._cited_ties(known))
        return bool(same) and all(other.label and words(text).isdisjoint(words(other.label)) for other in same)

    def _mixed(self, text: str, known: list[int]) -> Iterator[str]:
        stated = ties(text)
        if any(tie.owners for tie in stated):
            for tie, owner in contradictions(stated, self._cited_ties(known), text):
                yield f'mixed: "{tie.value.text}" belongs to "{owner}", not to "{tie.owners[0]}"'

    def _cited_ties(self, known: list[int]) -> list[Tie]:
        return [tie for number in known for tie in self._ties_of(number)]

    def _ties_of(self, number: int) -> tuple[Tie, ...]:
        if number not in self._ties:
            self._ties[number] = ties(self._sources[number])
        return self._ties[number]

    def _index(self, number: int) -> AtomIndex:
        if number not in self._indexes:
            self._indexes[number] = AtomIndex([self._sources[number]])
        return self._indexes[number]
