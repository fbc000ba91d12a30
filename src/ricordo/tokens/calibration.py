"""Correcting the estimate by what a provider says that it charged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ricordo.errors import InvalidInputError

MINIMUM_SAMPLE = 200
"""Tokens below which fixed overheads drown the tokenizer's own ratio, so that a request teaches nothing."""

RATIO_BOUNDS = (0.5, 3.0)
"""What a ratio may be: no tokenizer in use needs fewer than half, or more than three times, the tokens of another."""

SLOWEST_WEIGHT = 0.1
"""The weight that a new request keeps however many came before, so that the ratio follows a changed tokenizer."""


def reported_prompt_tokens(usage: Mapping[str, Any]) -> int:
    """Return the size in tokens of the prompt that a usage report is about, cached tokens counted once.

    OpenAI's `prompt_tokens` (Chat) and `input_tokens` (Responses, with `input_tokens_details`) include the cached
    ones. Anthropic's `input_tokens` leave out `cache_read_input_tokens` and `cache_creation_input_tokens`, which are
    added. The keys tell the forms apart. Raises InvalidInputError for anything else.
    """
    if "prompt_tokens" in usage:
        return _tokens(usage, "prompt_tokens")
    total = _tokens(usage, "input_tokens")
    if "input_tokens_details" in usage:
        return total
    cached = ("cache_read_input_tokens", "cache_creation_input_tokens")
    return total + sum(_tokens(usage, key) for key in cached if usage.get(key) is not None)


def update_ratio(old: float | None, observations: int, estimated: int, reported: int) -> float:
    """Return the ratio of reported to estimated tokens after one more request.

    The first `1 / SLOWEST_WEIGHT` requests are averaged equally; from then on a new one weighs `SLOWEST_WEIGHT`
    (exponential smoothing). `observations` is how many requests `old` rests on. The ratio stays within
    `RATIO_BOUNDS`; a request estimated or reported below `MINIMUM_SAMPLE` tokens leaves `old` (1.0 at the start).
    Raises InvalidInputError for a negative number.
    """
    if min(observations, estimated, reported) < 0:
        raise InvalidInputError("observations and token counts cannot be negative")
    previous = _bounded(old) if old is not None else None
    if min(estimated, reported) < MINIMUM_SAMPLE:
        return previous if previous is not None else 1.0
    seen = _bounded(reported / estimated)
    if previous is None or observations == 0:
        return seen
    return previous + max(1 / (observations + 1), SLOWEST_WEIGHT) * (seen - previous)


def _tokens(usage: Mapping[str, Any], key: str) -> int:
    value = usage.get(key)
    if type(value) is not int or value < 0:
        raise InvalidInputError(
            f"usage[{key!r}] is {value!r}, not a number of tokens",
            hint="pass the usage object of an OpenAI or Anthropic response as a dict",
        )
    return value


def _bounded(ratio: float) -> float:
    low, high = RATIO_BOUNDS
    return min(max(ratio, low), high)
