"""Tokens: counting them, the models' limits, and correction by reported usage. Pure, apart from one warning."""

from __future__ import annotations

from ricordo.tokens.calibration import MINIMUM_SAMPLE, reported_prompt_tokens, update_ratio
from ricordo.tokens.count import MEDIA_TOKENS, MESSAGE_OVERHEAD, count, count_message, count_tools, truncate
from ricordo.tokens.limits import (
    DEFAULT_MODEL,
    DEFAULT_TOKEN_LIMIT,
    MODEL_TOKEN_LIMITS,
    UnknownModelWarning,
    model_limit,
)

__all__ = [
    "DEFAULT_MODEL",
    "DEFAULT_TOKEN_LIMIT",
    "MEDIA_TOKENS",
    "MESSAGE_OVERHEAD",
    "MINIMUM_SAMPLE",
    "MODEL_TOKEN_LIMITS",
    "UnknownModelWarning",
    "count",
    "count_message",
    "count_tools",
    "model_limit",
    "reported_prompt_tokens",
    "truncate",
    "update_ratio",
]
