"""The methods compared: each turns a source into the text of a window that has at most so many tokens."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.retention_parts.tail import tail
from ricordo.config import Settings
from ricordo.consolidation.compose import Composer
from ricordo.consolidation.recall import recall_line
from ricordo.consolidation.source import SourceMessage
from ricordo.messages import ParsedMessage
from ricordo.tokens import count

SUMMARY_ID = "00000000-0000-4000-8000-000000000000"
MASK = "(output omitted)"


def numbered(messages: Sequence[ParsedMessage]) -> list[SourceMessage]:
    """Return messages as a summariser reads them."""
    return [
        SourceMessage(number=number, role=one.role, text=one.text, timestamp=None, tokens=count(one.text))
        for number, one in enumerate(messages, 1)
    ]


async def ricordo(messages: Sequence[ParsedMessage], budget: int) -> tuple[str, str]:
    """Return the reference and the summary's text, extracted, with its recall keys, and the same without the keys."""
    frame = count(f"[Summary ID: {SUMMARY_ID}] \n")
    composed = await Composer(Settings(), None).compose(numbered(messages), budget=budget - frame)
    window = f"[Summary ID: {SUMMARY_ID}] {composed.description}\n{composed.content}"
    return window, window.removesuffix(recall_line(composed.recall_keys))


def newest(messages: Sequence[ParsedMessage], budget: int) -> str:
    """Return the end of the conversation: the oldest messages are dropped, the last one that fits in part is cut."""
    return tail("\n".join(_line(one.role, one.text) for one in messages), budget)


def masked(messages: Sequence[ParsedMessage], budget: int, *, outputs: frozenset[str]) -> str:
    """Return the conversation with tool outputs masked, oldest first, until it fits; what is still over is dropped."""
    lines = [_line(one.role, one.text) for one in messages]
    for place, one in enumerate(messages):
        if one.role in outputs and place and count("\n".join(lines)) > budget:
            lines[place] = _line(one.role, MASK)
    return tail("\n".join(lines), budget)


def _line(role: str, text: str) -> str:
    return f"{role}: {text}"
