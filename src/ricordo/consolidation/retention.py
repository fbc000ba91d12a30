"""Retention: what a summary keeps of the atoms of its source, measured without a model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import replace

from ricordo.config import Settings
from ricordo.consolidation.atoms import Atom, AtomIndex
from ricordo.consolidation.compose import Composer
from ricordo.consolidation.paging import DEFAULT_MAX_TOKENS
from ricordo.consolidation.recall import inventory, recall_line
from ricordo.consolidation.redact import Redact, redacted
from ricordo.consolidation.source import SourceMessage
from ricordo.consolidation.summarise import Summariser
from ricordo.messages import parse, searchable
from ricordo.stores.conversational import AsyncConversationalMemory
from ricordo.stores.format import conversation_line, quote
from ricordo.stores.summary import AsyncSummaryMemory
from ricordo.tokens import truncate
from ricordo.types import Kept, Message, RawMessage, Retention, Summary

KINDS = ("identifier", "name", "number", "date", "path", "url", "error")
"""The kinds of atoms, in the order of a report; quotations count by what they hold."""

NEVER_TAKEN = frozenset({"system", "developer"})
"""Roles that no summary covers."""

_BATCH = 500


def measure(
    sources: Sequence[SourceMessage], content: str, keys: Sequence[str], originals: Iterable[str]
) -> dict[str, Kept]:
    """Return what a summary keeps of its sources, by kind of atom.

    Counted are the distinct atoms that tell something by themselves (see `recall.telling`): those that the lines of
    the content state, in any form of the same thing; those that its recall keys name beside; and those that the
    `originals` show, as an expansion of the summary brings them back. A key that the source does not state counts
    for nothing.
    """
    lines = AtomIndex([content.removesuffix(recall_line(keys))])
    named, shown = AtomIndex([recall_line(keys)]), AtomIndex(originals)
    found: dict[str, Kept] = {}
    for mention in inventory(sources):
        atom = mention.atom
        found[atom.kind] = found.get(atom.kind, Kept()) + _one(atom, lines, named, shown)
    return found


def _one(atom: Atom, lines: AtomIndex, named: AtomIndex, shown: AtomIndex) -> Kept:
    kept = lines.contains(atom)
    return Kept(atoms=1, kept=kept, keyed=not kept and named.contains(atom), reachable=shown.contains(atom))


def together(found: Sequence[Mapping[str, Kept]], *, messages: int) -> Retention:
    """Return the retention of several summaries, each of which keeps or loses its own atoms."""
    kinds = {kind: sum((one.get(kind, Kept()) for one in found), Kept()) for kind in KINDS}
    kinds = {kind: kept for kind, kept in kinds.items() if kept.atoms}
    return Retention(summaries=len(found), messages=messages, total=sum(kinds.values(), Kept()), kinds=kinds)


def summed(found: Iterable[Retention]) -> Retention:
    """Return the retention of several threads as one."""
    parts = [*found]
    kinds = together([part.kinds for part in parts], messages=sum(part.messages for part in parts))
    return replace(kinds, summaries=sum(part.summaries for part in parts))


async def of_thread(
    conversational: AsyncConversationalMemory,
    summaries: AsyncSummaryMemory,
    thread_id: str,
    redact: Redact | None,
) -> Retention:
    """Return what the summaries in a thread's window keep of the messages under them; see `Memory.retention`."""
    found: list[dict[str, Kept]] = []
    messages = 0
    for summary in await summaries.list(thread_id, limit=1000):
        under = [message async for message in _covered(conversational, summary)]
        messages += len(under)
        sources = redacted([_source(number, message) for number, message in enumerate(under, 1)], redact)
        found.append(measure(sources, summary.content, summary.recall_keys, map(_as_shown, under)))
    return together(found, messages=messages)


async def _covered(conversational: AsyncConversationalMemory, summary: Summary) -> AsyncIterator[Message]:
    place = 0
    while batch := await conversational.covered(summary, from_seq=place, limit=_BATCH):
        for message in batch:
            yield message
        place = batch[-1].seq + 1


def _source(number: int, message: Message) -> SourceMessage:
    return SourceMessage(
        number=number, role=message.role, text=message.content, timestamp=message.timestamp, tokens=message.tokens
    )


def _as_shown(message: Message) -> str:
    """Return a message as one page of an expansion shows it from its beginning."""
    return truncate(conversation_line(message), DEFAULT_MAX_TOKENS)


async def of_messages(
    messages: Sequence[RawMessage],
    *,
    settings: Settings,
    model: Summariser | str | None,
    redact: Redact | None,
) -> Retention:
    """Return what a summary of a conversation would keep, without storing anything.

    All messages but the system's are summarised, as a consolidation by hand would. Raises ModelError as it does, and
    InvalidMessageError.
    """
    parsed = [one for one in map(parse, messages) if one.role not in NEVER_TAKEN]
    sources = [
        SourceMessage(number=number, role=one.role, text=searchable(one.text), timestamp=None, tokens=one.tokens)
        for number, one in enumerate(parsed, 1)
    ]
    if not any(one.text.strip() for one in sources):
        return together([], messages=len(sources))
    composer = Composer(settings, model, redact=redact)
    try:
        composed = await composer.compose(sources)
    finally:
        await composer.close()
    shown = (truncate(quote(one.text), DEFAULT_MAX_TOKENS) for one in sources)
    found = measure(redacted(sources, redact), composed.content, composed.recall_keys, shown)
    return together([found], messages=len(sources))
