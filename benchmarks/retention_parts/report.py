"""The scores of the retention benchmark, and their place in the documentation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.retention_parts.cases import Case, Half, Probe
from ricordo.consolidation.atoms import AtomIndex

BUDGETS = (5, 10, 20)
"""Window budgets, in percent of the source."""

KINDS = ("identifiers", "dates", "amounts", "names", "decisions")
OURS = ("ricordo", "ricordo, without recall keys")
EXPANSIONS = {
    "search": "window, or one expansion by search",
    "oracle": "window, or the page that begins where the answer stands",
    "told": "window, or one expansion by search for the answer itself",
    "page": "window, or one expansion of the default size",
}
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


@dataclass(frozen=True, slots=True)
class Scores:
    """How many probes each method answers, by budget and kind; a probe that was decided on counts in two kinds."""

    cases: Sequence[Case]
    hits: Counter[tuple[str, int, str]] = field(default_factory=Counter[tuple[str, int, str]])
    seen: Counter[tuple[str, int, str]] = field(default_factory=Counter[tuple[str, int, str]])

    def add(self, name: str, percent: int, case: Case, windows: Sequence[AtomIndex]) -> None:
        """Score the windows of a method for one case; with several, each variant of the method by itself."""
        for number, window in enumerate(windows):
            variant = f"{name} {number}" if len(windows) > 1 else name
            for probe in case.probes:
                self.count(variant, percent, probe, window.contains(probe.atom))

    def count(self, name: str, percent: int, probe: Probe, hit: bool) -> None:
        """Count one probe."""
        for kind in ("all", probe.kind, *(["decisions"] if probe.decided else [])):
            self.seen[name, percent, kind] += 1
            self.hits[name, percent, kind] += hit

    def share(self, name: str, percent: int, kind: str = "all") -> float:
        """Return the share that a method answers: of its variants the best one over all kinds."""
        best = max(self._variants(name), key=lambda one: self.hits[one, percent, "all"])
        return self.hits[best, percent, kind] / max(self.seen[best, percent, kind], 1)

    def others(self) -> list[str]:
        """Return the methods beside ricordo."""
        names = dict.fromkeys(name.rstrip(" 0123456789") for name, _, _ in self.seen)
        return [name for name in names if name not in OURS and name not in EXPANSIONS]

    def _variants(self, name: str) -> list[str]:
        return sorted({one for one, _, _ in self.seen if one == name or one.rstrip(" 0123456789") == name})


def write(page: Path, scores: Mapping[Half, Scores]) -> None:
    """Put the figures between their marks in the page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    figures = "\n".join(_figures(scores))
    page.write_text(f"{before}{BEGIN}\n\n{figures}\n\n{END}{after}", encoding="utf-8")


def _figures(scores: Mapping[Half, Scores]) -> Iterator[str]:
    titles = {"report": "The half that is only reported", "develop": "The half that was developed on"}
    for half, title in titles.items():
        yield from (f"### {title}", "", _described(scores[half]), "", *_windows(scores[half]), "")
        yield from ("After one expansion:", "", *_expansions(scores[half]), "")
    yield from ("### By kind, at 10 %, on the reported half", "", *_kinds(scores["report"]))


def _described(scores: Scores) -> str:
    tokens = [case.tokens for case in scores.cases]
    probes = sum(len(case.probes) for case in scores.cases)
    return (
        f"{len(tokens)} conversations with {probes} probes; a source has {median(tokens):,.0f} tokens in the median, "
        f"{min(tokens):,} to {max(tokens):,}. Answerable in the window:"
    )


def _windows(scores: Scores) -> Iterator[str]:
    yield from _head("", [f"{percent} %" for percent in BUDGETS])
    for name in (*OURS, *scores.others()):
        yield _row(name, [f"{scores.share(name, percent):.3f}" for percent in BUDGETS])
    if "langmem" not in scores.others():
        yield _row("langmem", ["not installed"] * len(BUDGETS))


def _expansions(scores: Scores) -> Iterator[str]:
    yield from _head("", [f"{percent} %" for percent in BUDGETS])
    for name, told in EXPANSIONS.items():
        yield _row(told, [f"{scores.share(name, percent):.3f}" for percent in BUDGETS])
    for name in ("oracle", "told"):
        ratios = [scores.share("search", percent) / scores.share(name, percent) for percent in BUDGETS]
        yield _row(f"first line beside the {'second' if name == 'oracle' else 'third'}", [f"{x:.3f}" for x in ratios])


def _kinds(scores: Scores) -> Iterator[str]:
    yield from _head("", KINDS)
    for name in (*OURS, *scores.others()):
        yield _row(name, [f"{scores.share(name, 10, kind):.3f}" for kind in KINDS])
    yield _row("probes", [str(scores.seen["ricordo", 10, kind]) for kind in KINDS])


def _head(first: str, columns: Iterable[str]) -> Iterator[str]:
    names = [first, *columns]
    yield _row(names[0], names[1:])
    yield "|---|" + "---:|" * (len(names) - 1)


def _row(first: str, cells: Iterable[str]) -> str:
    return f"| {' | '.join([first, *cells])} |"
