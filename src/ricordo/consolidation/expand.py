"""From a reference back to the originals: within a budget, page by page, or where a query points."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ricordo.database.pool import Database
from ricordo.database.queries import load
from ricordo.errors import InvalidInputError
from ricordo.messages import searchable
from ricordo.stores.conversational import AsyncConversationalMemory, check_id, check_limit, to_message
from ricordo.stores.format import NO_RESULT, conversation_line, originals, quote
from ricordo.stores.summary import AsyncSummaryMemory
from ricordo.tokens import count
from ricordo.types import Expansion, Message, Summary

_SQL = load("ricordo.consolidation", "expand.sql")

DEFAULT_MAX_TOKENS = 8_000
"""Tokens of an expansion's text: a small part of every current model's window."""

NOT_FOUND = "(summary not found)"

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_CURSOR = re.compile(r"([0-9]{1,18}):([0-9]{1,18})")
_MINIMUM_PART = 32
_BATCH = 256


def parse_id(text: str) -> str | None:
    """Return the id in a text such as `[Summary ID: …] description`, or None where there is none."""
    match = _UUID.search(text)
    uuid = check_id(match[0] if match else text.strip())
    return str(uuid) if uuid else None


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a page begins: a message's place and a character of its content."""

    seq: int
    offset: int

    @classmethod
    def parse(cls, cursor: str | None) -> _Place:
        if cursor is None:
            return cls(0, 0)
        match = _CURSOR.fullmatch(cursor)
        if match is None:
            raise InvalidInputError(
                f"{cursor[:40]!r} is not a cursor", hint="pass the cursor of the page before, as it was returned"
            )
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.seq}:{self.offset}"


@dataclass(frozen=True, slots=True)
class _Page:
    lines: tuple[str, ...]
    messages: tuple[Message, ...]
    next: _Place | None


class _PageBuilder:
    """Fills a page with messages until its tokens are used up."""

    def __init__(self, budget: int) -> None:
        self._left = budget
        self._shown: dict[int, tuple[str, Message]] = {}

    def add(self, message: Message, offset: int) -> int | None:
        """Add a message from a character on; return None, or the character where the next page takes it up.

        A message that does not fit begins the next page. Only the first of a page is cut, when it is larger than
        a whole page.
        """
        line = conversation_line(message)[offset:]
        cost = count(line) + 1
        if cost > self._left:
            if self._shown:
                return offset
            line = _prefix(line, self._left)
            self._shown[message.seq] = (line, message)
            self._left = 0
            return offset + len(line)
        self._shown[message.seq] = (line, message)
        self._left -= cost
        return None

    def build(self, next: _Place | None) -> _Page:
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

    async def expand(self, id: str, *, query: str | None, max_tokens: int, cursor: str | None) -> Expansion:
        """Return a page of the summary's originals, in order; see `Memory.expand_summary`."""
        check_limit(max_tokens, "max_tokens")
        place = _Place.parse(cursor)
        uuid = parse_id(id)
        summary = uuid and await self._summaries.find(uuid)
        if not summary:
            return _not_found(id)
        head = f"## Summary Context\n{summary.content}\n\n" if cursor is None else "## Summary Context (continued)\n\n"
        budget = max(max_tokens - count(head), _MINIMUM_PART)
        if summary.kind == "text":
            return self._text(summary, await self._summaries.source_text(summary.id), head, place, budget)
        if query is not None:
            return _expansion(summary, head, await self._matching(summary, query, budget))
        return _expansion(summary, head, await self._page(summary, place, budget))

    async def _page(self, summary: Summary, place: _Place, budget: int) -> _Page:
        page = _PageBuilder(budget)
        while True:
            batch = await self._conversational.covered(summary.id, from_seq=place.seq, limit=_BATCH)
            for message in batch:
                rest = page.add(message, place.offset if message.seq == place.seq else 0)
                if rest is not None:
                    return page.build(_Place(message.seq, rest))
                place = _Place(message.seq + 1, 0)
            if len(batch) < _BATCH:
                return page.build(None)

    async def _matching(self, summary: Summary, query: str, budget: int) -> _Page:
        """Return the best matching messages with their neighbours, in order, as far as the budget goes."""
        params = {"namespace": self._database.namespace, "summary_id": summary.id, "query": searchable(query)}
        page = _PageBuilder(budget)
        next: _Place | None = None
        for row in await self._database.fetch(_SQL["matching"], params):
            message = to_message(row[:-1])
            if rest := page.add(message, 0):
                next = _Place(message.seq, rest)
        return page.build(next)

    def _text(self, summary: Summary, text: str, head: str, place: _Place, budget: int) -> Expansion:
        part = _prefix(text[place.offset :], budget)
        end = place.offset + len(part)
        cursor = str(_Place(0, end)) if end < len(text) else None
        body = f"{head}ORIGINAL TEXT:\n{quote(part)}{_more(summary.id, cursor)}"
        return Expansion(found=True, text=body, summary=summary, source_text=part, cursor=cursor, tokens=count(body))


def _prefix(text: str, budget: int) -> str:
    """Return the longest beginning of the text that has at most `budget` tokens, found by bisection."""
    if count(text) <= budget:
        return text
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(text[:middle]) <= budget else (low, middle - 1)
    return text[:low]


def _more(id: str, cursor: str | None) -> str:
    return f'\n(more: expand_summary("{id}", cursor="{cursor}"))' if cursor else ""


def _expansion(summary: Summary, head: str, page: _Page) -> Expansion:
    cursor = str(page.next) if page.next else None
    body = head + originals("\n".join(page.lines) or NO_RESULT) + _more(summary.id, cursor)
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
