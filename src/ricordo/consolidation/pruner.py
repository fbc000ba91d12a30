"""Letting previews stand for old tool results in a thread's window; the messages stay as they are."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import uuid_utils.compat

from ricordo.config import Policy
from ricordo.consolidation.commit import Ledger
from ricordo.consolidation.plan import Fact
from ricordo.consolidation.prune import preview, prunable
from ricordo.consolidation.recalled import Execution, calls_of, executions
from ricordo.database.pool import Database, Params, Row
from ricordo.database.queries import load
from ricordo.errors import InvalidInputError
from ricordo.messages import decode, encode_value, searchable, shorten
from ricordo.messages.parse import read
from ricordo.messages.parts import Call, Result
from ricordo.stores.tool_log import TOOL_NAME_LIMIT
from ricordo.tokens import count_message
from ricordo.types import Pruning

_SQL = load("ricordo.consolidation", "pruner.sql")
_MESSAGES = load("ricordo.consolidation", "commit.sql")["messages"]

_BATCH = 32
"""Messages that are read at once: a single one may hold megabytes."""


@dataclass(frozen=True, slots=True)
class _Shortened:
    """A message's new log and preview, in a form that PostgreSQL stores."""

    message_id: str
    log_id: str
    call_id: str | None
    tool: str
    input: str | None
    status: str
    preview: str
    window_tokens: int


class Pruner:
    """Shortens the old tool results of a thread, without a model."""

    def __init__(self, database: Database, ledger: Ledger) -> None:
        """Use an open database."""
        self._database = database
        self._ledger = ledger

    def _params(self, thread_id: str, **values: object) -> Params:
        return {"namespace": self._database.namespace, "thread_id": thread_id, **values}

    async def prune(self, thread_id: str, policy: Policy) -> Pruning:
        """Shorten what the policy lets, in one transaction; see `Memory.prune`."""
        facts = await self._ledger.facts(thread_id)
        seqs = prunable(facts, policy)
        answered: defaultdict[int, list[Execution]] = defaultdict(list)
        for one in executions(facts):
            answered[facts[one.result].seq].append(one)
        shortened: list[_Shortened] = []
        for start in range(0, len(seqs), _BATCH):
            batch = {seq: answered[seq] for seq in seqs[start : start + _BATCH]}
            shortened += await self._shortened(thread_id, facts, batch)
        return await self._store(thread_id, shortened) if shortened else Pruning()

    async def _shortened(
        self, thread_id: str, facts: Sequence[Fact], batch: Mapping[int, Sequence[Execution]]
    ) -> list[_Shortened]:
        callers = sorted({facts[one.call].seq for found in batch.values() for one in found})
        rows = await self._database.fetch(_SQL["long_results"], self._params(thread_id, seqs=list(batch)))
        originals = await self._database.fetch(_MESSAGES, self._params(thread_id, seqs=callers))
        calls = {seq: calls_of(decode(message)) for seq, message in originals}
        # Reading the identifiers of a long output takes a while.
        return await asyncio.to_thread(_prepare, rows, facts, batch, calls)

    async def _store(self, thread_id: str, shortened: Sequence[_Shortened]) -> Pruning:
        params = self._params(
            thread_id,
            message_ids=[one.message_id for one in shortened],
            log_ids=[one.log_id for one in shortened],
            call_ids=[one.call_id for one in shortened],
            tools=[one.tool for one in shortened],
            inputs=[one.input for one in shortened],
            statuses=[one.status for one in shortened],
            previews=[one.preview for one in shortened],
            window_tokens=[one.window_tokens for one in shortened],
        )
        async with self._database.transaction() as transaction:
            await transaction.fetch_one(_SQL["hold_thread"], params)
            rows = await transaction.fetch(_SQL["shorten"], params)
            freed = sum(tokens for _, tokens in rows)
            await transaction.execute(_SQL["settle_pruning"], {**params, "freed": freed})
        return Pruning(count=len(rows), freed_tokens=freed, log_ids=tuple(id for id, _ in rows))


def _prepare(
    rows: Sequence[Row],
    facts: Sequence[Fact],
    batch: Mapping[int, Sequence[Execution]],
    calls: Mapping[int, Mapping[str, Call]],
) -> list[_Shortened]:
    found: list[_Shortened] = []
    for seq, message_id, content, encoded in rows:
        log_id = str(uuid_utils.compat.uuid7())
        shown = preview(content, log_id)
        if shown is None:
            continue
        message = decode(encoded)
        results = [part for part in read(message)[1] if isinstance(part, Result)]
        made = [calls.get(facts[one.call].seq, {}).get(one.id) for one in batch[seq]]
        found.append(
            _Shortened(
                message_id=message_id,
                log_id=log_id,
                call_id=batch[seq][0].id if len(batch[seq]) == 1 else None,
                tool=_tool(batch[seq], message),
                input=_inputs([call for call in made if call]),
                status="error" if any(result.failed for result in results) else "success",
                preview=shown,
                window_tokens=count_message(shown, ids=[id for result in results for id in result.ids]),
            )
        )
    return found


def _tool(answered: Sequence[Execution], message: Mapping[str, Any]) -> str:
    """Return the name of the tool, of several where one message holds the results of several."""
    names = dict.fromkeys(one.tool for one in answered) or [str(message.get("name") or "")]
    printable = "".join(c if c.isprintable() else " " for c in searchable(", ".join(names)))
    return shorten(printable.strip(), TOOL_NAME_LIMIT) or "tool"


def _inputs(calls: Sequence[Call]) -> str | None:
    """Return the exact JSON of a call's input, a list of several."""
    encoded = [_input(call.arguments) for call in calls]
    return encoded[0] if len(encoded) == 1 else f"[{','.join(encoded)}]" if encoded else None


def _input(arguments: str) -> str:
    """Return arguments as JSON; what a model wrote may be none, and is then kept as a text."""
    try:
        return encode_value(json.loads(arguments), "arguments")
    except (ValueError, RecursionError, InvalidInputError):
        return encode_value(arguments, "arguments")
