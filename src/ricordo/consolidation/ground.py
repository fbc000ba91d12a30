"""Grounding: whether each line of a summary rests on the messages that it cites."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from ricordo.consolidation.atoms.atom import Atom
from ricordo.consolidation.atoms.index import AtomIndex
from ricordo.consolidation.atoms.scan import Reading, read
from ricordo.consolidation.draft import Line
from ricordo.consolidation.pairing import Tie, contradictions, owner_words, stating, ties, words
from ricordo.consolidation.source import SourceMessage
from ricordo.stores.format import stamp


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
    return Sources(sources).check(lines)


class Sources:
    """The messages that lines may cite, each read at most once, when it is first needed."""

    def __init__(self, texts: Mapping[int, str]) -> None:
        """Take the text of each message by its number, as the summariser saw it."""
        self._texts = texts
        self._read: dict[int, _Source] = {}

    @classmethod
    def of(cls, messages: Iterable[SourceMessage]) -> Self:
        """Return what a summariser saw of the messages: their time and speaker too, which a line may name.

        The parts of a split message are one.
        """
        seen: dict[int, str] = {}
        for message in messages:
            before = f"{seen[message.number]}\n" if message.number in seen else heading(message)
            seen[message.number] = f"{before}{message.text}"
        return cls(seen)

    @property
    def numbers(self) -> Set[int]:
        """The numbers of the messages."""
        return self._texts.keys()

    def reading(self, number: int) -> Reading:
        """Return the atoms of a message."""
        return self._source(number).reading

    def check(self, lines: Iterable[Line]) -> tuple[Checked, ...]:
        """Return each line, in order, with its faults; see the function `check`."""
        return tuple(Checked(line, tuple(self._faults(line))) for line in lines)

    def _faults(self, line: Line) -> Iterator[str]:
        numbers = dict.fromkeys(line.sources)
        yield from (f"unknown_source: {number}" for number in numbers if number not in self._texts)
        cited = [self._source(number) for number in numbers if number in self._texts]
        if not numbers:
            yield "no_source: the line cites no message"
        if cited:
            yield from dict.fromkeys(_faults(read(line.text), cited))

    def _source(self, number: int) -> _Source:
        if number not in self._read:
            self._read[number] = _Source(read(self._texts[number]))
        return self._read[number]


class _Source:
    """One message, and what lines are checked against once they cite it."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading

    @cached_property
    def index(self) -> AtomIndex:
        return AtomIndex.of(self.reading)

    @cached_property
    def ties(self) -> tuple[Tie, ...]:
        return ties(self.reading)


def heading(message: SourceMessage) -> str:
    """Return what stands before a message's text: its time and its speaker."""
    return f"[{stamp(message.timestamp)}] {message.role}: "


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
