"""The choice of units: greedy maximum coverage under a budget of tokens."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from math import fsum

from ricordo.consolidation.extractive.candidates import Candidate

LINE_OVERHEAD = 2
"""Tokens added to each cost, so that many scraps do not win over one good sentence."""


def select(
    candidates: Sequence[Candidate],
    *,
    weights: Mapping[str, float],
    salience: Sequence[float],
    budget: int,
    admit: Callable[[Candidate], bool],
) -> list[int]:
    """Return the chosen candidates' places, in the order of choice: the first is worth most per token.

    Budgeted maximisation of a coverage function by gain per cost (Lin and Bilmes, 2010) with lazy evaluation (Minoux,
    1978). A gain only falls when one of the unit's elements gets covered, which happens once an element, so the
    evaluations are at most the units plus their elements. `admit` is asked once for each unit about to be chosen.
    """
    covered: set[str] = set()

    def worth(place: int) -> float:
        candidate = candidates[place]
        new = (candidate.atoms | candidate.words) - covered
        return salience[place] * fsum(weights[element] for element in new) / (candidate.cost + LINE_OVERHEAD)

    heap = [(-worth(place), place) for place in range(len(candidates))]
    heapq.heapify(heap)
    chosen: list[int] = []
    while heap and budget > 0:
        stale, place = heapq.heappop(heap)
        candidate = candidates[place]
        if candidate.cost > budget:
            continue
        value = worth(place)
        if value <= 0:
            continue
        if value < -stale:
            heapq.heappush(heap, (-value, place))
        elif admit(candidate):
            chosen.append(place)
            covered |= candidate.atoms | candidate.words
            budget -= candidate.cost
    return chosen
