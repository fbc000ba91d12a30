"""Appending a file's messages to their threads, so that a second run adds nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.errors import InvalidInputError, InvalidMessageError
from ricordo.importers.source import Format, Item, Source, opened, read_items
from ricordo.importers.stream import FormatError
from ricordo.messages import encode, parse

if TYPE_CHECKING:
    from ricordo.sync import Memory

BATCH_MESSAGES = 256
BATCH_CHARACTERS = 4_000_000
"""A batch is one transaction; it ends at whichever limit is reached first."""

MAX_BAD = 1_000
"""Faults that a report lists; all are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BadItem:
    """Something in the file that was not imported: the line or the place in its list, from 1, and why."""

    thread_id: str
    number: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import found and did.

    `messages` were read, of which `added` are new and `skipped` were there already; `bad` lists the first
    MAX_BAD of the `bad_count` faults.
    """

    threads: tuple[str, ...]
    messages: int
    added: int
    skipped: int
    bad_count: int = 0
    bad: tuple[BadItem, ...] = ()


def import_file(
    memory: Memory,
    path: str | Path,
    *,
    thread_id: str | None = None,
    format: Format = "auto",
    progress: Callable[[int], object] | None = None,
) -> ImportReport:
    """Append the messages of a JSON or JSONL file, exactly as `json.load` reads them.

    The file is a list of messages, one message a line, an object with such a list under `messages`, `traj` or
    `history`, or several such objects, each its own thread. A single thread is named `thread_id`, else the file's
    stem; of several, that is the beginning, followed by each one's own id or its number. Messages are keyed by
    their place and content: importing a file again adds nothing, importing one that grew adds what is new. What is
    not a message is reported and the rest is kept. `progress` is called with the bytes read so far.
    Raises NotFoundError and InvalidInputError where nothing of the file can be read.
    """
    with opened(Path(path)) as source:
        return import_source(memory, source, thread_id=thread_id, format=format, progress=progress)


def import_source(
    memory: Memory,
    source: Source,
    *,
    thread_id: str | None = None,
    format: Format = "auto",
    progress: Callable[[int], object] | None = None,
) -> ImportReport:
    """Append the messages of an open file; see `import_file`."""
    run = _Import(memory, source, progress)
    try:
        for item in read_items(source, format, thread_id):
            run.add(item)
    except FormatError as error:
        if not run.seen:
            hint = "a file is a JSON list of messages, one JSON message a line, or an object that holds such a list"
            raise InvalidInputError(f"{str(source.path)!r} holds no messages: {error}", hint=hint) from error
        run.stop(str(error))
    run.flush()
    return run.report()


@dataclass(slots=True)
class _Import:
    """The state of one import: the batch at hand, and the figures so far."""

    memory: Memory
    source: Source
    progress: Callable[[int], object] | None
    seen: int = 0
    thread: str = ""
    threads: dict[str, int] = field(default_factory=dict[str, int])
    messages: list[Any] = field(default_factory=list[Any])
    keys: list[str] = field(default_factory=list[str])
    size: int = 0
    added: int = 0
    read: int = 0
    bad_count: int = 0
    bad: list[BadItem] = field(default_factory=list[BadItem])

    def add(self, item: Item) -> None:
        """Check an item and put it into the batch, or note what is wrong with it."""
        if item.thread_id != self.thread:
            self.flush()
            self.thread = item.thread_id
        self.seen += 1
        if item.fault:
            return self._note(item.number, item.fault)
        try:
            parse(item.message)
            encoded = encode(item.message)
        except InvalidMessageError as error:
            return self._note(item.number, error.message)
        self.messages.append(item.message)
        self.keys.append(f"import:{item.position}:{hashlib.sha256(encoded.encode('ascii')).hexdigest()}")
        self.size += len(encoded)
        if len(self.messages) >= BATCH_MESSAGES or self.size >= BATCH_CHARACTERS:
            self.flush()
        return None

    def flush(self) -> None:
        """Append the batch in one transaction; places beyond the thread's last one are new."""
        if self.messages:
            last = self._last_place()
            places = self.memory.conversational.append(self.thread, self.messages, key=self.keys)
            self.added += sum(place.seq > last for place in places)
            self.read += len(places)
            self.threads[self.thread] = max(last, *(place.seq for place in places))
        self.messages, self.keys, self.size = [], [], 0
        if self.progress:
            self.progress(self.source.position)

    def stop(self, reason: str) -> None:
        """Note that the file cannot be read beyond the last item."""
        self._note(self.seen + 1, f"the rest of the file was not read: {reason}")

    def report(self) -> ImportReport:
        """Return the figures."""
        return ImportReport(
            threads=tuple(self.threads),
            messages=self.read,
            added=self.added,
            skipped=self.read - self.added,
            bad_count=self.bad_count,
            bad=tuple(self.bad),
        )

    def _last_place(self) -> int:
        if self.thread in self.threads:
            return self.threads[self.thread]
        newest = self.memory.conversational.list(self.thread, limit=1, include_covered=True)
        return newest[0].seq if newest else 0

    def _note(self, number: int, reason: str) -> None:
        self.bad_count += 1
        if len(self.bad) < MAX_BAD:
            self.bad.append(BadItem(thread_id=self.thread, number=number, reason=reason))
