"""Models behind a server."""

from __future__ import annotations

from ricordo.models.chat import ChatModel, Completion

__all__ = ["ChatModel", "Completion"]
