"""How many tokens a model's window holds."""

from __future__ import annotations

import warnings
from functools import lru_cache

MODEL_TOKEN_LIMITS: dict[str, int] = {"gpt-5-mini": 256_000}
"""Limits that win over every other source; add a model here to set its window."""

DEFAULT_MODEL = "gpt-5-mini"
"""The published default: the model whose window is measured where none is named."""

DEFAULT_TOKEN_LIMIT = 128_000
"""The window of a model that no source knows."""


class UnknownModelWarning(UserWarning):
    """No source knows the model's window, so `DEFAULT_TOKEN_LIMIT` is used."""


def model_limit(model: str) -> int:
    """Return the size of a model's window in tokens.

    `MODEL_TOKEN_LIMITS` is asked first, then the price and model tables of genai-prices, which ship with the
    package and are never updated over the network from here. A provider's prefix (`openai/gpt-4o`,
    `anthropic:claude-sonnet-4-5`) is understood. An unknown model has `DEFAULT_TOKEN_LIMIT` and warns once a name.
    """
    published = MODEL_TOKEN_LIMITS.get(model)
    return published if published is not None else _listed_limit(model)


@lru_cache(maxsize=1024)
def _listed_limit(model: str) -> int:
    limit = _look_up(model)
    if limit is None:
        warnings.warn(
            f"the window of model {model[:100]!r} is not known: {DEFAULT_TOKEN_LIMIT} tokens are assumed",
            UnknownModelWarning,
            stacklevel=3,
        )
    return limit or DEFAULT_TOKEN_LIMIT


def _look_up(model: str) -> int | None:
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415  (a quarter of a second, for its tables)

    for provider, name in _readings(model):
        try:
            _, info = get_snapshot().find_provider_model(name, None, provider, None)
        except LookupError:
            continue
        if info.context_window:
            return info.context_window
    return None


def _readings(model: str) -> list[tuple[str | None, str]]:
    """Return the ways to read a name, the most specific first: with its prefix as the provider, then without one."""
    readings: list[tuple[str | None, str]] = [(None, model)]
    for separator in ("/", ":"):
        provider, found, name = model.partition(separator)
        if found and provider and name:
            readings += [(provider, name), (None, name)]
    return readings
