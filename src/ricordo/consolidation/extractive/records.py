"""JSON inside messages, told as compact `key: value` lines in which every value stands verbatim."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from ricordo.consolidation.sentences import UNIT_CHARACTERS, Unit, clean, split

Pairs: TypeAlias = list[tuple[str, Any]]

_OPENING = re.compile(r"^(?P<label>[^\n{\[]{0,80})(?=\{\s*[\"}]|\[\s*[\[{\"\d\-tfn\]])", re.MULTILINE)
_CLOSING = re.compile(r"\)?[ \t]*(?:\Z|\n(?:[ \t]*```[ \t]*$)?)", re.MULTILINE)
_FENCE_BEFORE = re.compile(r"^[ \t]*```\w*\s*\Z", re.MULTILINE)
_NAMING = re.compile(r"(?:^|_)(?:id|name|number|code|key|title|slug|path|email)$|Id$|^(?:id|name)", re.IGNORECASE)
_LABEL_EDGE = "()=: \t"

INLINE_CHARACTERS = 100
INLINE_FIELDS = 4
"""A nested value up to this size is told inside its parent's line."""

LONGEST_NAME = 40

MAX_FAILED_PARSES = 16
"""What looks like JSON and is not may cost a scan of the whole text, so the search stops after so many."""


class _Object(Pairs):
    """A JSON object as its pairs in order; duplicate keys are kept."""


@dataclass(frozen=True, slots=True)
class _Node:
    owner: str
    label: str
    value: Any


# Numbers stay the characters they were written in: 1.50 and 1e5 must be found in the source again.
_DECODER = json.JSONDecoder(object_pairs_hook=_Object, parse_float=str, parse_int=str, parse_constant=str, strict=False)


def units(text: str, *, limit: int = UNIT_CHARACTERS) -> Iterator[Unit]:
    """Yield the units of a message's text in reading order: prose by `sentences.split`, JSON as records.

    JSON is told as a record where it begins a line, or follows a short label such as a call's name, and ends one.
    """
    position = search = failures = 0
    while failures < MAX_FAILED_PARSES and (opening := _OPENING.search(text, search)):
        parsed = _parsed(text, opening.end())
        if parsed is None:
            failures += 1
            search = opening.end() + 1
            continue
        value, end = parsed
        yield from split(_FENCE_BEFORE.sub("", text[position : opening.start()]), limit=limit)
        yield from _records(_Node("", clean(opening["label"]).strip(_LABEL_EDGE), value), limit)
        position = search = end
    yield from split(text[position:], limit=limit)


def _parsed(text: str, start: int) -> tuple[Any, int] | None:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    closing = _CLOSING.match(text, end)
    return (value, closing.end()) if closing else None


def _records(root: _Node, limit: int) -> Iterator[Unit]:
    pending = [root]
    while pending:
        node = pending.pop()
        name = _name(node.value)
        lead = node.label if name else f"{node.owner} {node.label}".strip()
        fields, texts, children = _parted(node, lead, name or node.owner)
        yield from _packed(lead, name, fields, limit)
        for text in texts:
            yield from split(text, limit=limit)
        pending.extend(reversed(children))


def _parted(node: _Node, lead: str, owner: str) -> tuple[list[str], list[str], list[_Node]]:
    """Part a value into fields that share a line, long texts that are split as prose, and nodes of their own."""
    fields: list[str] = []
    texts: list[str] = []
    children: list[_Node] = []
    for key, value in _pairs(node.value):
        told = _inline(value)
        if told is None:
            children.append(_Node(owner, key or node.label, value))
        elif not isinstance(value, list) and (len(told) > INLINE_CHARACTERS or "\n" in told):
            texts.append(told)
        elif told.strip() and not lead.endswith(f" {told}"):
            fields.append(clean(f"{key}: {told}" if key else told))
    return fields, texts, children


def _pairs(value: Any) -> Pairs:
    if isinstance(value, _Object):
        return value
    return [("", item) for item in cast("list[Any]", value)] if isinstance(value, list) else [("", value)]


def _name(value: Any) -> str:
    """Return what identifies an object, so that a line about a part of it still says whose part it is."""
    if not isinstance(value, _Object):
        return ""
    named = (v for k, v in value if isinstance(v, str) and _NAMING.search(k) and 0 < len(v) <= LONGEST_NAME)
    return clean(next(named, ""))


def _inline(value: Any) -> str | None:
    """Return a value as part of its parent's line, or None where it is too large or too deep for that."""
    if not isinstance(value, list):
        return _scalar(value)
    items = (
        [_flat(item) for _, item in _pairs(cast("list[Any]", value))]
        if not isinstance(value, _Object)
        else [_flat(value)]
    )
    told = "; ".join(items) if any(", " in item for item in items) else ", ".join(items)
    return told if all(items) and 0 < len(told) <= INLINE_CHARACTERS else None


def _flat(value: Any) -> str:
    """Return a scalar, or a small object of scalars in brackets: without its keys where it begins with a word."""
    if not isinstance(value, list):
        return _scalar(value)
    pairs = _pairs(cast("list[Any]", value))
    if len(pairs) > INLINE_FIELDS or any(isinstance(item, list) for _, item in pairs):
        return ""
    speaking = not isinstance(value, _Object) or any(map(str.isalpha, _scalar(pairs[0][1]))) if pairs else False
    return f"({', '.join(_scalar(v) if speaking else f'{k}: {_scalar(v)}' for k, v in pairs)})"


def _scalar(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _packed(lead: str, name: str, fields: list[str], limit: int) -> Iterator[Unit]:
    """Yield the fields in lines that fit, the first under the lead, the others also under the object's name."""
    line = ""
    told = lead
    for field in fields:
        if line and len(told) + len(line) + len(field) + 4 > limit:
            yield _record(told, line)
            line = field
            told = f"{lead} {name}".strip()
        else:
            line = f"{line}, {field}" if line else field
    if line:
        yield _record(told, line)


def _record(lead: str, line: str) -> Unit:
    return Unit(f"{lead}: {line}" if lead else line, "record")
