"""Recorded conversations, each cut in two: what is compacted, and what came later and shows which of it mattered."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ricordo.consolidation.atoms import Atom, AtomIndex
from ricordo.consolidation.recall import telling
from ricordo.messages import ParsedMessage, cut_positions, parse
from ricordo.tokens import count

Half: TypeAlias = Literal["develop", "report"]

SOURCE_SHARE = 0.7
"""The part of a conversation's tokens that is compacted, to the nearest place where it may be cut."""

FEWEST_SOURCE_TOKENS = 1_000
"""Nobody compacts less."""

FEWEST_QUERY_WORDS = 3
QUERY_REACH = 40
"""Characters on each side: about the dozen words that an agent asks with."""

_WORD = re.compile(r"\w+")

KINDS = {"date": "dates", "number": "amounts", "name": "names"}
"""What probes are called in the tables; all other atoms are identifiers. A name is a probe where it was decided on:
labels and titles are capitalised too."""

AIRLINE_TASKS = 25
"""Tasks below this are developed on, the others reported: the recordings hold each task twice."""

DEVELOP_SWE = ("demonstrations", "human_thought")


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Something of the source that a person or the agent used later, before anything else brought it back.

    `decided` marks what the agent had passed to a tool. `query` is what stands beside it at the later use, without the
    atom itself: what the agent can ask for when it notices that it does not know.
    """

    atom: Atom
    kind: str
    decided: bool
    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One conversation's source, with what mattered later.

    `tokens` is the source's size, `outputs` are the roles under which tools' outputs stand.
    """

    name: str
    source: tuple[ParsedMessage, ...]
    tokens: int
    outputs: frozenset[str]
    probes: tuple[Probe, ...]


def cases(folder: Path, half: Half) -> list[Case]:
    """Return one half of the recorded conversations; no task is in both halves."""
    found = [_case(recording) for recording in _recordings(folder, half)]
    return [case for case in found if case.tokens >= FEWEST_SOURCE_TOKENS and case.probes]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recording:
    """A conversation as it was recorded. `speakers` are those whose words are not outputs."""

    name: str
    messages: Sequence[Mapping[str, Any]]
    speakers: frozenset[str]


def _recordings(folder: Path, half: Half) -> Iterator[_Recording]:
    for one in json.loads((folder / "tau-bench-airline.json").read_text(encoding="utf-8")):
        if (one["task_id"] < AIRLINE_TASKS) == (half == "develop"):
            name = f"airline {one['task_id']}/{one['trial']}"
            yield _Recording(name=name, messages=one["traj"], speakers=frozenset({"user", "assistant"}))
    for path in sorted((folder / "swe-agent").glob("*.traj")):
        if path.name.startswith(DEVELOP_SWE) == (half == "develop"):
            messages = json.loads(path.read_text(encoding="utf-8"))["history"]
            yield _Recording(name=path.stem, messages=messages, speakers=frozenset({"assistant"}))


def _case(recording: _Recording) -> Case:
    messages = [one for one in map(parse, recording.messages) if one.role != "system"]
    sizes = [count(one.text) for one in messages]
    allowed = [place for place, free in enumerate(cut_positions(messages)) if free]
    cut = min(allowed, key=lambda place: abs(sum(sizes[:place]) - SOURCE_SHARE * sum(sizes)))
    probes = tuple(_probes(messages[:cut], messages[cut:], recording.speakers))
    return Case(
        name=recording.name,
        source=tuple(messages[:cut]),
        tokens=sum(sizes[:cut]),
        outputs=frozenset({"user", "tool"}) - recording.speakers,
        probes=probes,
    )


def _probes(
    source: Sequence[ParsedMessage], later: Sequence[ParsedMessage], speakers: frozenset[str]
) -> Iterator[Probe]:
    known = AtomIndex(one.text for one in source)
    decided = {_key(atom) for one in source if one.calls for atom in telling(one.text)}
    seen: set[tuple[str, str]] = set()
    for place, message in enumerate(later):
        for atom in telling(message.text):
            matters = message.role in speakers and (atom.kind != "name" or _key(atom) in decided)
            if matters and _key(atom) not in seen and known.contains(atom):
                yield Probe(
                    atom=atom,
                    kind=KINDS.get(atom.kind, "identifiers"),
                    decided=_key(atom) in decided,
                    query=_query(later, place, atom),
                )
            seen.add(_key(atom))


def _key(atom: Atom) -> tuple[str, str]:
    return atom.kind, atom.key


def _query(later: Sequence[ParsedMessage], place: int, atom: Atom) -> str:
    """Return the words beside an atom, or those before its message where it stands alone."""
    before, _, after = later[place].text.partition(atom.text)
    beside = f"{before[-QUERY_REACH:]} {after[:QUERY_REACH]}".replace(atom.text, " ")
    if len(_WORD.findall(beside)) < FEWEST_QUERY_WORDS and place:
        beside = f"{later[place - 1].text[-QUERY_REACH:]} {beside}".replace(atom.text, " ")
    return beside
