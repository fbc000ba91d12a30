"""Opening a tool's output again: page by page within a budget, or where a query points."""

from __future__ import annotations

import asyncio
import json

from ricordo.consolidation.excerpt import excerpt
from ricordo.consolidation.paging import MINIMUM_PART, Place, parse_id, text_page
from ricordo.messages import searchable
from ricordo.stores.conversational import check_limit
from ricordo.stores.format import INPUT_LIMIT, NO_RESULT, execution_line, input_text, quote
from ricordo.stores.tool_log import AsyncToolLog
from ricordo.tokens import count
from ricordo.types import ToolExecution, ToolLogPage

NOT_FOUND = "(tool log not found)"


class ToolLogReader:
    """Opens executions of tools again."""

    def __init__(self, logs: AsyncToolLog) -> None:
        """Use the store that holds them."""
        self._logs = logs

    async def read(self, id: str, *, query: str | None, max_tokens: int, cursor: str | None) -> ToolLogPage:
        """Return a page of an output, or what of it a query points at; see `Memory.read_tool_log`."""
        check_limit(max_tokens, "max_tokens")
        place = Place.parse(cursor)
        uuid = parse_id(id)
        found = uuid and await self._logs.find(uuid)
        if not found:
            return _not_found(id)
        log, output = found
        head = f"## Tool Log\n{execution_line(log)}\nOUTPUT:\n"
        budget = max(max_tokens - count(head) - count(_more(log.id, query, str(Place(10**9, 10**9)))), MINIMUM_PART)
        text = _document(log, output)
        if query is None:
            part, next = text_page(text, place, budget)
            return _page(log, head, quote(part), _more(log.id, None, next and str(next)), part, next)
        # Reading every line of a long output takes a while.
        hits = await asyncio.to_thread(excerpt, text, searchable(query), budget, skip=place.seq)
        next = None if hits.next is None else Place(hits.next, 0)
        return _page(log, head, quote(hits.text), _more(log.id, query, next and str(next)), hits.text, next)


def _document(log: ToolExecution, output: str) -> str:
    """Return all that the execution line does not show: the output, after a long input and an error."""
    given = input_text(log.tool_input)
    parts = [f"(input)\n{given}"] if len(given) > INPUT_LIMIT else []
    if log.error_message:
        parts.append(f"(error)\n{log.error_message}")
    if not parts:
        return output
    return "\n".join([*parts, f"(output)\n{output}"] if output else parts)


def _page(log: ToolExecution, head: str, shown: str, more: str, part: str, next: Place | None) -> ToolLogPage:
    body = f"{head}{shown or NO_RESULT}{more}"
    cursor = str(next) if next else None
    return ToolLogPage(found=True, text=body, log=log, output=part, cursor=cursor, tokens=count(body))


def _more(id: str, query: str | None, cursor: str | None) -> str:
    if cursor is None:
        return ""
    asked = "" if query is None else f", query={json.dumps(query, ensure_ascii=False)}"
    return f'\n(more: read_tool_log("{id}"{asked}, cursor="{cursor}"))'


def _not_found(id: str) -> ToolLogPage:
    body = (
        f"## Tool Log\n{NOT_FOUND}\n\nNo tool log has the id {str(id)[:80]!a}. Ids stand in the window as "
        'read_tool_log("…"); a [Summary ID: …] opens with expand_summary.'
    )
    return ToolLogPage(found=False, text=body, tokens=count(body))
