"""The proof that nothing is lost: every message live or under exactly one leaf summary, unchanged."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass

from ricordo.database.pool import Database, Params, Row, Transaction
from ricordo.database.queries import load
from ricordo.stores.conversational import check_thread_id
from ricordo.types import Fault, Verification

_SQL = load("ricordo.consolidation", "verify.sql")


@dataclass(slots=True)
class _Tally:
    threads: int = 0
    messages: int = 0
    live: int = 0
    covered: int = 0
    summaries: int = 0
    withdrawn: int = 0


class Verifier:
    """Recomputes, from the stored rows alone, all that the counters and summaries claim."""

    def __init__(self, database: Database) -> None:
        """Use an open database."""
        self._database = database

    def _params(self, thread_id: str | None, **values: object) -> Params:
        return {"namespace": self._database.namespace, "thread_id": thread_id, **values}

    async def verify(
        self, thread_id: str | None = None, *, progress: Callable[[str], object] | None = None
    ) -> Verification:
        """Prove one thread, or every thread and free text of the namespace.

        Reads each thread's rows in a snapshot of its own, so it may run beside writers. `progress` is called
        with each thread's id before it is read.
        """
        if thread_id is not None:
            check_thread_id(thread_id)
        tally, faults = _Tally(), [fault async for fault in self._orphans(thread_id)]
        async for thread in self._threads(thread_id):
            if progress:
                progress(thread)
            faults += await self._thread(thread, tally)
        if thread_id is None:
            faults += await self._texts()
        return Verification(
            threads=tally.threads,
            messages=tally.messages,
            live=tally.live,
            covered=tally.covered,
            summaries=tally.summaries,
            withdrawn=tally.withdrawn,
            faults=tuple(faults),
        )

    async def _threads(self, thread_id: str | None) -> AsyncIterator[str]:
        after = ""
        while rows := await self._database.fetch(_SQL["verify_threads"], self._params(thread_id, after=after)):
            for (thread,) in rows:
                yield thread
            after = rows[-1][0]

    async def _thread(self, thread_id: str, tally: _Tally) -> list[Fault]:
        params = self._params(thread_id)
        async with self._database.transaction(snapshot=True) as transaction:
            counters = await transaction.fetch_one(_SQL["verify_counters"], params)
            leaves = await transaction.fetch(_SQL["verify_leaves"], params)
            strays = await transaction.fetch(_SQL["verify_strays"], params)
            changed = await transaction.fetch(_SQL["verify_changed"], params)
            unlogged = await transaction.fetch(_SQL["verify_logs"], params)
            parents = await transaction.fetch(_SQL["verify_parents"], params)
            siblings = await transaction.fetch(_SQL["verify_siblings"], params)
            adopted = await transaction.fetch(_SQL["verify_adopted"], params)
            faults = [
                *_leaf_faults(thread_id, leaves),
                *_row_faults(thread_id, strays, changed, unlogged),
                *_tree_faults(thread_id, parents, siblings, adopted),
            ]
            for leaf in leaves:
                faults += await self._misplaced(transaction, thread_id, leaf)
        if counters is None:
            return []
        tally.threads += 1
        tally.live += counters[7]
        tally.covered += counters[9]
        tally.messages += counters[7] + counters[9]
        tally.summaries += counters[10]
        tally.withdrawn += counters[12]
        return [*_counter_faults(thread_id, counters), *faults]

    async def _misplaced(self, transaction: Transaction, thread_id: str, leaf: Row) -> list[Fault]:
        """Name the exact places that a leaf summary has lost; asked only where its figures are off."""
        id, first, last, count = leaf[:4]
        if (first, last, count) == (leaf[6], leaf[7], leaf[8]):
            return []
        params = self._params(thread_id, summary_id=id, first_seq=first, last_seq=last)
        places = await transaction.fetch(_SQL["verify_range"], params)
        missing = tuple(place for place, is_missing in places if is_missing)
        uncovered = tuple(place for place, is_missing in places if not is_missing)
        found = {"missing": ("messages are gone", missing), "uncovered": ("messages lost their mark", uncovered)}
        return [
            Fault(code=code, detail=detail, thread_id=thread_id, summary_id=id, seqs=seqs)
            for code, (detail, seqs) in found.items()
            if seqs
        ]

    async def _orphans(self, thread_id: str | None) -> AsyncIterator[Fault]:
        for thread, seq in await self._database.fetch(_SQL["verify_foreign"], self._params(thread_id)):
            yield Fault(code="no_thread", detail="a message whose thread is missing", thread_id=thread, seqs=(seq,))

    async def _texts(self) -> list[Fault]:
        rows = await self._database.fetch(_SQL["verify_texts"], self._params(None))
        return [
            Fault(code="digest", detail="a free text differs from what was summarised", summary_id=id)
            for id, stored, actual in rows
            if bytes(stored) != bytes(actual)
        ]


def _counter_faults(thread_id: str, row: Row) -> Iterator[Fault]:
    next_seq, live, live_tokens, covered, summaries, summary_tokens = row[:6]
    last_seq, rows_live, rows_tokens, rows_covered, rows_summaries, rows_summary_tokens = row[6:12]
    claims = {
        "live_messages": (live, rows_live),
        "live_tokens": (live_tokens, rows_tokens),
        "covered_messages": (covered, rows_covered),
        "summaries": (summaries, rows_summaries),
        "summary_tokens": (summary_tokens, rows_summary_tokens),
    }
    for name, (claimed, actual) in claims.items():
        if claimed != actual:
            yield Fault(code="counter", detail=f"{name} says {claimed}, the rows say {actual}", thread_id=thread_id)
    if next_seq <= last_seq:
        detail = f"next_seq is {next_seq}, but place {last_seq} is taken"
        yield Fault(code="counter", detail=detail, thread_id=thread_id, seqs=(last_seq,))


def _leaf_faults(thread_id: str, leaves: list[Row]) -> Iterator[Fault]:
    for id, first, last, count, tokens, digest, rows_first, rows_last, rows_count, rows_tokens, rows_digest in leaves:
        for name, claimed, actual in (
            ("range", (first, last), (rows_first, rows_last)),
            ("count", count, rows_count),
            ("tokens", tokens, rows_tokens),
        ):
            if claimed != actual:
                detail = f"the summary says {claimed}, its messages say {actual}"
                yield Fault(code=name, detail=detail, thread_id=thread_id, summary_id=id, seqs=(first, last))
        if bytes(digest) != bytes(rows_digest or b""):
            detail = "the messages are not those that were summarised"
            yield Fault(code="digest", detail=detail, thread_id=thread_id, summary_id=id, seqs=(first, last))


def _tree_faults(thread_id: str, parents: list[Row], siblings: list[Row], adopted: list[Row]) -> Iterator[Fault]:
    for id, first, last, *row in parents:
        count, tokens, level, digest, c_first, c_last, c_count, c_tokens, c_level, c_digest = row
        for name, claimed, actual in (
            ("range", (first, last), (c_first, c_last)),
            ("count", count, c_count),
            ("tokens", tokens, c_tokens),
        ):
            if claimed != actual:
                detail = f"the parent summary says {claimed}, its children say {actual}"
                yield Fault(code=name, detail=detail, thread_id=thread_id, summary_id=id, seqs=(first, last))
        if c_level is None or c_level >= level:
            detail = f"a summary of level {level} has children of level {c_level}"
            yield Fault(code="level", detail=detail, thread_id=thread_id, summary_id=id, seqs=(first, last))
        if bytes(digest) != bytes(c_digest or b""):
            detail = "the children are not those that were condensed"
            yield Fault(code="digest", detail=detail, thread_id=thread_id, summary_id=id, seqs=(first, last))
    for id, first, last, reached in siblings:
        detail = f"the range begins at {first}, inside another summary's, which ends at {reached}"
        yield Fault(code="overlap", detail=detail, thread_id=thread_id, summary_id=id, seqs=(first, last))
    for id, first, last in adopted:
        detail = "the parent is missing, of another thread, or not above"
        yield Fault(code="parent", detail=detail, thread_id=thread_id, summary_id=id, seqs=(first, last))


def _row_faults(thread_id: str, strays: list[Row], changed: list[Row], unlogged: list[Row]) -> Iterator[Fault]:
    for seq, summary_id in strays:
        detail = "a message is marked with something that is not a leaf summary of its thread"
        yield Fault(code="stray", detail=detail, thread_id=thread_id, summary_id=summary_id, seqs=(seq,))
    if changed:
        detail = "messages are not what was appended"
        yield Fault(code="changed", detail=detail, thread_id=thread_id, seqs=tuple(seq for (seq,) in changed))
    if unlogged:
        detail = "messages are shown by the preview of a tool log that is not theirs"
        yield Fault(code="log", detail=detail, thread_id=thread_id, seqs=tuple(seq for (seq,) in unlogged))
