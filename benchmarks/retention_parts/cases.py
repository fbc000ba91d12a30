"""Recorded conversations, each cut in two: what is compacted, and what came later and shows which of it mattered."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ricordo.consolidation.atoms import Atom, AtomIndex
from ricordo.consolidation.recall import telling
from ricordo.consolidation.sentences import split
from ricordo.messages import ParsedMessage, cut_positions, parse
from ricordo.tokens import count

Half: TypeAlias = Literal["develop", "report"]

SOURCE_SHARE = 0.7
"""The part of a conversation's tokens that is compacted, to the nearest place where it may be cut."""

FEWEST_SOURCE_TOKENS = 1_000
"""Nobody compacts less."""

FEWEST_QUERY_WORDS = 3
LONGEST_QUERY = 300

KINDS = {"date": "dates", "number": "amounts", "name": "names"}
"""What probes are called in the tables; all other atoms are identifiers."""

AIRLINE_TASKS = 25
"""Tasks below this are developed on, the others reported: the recordings hold each task twice."""

DEVELOP_SWE = ("demonstrations", "human_thought")


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Something of the source that a person or the agent used later, before anything else brought it back.

    `decided` marks what the agent had passed to a tool. `query` is what was said around the later use, without the
    atom itself: what the agent knows when it notices that it does not know.
    """

    atom: Atom
    kind: str
    decided: bool
    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One conversation's source, with what mattered later; `tokens` is the source's size."""

    name: str
    source: tuple[ParsedMessage, ...]
    tokens: int
    probes: tuple[Probe, ...]


def cases(folder: Path, half: Half) -> list[Case]:
    """Return one half of the recorded conversations; no task is in both halves."""
    recorded = ((name, [parse(message) for message in messages]) for name, messages in _recordings(folder, half))
    cut = (_case(name, [one for one in messages if one.role != "system"]) for name, messages in recorded)
    return [case for case in cut if case.tokens >= FEWEST_SOURCE_TOKENS and case.probes]


def _recordings(folder: Path, half: Half) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    for one in json.loads((folder / "tau-bench-airline.json").read_text(encoding="utf-8")):
        if (one["task_id"] < AIRLINE_TASKS) == (half == "develop"):
            yield f"airline {one['task_id']}/{one['trial']}", one["traj"]
    for path in sorted((folder / "swe-agent").glob("*.traj")):
        if path.name.startswith(DEVELOP_SWE) == (half == "develop"):
            yield path.stem, json.loads(path.read_text(encoding="utf-8"))["history"]


def _case(name: str, messages: Sequence[ParsedMessage]) -> Case:
    sizes = [count(one.text) for one in messages]
    allowed = [place for place, free in enumerate(cut_positions(messages)) if free]
    cut = min(allowed, key=lambda place: abs(sum(sizes[:place]) - SOURCE_SHARE * sum(sizes)))
    source, later = messages[:cut], messages[cut:]
    return Case(name=name, source=tuple(source), tokens=sum(sizes[:cut]), probes=tuple(_probes(source, later)))


def _probes(source: Sequence[ParsedMessage], later: Sequence[ParsedMessage]) -> Iterator[Probe]:
    known = AtomIndex(one.text for one in source)
    acted = AtomIndex(one.text for one in source if one.calls)
    seen: set[tuple[str, str]] = set()
    for place, message in enumerate(later):
        for atom in telling(message.text):
            if (atom.kind, atom.key) in seen:
                continue
            seen.add((atom.kind, atom.key))
            if message.role in ("user", "assistant") and known.contains(atom):
                kind = KINDS.get(atom.kind, "identifiers")
                query = _query(later, place, atom)
                yield Probe(atom=atom, kind=kind, decided=acted.contains(atom), query=query)


def _query(later: Sequence[ParsedMessage], place: int, atom: Atom) -> str:
    """Return the sentence around an atom without it, or the message before where the sentence says nothing else."""
    text = later[place].text
    unit = next((unit.text for unit in split(text) if atom.text in unit.text), text)
    middle = max(unit.find(atom.text), 0)
    around = unit[max(middle - LONGEST_QUERY, 0) : middle + len(atom.text) + LONGEST_QUERY].replace(atom.text, " ")
    if len(around.split()) < FEWEST_QUERY_WORDS and place:
        around = f"{later[place - 1].text[-LONGEST_QUERY:]} {around}".replace(atom.text, " ")
    return around
