"""Drafting a chunk's summary: by a model, with bounded escalation, or without one."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Protocol

from ricordo.consolidation.answer import SCHEMA, parse
from ricordo.consolidation.draft import Draft, Line, render
from ricordo.consolidation.source import Chunk, SourceMessage
from ricordo.errors import ModelAnswerError
from ricordo.models import ChatModel
from ricordo.stores.format import stamp
from ricordo.tokens import count, model_limit

PROMPT_VERSION = "1"
"""Stored with each summary; counts up whenever a prompt changes."""

CHUNK_LIMIT = 32_000
"""Tokens of source for one model call: models attend worse to the middle of longer inputs (Liu et al., "Lost in the
Middle", 2023), and a summary of several chunks costs no more than one of a single chunk."""

ANSWER_TOKENS = 4_000
"""The most tokens that a model may answer with, as published."""

_SOURCE_SHARE = 0.6


class Summariser(Protocol):
    """Whatever can write a summary of a chunk."""

    @property
    def name(self) -> str:
        """What is stored as the summary's model."""
        ...

    @property
    def window(self) -> int:
        """The tokens of source that a chunk may have."""
        ...

    async def summarise(self, chunk: Chunk, *, budget: int) -> Draft:
        """Return cited lines and a description of together about `budget` tokens; raises ModelError."""
        ...


@dataclass(slots=True)
class Spent:
    """What was asked of a model: calls, and tokens sent (as the server reports them, or estimated)."""

    calls: int = 0
    input_tokens: int = 0


class ModelSummariser:
    """Summarises with a chat model; `spent` adds up over its life."""

    def __init__(self, chat: ChatModel, *, window: int | None = None) -> None:
        """Use a model; `window` is the model's own in tokens, where the known limit is not right."""
        self._chat = chat
        self.name = chat.model
        self.window = min(int((window or model_limit(chat.model)) * _SOURCE_SHARE), CHUNK_LIMIT)
        self.spent = Spent()

    async def summarise(self, chunk: Chunk, *, budget: int) -> Draft:
        """Return the model's notes of a chunk, from one call."""
        return await self._ask("summarise", chunk, budget=budget)

    async def summarise_shortly(self, chunk: Chunk, *, budget: int) -> Draft:
        """Return the model's notes by the simpler prompt, from one call."""
        return await self._ask("short", chunk, budget=budget)

    async def repair(self, chunk: Chunk, draft: Draft, faults: Mapping[Line, Sequence[str]]) -> Draft:
        """Return the faulty lines written again, from one call; the model may leave some out."""
        listed = "\n".join(f"- {line.text} {list(line.sources)}: {'; '.join(why)}" for line, why in faults.items())
        return await self._ask("repair", chunk, faults=listed, description=draft.description)

    async def _ask(self, prompt: str, chunk: Chunk, **values: object) -> Draft:
        # A code that the record cannot know, so that nothing in it can end the frame.
        nonce = secrets.token_hex(4)
        form = _prompt("structured").format() if self._chat.structured else _prompt("headings")
        instructions = f"{_prompt(prompt).format(nonce=nonce, **values)}\n{form}"
        messages = [{"role": "user", "content": f"{instructions}\n{frame(chunk.messages, nonce)}"}]
        self.spent.calls += 1
        completion = await self._chat.complete(messages, max_tokens=ANSWER_TOKENS, schema=SCHEMA)
        self.spent.input_tokens += completion.input_tokens or count(messages[0]["content"])
        return parse(completion.text)


@cache
def _prompt(name: str) -> str:
    return resources.files("ricordo.consolidation").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")


def frame(messages: Sequence[SourceMessage], nonce: str) -> str:
    """Return the numbered messages between two marks; an end mark that the record forges is broken up."""
    lines = "\n".join(f"{one.number}. {_line(one)}" for one in messages).replace(nonce, nonce[:4] + "…")
    return f"<record {nonce}>\n{lines}\n</record {nonce}>"


def _line(message: SourceMessage) -> str:
    time = f"[{stamp(message.timestamp)}] " if message.timestamp else ""
    return f"{time}[{message.role.upper()}] {message.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafted:
    """A chunk's draft, who wrote it, and what it took to get there."""

    draft: Draft
    summariser: Summariser
    escalations: tuple[str, ...] = ()


async def draft_chunk(chunk: Chunk, summariser: Summariser, fallback: Summariser, *, budget: int) -> Drafted:
    """Return a usable draft of a chunk: from the model, again, by the short prompt, or from the fallback.

    Only unusable answers escalate: empty, malformed, cut off, or as long as the source. At most three model calls
    are made. An unreachable server, denied credentials, a refusal and a cancellation surface at once.
    """
    escalations: list[str] = []
    for attempt in _attempts(summariser):
        try:
            draft = await attempt(chunk, budget=budget)
            _check_size(draft, chunk)
        except ModelAnswerError as error:
            escalations.append(error.message)
        else:
            return Drafted(draft=draft, summariser=summariser, escalations=tuple(escalations))
    draft = await fallback.summarise(chunk, budget=budget)
    return Drafted(draft=draft, summariser=fallback, escalations=(*escalations, "extractive"))


class _Attempt(Protocol):
    def __call__(self, chunk: Chunk, *, budget: int) -> Awaitable[Draft]: ...


def _attempts(summariser: Summariser) -> tuple[_Attempt, ...]:
    if isinstance(summariser, ModelSummariser):
        return (summariser.summarise, summariser.summarise, summariser.summarise_shortly)
    return (summariser.summarise,)


def _check_size(draft: Draft, chunk: Chunk) -> None:
    tokens = count(render(draft.lines))
    if tokens >= chunk.tokens:
        raise ModelAnswerError(f"the summary has {tokens} tokens, its source has {chunk.tokens}")
