"""From numbered messages to a checked summary: chunk, draft, ground, merge. No database is involved."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ricordo.config import Settings
from ricordo.consolidation.answer import DEFAULT_DESCRIPTION, DESCRIPTION_WORDS, clean, describe, tidy
from ricordo.consolidation.atoms import AtomIndex
from ricordo.consolidation.chunk import chunk
from ricordo.consolidation.draft import Draft, Line, render
from ricordo.consolidation.extractive import ExtractiveSummariser
from ricordo.consolidation.ground import Checked, Sources
from ricordo.consolidation.recall import RECALL_SHARE, Mention, chosen, inventory, joined, recall_line, share_kept
from ricordo.consolidation.redact import Redact, redact_secrets, redacted
from ricordo.consolidation.source import Chunk, SourceMessage
from ricordo.consolidation.summarise import Drafted, ModelSummariser, Summariser, draft_chunk
from ricordo.errors import ModelError
from ricordo.messages import shorten
from ricordo.models import ChatModel
from ricordo.tokens import count
from ricordo.types import LineCheck, Section, SummaryLine

SUMMARY_SHARE = 5
"""A chunk's summary may have one token for this many of its source."""

QUOTED = 200
"""Characters of a message that are quoted where nothing in it was found to tell."""

SUMMARY_TOKENS = (160, 1_500)
"""The least and the most that a chunk's summary may have, in tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """A checked summary, ready to be stored.

    `items` holds every line with what grounding decided, the dropped ones too; `content` shows the others, and ends
    with the recall keys. `retention` is the share of the source's telling atoms that the lines keep.
    """

    description: str
    content: str
    items: tuple[SummaryLine, ...]
    recall_keys: tuple[str, ...]
    retention: float
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
    mentions: tuple[Mention, ...] = ()


class Composer:
    """Summarises with a model where one is configured, and without one otherwise."""

    def __init__(
        self, settings: Settings, model: Summariser | str | None, *, redact: Redact | None = redact_secrets
    ) -> None:
        """Take a model's name, a summariser, or nothing for the extractive one; `redact` is applied to all they see."""
        self._settings = settings
        self._redact = redact
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
        budget: int | None = None,
    ) -> Composition:
        """Summarise the messages, all of them, and check every line against what it cites.

        `prompt` says what a model is told about them. `sections` gives the section that each message is known to
        belong to, which an extracted line keeps. `budget` is what the content may have in tokens, where that is not
        a share of the source; a model is told it, and only an extracted summary surely keeps it.

        Chunks are worked on side by side, `Settings.model_concurrency` model calls at a time. Raises ModelError
        where the model is unreachable, refuses, or denies the credentials; an unusable answer escalates to the
        extractive summariser.
        """
        summariser = self._summariser(prompt)
        messages = await asyncio.to_thread(redacted, messages, self._redact)
        chunks = chunk(messages, budget=summariser.window, count=count)
        budgets = _budgets(chunks, budget)
        parts = await _all(
            [
                self._compose(one, summariser, sections or {}, part - int(part * RECALL_SHARE))
                for one, part in zip(chunks, budgets, strict=True)
            ]
        )
        merged = await asyncio.to_thread(_composed, parts, messages, budget, sum(budgets))
        if isinstance(summariser, ModelSummariser):
            spent = summariser.spent
            merged = replace(merged, model_calls=spent.calls, input_tokens=spent.input_tokens)
        return merged

    async def _compose(
        self,
        one: Chunk,
        summariser: Summariser,
        sections: Mapping[int, Section],
        budget: int,
    ) -> _Part:
        drafted = _placed(await draft_chunk(one, summariser, self._fallback, budget=budget), self._fallback, sections)
        # Each message of the chunk is read once, by whichever thread needs it first; none outlives the chunk.
        sources = Sources.of(one.messages)
        part = await _grounded(one, drafted, sources)
        mentions = await asyncio.to_thread(inventory, one.messages, sources)
        if _kept(part.items):
            return replace(part, mentions=mentions)
        if drafted.summariser is self._fallback:
            return replace(part, items=(*part.items, *_quoted(one, sections)), mentions=mentions)
        # Nothing that the model wrote is borne out by the messages: what they say themselves is.
        extracted = tidy(await self._fallback.summarise(one, budget=budget))
        escalations = (*drafted.escalations, "no line of the model's summary is in its sources", "extractive")
        drafted = Drafted(draft=extracted, summariser=self._fallback, escalations=escalations)
        said = await _grounded(one, _placed(drafted, self._fallback, sections), sources)
        quoted = () if _kept(said.items) else _quoted(one, sections)
        return replace(said, items=(*part.items, *said.items, *quoted), mentions=mentions)


def _quoted(one: Chunk, sections: Mapping[int, Section]) -> tuple[SummaryLine, ...]:
    """Return how a chunk begins and ends, for a text in which no sentence was found to tell; none where it is blank."""
    told = [(message.number, text) for message in one.messages if (text := clean(message.text))]
    return tuple(
        SummaryLine(section=sections.get(number, "technical"), text=shorten(text, QUOTED), sources=(number,))
        for number, text in dict([*told[:1], *told[-1:]]).items()
    )


