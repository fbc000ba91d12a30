"""The demonstration: a real conversation goes through the memory, and every promise is checked on the way."""

from __future__ import annotations

from ricordo.demo.story import (
    Again,
    Chapter,
    Compared,
    Counted,
    Opened,
    Proved,
    Summarised,
    Written,
    conversation,
    story,
)

__all__ = [
    "Again",
    "Chapter",
    "Compared",
    "Counted",
    "Opened",
    "Proved",
    "Summarised",
    "Written",
    "conversation",
    "story",
]
