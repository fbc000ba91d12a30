"""The choice of units: greedy maximum coverage under a budget of tokens."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from math import fsum

from ricordo.consolidation.extractive.candidates import Candidate
from ricordo.consolidation.extractive.weights import Valuation

LINE_OVERHEAD = 3
"""Tokens added to each cost, so that many scraps do not win over one good sentence."""


def select(
    candidates: Sequence[Candidate], value: Valuation, *, budget: int, admit: Callable[[Candidate], bool]
) -> list[int]:
    """Return the chosen candidates' places, in the order of choice: the first is worth most per token.

    Budgeted maximisation of a coverage function by gain per cost (Lin and Bilmes, 2010) with lazy evaluation (Minoux,
    1978). A gain only falls when one of the unit's elements gets covered, which happens once an element, so the
    evaluations are at most the units plus their elements. `admit` is asked once for each unit about to be chosen.
    """
    covered: set[str] = set()

    def worth(place: int) -> float:
        # fsum is exact, so the order of a set cannot change the choice.
        new = fsum(value.weights[element] for element in value.elements[place] if element not in covered)
        return value.salience[place] * new / (candidates[place].cost + LINE_OVERHEAD)

    heap = [(-worth(place), place) for place in range(len(candidates))]
    heapq.heapify(heap)
    chosen: list[int] = []
    while heap and budget > 0:
        stale, place = heapq.heappop(heap)
        if candidates[place].cost > budget:
            continue
        fresh = worth(place)
        if fresh < -stale:
            heapq.heappush(heap, (-fresh, place))
        elif fresh > 0 and admit(candidates[place]):
            chosen.append(place)
            covered |= value.elements[place]
            budget -= candidates[place].cost
    return chosen
