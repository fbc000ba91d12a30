"""Grounding: whether each line of a summary rests on the messages that it cites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ricordo.consolidation.atoms import AtomIndex, atoms
from ricordo.consolidation.draft import Line


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

    def faults(self, line: Line) -> Iterator[str]:
        unknown = [number for number in line.sources if number not in self._sources]
        yield from (f"unknown_source: {number}" for number in unknown)
        known = [number for number in dict.fromkeys(line.sources) if number in self._sources]
        if not line.sources:
            yield "no_source: the line cites no message"
        if known:
            cited = AtomIndex.union(self._index(number) for number in known)
            missing = (atom for atom in atoms(line.text) if not cited.contains(atom))
            yield from dict.fromkeys(f'not_in_source: "{atom.text}"' for atom in missing)

    def _index(self, number: int) -> AtomIndex:
        if number not in self._indexes:
            self._indexes[number] = AtomIndex([self._sources[number]])
        return self._indexes[number]
