"""Settings, read once from the environment (prefix `RICORDO_`); arguments to `Memory.open` win over them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import UnionType
from typing import Any

import platformdirs
from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from ricordo.errors import ConfigurationError

DEFAULT_NAMESPACE = "default"


def default_data_dir() -> Path:
    """Return the folder of the embedded PostgreSQL: the user's data folder, or `/var/lib/ricordo` for root.

    PostgreSQL does not run as root, so a root user's server runs under an unprivileged account, which can
    reach only folders whose parents are open to it.
    """
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return Path("/var/lib/ricordo")
    return platformdirs.user_data_path("ricordo", appauthor=False)


class Settings(BaseSettings):
    """Where the memory is and which model summarises.

    `OPENAI_BASE_URL` and `OPENAI_API_KEY` are read by the model client itself, under their usual names.
    """

    model_config = SettingsConfigDict(env_prefix="RICORDO_", extra="ignore", frozen=True)

    database_url: str | None = None
    data_dir: Path = Field(default_factory=default_data_dir)
    namespace: str = DEFAULT_NAMESPACE
    model: str | None = None
    model_timeout: float = Field(default=120.0, gt=0, description="seconds a model call may take")
    model_concurrency: int = Field(default=4, ge=1, description="model calls of one consolidation at the same time")
    model_window: int | None = Field(default=None, ge=1024, description="tokens of the summarising model's window")
    pool_size: int = Field(default=8, ge=1)
    lease_seconds: float = Field(default=30.0, ge=1, description="how long a silent consolidator keeps its thread")


def load_settings(**given: Any) -> Settings:
    """Return the settings of the environment with the given ones on top; raises ConfigurationError."""
    try:
        return Settings(**given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = "_".join(str(part) for part in first["loc"])
        raise ConfigurationError(
            f"the setting {name!r} is not usable: {first['msg']}",
            hint=f"see the argument, or the environment variable RICORDO_{name.upper()}",
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """When a window is full, and what a consolidation may take: the same for all threads, or a thread's own.

    Percentages are of the model's window. With a `target_percent` a consolidation acts only above it, shortens old
    tool results first, and says `floor_above_target` where what must stay is larger; without one it takes all that it
    may. `minimum_source_tokens` is what a stretch must hold before a model is asked: four headings and a description
    alone take about half of it. `minimum_gain_tokens` is what the window must shrink by, the new reference counted.

    The newest `keep_recent_turns` turns and `keep_recent_tokens` tokens stay verbatim. An unanswered tool call stays
    open until `orphan_after_messages` further messages have come. Tool results of more than `prune_above_tokens` may be
    shortened; None keeps all of them whole. References may take `reference_percent` of the window before the oldest
    are put under a parent summary. Raises ConfigurationError for values out of range.
    """

    warn_percent: float = 50.0
    critical_percent: float = 80.0
    target_percent: float | None = None
    minimum_source_tokens: int = 100
    minimum_gain_tokens: int = 0
    keep_recent_tokens: int = 0
    keep_recent_turns: int = 0
    orphan_after_messages: int = 24
    prune_above_tokens: int | None = 1_000
    reference_percent: float = 8.0

    def __post_init__(self) -> None:
        """Check the values."""
        for names, kind, most in ((_PERCENTAGES, int | float, 100), (_COUNTS, int, _MOST)):
            for name in names:
                value = getattr(self, name)
                if value is not None or name not in _OPTIONAL:
                    _check_number(name, value, kind, most)
        if self.warn_percent > self.critical_percent:
            raise _out_of_range("warn_percent", self.warn_percent, f"at most critical_percent, {self.critical_percent}")
        if self.target_percent is not None and self.target_percent > self.critical_percent:
            raise _out_of_range(
                "target_percent", self.target_percent, f"at most critical_percent, {self.critical_percent}, or None"
            )


_PERCENTAGES = ("warn_percent", "critical_percent", "target_percent", "reference_percent")
_COUNTS = (
    "minimum_source_tokens",
    "minimum_gain_tokens",
    "keep_recent_tokens",
    "keep_recent_turns",
    "orphan_after_messages",
    "prune_above_tokens",
)
_OPTIONAL = frozenset({"target_percent", "prune_above_tokens"})
_MOST = 2**53
"""The largest whole number that every reader of JSON gives back exactly (RFC 8259, section 6)."""


def _check_number(name: str, value: Any, kind: type | UnionType, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, kind) or not 0 <= value <= most:
        whole = "whole " if kind is int else ""
        raise _out_of_range(name, value, f"a {whole}number from 0 to {most}")


def _out_of_range(name: str, value: object, right: str) -> ConfigurationError:
    return ConfigurationError(f"the policy's {name} is {value!a:.40}", hint=f"it must be {right}")


def parse_policy(stored: Mapping[str, Any], default: Policy) -> Policy:
    """Return the policy that was stored as a mapping of its fields.

    A field that is missing has the default's value, one that this version does not know is passed over. Raises
    ConfigurationError for values out of range.
    """
    known = {field.name: stored[field.name] for field in fields(Policy) if field.name in stored}
    return replace(default, **known)
