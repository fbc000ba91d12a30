"""ricordo: the memory of an LLM agent, on PostgreSQL.

The public names are imported when they are first used, so that `import ricordo` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ricordo.config import Policy, Settings
    from ricordo.consolidation.redact import redact_secrets
    from ricordo.errors import RicordoError
    from ricordo.memory import AsyncMemory
    from ricordo.sync import Memory
    from ricordo.types import (
        AppendedMessage,
        Condensation,
        Consolidation,
        Expansion,
        Fault,
        Forgetting,
        ForgottenMessage,
        Kept,
        Message,
        Pruning,
        Retention,
        Summary,
        SummaryLine,
        Thread,
        ToolExecution,
        ToolLogPage,
        Usage,
        Verification,
    )
    from ricordo.window.monitor import calculate_context_usage, monitor_context_window
    from ricordo.window.segments import Window

__all__ = [
    "AppendedMessage",
    "AsyncMemory",
    "Condensation",
    "Consolidation",
    "Expansion",
    "Fault",
    "Forgetting",
    "ForgottenMessage",
    "Kept",
    "Memory",
    "Message",
    "Policy",
    "Pruning",
    "Retention",
    "RicordoError",
    "Settings",
    "Summary",
    "SummaryLine",
    "Thread",
    "ToolExecution",
    "ToolLogPage",
    "Usage",
    "Verification",
    "Window",
    "calculate_context_usage",
    "monitor_context_window",
    "redact_secrets",
]

_HOMES = {
    "ricordo.config": ("Policy", "Settings"),
    "ricordo.consolidation.redact": ("redact_secrets",),
    "ricordo.errors": ("RicordoError",),
    "ricordo.memory": ("AsyncMemory",),
    "ricordo.sync": ("Memory",),
    "ricordo.types": (
        "AppendedMessage",
        "Condensation",
        "Consolidation",
        "Expansion",
        "Fault",
        "Forgetting",
        "ForgottenMessage",
        "Kept",
        "Message",
        "Pruning",
        "Retention",
        "Summary",
        "SummaryLine",
        "Thread",
        "ToolExecution",
        "ToolLogPage",
        "Usage",
        "Verification",
    ),
    "ricordo.window.monitor": ("calculate_context_usage", "monitor_context_window"),
    "ricordo.window.segments": ("Window",),
}


def __getattr__(name: str) -> Any:
    """Import a public name from the module that defines it."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
