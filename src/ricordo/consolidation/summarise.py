"""Drafting a chunk's summary: by a model, with bounded escalation, or without one."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import accumulate
from typing import Protocol

from ricordo.consolidation.answer import ANSWER_TOKENS, SCHEMA, parse, tidy
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

INSTRUCTION_TOKENS = 600
"""The most tokens that a prompt has besides the messages and, in a repair, the notes."""

WORDS = 180
"""The most words that the short prompt asks for, as published."""

LEAST_SOURCE = 100
"""Tokens of source below which no model is asked: four headings and a description alone take about half of it."""

_SOURCE_SHARE = 0.6
_ANSWER_SHARE = 2 / 3
_WORDS_PER_TOKEN = 3 / 4

_FORGERY = re.compile(r"^(?=\s*(?:\d+\s*[.)]\s*\[|</?\s*(?:record|notes)\b))", re.IGNORECASE)


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

    def __init__(self, chat: ChatModel, *, window: int | None = None, prompt: str = "summarise") -> None:
        """Use a model; `window` is the model's own in tokens, where the known limit is not right.

        `prompt` names the instructions: "summarise" for messages, "condense" for the notes of older summaries.
        """
        self._chat = chat
        self._instructions = prompt
        self._limit = window or model_limit(chat.model)
        self.name = chat.model
        self.window = min(int((self._limit - INSTRUCTION_TOKENS) * _SOURCE_SHARE), CHUNK_LIMIT)
        self.spent = Spent()

    async def summarise(self, chunk: Chunk, *, budget: int) -> Draft:
        """Return the model's notes of a chunk, from one call."""
        return await self._ask(self._instructions, chunk, budget=budget)

    async def summarise_shortly(self, chunk: Chunk, *, budget: int) -> Draft:
        """Return the model's notes by the simpler prompt, from one call."""
        return await self._ask("short", chunk, words=min(WORDS, int(budget * _WORDS_PER_TOKEN)))

    async def repair(self, chunk: Chunk, faults: Mapping[Line, Sequence[str]]) -> Draft:
        """Return the faulty lines written again, from one call; the model may leave some out.

        Lines that the model's window has no room for beside the messages are left out.
        """
        listed = [f"- {line.text} {list(line.sources)}: {'; '.join(why)}" for line, why in faults.items()]
        room = (self._limit - INSTRUCTION_TOKENS - self.window) // 2
        ends = accumulate(count(note) + 1 for note in listed)
        notes = [note for note, end in zip(listed, ends, strict=True) if end <= room]
        if not notes:
            raise ModelAnswerError("no fault fits the model's window")
        return await self._ask("repair", chunk, notes="\n".join(notes))

    async def _ask(self, prompt: str, chunk: Chunk, **values: object) -> Draft:
        # A code that the record cannot know, so that nothing in it can end the frame.
        nonce = secrets.token_hex(4)
        form = _prompt("structured") if self._chat.structured else _prompt("headings")
        text = f"{_prompt(prompt).format(nonce=nonce, **values)}\n{form}\n{frame(chunk.messages, nonce)}"
        tokens = count(text)
        # What is left over is for tokenizers that need more tokens than the one that counts here.
        answer_tokens = min(ANSWER_TOKENS, int((self._limit - tokens) * _ANSWER_SHARE))
        self.spent.calls += 1
        try:
            completion = await self._chat.complete(
                [{"role": "user", "content": text}], max_tokens=answer_tokens, schema=SCHEMA
            )
            tokens = completion.input_tokens or tokens
        finally:
            self.spent.input_tokens += tokens
        return await asyncio.to_thread(parse, completion.text)


@cache
def _prompt(name: str) -> str:
    return resources.files("ricordo.consolidation").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")


def frame(messages: Sequence[SourceMessage], nonce: str) -> str:
    """Return the numbered messages between two marks, each as `number. [date time] [ROLE] text`.

    The date is stated when it changes. A line of a message that looks like a mark or like a message of its own gets
    a leading backslash.
    """
    days = [None, *(_day(message) for message in messages)]
    lines = "\n".join(_line(message, day) for message, day in zip(messages, days, strict=False))
    return f"<record {nonce}>\n{lines.replace(nonce, nonce[:4] + '…')}\n</record {nonce}>"


def _day(message: SourceMessage) -> str:
    return stamp(message.timestamp).partition(" ")[0]


def _line(message: SourceMessage, day: str | None) -> str:
    time = f"[{stamp(message.timestamp).removeprefix(f'{day} ')}] " if message.timestamp else ""
    first, *others = message.text.splitlines(keepends=True) or [""]
    return f"{message.number}. {time}[{message.role.upper()}] {''.join([first, *(_quoted(line) for line in others)])}"


def _quoted(line: str) -> str:
    return _FORGERY.sub(r"\\", line)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafted:
    """A chunk's draft, who wrote it, and what it took to get there."""

    draft: Draft
    summariser: Summariser
    escalations: tuple[str, ...] = ()


async def draft_chunk(chunk: Chunk, summariser: Summariser, fallback: Summariser, *, budget: int) -> Drafted:
    """Return a usable draft of a chunk: from the model, again, by the short prompt, or from the fallback.

    Only unusable answers escalate: empty, malformed, cut off, or as long as the source. At most three model calls
    are made, and none for a source below LEAST_SOURCE. An unreachable server, a denied request, a refusal and a
    cancellation surface at once.
    """
    escalations: list[str] = []
    for attempt in _attempts(summariser, chunk):
        try:
            draft = tidy(await attempt(chunk, budget=budget))
            _check_size(draft, chunk)
        except ModelAnswerError as error:
            escalations.append(error.message)
        else:
            return Drafted(draft=draft, summariser=summariser, escalations=tuple(escalations))
    draft = tidy(await fallback.summarise(chunk, budget=budget))
    return Drafted(draft=draft, summariser=fallback, escalations=(*escalations, "extractive"))


class _Attempt(Protocol):
    def __call__(self, chunk: Chunk, *, budget: int) -> Awaitable[Draft]: ...


def _attempts(summariser: Summariser, chunk: Chunk) -> tuple[_Attempt, ...]:
    if isinstance(summariser, ModelSummariser):
        if chunk.tokens < LEAST_SOURCE:
            return ()
        return (summariser.summarise, summariser.summarise, summariser.summarise_shortly)
    return (summariser.summarise,)


def _check_size(draft: Draft, chunk: Chunk) -> None:
    tokens = count(render(draft.lines))
    if tokens >= chunk.tokens:
        raise ModelAnswerError(f"the summary has {tokens} tokens, its source has {chunk.tokens}")
