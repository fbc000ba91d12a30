"""Timing of alternatives side by side, so that the noise of a machine falls on each of them alike."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from statistics import median, quantiles


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of one alternative's calls."""

    seconds: tuple[float, ...]

    @property
    def p50(self) -> float:
        """The median, in milliseconds."""
        return median(self.seconds) * 1000

    @property
    def p99(self) -> float:
        """The 99th percentile, in milliseconds."""
        return quantiles(self.seconds, n=100)[98] * 1000

    @property
    def total(self) -> float:
        """The sum, in seconds."""
        return sum(self.seconds)


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table: what was measured, the figure, and the limit that it is held against."""

    name: str
    figure: str
    limit: str
    detail: str
    ok: bool


async def alternate(
    calls: Mapping[str, Callable[[], Awaitable[object]]], *, rounds: int, warm: int = 20
) -> dict[str, Timing]:
    """Call each alternative once a round, in turn, and return their timings; `warm` rounds are not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(warm + rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            await call()
            if number >= warm:
                seconds[name].append(time.perf_counter() - start)
    return {name: Timing(tuple(values)) for name, values in seconds.items()}


def at_least(name: str, ratio: float, limit: float, detail: str) -> Result:
    """Return a line for a ratio that should not be below its limit."""
    return Result(name, f"{ratio:.2f}", f">= {limit}", detail, ratio >= limit)


def at_most(name: str, ratio: float, limit: float, detail: str) -> Result:
    """Return a line for a ratio that should not be above its limit."""
    return Result(name, f"{ratio:.2f}", f"<= {limit}", detail, ratio <= limit)
