"""Cutting a text at its beginning."""

from __future__ import annotations

from ricordo.tokens import count


def tail(text: str, budget: int) -> str:
    """Return the longest end of a text that has at most `budget` tokens, found by bisection."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if count(text[middle:]) <= budget else (middle + 1, high)
    return text[low:]
