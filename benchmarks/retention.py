"""What stays answerable of a compacted conversation: ricordo beside truncation, masking, langmem and an oracle."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from benchmarks.measure import Result, at_least
from benchmarks.retention_parts import methods
from benchmarks.retention_parts.cases import Case, Half, cases
from benchmarks.retention_parts.expansion import Expansions
from benchmarks.retention_parts.peers import Peer, langmem
from benchmarks.retention_parts.report import BUDGETS, Scores, write
from ricordo import AsyncMemory
from ricordo.consolidation.atoms import AtomIndex

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("RICORDO_TRANSCRIPTS", ROOT.parent / "shared/data/transcripts"))
PAGE = ROOT / "docs/retention.md"
HALVES: tuple[Half, ...] = ("develop", "report")

Windows: TypeAlias = Callable[[Case, int], Sequence[str]]
"""The windows of one method for a case and a budget in tokens: several where it may be set up in several ways."""


async def run(url: str) -> list[Result]:
    """Measure both halves, write the figures into docs/retention.md, and return the lines of the reported half."""
    if not DATA.is_dir():  # noqa: ASYNC240  (one look at the disk before everything)
        return [Result("retention", "skipped", "", f"no transcripts in {DATA}; RICORDO_TRANSCRIPTS names them", True)]
    scores: dict[Half, Scores] = {}
    with langmem() as peer:
        async with await AsyncMemory.open(url, namespace="retention") as memory:
            for half in HALVES:
                found = cases(DATA, half)
                scores[half] = Scores(cases=found)
                await _windows(found, scores[half], peer)
                await _expansions(memory, found, scores[half])
    write(PAGE, scores)
    return _results(scores["report"])


def _methods(peer: Peer | None) -> Mapping[str, Windows]:
    """Return the other methods by their names; langmem's only where it is installed."""
    found: dict[str, Windows] = {
        "truncate oldest": lambda case, budget: [methods.newest(case.source, budget)],
        "mask tool outputs": lambda case, budget: [methods.masked(case.source, budget, outputs=case.outputs)],
    }
    return found | {"langmem": lambda case, budget: peer.windows(case.source, budget)} if peer else found


async def _windows(found: Sequence[Case], scores: Scores, peer: Peer | None) -> None:
    """Score the windows of every method at every budget; of several ways to set one up, the best one counts."""
    others = _methods(peer)
    for percent in BUDGETS:
        for case in found:
            budget = case.tokens * percent // 100
            whole, lines = await methods.ricordo(case.source, budget)
            scores.add("ricordo", percent, case, [AtomIndex([whole])])
            scores.add("ricordo, without recall keys", percent, case, [AtomIndex([lines])])
            for name, windows in others.items():
                scores.add(name, percent, case, [AtomIndex([window]) for window in windows(case, budget)])


async def _expansions(memory: AsyncMemory, found: Sequence[Case], scores: Scores) -> None:
    for case in found:
        expansions = await Expansions.of(memory, case)
        for percent in BUDGETS:
            budget = case.tokens * percent // 100
            window, _ = await methods.ricordo(case.source, budget)
            shown = AtomIndex([window])
            for probe in case.probes:
                known = shown.contains(probe.atom)
                for name, expand in {
                    "search": partial(expansions.searched, probe, probe.query, budget),
                    "oracle": partial(expansions.opened, probe, budget),
                    "told": partial(expansions.searched, probe, probe.atom.text, budget),
                    "page": partial(expansions.whole, probe, probe.query),
                }.items():
                    scores.count(name, percent, probe, known or await expand())


def _results(scores: Scores) -> list[Result]:
    """Return a line for each aim, measured on the half that nothing was developed on."""
    lines: list[Result] = []
    for percent in BUDGETS:
        ours = scores.share("ricordo", percent)
        best, name = max((scores.share(name, percent), name) for name in scores.others())
        detail = f"{ours:.3f} against {best:.3f}, the best of others ({name})"
        lines.append(at_least(f"answerable in a window of {percent} %, beside others", ours / best, 1.0, detail))
    search, oracle = scores.share("search", 10), scores.share("oracle", 10)
    detail = f"{search:.3f} against {oracle:.3f}; an oracle told the answer {scores.share('told', 10):.3f}"
    lines.append(at_least("answerable after one expansion at 10 %, beside the oracle", search / oracle, 0.95, detail))
    return lines
