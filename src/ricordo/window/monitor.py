"""How full a window is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from ricordo.config import Policy
from ricordo.errors import InvalidInputError
from ricordo.tokens.limits import model_limit
from ricordo.types import Usage, UsageStatus

CHARACTERS_PER_TOKEN = 4
"""The published rule of thumb; `ricordo.tokens.count` counts exactly."""


class UsageDict(TypedDict):
    """The published estimate: tokens used, tokens available, and their percentage to one decimal place."""

    tokens: int
    max: int
    percent: float


class MonitorDict(UsageDict):
    """The published estimate with its status."""

    status: UsageStatus


def calculate_context_usage(context: str, model: str = "gpt-5-mini") -> UsageDict:
    """Return the published estimate of a context's size: four characters a token, against the model's limit.

    It underestimates Chinese, Japanese, Korean and code; `usage` with `ricordo.tokens` does not.
    """
    tokens = len(context) // CHARACTERS_PER_TOKEN
    limit = model_limit(model)
    return {"tokens": tokens, "max": limit, "percent": _percent(tokens, limit)}


def monitor_context_window(context: str, model: str = "gpt-5-mini") -> MonitorDict:
    """Return `calculate_context_usage` and a status: "ok" below 50 percent, "warning" below 80, else "critical".

    The status is decided on the rounded percentage, as published.
    """
    estimate = calculate_context_usage(context, model)
    policy = Policy()
    return {**estimate, "status": _status(estimate["percent"], policy.warn_percent, policy.critical_percent)}


def usage(segments: Mapping[str, int], *, limit: int, warn: float, critical: float) -> Usage:
    """Return how full a window of `limit` tokens is, given the tokens of each segment in their order.

    `warn` and `critical` are percentages; a status begins at its percentage. Raises InvalidInputError for a limit
    below 1, a negative segment, or thresholds that are not `0 <= warn <= critical`.
    """
    if limit < 1:
        raise InvalidInputError(f"a window's limit must be at least 1 token, not {limit}")
    if not 0 <= warn <= critical:
        raise InvalidInputError(f"thresholds must satisfy 0 <= warn <= critical, not {warn} and {critical}")
    if any(tokens < 0 for tokens in segments.values()):
        raise InvalidInputError("a segment cannot hold fewer than 0 tokens")
    total = sum(segments.values())
    percent = _percent(total, limit)
    status = _status(percent, warn, critical)
    return Usage(tokens=total, max=limit, percent=percent, status=status, segments=dict(segments))


def _percent(tokens: int, limit: int) -> float:
    return round(tokens / limit * 100, 1)


def _status(percent: float, warn: float, critical: float) -> UsageStatus:
    if percent < warn:
        return "ok"
    return "warning" if percent < critical else "critical"
