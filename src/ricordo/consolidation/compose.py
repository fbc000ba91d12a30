"""From numbered messages to a checked summary: chunk, draft, ground, merge. No database is involved."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ricordo.config import Settings
from ricordo.consolidation.chunk import chunk
from ricordo.consolidation.draft import Draft, Line, render
from ricordo.consolidation.extractive import ExtractiveSummariser
from ricordo.consolidation.ground import check
from ricordo.consolidation.source import Chunk, SourceMessage
from ricordo.consolidation.summarise import Drafted, ModelSummariser, Summariser, draft_chunk
from ricordo.models import ChatModel
from ricordo.stores.format import stamp
from ricordo.tokens import count
from ricordo.types import LineCheck, SummaryLine

SUMMARY_SHARE = 5
"""A chunk's summary may have one token for this many of its source."""

SUMMARY_TOKENS = (160, 1_500)
"""The least and the most that a chunk's summary may have, in tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """A checked summary, ready to be stored.

    `items` holds every line with what grounding decided, the dropped ones too; `content` shows the others.
    """

    description: str
    content: str
    items: tuple[SummaryLine, ...]
    tokens: int
    model: str
    model_calls: int
    input_tokens: int
    escalations: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One chunk's summary after grounding."""

    description: str
    items: tuple[SummaryLine, ...]
    model: str
    calls: int
    input_tokens: int
    escalations: tuple[str, ...]


class Composer:
    """Summarises with a model where one is configured, and without one otherwise."""

    def __init__(self, settings: Settings, model: Summariser | str | None) -> None:
        """Take a model's name, a summariser, or nothing for the extractive one."""
        self._fallback = ExtractiveSummariser()
        self._concurrency = settings.model_concurrency
        self._chat: ChatModel | None = None
        if isinstance(model, str):
            self._chat = ChatModel(model, timeout=settings.model_timeout, max_concurrency=settings.model_concurrency)
            self._summariser: Summariser = ModelSummariser(self._chat, window=settings.model_window)
        else:
            self._summariser = model or self._fallback

    async def close(self) -> None:
        """Close the connections to the model server."""
        if self._chat:
            await self._chat.aclose()

    async def compose(self, messages: Sequence[SourceMessage]) -> Composition:
        """Summarise the messages, all of them, and check every line against what it cites.

        Chunks run side by side, `Settings.model_concurrency` at a time. Raises ModelError where the model is
        unreachable, refuses, or denies the credentials; an unusable answer escalates to the extractive summariser.
        """
        chunks = chunk(messages, budget=self._summariser.window, count=count)
        slots = asyncio.Semaphore(self._concurrency)

        async def compose(one: Chunk) -> _Part:
            async with slots:
                return await self._compose(one)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(compose(one)) for one in chunks]
        return _merge([task.result() for task in tasks])

    async def _compose(self, one: Chunk) -> _Part:
        budget = min(max(one.tokens // SUMMARY_SHARE, SUMMARY_TOKENS[0]), SUMMARY_TOKENS[1])
        drafted = await draft_chunk(one, self._summariser, self._fallback, budget=budget)
        return _Part()
