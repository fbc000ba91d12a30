"""The units of a chunk as candidates for a summary: what each would tell, where it stands, what it costs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ricordo.consolidation.atoms import atoms
from ricordo.consolidation.extractive import cues
from ricordo.consolidation.extractive.records import units
from ricordo.consolidation.sentences import Unit, UnitKind
from ricordo.consolidation.source import SourceMessage
from ricordo.tokens import count

STEM = 6
"""Words that share their first six letters count as one: a stemmer for both languages without tables."""

_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,2}|[^\W_]+(?:['’_-][^\W_]+)*")
_STOP = cues.STOP_WORDS["en"] | cues.STOP_WORDS["it"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A unit that a summary may quote.

    `index` is the place of its first message in the chunk, `order` its place among all units, `sources` the numbers
    of the messages that say it, ascending. `cost` is in tokens, as a line of a list. `atoms` and `words` are what it
    covers; words are stems, without stop words.
    """

    text: str
    kind: UnitKind
    role: str
    index: int
    order: int
    sources: tuple[int, ...]
    cost: int
    atoms: frozenset[str]
    words: frozenset[str]


@dataclass(slots=True)
class _Draft:
    unit: Unit
    role: str
    index: int
    numbers: list[int] = field(default_factory=list[int])


def tokens_of(text: str) -> list[str]:
    """Return the words of a text in lower case, in order; CJK runs come as pairs of characters."""
    return _TOKEN.findall(text.casefold())


def stems(words: Iterable[str]) -> frozenset[str]:
    """Return the stems of the words that carry content."""
    return frozenset(
        word[:STEM] for word in words if word not in _STOP and not word.isdigit() and (len(word) > 2 or ord(word[0]) > 0x2FFF)
    )


def atom_keys(text: str) -> frozenset[str]:
    """Return the normal forms of the atoms of a text, with their kinds."""
    return frozenset(f"{atom.kind}\t{atom.key}" for atom in atoms(text))


def candidates(messages: Sequence[SourceMessage]) -> list[Candidate]:
    """Return the candidates in reading order; units of the same words become one that cites all their messages.

    Units that look like a credential are left out.
    """
    drafts: dict[tuple[str, ...], _Draft] = {}
    for index, message in enumerate(messages):
        for unit in units(message.text):
            key = tuple(sorted(set(tokens_of(unit.text))))
            if key and not cues.SECRET.search(unit.text):
                draft = drafts.setdefault(key, _Draft(unit, message.role, index))
                if not draft.numbers or draft.numbers[-1] != message.number:
                    draft.numbers.append(message.number)
    texts = [quoted(draft.unit, draft.role) for draft in drafts.values()]
    costs = [count(f"- {text}\n") for text in texts]
    return [
        _candidate(order, words, draft, text, cost)
        for order, ((words, draft), text, cost) in enumerate(zip(drafts.items(), texts, costs, strict=True))
    ]


def _candidate(order: int, words: tuple[str, ...], draft: _Draft, text: str, cost: int) -> Candidate:
    return Candidate(
        text=text,
        kind=draft.unit.kind,
        role=draft.role,
        index=draft.index,
        order=order,
        sources=tuple(sorted(set(draft.numbers))),
        cost=cost,
        atoms=atom_keys(draft.unit.text),
        words=stems(words),
    )


def quoted(unit: Unit, role: str) -> str:
    """Return the unit as a summary's line tells it: what a user says is marked as theirs."""
    return f"User: {unit.text}" if role == "user" and unit.kind == "prose" else unit.text
