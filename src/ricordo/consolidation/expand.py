"""From a reference back to the originals: within a budget, page by page, or where a query points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, TypeAlias

from ricordo.consolidation.matching import passage, query_words
from ricordo.consolidation.paging import MINIMUM_PART, Place, parse_id, text_page
from ricordo.database.pool import Database
from ricordo.database.queries import load
from ricordo.messages import cut_positions, parse, searchable
from ricordo.stores.conversational import AsyncConversationalMemory, check_limit, to_message
from ricordo.stores.format import NO_RESULT, block, conversation_line, originals, quote
from ricordo.stores.summary import AsyncSummaryMemory
from ricordo.tokens import count, truncate
from ricordo.types import Expansion, Message, Summary

_SQL = load("ricordo.consolidation", "expand.sql")

NOT_FOUND = "(summary not found)"

SHORTEST_PASSAGE = 16
"""Tokens of a message that are worth showing without the rest."""

_BATCH = 256

Depth: TypeAlias = Literal["children", "originals"]
"""What an expansion of a parent shows: the summaries right below it, or all messages under it."""


@dataclass(frozen=True, slots=True)
class _Page:
    lines: tuple[str, ...]
    messages: tuple[Message, ...]
    next: Place | None
    omitted: int = 0


class _PageBuilder:
    """Fills a page with messages until its tokens are used up."""

    def __init__(self, budget: int) -> None:
        self._left = budget
        self._shown: dict[int, tuple[str, Message]] = {}

    def add(self, group: Sequence[Message], offset: int = 0, *, whole: bool = False) -> Place | None:
        """Add messages that belong together, the first from a character on; return where the next page begins.

        A group that does not fit begins the next page. Only one that is larger than a whole page is divided, unless
        it is to stay `whole`: between its messages, and within the first where that alone is larger.
        """
        lines = [conversation_line(message) for message in group]
        # What stood in the middle of a line begins one here, so that it is quoted again.
        lines[0] = quote(lines[0][offset:]) if offset else lines[0]
        costs = [count(line) + 1 for line in lines]
        if sum(costs) > self._left and (whole or self._shown):
            return Place(group[0].seq, offset)
        for message, line, cost in zip(group, lines, costs, strict=True):
            start = offset if message is group[0] else 0
            if cost > self._left:
                return self._cut(message, line, start)
            self._show(message, line, cost)
        return None

    def add_passage(self, message: Message, weights: Mapping[str, float]) -> bool:
        """Fill the page with the part of a message whose words weigh most; return whether it had room."""
        line = conversation_line(message)
        speaker, mark, text = line.partition(": ")
        left = self._left - count(f"{speaker}{mark}…") - 1
        if left < SHORTEST_PASSAGE:
            return False
        start = passage(text, weights, left)
        self._show(message, f"{speaker}{mark}{'…' if start else ''}{truncate(text[start:], left)}", self._left)
        return True

    def _cut(self, message: Message, line: str, start: int) -> Place:
        if self._shown:
            return Place(message.seq, start)
        part = truncate(line, self._left) or line[:1]
        self._show(message, part, self._left)
        added = len(line) - len(conversation_line(message)[start:])
        return Place(message.seq, max(start + len(part) - added, start + 1))

    def _show(self, message: Message, line: str, cost: int) -> None:
        self._shown[message.seq] = (line, message)
        self._left -= cost

    def build(self, next: Place | None) -> _Page:
        """Return the page, its messages in order."""
        ordered = [self._shown[seq] for seq in sorted(self._shown)]
        return _Page(tuple(line for line, _ in ordered), tuple(message for _, message in ordered), next)


class Expander:
    """Opens summaries again."""

    def __init__(
        self, database: Database, conversational: AsyncConversationalMemory, summaries: AsyncSummaryMemory
    ) -> None:
        """Use the stores that hold the summaries and their originals."""
        self._database = database
        self._conversational = conversational
        self._summaries = summaries

    async def expand(
        self, id: str, *, query: str | None, max_tokens: int, cursor: str | None, depth: Depth | None
    ) -> Expansion:
        """Return a page of the summary's children or originals, in order; see `Memory.expand_summary`."""
        check_limit(max_tokens, "max_tokens")
        place = Place.parse(cursor)
        uuid = parse_id(id)
        summary = uuid and await self._summaries.find(uuid)
        if not summary:
            return _not_found(id)
        head = _head(summary, max_tokens) if cursor is None else "## Summary Context (continued)\n\n"
        budget = max(max_tokens - count(head) - _frame(summary.id), MINIMUM_PART)
        if summary.kind == "text":
            return _text(summary, await self._summaries.source_text(summary.id), head, place, budget)
        if cursor is not None:
            return _expansion(summary, head, await self._page(summary, place, budget))
        if query is not None:
            return _expansion(summary, head, await self._matching(summary, query, budget))
        if summary.level and depth != "originals":
            return _children(summary, head, await self._summaries.children(summary.id))
        return _expansion(summary, head, await self._page(summary, place, budget))

    async def _page(self, summary: Summary, place: Place, budget: int) -> _Page:
        page = _PageBuilder(budget)
        while True:
            batch = await self._conversational.covered(summary, from_seq=place.seq, limit=_BATCH)
            for group in _groups(batch):
                stop = page.add(group, place.offset if group[0].seq == place.seq else 0)
                if stop is not None:
                    return page.build(stop)
                place = Place(group[-1].seq + 1, 0)
            if len(batch) < _BATCH:
                return page.build(None)

    async def _matching(self, summary: Summary, query: str, budget: int) -> _Page:
        """Return the best matching messages with their neighbours, in order, as far as the budget goes."""
        params = {
            "namespace": self._database.namespace,
            "thread_id": summary.thread_id,
            "first_seq": summary.first_seq,
            "last_seq": summary.last_seq,
            "query": query_words(searchable(query)),
        }
        page = _PageBuilder(budget)
        next: Place | None = None
        omitted = 0
        for *row, weights in await self._database.fetch(_SQL["matching"], params):
            message = to_message(tuple(row))
            if page.add([message], whole=True) is None:
                continue
            if page.add_passage(message, weights):
                next = Place(message.seq, 0)
            else:
                omitted += 1
        return replace(page.build(next), omitted=omitted)


