"""What ricordo itself gave back to an agent: it is stored already, and neither shortened nor summarised again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ricordo.consolidation.paging import parse_id
from ricordo.messages import escape_id, pairs
from ricordo.messages.blocks import readable
from ricordo.messages.embedded import without_files
from ricordo.messages.parse import read
from ricordo.messages.parts import Call, Part, Result, Text

_RECALL = re.compile(r"(?:^|[^A-Za-z0-9])(?:expand_summary|read_tool_log)$")


class Linked(Protocol):
    """The tool calls of a message: their ids, the tools that they are for, and the ids that it answers."""

    @property
    def calls(self) -> Sequence[str]:
        """The ids of the calls that it makes, in order."""
        ...

    @property
    def tools(self) -> Sequence[str]:
        """The names of the tools that these calls are for."""
        ...

    @property
    def results(self) -> Sequence[str]:
        """The ids of the calls that it answers, in order."""
        ...


@dataclass(frozen=True, slots=True)
class Execution:
    """A tool call with its result: the tool, and the indexes of the messages that call it and answer."""

    tool: str
    id: str
    call: int
    result: int


def is_recall(tool: str) -> bool:
    """Whether a tool brings stored text back; clients put prefixes such as `mcp__ricordo__` before its name."""
    return _RECALL.search(tool) is not None


def executions(facts: Sequence[Linked]) -> list[Execution]:
    """Return the answered tool calls of a sequence of messages, in order, paired by id."""
    tools = [tool for fact in facts for tool in fact.tools]
    return [
        Execution(tool, pair.id, pair.call, pair.result)
        for pair, tool in zip(pairs(facts), tools, strict=True)
        if pair.result is not None
    ]


def recalls(facts: Sequence[Linked]) -> list[Execution]:
    """Return the answered calls of tools that bring stored text back."""
    return [one for one in executions(facts) if is_recall(one.tool)]


def calls_of(message: Mapping[str, Any]) -> dict[str, Call]:
    """Return the tool calls of a message by the storable form of their ids."""
    return {escape_id(part.id): part for part in read(message)[1] if isinstance(part, Call)}


def placeholder(call: Call | None, tool: str) -> str:
    """Return what a summariser reads in place of the output of such a tool: the id that it was asked for."""
    id = parse_id(call.arguments) if call else None
    return f"[what {tool} brought back stands under {id or 'its own id'} and is left out here]"


def without_recalled(message: Mapping[str, Any], said: Mapping[str, str]) -> str:
    """Return a message's readable text with some results, by the storable form of their ids, replaced."""

    def replaced(part: Part) -> Part:
        found = [said[key] for id in part.ids if (key := escape_id(id)) in said] if isinstance(part, Result) else []
        return Text(found[0]) if found else part

    return without_files(readable(tuple(replaced(part) for part in read(message)[1])))[0]
