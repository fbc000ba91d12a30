"""One JSON document read value by value from a stream, by the decoder of the standard library.

Streaming parsers disagree with `json.load` about some documents: yajl, for one, turns the lone surrogate of
`"\\ud800"` into a question mark and refuses integers beyond 64 bits. Here every value is decoded by `json` itself,
from a buffer that grows until the value is whole, so an import is equal to `json.load` by construction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Protocol

CHUNK = 1 << 18
"""Characters that are read at once, at the least."""

_UNDECODED = re.compile("[\udc80-\udcff]")

_WHITE_SPACE = " \t\n\r"
_DECODER = json.JSONDecoder()
_LONGEST_TOKEN = 10
"""Characters, `-Infinity` and one more: an error further from the buffer's end than a token is no cut."""

_NUMBER_TAIL = 3
"""Characters, as in `e+1`, that may go on a number which looks whole."""


class FormatError(Exception):
    """The document cannot be read from here on; the text says why."""


class Readable(Protocol):
    """A source of text; an empty string is its end."""

    def read(self, size: int, /) -> str:
        """Return at most `size` characters."""
        ...


def reason(error: Exception) -> str:
    """Return what is wrong with a piece of JSON that `json` refused, without a position."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error)


def is_decoded(text: str) -> bool:
    """Whether a text that was read with "surrogateescape" holds no bytes that are not UTF-8."""
    return text.isascii() or not _UNDECODED.search(text)


def _check(text: str) -> None:
    if not is_decoded(text):
        raise FormatError("it is not valid UTF-8")


class JsonReader:
    """A cursor in a JSON document. Memory is bounded by the largest value that is asked for."""

    def __init__(self, text: Readable, *, beginning: str = "", chunk: int = CHUNK) -> None:
        """Read `beginning`, then the rest of a text, `chunk` characters at once."""
        self._text = text
        self._chunk = chunk
        _check(beginning)
        self._buffer = beginning
        self._position = 0
        self._lines = 0
        self._ended = False

    def peek(self) -> str:
        """Return the next character that is not white space, or an empty string at the end."""
        while True:
            while self._position < len(self._buffer):
                character = self._buffer[self._position]
                if character not in _WHITE_SPACE:
                    return character
                self._position += 1
            if self._ended:
                return ""
            self._grow()

    def value(self) -> Any:
        """Return the next value, whole; raise FormatError where there is none."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._buffer, self._position)
            except (ValueError, RecursionError) as error:
                if self._ended or not self._may_be_cut(error):
                    raise self._failure(error) from error
            else:
                if end + _NUMBER_TAIL <= len(self._buffer) or self._ended:
                    self._position = end
                    return value
            self._grow()

    def elements(self) -> Iterator[None]:
        """Step through a list: at each step the cursor stands before an element, which the caller takes."""
        yield from self._items("[", "]")

    def members(self) -> Iterator[str]:
        """Step through an object: each step is a key, whose value the caller takes."""
        for _ in self._items("{", "}"):
            if self.peek() != '"':
                raise self._expected("a key in double quotes")
            key = self.value()
            self._skip(":")
            yield key

    def finish(self) -> None:
        """Raise FormatError where something follows."""
        if self.peek():
            raise self._expected("the end of the file")

    def _items(self, opening: str, closing: str) -> Iterator[None]:
        self._skip(opening)
        if self.peek() == closing:
            self._skip(closing)
            return
        while True:
            yield
            if self.peek() == closing:
                self._skip(closing)
                return
            self._skip(",")

    def _skip(self, character: str) -> None:
        if self.peek() != character:
            raise self._expected(f"{character!r}")
        self._position += 1

    def _grow(self) -> None:
        """Read on, at least doubling what is kept, so that a large value is decoded a few times only."""
        self._lines += self._buffer.count("\n", 0, self._position)
        rest = self._buffer[self._position :]
        more = self._text.read(max(self._chunk, len(rest)))
        _check(more)
        self._ended = not more
        self._buffer, self._position = rest + more, 0

    def _may_be_cut(self, error: Exception) -> bool:
        """Whether more text may heal an error: it stands at the buffer's end, or in a string that has no end yet."""
        if not isinstance(error, json.JSONDecodeError):
            return False
        return error.msg.startswith("Unterminated string") or error.pos >= len(self._buffer) - _LONGEST_TOKEN

    def _expected(self, what: str) -> FormatError:
        found = self.peek()
        return self._at(self._position, f"expected {what}, found {f'{found!a}' if found else 'the end of the file'}")

    def _failure(self, error: Exception) -> FormatError:
        position = error.pos if isinstance(error, json.JSONDecodeError) else self._position
        return self._at(position, reason(error))

    def _at(self, position: int, what: str) -> FormatError:
        line = self._lines + self._buffer.count("\n", 0, position) + 1
        return FormatError(f"it is not valid JSON at line {line}: {what}")
