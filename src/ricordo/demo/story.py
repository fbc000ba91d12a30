"""The story of the demonstration, chapter by chapter: what really happened, for whoever tells it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import TypeAlias, cast

import psycopg
from psycopg import sql

from ricordo.consolidation.draft import HEADINGS
from ricordo.database.failures import translated
from ricordo.database.queries import load
from ricordo.sync import Memory
from ricordo.types import JSON, Consolidation, Expansion, Summary, Verification
from ricordo.window.monitor import MonitorDict, monitor_context_window
from ricordo.window.segments import Window

THREAD = "thesis"
QUESTION = "What is still open before my meeting with Prof. Marchetti?"

_SQL = load("ricordo.demo", "story.sql")
_READ_LIMIT = 100
_PAGE_TOKENS = 2_000
"""Less than the conversation has, so that expanding it takes more than one page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The conversation is in the memory; `usage` is the published estimate of its text in a prompt."""

    messages: tuple[dict[str, JSON], ...]
    text: str
    usage: MonitorDict

    @property
    def ok(self) -> bool:
        """Whether the window is far from full."""
        return self.usage["status"] == "ok" and self.usage["percent"] < 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarised:
    """The conversation is consolidated; `summary` is what was stored."""

    result: Consolidation
    summary: Summary | None
    expected: int

    @property
    def ok(self) -> bool:
        """Whether a summary under the four headings covers every message."""
        headings = all(heading in self.result.summary for heading in HEADINGS.values())
        return bool(self.result.id and self.result.description) and headings and self.covers_all

    @property
    def covers_all(self) -> bool:
        """Whether every message is covered."""
        return self.result.num_messages_summarized == self.expected


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The same question's window before and after."""

    before: Window
    after: Window

    @property
    def ok(self) -> bool:
        """Whether the window shrank."""
        return self.after.usage.tokens < self.before.usage.tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The summary is opened again, page by page; `identical` compares with what was written."""

    pages: tuple[Expansion, ...]
    identical: bool

    @property
    def count(self) -> int:
        """The messages that came back."""
        return sum(len(page.messages) for page in self.pages)

    @property
    def ok(self) -> bool:
        """Whether every message came back as it was written, in order."""
        return self.identical


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What SQL counts in the database itself."""

    live: int
    covered: int
    expected: int

    @property
    def ok(self) -> bool:
        """Whether nothing is live and everything is covered."""
        return (self.live, self.covered) == (0, self.expected)


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """A second consolidation right after the first."""

    result: Consolidation

    @property
    def ok(self) -> bool:
        """Whether there was nothing to do."""
        return self.result.status == "nothing_to_summarize"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proved:
    """The proof over the whole namespace."""

    result: Verification

    @property
    def ok(self) -> bool:
        """Whether nothing is lost."""
        return self.result.ok


Chapter: TypeAlias = Written | Summarised | Compared | Opened | Counted | Again | Proved


def conversation() -> tuple[dict[str, JSON], ...]:
    """Return the sample: a student and a research assistant on a thesis, 15 messages each."""
    text = resources.files("ricordo.demo").joinpath("conversation.json").read_text(encoding="utf-8")
    return tuple(cast("list[dict[str, JSON]]", json.loads(text)))


def story(memory: Memory, url: str) -> Iterator[Chapter]:
    """Tell the story in a fresh namespace; each chapter is yielded when it has happened.

    `url` is the address of the memory's database, where one count is taken past the library. Nothing is deleted.
    """
    messages = conversation()
    memory.conversational.append(THREAD, messages)
    text = memory.conversational.read(THREAD, limit=_READ_LIMIT)
    yield Written(messages=messages, text=text, usage=monitor_context_window(text))

    before = memory.window(THREAD, QUESTION)
    summarised = memory.summarize_conversation(THREAD)
    stored = memory.summary.find(summarised.id or "")
    yield Summarised(result=summarised, summary=stored, expected=len(messages))
    after = memory.window(THREAD, QUESTION)
    yield Compared(before=before, after=after)

    pages = tuple(_pages(memory, summarised.id or ""))
    originals = [message.message for page in pages for message in page.messages]
    yield Opened(pages=pages, identical=originals == [*messages])
    live, covered = _count(url, memory.namespace)
    yield Counted(live=live, covered=covered, expected=len(messages))
    yield Again(result=memory.summarize_conversation(THREAD))
    yield Proved(result=memory.verify())


def _pages(memory: Memory, summary_id: str) -> Iterator[Expansion]:
    cursor: str | None = None
    while True:
        page = memory.expand_summary(summary_id, max_tokens=_PAGE_TOKENS, cursor=cursor)
        yield page
        cursor = page.cursor
        if cursor is None:
            return


def _count(url: str, namespace: str) -> tuple[int, int]:
    """Count the thread's live and covered messages over a connection of its own."""
    confine = sql.SQL("SET LOCAL ricordo.namespace = {}").format(sql.Literal(namespace))
    with translated(), psycopg.connect(url) as connection:
        connection.execute(confine)
        params = {"namespace": namespace, "thread_id": THREAD}
        row = connection.execute(_SQL["count_live_and_covered"], params).fetchone()
    live, covered = row or (0, 0)
    return live, covered
