"""How telling each atom and word of a chunk is, and how much each unit gains by who says it, where and how."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ricordo.consolidation.extractive import cues
from ricordo.consolidation.extractive.candidates import Candidate, tokens_of

WORD = 0.1
"""What a word weighs beside an atom: words break ties between units and keep plain prose alive."""

KIND: Mapping[str, float] = {"identifier": 1.3, "error": 1.3, "number": 0.8, "count": 0.25}
"""What an atom weighs by its kind: what only the original spells matters more than a figure, a small figure least."""

RECENCY = 1.0
"""How much more the last message counts than the first, for its units and again for the atoms that it still uses."""

USER_FRESHNESS = 0.6
"""What a user says ages no further than this: requests and constraints hold until they are met."""

FEWEST_WORDS_OF_CODE = 4
"""A line of code with fewer words than this is a scrap."""

CODE = 0.6
FRAGMENT = 0.3
FAILED = 0.15
REPEATED = 0.3
COURTESY = 0.2
ANSWERED = 0.6
POINTED = 1.2
"""Factors for program text and for scraps of it, for calls that failed, for prose that four or more messages repeat,
for courtesies, for the assistant's questions that were answered, and for cue words."""

ORIGIN: Mapping[str, float] = {"user": 2.0, "assistant": 1.5, "system": 0.05}
OTHER_ORIGIN = 1.0
"""An atom that a person or the assistant took up matters more than one that only a tool printed."""

ROLE: Mapping[str, float] = {"user": 1.1, "assistant": 1.0, "system": 0.1}
OTHER_ROLE = 0.9

REQUEST_MARK, DECISION_MARK, FEELING_MARK, FIRST_MARK, LAST_MARK = 1.6, 0.7, 2.5, 3.0, 2.0
"""What it is worth, in atoms, that a summary tells of each request and decision at all, of some feeling, of how the
conversation began and of where it stands. Each counts once, as in the diversity reward of Lin and Bilmes (2011)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Valuation:
    """What each candidate covers, what each covered element weighs, and the factor of each candidate's coverage."""

    elements: Sequence[frozenset[str]]
    weights: Mapping[str, float]
    salience: Sequence[float]


@dataclass(slots=True)
class _Mentions:
    messages: int = 0
    origin: float = 0.0
    last: int = 0


@dataclass(frozen=True, slots=True)
class _Span:
    size: int
    first_user: int
    last_user: int
    last_said: int


def valuate(candidates: Sequence[Candidate]) -> Valuation:
    """Return the value of the candidates of one chunk, in time linear in their atoms and words.

    Atoms weigh by repetition, by who used them and by how late; words also by rarity: tf-idf over the chunk's messages
    (Salton and Buckley, 1988).
    """
    span = _span(candidates)
    weights = {element: _weight(element, seen, span.size) for element, seen in _mentions(candidates).items()}
    elements: list[frozenset[str]] = []
    for candidate in candidates:
        marks = _marks(candidate, span)
        weights.update(marks)
        elements.append(candidate.atoms | candidate.words | marks.keys())
    return Valuation(elements=elements, weights=weights, salience=[_salience(c, span) for c in candidates])


def _span(candidates: Sequence[Candidate]) -> _Span:
    return _Span(
        size=1 + max((c.index for c in candidates), default=0),
        first_user=min((c.index for c in candidates if c.role == "user"), default=-1),
        last_user=max((c.index for c in candidates if c.role == "user"), default=-1),
        last_said=max((c.index for c in candidates if c.role == "assistant" and c.kind == "prose"), default=-1),
    )


def _mentions(candidates: Sequence[Candidate]) -> dict[str, _Mentions]:
    found: dict[str, _Mentions] = {}
    for candidate in candidates:
        origin = OTHER_ORIGIN if candidate.kind == "code" else ORIGIN.get(candidate.role, OTHER_ORIGIN)
        for element in candidate.atoms | candidate.words:
            seen = found.setdefault(element, _Mentions())
            seen.messages += len(candidate.sources)
            seen.origin = max(seen.origin, origin)
            seen.last = max(seen.last, candidate.index)
    return found


def _weight(element: str, seen: _Mentions, span: int) -> float:
    frequency = 1 + math.log2(seen.messages)
    if "\t" in element:
        freshness = _freshness(seen.last, span, said_by_user=seen.origin >= ORIGIN["user"])
        return KIND.get(element.partition("\t")[0], 1.0) * frequency * seen.origin * (1 + RECENCY * freshness)
    rarity = math.log(1 + span / seen.messages) / math.log(1 + span)
    return WORD * frequency * rarity * seen.origin


def _marks(candidate: Candidate, span: _Span) -> dict[str, float]:
    """Return what a unit of prose tells of beyond its words, with weights; names cannot be words: they hold a space."""
    if candidate.kind != "prose" or candidate.role not in ("user", "assistant") or cues.CHATTER.search(candidate.text):
        return {}
    user = candidate.role == "user"
    asks = user and bool(cues.REQUEST.search(candidate.text) or cues.QUESTION.search(candidate.text))
    told = {
        f"request {candidate.index}": (asks, REQUEST_MARK),
        f"decision {candidate.index}": (bool(cues.DECISION.search(candidate.text)), DECISION_MARK),
        "some feeling": (user and bool(cues.EMOTION.search(candidate.text)), FEELING_MARK),
        "the beginning": (candidate.index == span.first_user, FIRST_MARK),
        "the last answer": (candidate.index == span.last_said, LAST_MARK),
        "the last request": (asks and candidate.index > span.last_said, LAST_MARK),
    }
    return {name: weight for name, (applies, weight) in told.items() if applies}


def _salience(candidate: Candidate, span: _Span) -> float:
    factor = ROLE.get(candidate.role, OTHER_ROLE)
    if candidate.failed:
        factor *= FAILED
    if candidate.kind == "code":
        factor *= CODE if len(tokens_of(candidate.text)) >= FEWEST_WORDS_OF_CODE else CODE * FRAGMENT
    elif candidate.kind == "prose":
        factor *= _prose_factor(candidate, span)
    return factor * (1 + RECENCY * _freshness(candidate.index, span.size, said_by_user=candidate.role == "user"))


def _freshness(index: int, span: int, *, said_by_user: bool) -> float:
    return max((index + 1) / span, USER_FRESHNESS if said_by_user else 0.0)


def _prose_factor(candidate: Candidate, span: _Span) -> float:
    text = candidate.text
    if cues.CHATTER.search(text):
        return COURTESY if candidate.atoms or cues.EMOTION.search(text) else 0.0
    if len(candidate.sources) > 3:
        return REPEATED
    if candidate.role == "assistant" and cues.QUESTION.search(text) and candidate.index < span.last_user:
        return ANSWERED
    return POINTED if cues.DECISION.search(text) or cues.REQUEST.search(text) else 1.0
