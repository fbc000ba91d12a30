"""Summary memory: what was consolidated, with its sources (semantic memory)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from ricordo.database.pool import Database, Params, Row, Transaction
from ricordo.database.queries import load
from ricordo.errors import NotFoundError
from ricordo.messages import decode
from ricordo.stores.conversational import check_id, check_limit, check_thread_id
from ricordo.stores.format import NO_RESULT, block
from ricordo.types import Summary, SummaryLine

_SQL = load("ricordo.stores", "summary.sql")


def encode_items(items: Iterable[SummaryLine]) -> str:
    """Return the stored form of a summary's lines."""
    return json.dumps(
        [
            {
                "section": item.section,
                "text": item.text,
                "sources": item.sources,
                "status": item.status,
                "check": item.check,
                "faults": item.faults,
            }
            for item in items
        ]
    )


def to_items(stored: Iterable[Mapping[str, Any]]) -> tuple[SummaryLine, ...]:
    """Return the lines that `encode_items` stored."""
    return tuple(_to_item(item) for item in stored)


def _to_item(item: Mapping[str, Any]) -> SummaryLine:
    return SummaryLine(
        section=item["section"],
        text=item["text"],
        sources=tuple(item["sources"]),
        status=item["status"],
        check=item["check"],
        faults=tuple(item["faults"]),
    )


def to_summary(row: Row) -> Summary:
    """Return the summary of a row with the columns that the queries of this store share."""
    (id, thread_id, kind, level, parent_id, first_seq, last_seq, message_count, description, content, items,
     recall_keys, source_tokens, tokens, reference_tokens, model, prompt_version, created_at) = row  # fmt: skip
    return Summary(
        id=id,
        thread_id=thread_id,
        kind=kind,
        level=level,
        parent_id=parent_id,
        first_seq=first_seq,
        last_seq=last_seq,
        message_count=message_count,
        description=description,
        content=content,
        items=to_items(items),
        recall_keys=tuple(recall_keys),
        source_tokens=source_tokens,
        tokens=tokens,
        reference_tokens=reference_tokens,
        model=model,
        prompt_version=prompt_version,
        created_at=created_at,
    )


class AsyncSummaryMemory:
    """Summaries by id and by thread; they are written by a consolidation only."""

    def __init__(self, database: Database) -> None:
        """Use an open database."""
        self._database = database

    def _params(self, **values: object) -> Params:
        return {"namespace": self._database.namespace, **values}

    async def find(self, id: str) -> Summary | None:
        """Return the summary of this id, or None for a malformed or unknown one."""
        uuid = check_id(id)
        row = uuid and await self._database.fetch_one(_SQL["get"], self._params(id=str(uuid)))
        return to_summary(row) if row else None

    async def get(self, id: str) -> Summary:
        """Return the summary of this id; raises NotFoundError."""
        summary = await self.find(id)
        if summary is None:
            raise NotFoundError(f"there is no summary {str(id)[:60]!r}")
        return summary

    async def list(self, thread_id: str, *, limit: int = 100) -> tuple[Summary, ...]:
        """Return the newest summaries that stand in the thread's window, oldest first."""
        params = self._params(thread_id=check_thread_id(thread_id), limit=check_limit(limit))
        return tuple(to_summary(row) for row in await self._database.fetch(_SQL["in_window"], params))

    async def children(self, id: str) -> tuple[Summary, ...]:
        """Return the summaries right below a parent, oldest first."""
        return tuple(to_summary(row) for row in await self._database.fetch(_SQL["children"], self._params(id=id)))

    async def references(self, thread_id: str, *, limit: int = 100) -> tuple[tuple[str, int], ...]:
        """Return the thread's reference lines with their tokens, newest first."""
        params = self._params(thread_id=check_thread_id(thread_id), limit=check_limit(limit))
        rows = await self._database.fetch(_SQL["references"], params)
        return tuple((f"[Summary ID: {id}] {description}", tokens) for id, description, _, tokens in rows)

    async def read(self, thread_id: str, limit: int = 10) -> str:
        """Return the thread's newest references in the published text form for a prompt."""
        lines = "\n".join(line for line, _ in await self.references(thread_id, limit=limit))
        return block("summary", f"AVAILABLE SUMMARIES:\n{lines or NO_RESULT}")

    async def source_text(self, id: str) -> str:
        """Return the exact text that a free-text summary was made from; raises NotFoundError."""
        row = await self._database.fetch_one(_SQL["source_text"], self._params(id=id))
        if row is None:
            raise NotFoundError(f"there is no free text under {id!r}")
        return cast("str", decode(row[0])["text"])

    async def insert(self, transaction: Transaction, values: Mapping[str, object]) -> None:
        """Store a summary within the caller's transaction."""
        await transaction.execute(_SQL["insert"], self._params(**values))
