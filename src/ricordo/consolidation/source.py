"""What a summariser reads: numbered messages in chunks that fit its window."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMessage:
    """One message as the summariser sees it.

    `number` counts from 1 through the whole consolidation and is what a line cites. `text` is the message's
    readable text: tool calls are written out, an image is a placeholder. A message longer than a chunk
    appears in several chunks under the same number, its `text` being the part that the chunk holds.
    """

    number: int
    role: str
    text: str
    timestamp: datetime | None
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Consecutive messages for one model call; `tokens` is their sum."""

    messages: tuple[SourceMessage, ...]
    tokens: int