def _budgets(chunks: Sequence[Chunk], budget: int | None) -> list[int]:
    """Return the tokens that each chunk's summary may have: its share of the whole, or of its source."""
    if budget is None:
        return [min(max(one.tokens // SUMMARY_SHARE, SUMMARY_TOKENS[0]), SUMMARY_TOKENS[1]) for one in chunks]
    whole = max(sum(one.tokens for one in chunks), 1)
    return [budget * one.tokens // whole for one in chunks]


def _composed(parts: Sequence[_Part], messages: Sequence[SourceMessage], limit: int | None, budget: int) -> Composition:
    """Return the parts as one; `limit` is what the content may have where that is given, `budget` what it should."""
    mentions = joined(part.mentions for part in parts)
    return _with_recall(_merge(parts, limit), messages, mentions, budget)


def _with_recall(
    merged: Composition, messages: Sequence[SourceMessage], mentions: Sequence[Mention], budget: int
) -> Composition:
    """Close a summary with its recall keys: their share of the budget, twice that of what the lines leave of it.

    There are only as many as leave the whole shorter than its source.
    """
    share = int(budget * RECALL_SHARE)
    left = budget - merged.tokens - count(merged.description)
    room = min(max(left, share), 2 * share, sum(one.tokens for one in messages) - merged.tokens - 1)
    carried = AtomIndex([merged.description, merged.content])
    keys = chosen(mentions, carried, size=len(messages), budget=room)
    content = "\n\n".join(filter(None, [merged.content, recall_line(keys)]))
    kept = share_kept(mentions, AtomIndex([merged.content]))
    return replace(merged, content=content, tokens=count(content), recall_keys=keys, retention=kept)


def _placed(drafted: Drafted, fallback: Summariser, sections: Mapping[int, Section]) -> Drafted:
    """Return an extracted draft with its lines in the sections that their sources are known to belong to."""
    if drafted.summariser is not fallback or not sections:
        return drafted
    lines = (
        replace(line, section=sections.get(line.sources[0], line.section)) if line.sources else line
        for line in drafted.draft.lines
    )
    return replace(drafted, draft=replace(drafted.draft, lines=tuple(lines)))


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


async def _grounded(one: Chunk, drafted: Drafted, sources: Sources) -> _Part:
    """Check every line; a model gets one chance to repair what is wrong, and what stays wrong is dropped.

    A description that the messages do not bear out gives way to words of the summary.
    """
    draft = drafted.draft
    cited = {number for line in draft.lines for number in line.sources if number in sources.numbers}
    *checked, label = await asyncio.to_thread(sources.check, (*draft.lines, _label(draft, cited)))
    faulty = {found.line: found.faults for found in checked if found.faults}
    repaired: Sequence[Checked] = ()
    if faulty and isinstance(drafted.summariser, ModelSummariser):
        repaired = await asyncio.to_thread(sources.check, await _repair(one, draft, drafted.summariser, faulty))
    items = (
        *(_item(found, "dropped" if found.faults else "grounded") for found in checked),
        *(_item(found, "dropped" if found.faults else "repaired") for found in repaired),
    )
    if not label.grounded:
        (label,) = await asyncio.to_thread(sources.check, [_label(draft, sources.numbers)])
    return _Part(
        description=draft.description if label.grounded else describe("", _kept(items)),
        items=items,
        model=drafted.summariser.name,
        escalations=drafted.escalations,
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


def _label(draft: Draft, numbers: Iterable[int]) -> Line:
    """Return the description as a line that cites these messages."""
    return Line(section="technical", text=draft.description, sources=tuple(sorted(numbers)))


def _kept(items: Sequence[SummaryLine]) -> list[Line]:
    return [
        Line(section=item.section, text=item.text, sources=item.sources, status=item.status)
        for item in items
        if item.check != "dropped"
    ]


def _merge(parts: Sequence[_Part], budget: int | None) -> Composition:
    items = tuple(item for part in parts for item in part.items)
    content = render(_kept(items), budget=budget)
    description = _description([part.description for part in parts])
    return Composition(
        description=description,
        content=content,
        items=items,
        recall_keys=(),
        retention=0.0,
        tokens=count(content),
        model=", ".join(dict.fromkeys(part.model for part in parts)),
        model_calls=0,
        input_tokens=0,
        escalations=tuple(step for part in parts for step in part.escalations),
    )


def _description(found: Sequence[str]) -> str:
    """Return the description of all parts: of the first and the last, half of the words each, where they differ."""
    told = [description for description in found if description] or [DEFAULT_DESCRIPTION]
    first, last = told[0], told[-1]
    if first == last:
        return first
    half = DESCRIPTION_WORDS // 2
    return f"{' '.join(first.split()[:half]).rstrip(',;:')}; {' '.join(last.split()[:half]).rstrip(',;:')}"
