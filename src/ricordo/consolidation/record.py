"""The stored form of a composition: the columns that a summary of any kind has."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from ricordo.consolidation.commit import SourceRow
from ricordo.consolidation.compose import Composition
from ricordo.consolidation.source import SourceMessage
from ricordo.consolidation.summarise import PROMPT_VERSION
from ricordo.stores.summary import encode_items
from ricordo.tokens import count
from ricordo.types import SummaryLine


def numbered(rows: Sequence[SourceRow]) -> list[SourceMessage]:
    """Return messages as a summariser reads them, numbered from 1."""
    return [
        SourceMessage(number=number, role=row.role, text=row.content, timestamp=row.timestamp, tokens=row.tokens)
        for number, row in enumerate(rows, 1)
    ]


def record(
    composition: Composition, sources: Sequence[Sequence[int]] | None = None, *, id: str | None = None
) -> dict[str, Any]:
    """Return a summary's own columns, under a new id or a given one.

    `sources` gives the places that each number of the composition stands for; without it the numbers stay.
    """
    id = id or str(uuid4())
    return {
        "id": id,
        "description": composition.description,
        "content": composition.content,
        "items": encode_items(_placed(item, sources) for item in composition.items),
        "recall_keys": json.dumps(composition.recall_keys),
        "retention": composition.retention,
        "tokens": composition.tokens,
        "reference_tokens": count(f"[Summary ID: {id}] {composition.description}") + 1,
        "model": composition.model,
        "prompt_version": PROMPT_VERSION,
    }


def _placed(item: SummaryLine, sources: Sequence[Sequence[int]] | None) -> SummaryLine:
    if sources is None:
        return item
    places = {place for number in item.sources if 0 < number <= len(sources) for place in sources[number - 1]}
    return replace(item, sources=tuple(sorted(places)))
