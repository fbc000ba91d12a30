"""Pages of what is stored: where one begins, how much of a text fits, and which id a pasted reference holds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from ricordo.errors import InvalidInputError
from ricordo.stores.conversational import check_id
from ricordo.tokens import truncate

DEFAULT_MAX_TOKENS = 8_000
"""Tokens of a page's text: a small part of every current model's window."""

MINIMUM_PART = 32
"""Tokens of content that a page has in any case, so that every page goes on."""

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_CURSOR = re.compile(r"([0-9]{1,18}):([0-9]{1,18})")


def parse_id(text: object) -> str | None:
    """Return the id in a text such as `[Summary ID: …] description`, or None where there is none."""
    text = str(text)
    match = _UUID.search(text)
    uuid = check_id(match[0] if match else text.strip())
    return str(uuid) if uuid else None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page begins: the place of a message, or a rank, and a character of its text."""

    seq: int
    offset: int

    @classmethod
    def parse(cls, cursor: str | None) -> Self:
        """Return the place that a cursor stands for, the beginning without one; raises InvalidInputError."""
        if cursor is None:
            return cls(0, 0)
        match = _CURSOR.fullmatch(cursor)
        if match is None:
            raise InvalidInputError(
                f"{cursor[:40]!r} is not a cursor", hint="pass the cursor of the page before, as it was returned"
            )
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        """Return the cursor."""
        return f"{self.seq}:{self.offset}"


def text_page(text: str, place: Place, budget: int) -> tuple[str, Place | None]:
    """Return the part of a text that fits a budget of tokens, and where the next part begins, None at the end."""
    part = truncate(text[place.offset :], budget) or text[place.offset : place.offset + 1]
    end = place.offset + len(part)
    return part, Place(0, end) if end < len(text) else None
