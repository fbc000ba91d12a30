"""A file as a sequence of messages with their threads, whatever its form."""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeGuard, cast

from ricordo.errors import InvalidInputError, NotFoundError
from ricordo.importers.stream import FormatError, JsonReader, is_decoded, reason
from ricordo.stores.conversational import THREAD_ID_LIMIT

Format: TypeAlias = Literal["auto", "json", "jsonl"]
"""The forms of a file: one JSON document, or one JSON value a line; "auto" looks at the name and the beginning."""


LIST_KEYS = ("messages", "traj", "history")
"""The members of an object that may hold its messages; the first in the file that is a list does."""

ID_KEYS = ("id", "thread_id", "conversation_id", "session_id", "task_id")
"""The members that may name a conversation; the first that has a usable value does."""

_READ_ERRORS = (OSError, EOFError, zlib.error)
_LINES_SUFFIXES = (".jsonl", ".ndjson")
_FIRST_LINE = 1 << 20
"""Characters of a first line by which "auto" recognises one value a line in a file of another name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A message that was found, not yet checked; `fault` says why there is none.

    `number` is what a person counts: the line, or the place in its list, from 1. `position` is the place in the
    thread, from 0.
    """

    thread_id: str
    number: int
    position: int = 0
    message: Any = None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """An open file: its decoded text, and the raw file beneath, whose place tells the progress."""

    path: Path
    raw: io.BufferedReader
    text: io.TextIOWrapper

    @property
    def size(self) -> int:
        """The bytes of the file, 0 where it is no regular file."""
        return os.fstat(self.raw.fileno()).st_size

    @property
    def position(self) -> int:
        """The bytes that were read, 0 where the file is a pipe."""
        return self.raw.tell() if self.raw.seekable() else 0


@contextmanager
def opened(path: Path) -> Generator[Source]:
    """Open a file for reading, compressed by gzip or not, in any encoding that `json` recognises.

    Raises NotFoundError and InvalidInputError where the operating system refuses it.
    """
    with ExitStack() as stack:
        try:
            raw = stack.enter_context(path.open("rb"))
            zipped = raw.peek(2)[:2] == b"\x1f\x8b"
            content = stack.enter_context(gzip.GzipFile(fileobj=raw)) if zipped else raw
            encoding = json.detect_encoding(content.peek(4)[:4])
        except FileNotFoundError as error:
            raise NotFoundError(f"there is no file {str(path)!r}", hint="check the path") from error
        except (ValueError, *_READ_ERRORS) as error:
            text = (isinstance(error, OSError) and error.strerror) or error
            raise InvalidInputError(
                f"{str(path)!r} cannot be read: {text}", hint="name a JSON or JSONL file"
            ) from error
        # Bytes that are not UTF-8 are left to be found in their own line.
        errors = "surrogateescape" if encoding.startswith("utf-8") else "surrogatepass"
        yield Source(path, raw, stack.enter_context(io.TextIOWrapper(content, encoding, errors, newline="\n")))


def stem(path: Path) -> str:
    """Return the file's name without its last suffix, and without `.gz`."""
    return Path(path.name.removesuffix(".gz")).stem


def read_items(source: Source, format: Format, thread_id: str | None) -> Iterator[Item]:
    """Yield the messages of a file in order; `thread_id` stands in for the file's stem.

    Raises FormatError where the file cannot be read any further; what was yielded before stands.
    """
    names = _Names(thread_id or stem(source.path))
    if format == "auto" and source.path.name.removesuffix(".gz").endswith(_LINES_SUFFIXES):
        format = "jsonl"
    try:
        head = _head(source.text) if format == "auto" else []
        if format == "jsonl" or _are_values(head):
            yield from _from_lines(chain(head, source.text), names)
        else:
            yield from _from_document(JsonReader(source.text, beginning="".join(head)), names)
    except UnicodeDecodeError as error:
        raise FormatError(f"it is not text in {error.encoding}: {error.reason}") from error
    except _READ_ERRORS as error:
        raise FormatError(f"it cannot be read: {error}") from error


