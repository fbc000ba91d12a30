"""Summaries of summaries: what keeps a thread's references within their budget, however long it grows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from ricordo.config import Policy
from ricordo.consolidation.compose import Composer, Composition
from ricordo.consolidation.lease import Lease
from ricordo.consolidation.record import record
from ricordo.consolidation.source import SourceMessage
from ricordo.database.pool import Database, Params
from ricordo.database.queries import load
from ricordo.stores.summary import AsyncSummaryMemory, to_items
from ricordo.tokens import DEFAULT_MODEL, count, model_limit
from ricordo.types import Condensation, Section, SummaryLine

_SQL = load("ricordo.consolidation", "condense.sql")
_HOLD = load("ricordo.consolidation", "commit.sql")["hold"]

FAN_IN = 8
"""Summaries under one parent at most: enough to shrink the references eightfold, few enough to read at once."""


@dataclass(frozen=True, slots=True)
class Sibling:
    """A summary that stands in the window; token counts are of its text and of its reference line."""

    id: str
    level: int
    first_seq: int
    last_seq: int
    message_count: int
    source_tokens: int
    tokens: int
    reference_tokens: int
    items: tuple[SummaryLine, ...]
    digest: bytes
    stale: bool = False


def choose(siblings: Sequence[Sibling], budget: int) -> Sequence[Sibling]:
    """Return the summaries to put under one parent, or none where the references fit the budget.

    The oldest neighbours of the lowest level that has at least two are taken, FAN_IN of them at most. Where no level
    has two, the two oldest are, so that every step leaves fewer references. A stale summary waits to be rebuilt, and
    no parent reaches over it.
    """
    if sum(one.reference_tokens for one in siblings) <= budget:
        return ()
    runs = [tuple(run) for stale, run in groupby(siblings, key=lambda one: one.stale) if not stale]
    levels = [tuple(level) for run in runs for _, level in groupby(run, key=lambda one: one.level)]
    wide = [level for level in levels if len(level) > 1]
    if wide:
        return min(wide, key=lambda level: level[0].level)[:FAN_IN]
    return next((run[:2] for run in runs if len(run) > 1), ())


def parent_digest(children: Sequence[Sibling]) -> bytes:
    """Return the SHA-256 over the children's digests in order: what a commit and `verify` compare."""
    return hashlib.sha256(b"".join(child.digest for child in children)).digest()


class Condenser:
    """Puts the oldest references of a thread under a parent until they fit."""

    def __init__(self, database: Database, summaries: AsyncSummaryMemory, composer: Composer) -> None:
        """Use an open database and the same composer as consolidations."""
        self._database = database
        self._summaries = summaries
        self._composer = composer

    def _params(self, thread_id: str, **values: object) -> Params:
        return {"namespace": self._database.namespace, "thread_id": thread_id, **values}

    async def excess(self, thread_id: str, policy: Policy, budget: int | None = None) -> int | None:
        """Return the budget that the thread's references are above, or None where they fit: one row is read."""
        row = await self._database.fetch_one(_SQL["references"], self._params(thread_id))
        if row is None:
            return None
        tokens, model = row
        if budget is None:
            budget = int(model_limit(model or DEFAULT_MODEL) * policy.reference_percent / 100)
        return budget if tokens > budget else None

    async def condense(self, held: Lease, budget: int) -> Condensation:
        """Add parents until the references fit the budget, or nothing more can be gained.

        Each parent is committed by itself. Raises ModelError; what was committed before stays.
        """
        outcome = Condensation(status="below_threshold")
        while children := choose(await self._siblings(held.thread_id), budget):
            composition = await compose_parent(self._composer, children)
            outcome = replace(
                outcome,
                model_calls=outcome.model_calls + composition.model_calls,
                input_tokens=outcome.input_tokens + composition.input_tokens,
            )
            if composition.tokens >= sum(child.tokens for child in children):
                return replace(outcome, status="not_worthwhile")
            summary = _parent(held.thread_id, children, composition)
            if not await self._commit(held, children, summary):
                return replace(outcome, status="superseded")
            outcome = replace(outcome, status="condensed", parents=(*outcome.parents, summary["id"]))
        return outcome

    async def _siblings(self, thread_id: str) -> list[Sibling]:
        rows = await self._database.fetch(_SQL["siblings"], self._params(thread_id))
        return [
            Sibling(*figures, items=to_items(items), digest=bytes(digest), stale=stale)
            for *figures, stale, items, digest in rows
        ]

    async def _commit(self, held: Lease, children: Sequence[Sibling], summary: Mapping[str, Any]) -> bool:
        params = self._params(held.thread_id, token=held.token, ids=[child.id for child in children])
        async with self._database.transaction() as transaction:
            if await transaction.fetch_one(_HOLD, params) is None:
                return False
            found, digest = await transaction.fetch_one(_SQL["children_now"], params) or (0, b"")
            if found != len(children) or digest != summary["source_digest"]:
                return False
            await self._summaries.insert(transaction, summary)
            await transaction.execute(_SQL["adopt"], {**params, "id": summary["id"]})
            tokens = sum(child.reference_tokens for child in children)
            settled = {"children_tokens": tokens, "reference_tokens": summary["reference_tokens"]}
            await transaction.execute(_SQL["settle_parent"], {**params, **settled})
        return True


async def compose_parent(composer: Composer, children: Sequence[Sibling]) -> Composition:
    """Return one summary of the children's lines, which are its numbered sources."""
    lines = _lines(children)
    sources = [
        SourceMessage(number=number, role=line.section, text=line.text, timestamp=None, tokens=count(line.text))
        for number, line in enumerate(lines, 1)
    ]
    sections: dict[int, Section] = {number: line.section for number, line in enumerate(lines, 1)}
    return await composer.compose(sources, prompt="condense", sections=sections)


def parent_record(composition: Composition, children: Sequence[Sibling], *, id: str | None = None) -> dict[str, Any]:
    """Return a parent's own columns; its lines rest on the messages that the cited lines of the children rest on."""
    sources = [line.sources for line in _lines(children)]
    return record(composition, sources, id=id) | {"source_digest": parent_digest(children)}


def _lines(children: Sequence[Sibling]) -> list[SummaryLine]:
    return [item for child in children for item in child.items if item.check != "dropped"]


def _parent(thread_id: str, children: Sequence[Sibling], composition: Composition) -> dict[str, Any]:
    return parent_record(composition, children) | {
        "thread_id": thread_id,
        "kind": "thread",
        "level": max(child.level for child in children) + 1,
        "first_seq": children[0].first_seq,
        "last_seq": children[-1].last_seq,
        "message_count": sum(child.message_count for child in children),
        "source_tokens": sum(child.source_tokens for child in children),
        "source_text": None,
    }
