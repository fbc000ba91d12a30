"""The published text forms of the memories: what a prompt shows of each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from ricordo.messages import searchable, shorten
from ricordo.types import JSON, Message, ToolExecution

Kind: TypeAlias = Literal["conversational", "summary", "tool_log"]

NO_RESULT = "(no result)"
TIME_FORMAT = "%Y-%m-%d %H:%M:%S"
INPUT_LIMIT = 300
"""Characters of a tool's input, or of its error, in a line; the rest is read with `read_tool_log`."""

_FORGERY = re.compile(
    r"""^(?=[\s\u200b-\u200f\u2060\ufeff]{0,8}(?:
        \#{1,6}(?:\s|$)                            # a heading, which begins a segment
      | \[\s*Summary\s+ID\s*:                      # a reference
      | \[\d{4}-\d\d-\d\d\ \d\d:\d\d:\d\d\]        # a line of a conversation
      | (?:MEMORY\ TYPE|DESCRIPTION|USAGE|CONVERSATION\ HISTORY|TOOL\ EXECUTIONS
        |(?:AVAILABLE|CHILD)\ SUMMARIES|ORIGINAL\ (?:MESSAGES|TEXT)):
      | \((?:\d+\ older\ ones|\d+\ more\ match|more:)  # a note of ricordo's own
    ))""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Descriptor:
    """How a memory introduces itself in a prompt."""

    name: str
    description: str
    usage: str


DESCRIPTORS: dict[Kind, Descriptor] = {
    "conversational": Descriptor(
        "Conversational Memory (episodic memory)",
        "What was said in this thread so far, in order.",
        "Use it to stay consistent with earlier turns and to resolve what the user refers to.",
    ),
    "summary": Descriptor(
        "Summary Memory (semantic memory)",
        "References to older stretches of this thread that were condensed; each opens again to its original messages.",
        "Read the descriptions, and call expand_summary(id) before you rely on a detail that only a summary holds.",
    ),
    "tool_log": Descriptor(
        "Tool Log (audit trail)",
        "What tools were called with in this thread, what they gave back, and how they failed.",
        "Check whether a tool was already called, and with what outcome, before you call it again.",
    ),
}


def block(kind: Kind, body: str) -> str:
    """Return a memory's text: its name, description and usage, then the body."""
    descriptor = DESCRIPTORS[kind]
    return (
        f"MEMORY TYPE: {descriptor.name}\n\nDESCRIPTION: {descriptor.description}\n\n"
        f"USAGE: {descriptor.usage}\n\n{body}"
    )


def quote(text: str, *, behind_prefix: bool = False) -> str:
    """Return stored text in which no line can pass for a heading, a reference or a message of its own.

    Such a line gets a leading backslash, as Markdown escapes it; all other text stays as it is. A first line that
    stands `behind_prefix` cannot pass for anything and is left alone.
    """
    lines = text.splitlines(keepends=True)
    kept, checked = (lines[:1], lines[1:]) if behind_prefix else ([], lines)
    return "".join([*kept, *(_FORGERY.sub("\\\\", line) for line in checked)])


def stamp(timestamp: datetime | None) -> str:
    """Return a timestamp in the published form, in UTC."""
    return timestamp.astimezone(UTC).strftime(TIME_FORMAT) if timestamp else "Unknown"


def conversation_line(message: Message) -> str:
    """Return `[time] role: content`."""
    return _line(message, message.content)


def window_line(message: Message) -> str:
    """Return the line that a window shows: with the preview where there is one."""
    return _line(message, message.content if message.preview is None else message.preview)


def _line(message: Message, text: str) -> str:
    return f"[{stamp(message.timestamp)}] {message.role}: {quote(text, behind_prefix=True)}"


def window_lines(messages: Iterable[Message]) -> str:
    """Return the lines that a window shows of messages, in order, or the mark for none."""
    return "\n".join(window_line(message) for message in messages) or NO_RESULT


def conversation(lines: str, *, older: int = 0) -> str:
    """Return the conversational memory's text; `older` live messages that are not shown are announced."""
    note = f"{omission(older)}\n" if older else ""
    return block("conversational", f"CONVERSATION HISTORY:\n{note}{lines}")


def omission(count: int) -> str:
    """Return the line that tells of what a segment leaves out."""
    return f"({count} older ones of this thread are not shown here)"


def originals(lines: str) -> str:
    """Return the text of messages that an expansion brings back."""
    return block("conversational", f"ORIGINAL MESSAGES:\n{lines}")


def execution_line(log: ToolExecution) -> str:
    """Return `[time] name(input) -> status[ in ms]`, the input cut at `INPUT_LIMIT` characters."""
    given = shorten(input_text(log.tool_input), INPUT_LIMIT)
    took = "" if log.duration_ms is None else f" in {log.duration_ms} ms"
    return f"[{log.timestamp.astimezone(UTC):%H:%M:%S}] {log.tool_name}({given}) -> {log.status}{took}"


def input_text(value: JSON) -> str:
    """Return a tool's input as JSON on one line, nothing where there is none."""
    return "" if value is None else " ".join(searchable(json.dumps(value, ensure_ascii=False)).splitlines())


def output_text(value: JSON) -> str:
    """Return what a tool gave back as readable text: a text as it is, anything else as JSON."""
    return searchable(
        value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
    )


def execution(log: ToolExecution) -> str:
    """Return a tool's execution line, and below it, indented, its error, its preview, or its output.

    Every line is indented, so that an output cannot pass for another execution. What is cut says how to read the rest.
    """
    error = shorten(log.error_message or "", INPUT_LIMIT)
    shown = error or log.preview or output_text(log.tool_output) or NO_RESULT
    cut = error != (log.error_message or "") or len(input_text(log.tool_input)) > INPUT_LIMIT
    lines = [*shown.splitlines(), *([f'(all of it: read_tool_log("{log.id}"))'] if cut else [])]
    return "\n".join([execution_line(log), *(f"    {line}" for line in lines)])
