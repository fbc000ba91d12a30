"""How telling each atom and word of a chunk is, and how much each unit gains by who says it, where and how."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ricordo.consolidation.extractive import cues
from ricordo.consolidation.extractive.candidates import Candidate

WORD = 0.12
"""What a word weighs beside an atom: words break ties between units and keep plain prose alive."""

ORIGIN: Mapping[str, float] = {"user": 2.0, "assistant": 1.5, "system": 0.05}
OTHER_ORIGIN = 0.6
"""An atom that a person or the assistant took up matters more than one that only a tool printed."""

ROLE: Mapping[str, float] = {"user": 1.5, "assistant": 1.0, "system": 0.1}
OTHER_ROLE = 0.8


@dataclass(slots=True)
class _Mentions:
    messages: int = 0
    origin: float = 0.0
    last: int = 0


def element_weights(candidates: Sequence[Candidate]) -> dict[str, float]:
    """Return the weight of every atom and word: repetition, who used it, and how late it was last used.

    A word also weighs by its rarity: tf-idf over the chunk's messages (Salton and Buckley, 1988).
    """
    mentions = _mentions(candidates)
    span = 1 + max((candidate.index for candidate in candidates), default=0)
    return {element: _weight(element, seen, span) for element, seen in mentions.items()}


def salience(candidates: Sequence[Candidate]) -> list[float]:
    """Return the factor by which each candidate's coverage counts, by role, cue words and position."""
    span = 1 + max((candidate.index for candidate in candidates), default=0)
    first = min((candidate.index for candidate in candidates if candidate.role == "user"), default=-1)
    return [_salience(candidate, first, span) for candidate in candidates]


def _mentions(candidates: Sequence[Candidate]) -> dict[str, _Mentions]:
    found: dict[str, _Mentions] = {}
    for candidate in candidates:
        origin = ORIGIN.get(candidate.role, OTHER_ORIGIN)
        for element in candidate.atoms | candidate.words:
            seen = found.setdefault(element, _Mentions())
            seen.messages += len(candidate.sources)
            seen.origin = max(seen.origin, origin)
            seen.last = max(seen.last, candidate.index)
    return found


def _weight(element: str, seen: _Mentions, span: int) -> float:
    recency = 0.7 + 0.6 * (seen.last + 1) / span
    frequency = 1 + math.log2(max(1, seen.messages))
    if "\t" in element:
        return frequency * seen.origin * recency
    rarity = math.log(1 + span / max(1, seen.messages)) / math.log(1 + span)
    return WORD * frequency * rarity * seen.origin


def _salience(candidate: Candidate, first: int, span: int) -> float:
    factor = ROLE.get(candidate.role, OTHER_ROLE)
    if candidate.kind == "code":
        factor *= 0.5
    if candidate.index == first:
        factor *= 1.4
    if candidate.kind == "prose":
        factor *= _cue_factor(candidate)
    if candidate.role not in ROLE and len(candidate.sources) > 2:
        factor *= 0.2
    return factor * (1 + 0.3 * (candidate.index + 1) / span)


def _cue_factor(candidate: Candidate) -> float:
    if cues.CHATTER.search(candidate.text):
        return 0.25
    asks_or_decides = cues.DECISION.search(candidate.text) or cues.REQUEST.search(candidate.text)
    feels = candidate.role == "user" and cues.EMOTION.search(candidate.text)
    return 1.4 if asks_or_decides or feels else 1.0
