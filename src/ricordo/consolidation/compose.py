"""From numbered messages to a checked summary: chunk, draft, ground, merge. No database is involved."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ricordo.config import Settings
from ricordo.consolidation.answer import DESCRIPTION_WORDS, describe
from ricordo.consolidation.chunk import chunk
from ricordo.consolidation.draft import Draft, Line, render
from ricordo.consolidation.extractive import ExtractiveSummariser
from ricordo.consolidation.ground import Checked, check
from ricordo.consolidation.source import Chunk, SourceMessage
from ricordo.consolidation.summarise import Drafted, ModelSummariser, Summariser, draft_chunk
from ricordo.errors import ModelError
from ricordo.models import ChatModel
from ricordo.stores.format import stamp
from ricordo.tokens import count
from ricordo.types import LineCheck, Section, SummaryLine

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
    escalations: tuple[str, ...]


class Composer:
    """Summarises with a model where one is configured, and without one otherwise."""

    def __init__(self, settings: Settings, model: Summariser | str | None) -> None:
        """Take a model's name, a summariser, or nothing for the extractive one."""
        self._settings = settings
        self._fallback = ExtractiveSummariser()
        self._chat: ChatModel | None = None
        self._custom: Summariser | None = None
        if isinstance(model, str):
            self._chat = ChatModel(model, timeout=settings.model_timeout, max_concurrency=settings.model_concurrency)
        else:
            self._custom = model

    async def close(self) -> None:
        """Close the connections to the model server."""
        if self._chat:
            await self._chat.aclose()

    def _summariser(self, prompt: str) -> Summariser:
        """Return the summariser for one composition; a model's keeps its own account of what it spends."""
        if self._chat:
            return ModelSummariser(self._chat, window=self._settings.model_window, prompt=prompt)
        return self._custom or self._fallback

    async def compose(
        self,
        messages: Sequence[SourceMessage],
        *,
        prompt: Literal["summarise", "condense"] = "summarise",
        sections: Mapping[int, Section] | None = None,
    ) -> Composition:
        """Summarise the messages, all of them, and check every line against what it cites.

        `prompt` says what a model is told about them. `sections` gives the section that each message is known to
        belong to, which an extracted line keeps.

        Chunks are worked on side by side, `Settings.model_concurrency` model calls at a time. Raises ModelError
        where the model is unreachable, refuses, or denies the credentials; an unusable answer escalates to the
        extractive summariser.
        """
        summariser = self._summariser(prompt)
        sources = {one.number: _attributed(one) for one in messages}
        chunks = chunk(messages, budget=summariser.window, count=count)
        parts = await _all([self._compose(one, summariser, sources, sections or {}) for one in chunks])
        merged = _merge(parts)
        if isinstance(summariser, ModelSummariser):
            spent = summariser.spent
            merged = replace(merged, model_calls=spent.calls, input_tokens=spent.input_tokens)
        return merged

    async def _compose(
        self, one: Chunk, summariser: Summariser, sources: Mapping[int, str], sections: Mapping[int, Section]
    ) -> _Part:
        budget = min(max(one.tokens // SUMMARY_SHARE, SUMMARY_TOKENS[0]), SUMMARY_TOKENS[1])
        drafted = _placed(await draft_chunk(one, summariser, self._fallback, budget=budget), self._fallback, sections)
        items = await _ground(one, drafted, sources)
        if any(item.check != "dropped" for item in items) or drafted.summariser is self._fallback:
            return _part(drafted, items, sources)
        # Nothing that the model wrote is borne out by the messages: what they say themselves is.
        extracted = await self._fallback.summarise(one, budget=budget)
        escalations = (*drafted.escalations, "no line of the model's summary is in its sources", "extractive")
        drafted = Drafted(draft=extracted, summariser=self._fallback, escalations=escalations)
        drafted = _placed(drafted, self._fallback, sections)
        return _part(drafted, (*items, *await _ground(one, drafted, sources)), sources)


def _placed(drafted: Drafted, fallback: Summariser, sections: Mapping[int, Section]) -> Drafted:
    """Return an extracted draft with its lines in the sections that their sources are known to belong to."""
    if drafted.summariser is not fallback or not sections:
        return drafted
    lines = (
        replace(line, section=sections.get(line.sources[0], line.section)) if line.sources else line
        for line in drafted.draft.lines
    )
    return replace(drafted, draft=replace(drafted.draft, lines=tuple(lines)))


def _attributed(message: SourceMessage) -> str:
    """Return a message as grounding sees it: with its time and its speaker, which a line may name too."""
    return f"[{stamp(message.timestamp)}] {message.role}: {message.text}"


async def _all(work: Sequence[Coroutine[Any, Any, _Part]]) -> list[_Part]:
    """Await all of the work; the first failure cancels the rest and is raised as it is."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


async def _ground(one: Chunk, drafted: Drafted, sources: Mapping[int, str]) -> tuple[SummaryLine, ...]:
    """Check every line; a model gets one chance to repair what is wrong, and what stays wrong is dropped."""
    checked = check(drafted.draft.lines, sources)
    faulty = {found.line: found.faults for found in checked if found.faults}
    if not faulty:
        return tuple(_item(found, "grounded") for found in checked)
    repaired: Sequence[Checked] = ()
    if isinstance(drafted.summariser, ModelSummariser):
        mended = await _repair(one, drafted.draft, drafted.summariser, faulty)
        repaired = check(mended, sources)
    return (
        *(_item(found, "dropped" if found.faults else "grounded") for found in checked),
        *(_item(found, "dropped" if found.faults else "repaired") for found in repaired),
    )


async def _repair(
    one: Chunk, draft: Draft, summariser: ModelSummariser, faulty: Mapping[Line, Sequence[str]]
) -> Sequence[Line]:
    """Return at most as many lines as were faulty, none that is in the draft."""
    try:
        mended = await summariser.repair(one, faulty)
    except ModelError:
        # Without a repair the faulty lines are dropped, which is recorded with each of them.
        return ()
    return [line for line in mended.lines if line not in draft.lines][: len(faulty)]


def _item(found: Checked, outcome: LineCheck) -> SummaryLine:
    line = found.line
    return SummaryLine(
        section=line.section,
        text=line.text,
        sources=line.sources,
        status=line.status,
        check=outcome,
        faults=tuple(found.faults),
    )


def _part(drafted: Drafted, items: tuple[SummaryLine, ...], sources: Mapping[int, str]) -> _Part:
    return _Part(
        description=_true_description(drafted.draft.description, items, sources),
        items=items,
        model=drafted.summariser.name,
        escalations=drafted.escalations,
    )


def _kept(items: Sequence[SummaryLine]) -> list[Line]:
    return [
        Line(section=item.section, text=item.text, sources=item.sources, status=item.status)
        for item in items
        if item.check != "dropped"
    ]


def _true_description(description: str, items: Sequence[SummaryLine], sources: Mapping[int, str]) -> str:
    """Return the description if the messages that the summary cites bear it out, or else words of the summary."""
    kept = _kept(items)
    cited = tuple(sorted({number for line in kept for number in line.sources}))
    (checked,) = check([Line(section="technical", text=description, sources=cited)], sources)
    return description if checked.grounded else describe("", kept)


def _merge(parts: Sequence[_Part]) -> Composition:
    items = tuple(item for part in parts for item in part.items)
    content = render(_kept(items))
    description = _description([part.description for part in parts])
    return Composition(
        description=description,
        content=content,
        items=items,
        tokens=count(content),
        model=", ".join(dict.fromkeys(part.model for part in parts)),
        model_calls=0,
        input_tokens=0,
        escalations=tuple(step for part in parts for step in part.escalations),
    )


def _description(found: Sequence[str]) -> str:
    """Return the description of all parts: of the first and the last, half of the words each, where they differ."""
    first, last = found[0], found[-1]
    if first == last:
        return first
    half = DESCRIPTION_WORDS // 2
    return f"{' '.join(first.split()[:half]).rstrip(',;:')}; {' '.join(last.split()[:half]).rstrip(',;:')}"
