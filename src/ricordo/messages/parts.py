"""What a message is made of, whatever provider's form it is written in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Text:
    """Readable words; `raw` is the block that they came in, if any."""

    text: str
    raw: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Media:
    """An image or another attachment.

    `url` is its address or data URI, empty where the provider keeps it under an id of its own. `name` is its file
    name, if it has one.
    """

    kind: Literal["image", "audio", "video", "file"]
    raw: Mapping[str, Any]
    url: str = ""
    name: str = ""

    @property
    def placeholder(self) -> str:
        """The text that stands for it."""
        return f"[{self.kind} {self.name}]" if self.name else f"[{self.kind}]"


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The model's own reasoning: not words of the conversation. `raw` goes back to its provider whole or not at all."""

    text: str
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. `arguments` is JSON text for a function. With `hosted` the provider runs the tool itself."""

    id: str
    name: str
    arguments: str
    raw: Mapping[str, Any]
    hosted: bool = False

    @property
    def text(self) -> str:
        """The call written out."""
        return f"{self.name}({self.arguments})"


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to tool calls, usually to one; `failed` says that the provider's form marks it as an error."""

    ids: tuple[str, ...]
    parts: tuple[Part, ...]
    raw: Mapping[str, Any]
    failed: bool = False
    hosted: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """A block of a type that ricordo does not know, with its text where it has an obvious one."""

    text: str
    raw: Mapping[str, Any]


Part: TypeAlias = Text | Media | Reasoning | Call | Result | Unknown
