"""langmem's `summarize_messages` as its documentation uses it, with ricordo's extractive summariser as its model.

langmem needs other versions of shared dependencies than ricordo, so this runs as a process of its own, in the
environment of `requirements/bench.lock`: a line of JSON with messages and a budget in, a line with the windows out.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langmem.short_term import RunningSummary, summarize_messages

from benchmarks.retention_parts.tail import tail
from ricordo.consolidation.extractive import extract
from ricordo.consolidation.source import SourceMessage
from ricordo.tokens import count

SUMMARY_SHARES = (0.25, 0.5, 0.75)
"""Parts of the window that langmem may reserve for the summary; the best one of each budget is reported."""

_HEADINGS_AND_DESCRIPTION = 70
"""Tokens: what an extract has beside its lines, which alone are langmem's summary."""

_EXISTING = "This is summary of the conversation so far: "


class _StandIn(BaseChatModel):
    """A chat model that answers a request for a summary with the extractive summariser's lines."""

    budget: int

    @property
    def _llm_type(self) -> str:
        return "extractive"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        *spoken, request = messages
        before = _between(str(request.content), _EXISTING, "\n\nExtend this summary")
        told = [("assistant", line.removeprefix("- ")) for line in before.splitlines()]
        told += [(str(one.name or one.type), str(one.content)) for one in spoken]
        sources = [
            SourceMessage(number=number, role=role, text=text, timestamp=None, tokens=count(text))
            for number, (role, text) in enumerate(told, 1)
        ]
        lines = [f"- {line.text}" for line in extract(sources, budget=self.budget + _HEADINGS_AND_DESCRIPTION).lines]
        while lines and count("\n".join(lines)) > self.budget:
            lines.pop()
        return ChatResult(generations=[ChatGeneration(message=AIMessage("\n".join(lines)))])


@dataclass(frozen=True, slots=True)
class Said:
    """A message as the benchmark hands it over; `waits` where tool calls in it have no result yet."""

    role: str
    text: str
    waits: bool


def windows(messages: Sequence[Said], budget: int) -> list[str]:
    """Return the window that langmem leaves at the end of the conversation, for each share of the summary."""
    return [_window(messages, budget, int(budget * share)) for share in SUMMARY_SHARES]


def _window(messages: Sequence[Said], budget: int, summary_tokens: int) -> str:
    """Follow the conversation turn by turn, as an agent does, summarising whenever the window is full."""
    told = [_message(place, one) for place, one in enumerate(messages)]
    running: RunningSummary | None = None
    kept: list[AnyMessage] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for place, one in enumerate(messages, 1):
            if one.waits and place < len(messages):
                continue
            result = summarize_messages(
                told[:place],
                running_summary=running,
                model=_StandIn(budget=summary_tokens),
                max_tokens=budget,
                max_summary_tokens=summary_tokens,
                token_counter=_counted,
            )
            running, kept = result.running_summary or running, result.messages
    summary = f"{_text(kept[0])}\n" if running else ""
    recent = "\n".join(_text(one) for one in kept[bool(running) :])
    return tail(summary, budget) + tail(recent, max(budget - count(summary), 0))


def _message(place: int, one: Said) -> AnyMessage:
    """Return a message with its calls as text: ids and pairing play no part in what is summarised."""
    kind: Callable[..., AnyMessage] = AIMessage if one.role == "assistant" else HumanMessage
    return kind(one.text, id=str(place), name=one.role)


def _text(message: BaseMessage) -> str:
    return f"{message.name or message.type}: {message.content}"


def _counted(messages: Iterable[Any]) -> int:
    return sum(count(_text(one)) for one in messages)


def _between(text: str, before: str, after: str) -> str:
    _, found, rest = text.partition(before)
    return rest.rpartition(after)[0] if found else ""


if __name__ == "__main__":
    for line in sys.stdin:
        asked = json.loads(line)
        found = windows([Said(*message) for message in asked["messages"]], asked["budget"])
        print(json.dumps(found), flush=True)
