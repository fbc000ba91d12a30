"""Grounding: whether each line of a summary rests on the messages that it cites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ricordo.consolidation.atoms.atom import Atom
from ricordo.consolidation.atoms.index import AtomIndex
from ricordo.consolidation.atoms.scan import Reading, read
from ricordo.consolidation.draft import Line
from ricordo.consolidation.pairing import Tie, contradictions, owner_words, stating, ties, words


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


class _Source:
    """One message, read once."""

    def __init__(self, text: str) -> None:
        reading = read(text)
        self.index = AtomIndex.of(reading)
        self.ties = ties(reading)


class _Grounding:
    """The messages of one summary, each read only when a line cites it."""

    def __init__(self, sources: Mapping[int, str]) -> None:
        self._texts = sources
        self._sources: dict[int, _Source] = {}

    def faults(self, line: Line) -> Iterator[str]:
        numbers = dict.fromkeys(line.sources)
        yield from (f"unknown_source: {number}" for number in numbers if number not in self._texts)
        cited = [self._source(number) for number in numbers if number in self._texts]
        if not numbers:
            yield "no_source: the line cites no message"
        if cited:
            yield from dict.fromkeys(_faults(read(line.text), cited))

    def _source(self, number: int) -> _Source:
        if number not in self._sources:
            self._sources[number] = _Source(self._texts[number])
        return self._sources[number]


def _faults(line: Reading, cited: Sequence[_Source]) -> list[str]:
    """Return what the cited messages do not state; where they state every atom, what they state of something else."""
    index = AtomIndex.union(source.index for source in cited)
    stated = [tie for source in cited for tie in source.ties]
    absent = [atom for atom in line.atoms if not index.contains(atom)]
    absent += [
        word for word in line.openings if not index.contains(word) and _stands_for_name(word, line, index, stated)
    ]
    if absent:
        return [f'not_in_source: "{atom.text}"' for atom in sorted(absent, key=lambda atom: atom.start)]
    mixed = contradictions(ties(line, owner_words(stated)), stated, line.text)
    return [f'mixed: "{tie.value.text}" belongs to "{owner}", not to "{tie.owners[0]}"' for tie, owner in mixed]


def _stands_for_name(word: Atom, line: Reading, index: AtomIndex, stated: Sequence[Tie]) -> bool:
    """Whether an opening word that the source lacks is a name: like one of its names, or in the place of one."""
    if index.resembled(word):
        return True
    following = next((atom for atom in line.atoms if atom.start == word.end + 1), None)
    if following is None:
        return False
    if following.kind == "name":
        return index.is_surname(following.key.split(" ")[0])
    same = stating(following, stated) if following.kind in ("number", "date") else []
    return bool(same) and all(tie.label and words(line.text).isdisjoint(words(tie.label)) for tie in same)
