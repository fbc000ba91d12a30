"""The summariser that needs no model: it quotes what tells most, so it always succeeds and is always grounded."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Sequence

from ricordo.consolidation.atoms import AtomIndex, atoms
from ricordo.consolidation.draft import Draft, Line, render
from ricordo.consolidation.extractive import cues
from ricordo.consolidation.extractive.candidates import Candidate, candidates_of, tokens_of
from ricordo.consolidation.extractive.description import FEWEST_WORDS, describe
from ricordo.consolidation.extractive.placement import Closings, section_of
from ricordo.consolidation.extractive.selection import select
from ricordo.consolidation.extractive.weights import valuate
from ricordo.consolidation.source import Chunk, SourceMessage
from ricordo.tokens import count

WINDOW = 200_000
"""Tokens of one chunk. Time and memory grow linearly with it; nothing else limits it."""


SPARE_TRIES = 16
"""Lines that are tried for the room that is left behind the last one that fits."""

DESCRIPTION_SHARE = 4
"""A description longer than this part of what the headings leave is cut down to its fewest words."""


class ExtractiveSummariser:
    """A summariser without a model, network or randomness: the same chunk and budget always give the same draft."""

    name = "extractive"
    window = WINDOW

    async def summarise(self, chunk: Chunk, *, budget: int) -> Draft:
        """Return a draft of at most `budget` tokens; see `extract`."""
        return await asyncio.to_thread(extract, chunk.messages, budget=budget)


def extract(messages: Sequence[SourceMessage], *, budget: int) -> Draft:
    """Return the most telling units of the messages under the four headings, each citing all messages that say it.

    Every line is quoted, so its atoms stand in the messages that it cites. Lines are in the order of the messages
    within their section. `size_of` the draft for this budget never exceeds it and is below the tokens of the messages'
    texts, unless the empty headings alone exceed them: then the draft has no lines and no description. Any text is
    accepted and nothing is raised.
    """
    form = budget
    units = candidates_of(messages)
    value = valuate(units)
    budget = min(budget, sum(count(message.text) for message in messages) - 1)
    stop = cues.STOP_WORDS[cues.language(word for unit in units for word in tokens_of(unit.text))]
    room = budget - size_of(Draft(description="", lines=()), form)
    description = _trimmed(describe(units, value, stop=stop), room)
    chosen = select(units, value, budget=room - count(description), admit=_grounding(messages))
    return _fitted(description, units, chosen, budget, form)


def _trimmed(description: str, room: int) -> str:
    """Leave most of a small room to the lines: 8 words at least, fewer only where nothing else would fit."""
    words = description.split()
    share = room // DESCRIPTION_SHARE
    while words and count(" ".join(words)) > (share if len(words) > FEWEST_WORDS else room):
        words.pop()
    return " ".join(words).rstrip(":,")


def size_of(draft: Draft, budget: int | None = None) -> int:
    """Return the tokens of a draft: its description and its text as `render` writes it for a budget, on lines apart."""
    return count(f"{draft.description}\n{render(draft.lines, budget=budget)}")


def _grounding(messages: Sequence[SourceMessage]) -> Callable[[Candidate], bool]:
    """Return a check that a unit's atoms stand in its first message: JSON told as a record may read differently."""
    indexes: dict[int, AtomIndex] = {}

    def admit(unit: Candidate) -> bool:
        if unit.index not in indexes:
            indexes[unit.index] = AtomIndex([messages[unit.index].text])
        return all(indexes[unit.index].contains(atom) for atom in atoms(unit.text))

    return admit


def _fitted(description: str, units: Sequence[Candidate], chosen: list[int], budget: int, form: int) -> Draft:
    """Give up the lines chosen last until the whole fits, but for shorter ones: costs counted apart may add up."""
    closings = Closings(units)

    def drafted(places: Sequence[int]) -> Draft:
        lines = tuple(_line(units[place], closings) for place in sorted(places))
        return Draft(description=description, lines=lines)

    def fits(places: Sequence[int]) -> bool:
        return size_of(drafted(places), form) <= budget

    kept = chosen[: bisect_left(range(len(chosen)), True, key=lambda last: not fits(chosen[: last + 1]))]
    for place in chosen[len(kept) + 1 :][:SPARE_TRIES]:
        if fits([*kept, place]):
            kept.append(place)
    return drafted(kept)


def _line(unit: Candidate, closings: Closings) -> Line:
    return Line(section=section_of(unit), text=unit.text, sources=unit.sources, status=closings.status_of(unit))
