"""The exact stored form of a message, and the storable forms of its text and ids."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, NoReturn, cast

from ricordo.errors import InvalidInputError, InvalidMessageError
from ricordo.types import JSON

MAX_DEPTH = 200
"""Levels of nesting that a message may have: far more than any provider sends, and safe for recursive readers."""

MAX_DIGITS = 4300
"""Digits that an integer may have: beyond them Python refuses to read it back (`sys.int_info`)."""

_BIGGEST = 10**MAX_DIGITS
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_ESCAPED = re.compile("[\x00\ud800-\udfff\\\\]")
_SPLIT_PAIR = re.compile("([\ud800-\udbff]\uffff*)(?=[\udc00-\udfff])")
_SEPARATED_PAIR = re.compile("([\ud800-\udbff]\uffff*)\uffff(?=[\udc00-\udfff])")


def encode(message: Mapping[str, Any]) -> str:
    r"""Return a message as ASCII-only compact JSON that `decode` turns back into an equal message of equal types.

    Keys keep their order. Every Python string survives: NUL, lone surrogates and the six characters `\u0000` too.
    Where a string holds the two halves of a surrogate pair as two characters, JSON would join them, so a U+FFFF
    stands between them in the stored form. Raises InvalidMessageError as `check` does.
    """
    check(message)
    return _dumps(dict(message))


def encode_value(value: object, name: str) -> str:
    """Return any JSON value as `encode` does a message; raises InvalidInputError, beginning with the value's name."""
    fault = _fault(value, 1)
    if fault is not None:
        raise InvalidInputError(f"{name}{fault[0]} {fault[1]}", hint="pass plain JSON")
    return _dumps(value)


def decode(text: str) -> dict[str, JSON]:
    """Return the message that `encode` wrote; raises InvalidMessageError for a text that is not a JSON object."""
    try:
        value: JSON = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidMessageError(f"the stored message cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise InvalidMessageError("the stored message is not a JSON object")
    return cast("dict[str, JSON]", _joined(value, text))


def decode_value(text: str) -> JSON:
    """Return the value that `encode_value` wrote."""
    return cast("JSON", _joined(json.loads(text), text))


def check(message: Mapping[str, Any]) -> None:
    """Raise InvalidMessageError, naming the place such as `content[2].input`, for what JSON could not give back.

    That is an object of any other class than dict, list, str, int, float, bool and None (a subclass would come
    back as its base), a key that is not a string, NaN or an infinity, an integer of more than `MAX_DIGITS` digits,
    and nesting deeper than `MAX_DEPTH`. The message itself may be any mapping.
    """
    fault = _fault(dict(message), 1)
    if fault is not None:
        path, what = fault
        raise InvalidMessageError(f"{path.removeprefix('.') or 'the message'} {what}", hint="messages are plain JSON")


def searchable(text: str) -> str:
    """Return a text as PostgreSQL can store it: NUL and surrogates are replaced by U+FFFD, one for one."""
    return _UNSTORABLE.sub("\ufffd", text)


def escape_id(id: str) -> str:
    r"""Return a storable form of a tool call's id; different ids have different forms.

    NUL, surrogates and the backslash become `\` and four hexadecimal digits; an id without them is its own form.
    """
    return _ESCAPED.sub(lambda found: f"\\{ord(found[0]):04x}", id)


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Return a copy of a JSON value with every string and key changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [map_strings(item, change) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {change(key): map_strings(item, change) for key, item in items}
    return value


def _fault(value: object, depth: int) -> tuple[str, str] | None:
    """Return the path to the first thing that JSON could not give back, and what is wrong with it."""
    kind = type(value)
    if kind not in (dict, list):
        what = _scalar_fault(value)
        return ("", what) if what else None
    if depth > MAX_DEPTH:
        return "", f"is nested deeper than {MAX_DEPTH} levels"
    if kind is dict:
        return _dict_fault(cast("dict[Any, Any]", value), depth)
    return _list_fault(cast("list[Any]", value), depth)


def _dict_fault(value: dict[Any, Any], depth: int) -> tuple[str, str] | None:
    for key, item in value.items():
        if type(key) is not str:
            return "", f"has the key {key!a:.50}, which is not a string"
        fault = _fault(item, depth + 1)
        if fault is not None:
            return f".{ascii(key)[1:-1]:.50}{fault[0]}", fault[1]
    return None


def _list_fault(value: list[Any], depth: int) -> tuple[str, str] | None:
    for index, item in enumerate(value):
        fault = _fault(item, depth + 1)
        if fault is not None:
            return f"[{index}]{fault[0]}", fault[1]
    return None


def _scalar_fault(value: object) -> str | None:
    kind = type(value)
    if isinstance(value, float) and kind is float:
        return None if isfinite(value) else f"is {value}, which JSON does not have"
    if isinstance(value, int) and kind is int:
        return None if abs(value) < _BIGGEST else f"is an integer of more than {MAX_DIGITS} digits"
    if value is None or kind is str or kind is bool:
        return None
    return f"is a {kind.__name__}, which JSON does not have"


def _dumps(value: object) -> str:
    return json.dumps(map_strings(value, _separate), separators=(",", ":"), allow_nan=False)


def _joined(value: JSON, text: str) -> Any:
    return map_strings(value, _join) if "\\uffff" in text else value


def _separate(text: str) -> str:
    return text if text.isascii() else _SPLIT_PAIR.sub("\\1\uffff", text)


def _join(text: str) -> str:
    return text if text.isascii() else _SEPARATED_PAIR.sub("\\1", text)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
