from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import InvalidInputError, InvalidMessageError
from ricordo.messages import decode, decode_value, encode, encode_value, escape_id, searchable

any_text = st.text(st.characters(codec=None, exclude_categories=()), max_size=30) | st.text(
    st.sampled_from("a\\u0\x00\ud83d\ude00\uffff😀e\u0301"), max_size=12
)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=20,
)
messages = st.dictionaries(any_text, values, max_size=5)


class Colour(StrEnum):
    RED = "red"


def types_of(value: Any) -> Any:
    if isinstance(value, Mapping):
        return [(key, types_of(item)) for key, item in value.items()]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list):
        return [types_of(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return type(value), repr(value)


def nested(levels: int) -> dict[str, Any]:
    message: dict[str, Any] = {}
    for _ in range(levels - 1):
        message = {"inside": message}
    return message


@given(messages)
def test_h1_h3_every_json_value_comes_back_with_its_types_and_key_order(message: dict[str, Any]) -> None:
    stored = encode(message)
    assert stored.isascii()
    assert "\x00" not in stored
    assert decode(stored) == message
    assert types_of(decode(stored)) == types_of(message)


@given(st.lists(st.sampled_from(["\ud83d", "\ude00", "\uffff", "😀", "\\uffff", "x"]), max_size=10).map("".join))
def test_halves_of_a_surrogate_pair_stay_apart(text: str) -> None:
    message = {"role": "user", "content": text, text: [text]}
    assert decode(encode(message)) == message


@pytest.mark.parametrize(
    "text", ["a\x00b", "\\u0000", "\ud800", "\udfff\ud800", "\ud83d" + "\ude00", "😀", "\u2028", "</script>", '"\\\n\t']
)
def test_j1_hostile_text_comes_back_exactly(text: str) -> None:
    assert decode(encode({"content": text}))["content"] == text


def test_types_that_compare_equal_are_kept_apart() -> None:
    message: dict[str, Any] = {"a": 1, "b": 1.0, "c": True, "d": -0.0, "e": 10**400, "f": 1e300}
    assert types_of(decode(encode(message))) == types_of(message)


def test_a_megabyte_of_text_comes_back() -> None:
    message = {"content": "汉\x00😀\ud800" * 250_000}
    assert decode(encode(message)) == message


def test_any_mapping_is_a_message() -> None:
    assert decode(encode(MappingProxyType({"role": "user"}))) == {"role": "user"}


REFUSED: list[tuple[Any, str]] = [
    (b"x", "bytes"),
    (datetime.now(UTC), "datetime"),
    ({1}, "set"),
    ((1, 2), "tuple"),
    (uuid4(), "UUID"),
    (Colour.RED, "Colour"),
    (OrderedDict(a=1), "OrderedDict"),
    (float("nan"), "nan"),
    (float("inf"), "inf"),
    (float("-inf"), "-inf"),
    (10**4300, "4300 digits"),
    ({1: "x"}, "key 1"),
    ({("a",): "x"}, "key"),
]


@pytest.mark.parametrize(("value", "what"), REFUSED, ids=[what for _, what in REFUSED])
def test_m12_what_json_cannot_give_back_is_refused_by_its_place(value: Any, what: str) -> None:
    with pytest.raises(InvalidMessageError) as raised:
        encode({"role": "user", "content": [{}, "", {"type": "x", "input": value}]})
    assert raised.value.message.startswith("content[2].input ")
    assert what in raised.value.message
    assert isinstance(raised.value, InvalidInputError)


def test_a_hostile_key_cannot_break_the_error() -> None:
    with pytest.raises(InvalidMessageError) as raised:
        encode({"\ud800\x00\n" + "k" * 10_000: b""})
    assert str(raised.value).isascii()
    assert len(str(raised.value)) < 200


def test_the_largest_integer_and_the_deepest_nesting_come_back() -> None:
    message = {"n": 10**4300 - 1, "deep": nested(199)}
    assert decode(encode(message)) == message


def test_nesting_beyond_the_limit_is_refused_with_the_limit() -> None:
    with pytest.raises(InvalidMessageError, match="deeper than 200 levels"):
        encode(nested(201))


def test_a_cycle_is_refused() -> None:
    message: dict[str, Any] = {}
    message["self"] = [message]
    with pytest.raises(InvalidMessageError, match="deeper"):
        encode(message)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '"x"', "null", '{"a":NaN}', '{"a":Infinity}', pytest.param("[" * 100_000, id="deep")]
)
def test_a_damaged_row_is_an_error_of_ours(text: str) -> None:
    with pytest.raises(InvalidMessageError):
        decode(text)


@given(any_text)
def test_j1_searchable_text_is_storable_and_as_long(text: str) -> None:
    stored = searchable(text)
    assert len(stored) == len(text)
    assert "\x00" not in stored
    stored.encode("utf-8")
    for before, after in zip(text, stored, strict=True):
        assert after == before or (after == "\ufffd" and (before == "\x00" or "\ud800" <= before <= "\udfff"))


@given(any_text, any_text)
def test_escaped_ids_are_storable_and_injective(one: str, other: str) -> None:
    assert (escape_id(one) == escape_id(other)) == (one == other)
    assert "\x00" not in escape_id(one)
    escape_id(one).encode("utf-8")


def test_an_ordinary_id_is_its_own_form() -> None:
    assert escape_id("call_AbC-123|fc_9") == "call_AbC-123|fc_9"
    assert escape_id("\x00") != escape_id("\\0000")


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "a\x00\ud800", "\ud83d\ude00", [], [{"\ud800": [None]}], {}])
def test_any_json_value_comes_back_equal(value: object) -> None:
    stored = encode_value(value, "value")
    assert stored.isascii()
    assert decode_value(stored) == value


def test_a_value_that_is_no_json_is_refused_by_its_name() -> None:
    with pytest.raises(InvalidInputError, match=r"tool_input\[0\]\.x is a set"):
        encode_value([{"x": {1}}], "tool_input")
