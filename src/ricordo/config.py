"""Settings, read once from the environment (prefix `RICORDO_`); arguments to `Memory.open` win over them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
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
    """When a window is full, and what a consolidation may take.

    Percentages are of the model's window. `minimum_source_tokens` is what a stretch must hold before a model is
    asked: four headings and a description alone take about half of it. An unanswered tool call stays open until
    `orphan_after_messages` further messages have come. References may take `reference_percent` of the window before
    the oldest are put under a parent summary.
    """

    warn_percent: float = 50.0
    critical_percent: float = 80.0
    minimum_source_tokens: int = 100
    orphan_after_messages: int = 24
    reference_percent: float = 8.0
