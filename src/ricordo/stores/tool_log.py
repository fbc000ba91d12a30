"""Tool log: what tools were called with and what they gave back, exactly (audit trail)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol, cast, get_args

import uuid_utils.compat

from ricordo.database.pool import Database, Params, Row
from ricordo.database.queries import load
from ricordo.errors import InvalidInputError, NotFoundError
from ricordo.messages import decode, decode_value, encode, encode_value, escape_id, searchable
from ricordo.stores.conversational import check_id, check_limit, check_thread_id
from ricordo.stores.format import NO_RESULT, block, execution, output_text
from ricordo.types import JSON, ToolExecution, ToolStatus

_SQL = load("ricordo.stores", "tool_log.sql")

TOOL_NAME_LIMIT = 200
"""Characters of a tool's name."""


class Preview(Protocol):
    """Whatever says what a prompt shows of a long output."""

    def __call__(self, text: str, log_id: str) -> str | None:
        """Return a shorter text that names the log to read, or None where the output is short."""
        ...


def to_log(row: Row) -> ToolExecution:
    """Return the execution of a row with the columns that the queries of this store share."""
    (id, thread_id, call_id, tool_name, tool_input, tool_output, message_id, status, error_message, duration_ms,
     preview, timestamp, metadata) = row  # fmt: skip
    return ToolExecution(
        id=id,
        thread_id=thread_id,
        call_id=call_id,
        tool_name=tool_name,
        tool_input=None if tool_input is None else decode_value(tool_input),
        tool_output=None if tool_output is None else decode_value(tool_output),
        message_id=message_id,
        status=cast("ToolStatus", status),
        error_message=error_message,
        duration_ms=duration_ms,
        preview=preview,
        timestamp=timestamp,
        metadata=decode(metadata),
    )


class AsyncToolLog:
    """Executions of tools, by thread and time; an output of any length is kept whole."""

    def __init__(self, database: Database, preview: Preview) -> None:
        """Use an open database; `preview` is asked for every output."""
        self._database = database
        self._preview = preview

    def _params(self, **values: object) -> Params:
        return {"namespace": self._database.namespace, **values}

    async def write(
        self,
        thread_id: str,
        tool_name: str,
        tool_input: JSON = None,
        tool_output: JSON = None,
        status: ToolStatus = "success",
        error_message: str | None = None,
        duration_ms: int | None = None,
        metadata: Mapping[str, JSON] | None = None,
        *,
        call_id: str | None = None,
    ) -> str:
        """Keep one execution of a tool and return its id (a UUID).

        `tool_input` and `tool_output` are any JSON value and come back equal. `duration_ms` is in milliseconds,
        `call_id` the id of the model's call. Raises InvalidInputError before anything is stored.
        """
        _check(tool_name, status, duration_ms)
        id = str(uuid_utils.compat.uuid7())
        encoded = None if tool_output is None else encode_value(tool_output, "tool_output")
        params = self._params(
            id=id,
            thread_id=check_thread_id(thread_id),
            call_id=None if call_id is None else escape_id(call_id),
            tool_name=tool_name,
            tool_input=None if tool_input is None else encode_value(tool_input, "tool_input"),
            tool_output=encoded,
            status=status,
            error_message=None if error_message is None else searchable(error_message),
            duration_ms=duration_ms,
            preview=await asyncio.to_thread(self._preview, output_text(tool_output), id),
            metadata=encode(metadata or {}),
        )
        await self._database.fetch(_SQL["write"], params)
        return id

    async def read(self, thread_id: str, limit: int = 10, only_errors: bool = False) -> str:
        """Return the newest executions, oldest first, in the published text form for a prompt.

        A long output is shown by its preview, which says how to read the rest.
        """
        logs = await self.list(thread_id, limit=limit, only_errors=only_errors)
        return block("tool_log", "TOOL EXECUTIONS:\n" + ("\n".join(map(execution, logs)) or NO_RESULT))

    async def list(
        self, thread_id: str, *, limit: int = 50, before: str | None = None, only_errors: bool = False
    ) -> tuple[ToolExecution, ...]:
        """Return the newest executions before the one of the id `before`, oldest first; failed ones alone on request.

        To page backwards, pass the first result's id as the next `before`.
        """
        params = self._params(thread_id=check_thread_id(thread_id), limit=check_limit(limit), before=_before(before))
        rows = await self._database.fetch(_SQL["newest_failed" if only_errors else "newest"], params)
        return tuple(to_log(row) for row in reversed(rows))

    async def get(self, id: str) -> ToolExecution:
        """Return the execution of this id; raises NotFoundError."""
        found = await self.find(id)
        if found is None:
            raise NotFoundError(f"there is no tool log {str(id)[:60]!r}")
        return found[0]

    async def find(self, id: str) -> tuple[ToolExecution, str] | None:
        """Return the execution of this id and its whole output as text, or None for a malformed or unknown id."""
        uuid = check_id(id)
        row = uuid and await self._database.fetch_one(_SQL["get"], self._params(id=str(uuid)))
        if not row:
            return None
        log = to_log(row[:-1])
        return log, output_text(log.tool_output) if log.message_id is None else row[-1]


def _before(id: str | None) -> str | None:
    if id is None:
        return None
    uuid = check_id(id)
    if uuid is None:
        raise InvalidInputError(f"{id[:40]!r} is not the id of a tool log", hint="pass the first result's id")
    return str(uuid)


def _check(tool_name: str, status: str, duration_ms: int | None) -> None:
    if not tool_name or len(tool_name) > TOOL_NAME_LIMIT or not tool_name.isprintable():
        raise InvalidInputError(
            f"a tool's name has 1 to {TOOL_NAME_LIMIT} printable characters, not {tool_name[:40]!r}"
        )
    if status not in get_args(ToolStatus):
        raise InvalidInputError(f"a tool's status is one of {', '.join(get_args(ToolStatus))}, not {status!a:.40}")
    if duration_ms is not None and not 0 <= duration_ms < 2**63:
        raise InvalidInputError(f"a duration in milliseconds must not be negative: {duration_ms}")