def _head(text: io.TextIOWrapper) -> list[str]:
    """Return the lines up to the second that is not blank, as far as they tell the file's form."""
    head: list[str] = []
    filled = 0
    while filled < 2 and (line := text.readline(-1 if filled else _FIRST_LINE)):
        head.append(line)
        filled += not line.isspace()
        if not line.endswith("\n"):
            break
    return head


def _are_values(head: list[str]) -> bool:
    """Whether the first line is an object of its own, and another line follows."""
    lines = [line for line in head if not line.isspace()]
    if len(lines) < 2:
        return False
    try:
        return isinstance(json.loads(lines[0]), dict)
    except (ValueError, RecursionError):
        return False


def _from_lines(lines: Iterable[str], names: _Names) -> Iterator[Item]:
    position = 0
    empty = True
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        empty = False
        value, fault = _decode(line)
        if not fault and _is_conversation(value):
            yield from _from_conversation(value, names.conversation(value))
        else:
            yield Item(thread_id=names.prefix, number=number, position=position, message=value, fault=fault)
            position += 1
    if empty:
        raise FormatError("it is empty")


def _decode(line: str) -> tuple[Any, str]:
    if not is_decoded(line):
        return None, "the line is not valid UTF-8"
    try:
        return json.loads(line), ""
    except (ValueError, RecursionError) as error:
        return None, f"the line is not valid JSON: {reason(error)}"


def _from_document(reader: JsonReader, names: _Names) -> Iterator[Item]:
    match reader.peek():
        case "":
            raise FormatError("it is empty")
        case "[":
            yield from _from_list(reader, names)
        case "{":
            yield from _from_object(reader, names)
        case _:
            reader.value()
            raise FormatError("it is neither a list nor an object")
    reader.finish()


def _from_list(reader: JsonReader, names: _Names) -> Iterator[Item]:
    for position, _ in enumerate(reader.elements()):
        value = reader.value()
        if _is_conversation(value):
            yield from _from_conversation(value, names.conversation(value))
        else:
            yield Item(thread_id=names.prefix, number=position + 1, position=position, message=value)


def _from_object(reader: JsonReader, names: _Names) -> Iterator[Item]:
    """Read one conversation without holding it whole."""
    used = ""
    for key in reader.members():
        if key not in LIST_KEYS or reader.peek() != "[":
            reader.value()
        elif used:
            reader.value()
            yield _left_out(names.prefix, key, used)
        else:
            used = key
            for position, _ in enumerate(reader.elements()):
                yield Item(thread_id=names.prefix, number=position + 1, position=position, message=reader.value())
    if not used:
        raise FormatError(f"it has no list of messages under {', '.join(LIST_KEYS)}")


def _from_conversation(value: Mapping[str, Any], thread_id: str) -> Iterator[Item]:
    used, *others = _lists(value)
    for position, message in enumerate(value[used]):
        yield Item(thread_id=thread_id, number=position + 1, position=position, message=message)
    for key in others:
        yield _left_out(thread_id, key, used)


def _left_out(thread_id: str, key: str, used: str) -> Item:
    fault = f"the list under {key!r} was left out, because the messages are under {used!r}"
    return Item(thread_id=thread_id, number=0, fault=fault)


def _lists(value: Mapping[str, Any]) -> list[str]:
    return [key for key, member in value.items() if key in LIST_KEYS and isinstance(member, list)]


def _is_conversation(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, dict) and "role" not in value and bool(_lists(cast("Mapping[str, Any]", value)))


@dataclass(slots=True)
class _Names:
    """Names threads: the prefix alone, or with a conversation's own id, or with its number; never one twice."""

    prefix: str
    _count: int = 0
    _used: set[str] = field(default_factory=set[str])

    def conversation(self, value: Mapping[str, Any]) -> str:
        """Return the thread's id of the next conversation."""
        self._count += 1
        own = next((text for key in ID_KEYS if (text := _id(value.get(key)))), "")
        trial = _id(value.get("trial")) if own else ""
        name = "-".join(part for part in (self.prefix, own, trial) if part)
        if not own or len(name) > THREAD_ID_LIMIT or name in self._used:
            name = f"{name[: THREAD_ID_LIMIT - 20]}-{self._count}"
        self._used.add(name)
        return name


def _id(value: Any) -> str:
    """Return the text of an id that can be part of a thread's, or nothing."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return value if isinstance(value, str) and value.isprintable() else ""