def _groups(batch: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """Yield messages that may stand on different pages: a tool call and its results stay together."""
    allowed = cut_positions([parse(message.message) for message in batch])
    start = 0
    for position in range(1, len(batch) + 1):
        if allowed[position]:
            yield batch[start:position]
            start = position


def _head(summary: Summary, max_tokens: int) -> str:
    """Return the summary's text; where it would take more than half of the page, its beginning and how to get more."""
    content = summary.content
    if count(content) > max_tokens // 2:
        shown = truncate(content, max_tokens // 2).rpartition("\n")[0]
        content = f'{shown}\n(the summary goes on: expand_summary("{summary.id}", max_tokens={summary.tokens * 3}))'
    return f"## Summary Context\n{content}\n\n"


@cache
def _frame_tokens() -> int:
    return count(originals("")) + 1


def _frame(id: str) -> int:
    """Return the tokens that a page needs beside its messages."""
    return _frame_tokens() + count(_more(id, str(Place(10**9, 10**9))))


def _children(summary: Summary, head: str, children: Sequence[Summary]) -> Expansion:
    """Return the summaries under a parent; each opens in turn, and `depth="originals"` passes them over."""
    listed = "\n".join(["CHILD SUMMARIES:", *(child.reference for child in children)])
    hint = f'(originals: expand_summary("{summary.id}", depth="originals"))'
    body = f"{head}{block('summary', listed)}\n{hint}"
    return Expansion(found=True, text=body, summary=summary, children=tuple(children), tokens=count(body))


def _text(summary: Summary, text: str, head: str, place: Place, budget: int) -> Expansion:
    part, next = text_page(text, place, budget)
    cursor = str(next) if next else None
    body = f"{head}ORIGINAL TEXT:\n{quote(part)}{_more(summary.id, cursor)}"
    return Expansion(found=True, text=body, summary=summary, source_text=part, cursor=cursor, tokens=count(body))


def _more(id: str, cursor: str | None) -> str:
    return f'\n(more: expand_summary("{id}", cursor="{cursor}"))' if cursor else ""


def _expansion(summary: Summary, head: str, page: _Page) -> Expansion:
    cursor = str(page.next) if page.next else None
    omitted = f"\n({page.omitted} more match: ask with a larger max_tokens)" if page.omitted else ""
    body = head + originals("\n".join(page.lines) or NO_RESULT) + omitted + _more(summary.id, cursor)
    return Expansion(found=True, text=body, summary=summary, messages=page.messages, cursor=cursor, tokens=count(body))


def _not_found(id: str) -> Expansion:
    hint = (
        f"No summary has the id {str(id)[:80]!r}. Ids stand in the window as [Summary ID: …]; copy one from there, "
        "without the brackets."
    )
    body = f"## Summary Context\n{NOT_FOUND}\n\n{originals(NO_RESULT)}\n\n{hint}"
    return Expansion(found=False, text=body, tokens=count(body))


def lines_of(messages: Sequence[Message]) -> str:
    """Return the published lines of messages in order, or the mark for none."""
    return "\n".join(conversation_line(message) for message in messages) or NO_RESULT
