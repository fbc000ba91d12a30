"""Reading files: every value as `json.load` gives it, in the right thread, and every fault with its place."""

from __future__ import annotations

import codecs
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import InvalidInputError, NotFoundError
from ricordo.importers.source import Format, Item, opened, read_items
from ricordo.importers.stream import FormatError, JsonReader

MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Ciao, è già giovedì?"},
    {"role": "assistant", "content": "Sì.", "n": 12345678901234567890123, "x": [1.5e300, -0.0, True, None, {}]},
]
EXACT = [
    r'["\ud800", "\ud83d\ude00", "\ude00\ud83d", "\u0000", "\\u0000"]',
    "[12345678901234567890123, -0, 0.1, 1E400, 1e-7, 2E+3, 100000000000000000000.0]",
    "[NaN, -Infinity, Infinity, true, false, null]",
    '[{"b": 1, "a": 2, "b": 3}, [], {}, "", [[[]]]]',
]

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters()), inner, max_size=4),
    max_leaves=12,
)


def same(one: object, other: object) -> bool:
    """Whether two JSON values are equal in type, order and every digit; NaN equals itself."""
    return repr(one) == repr(other)


def read(path: Path, format: Format = "auto", thread_id: str | None = None) -> list[Item]:
    with opened(path) as source:
        return list(read_items(source, format, thread_id))


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    return path


def elements(text: str, chunk: int) -> list[Any]:
    reader = JsonReader(io.StringIO(text), chunk=chunk)
    found = [reader.value() for _ in reader.elements()]
    reader.finish()
    return found


@pytest.mark.parametrize("text", EXACT)
@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 8, 1000])
def test_a_list_is_read_as_json_load_reads_it_wherever_the_text_is_cut(text: str, chunk: int) -> None:
    assert same(elements(text, chunk), json.loads(text))


@given(st.lists(values, max_size=6), st.integers(1, 40), st.booleans(), st.sampled_from([None, 1]))
def test_any_list_is_read_as_json_load_reads_it(
    given_list: list[Any], chunk: int, ascii_only: bool, indent: int | None
) -> None:
    text = json.dumps(given_list, ensure_ascii=ascii_only, indent=indent)
    assert same(elements(text, chunk), json.loads(text))


@given(st.text(st.sampled_from('[]{},:"\\ntu1.e- '), max_size=30), st.integers(1, 12))
def test_what_json_refuses_is_refused(text: str, chunk: int) -> None:
    try:
        expected: Any = json.loads(text)
    except ValueError:
        expected = None
    if text.strip().startswith("[") and expected is not None:
        assert same(elements(text, chunk), expected)
    else:
        with pytest.raises(FormatError):
            elements(text, chunk)


def test_an_early_fault_is_found_without_reading_the_rest() -> None:
    text = io.StringIO('[{"a" 1}, ' + " " * 10_000 + "]")
    reader = JsonReader(text, chunk=100)
    with pytest.raises(FormatError, match="line 1: Expecting ':' delimiter"):
        list(reader.value() for _ in reader.elements())
    assert text.tell() == 100


def test_a_fault_is_reported_with_its_line_across_chunks() -> None:
    with pytest.raises(FormatError, match="line 4: expected ',', found 'x'"):
        elements("[1,\n2,\n3\nx]", 2)


def test_deep_nesting_is_a_fault_not_a_crash(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", "[" * 200_000)
    with pytest.raises(FormatError, match="nested too deeply"):
        read(path)


def test_a_list_is_one_thread_named_by_the_file(tmp_path: Path) -> None:
    items = read(write(tmp_path / "talk.json", json.dumps(MESSAGES)))
    assert [item.message for item in items] == MESSAGES
    assert [(item.thread_id, item.number, item.position) for item in items] == [("talk", 1, 0), ("talk", 2, 1)]
    assert {item.thread_id for item in read(tmp_path / "talk.json", thread_id="mine")} == {"mine"}


@pytest.mark.parametrize("key", ["messages", "traj", "history"])
def test_an_object_holds_its_messages_under_a_known_key(tmp_path: Path, key: str) -> None:
    document = {"info": {"messages": "no"}, "n": 1, key: MESSAGES, "after": [1, 2]}
    items = read(write(tmp_path / "talk.traj", json.dumps(document)))
    assert [item.message for item in items] == MESSAGES
    assert {item.thread_id for item in items} == {"talk"}


def test_each_conversation_of_a_list_is_a_thread_named_by_its_own_id(tmp_path: Path) -> None:
    conversations = [
        {"task_id": 7, "traj": MESSAGES, "trial": 0},
        {"task_id": 7, "traj": MESSAGES, "trial": 1},
        {"id": "abc", "thread_id": "other", "messages": MESSAGES},
        {"id": None, "session_id": "s", "messages": MESSAGES},
        {"id": "bad\u0000id", "messages": MESSAGES},
        {"id": "abc", "messages": MESSAGES},
        {"id": "x" * 400, "messages": MESSAGES},
        {"messages": MESSAGES},
    ]
    items = read(write(tmp_path / "runs.json", json.dumps(conversations)))
    names = list(dict.fromkeys(item.thread_id for item in items))
    assert names == [
        "runs-7-0",
        "runs-7-1",
        "runs-abc",
        "runs-s",
        "runs-5",
        "runs-abc-6",
        f"runs-{'x' * 230}-7",
        "runs-8",
    ]
    assert [item.message for item in items] == MESSAGES * 8
    assert [item.position for item in items] == [0, 1] * 8


def test_a_second_list_of_a_conversation_is_reported_not_dropped_silently(tmp_path: Path) -> None:
    document = {"history": MESSAGES[:1], "messages": MESSAGES}
    for content in (document, [document]):
        items = read(write(tmp_path / "a.json", json.dumps(content)))
        assert [item.message for item in items if not item.fault] == MESSAGES[:1]
        assert [item.fault for item in items if item.fault] == [
            "the list under 'messages' was left out, because the messages are under 'history'"
        ]


@pytest.mark.parametrize("name", ["talk.jsonl", "talk.ndjson", "talk.txt", "talk.jsonl.gz"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n  \n"])
def test_lines_are_read_one_by_one(tmp_path: Path, name: str, end: str) -> None:
    content = "".join(json.dumps(message, ensure_ascii=False) + end for message in MESSAGES).encode()
    path = write(tmp_path / name, gzip.compress(content) if name.endswith(".gz") else content)
    items = read(path)
    assert [item.message for item in items] == MESSAGES
    assert {item.thread_id for item in items} == {"talk"}


def test_each_line_that_is_a_conversation_is_a_thread(tmp_path: Path) -> None:
    lines = [json.dumps({"messages": MESSAGES}), json.dumps({"messages": MESSAGES, "conversation_id": 9})]
    items = read(write(tmp_path / "tuning.jsonl", "\n".join(lines)))
    assert list(dict.fromkeys(item.thread_id for item in items)) == ["tuning-1", "tuning-9"]


def test_a_bad_line_is_reported_by_its_number_and_the_others_are_kept(tmp_path: Path) -> None:
    good = [json.dumps(message).encode() for message in MESSAGES]
    lines = [good[0], b'{"role": ', b"\xff\xfe\xff", good[1], b"[" * 200_000, b"1" * 5_000]
    items = read(write(tmp_path / "a.jsonl", b"\n".join(lines)))
    assert [item.message for item in items if not item.fault] == MESSAGES
    faults = {item.number: item.fault for item in items if item.fault}
    assert [*faults] == [2, 3, 5, 6]
    assert faults[2] == "the line is not valid JSON: Expecting value"
    assert faults[3] == "the line is not valid UTF-8"
    assert faults[5] == "the line is not valid JSON: it is nested too deeply"
    assert faults[6].startswith("the line is not valid JSON: Exceeds the limit (4300 digits)")


def test_a_line_separator_inside_a_text_ends_no_line(tmp_path: Path) -> None:
    message = {"role": "user", "content": "a\u2028b\x85c\x0cd"}
    path = write(tmp_path / "a.jsonl", json.dumps(message, ensure_ascii=False) + "\n")
    assert [item.message for item in read(path)] == [message]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32-be"])
@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_every_encoding_that_json_recognises_is_read(tmp_path: Path, encoding: str, name: str) -> None:
    document = json.dumps(MESSAGES, ensure_ascii=False)
    lines = "\n".join(json.dumps(message, ensure_ascii=False) for message in MESSAGES)
    path = write(tmp_path / name, codecs.encode(document if name == "a.json" else lines, encoding))
    assert [item.message for item in read(path)] == MESSAGES


def test_a_pretty_printed_document_is_no_file_of_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "\n\n" + json.dumps({"messages": MESSAGES}, indent=2) + "\n")
    assert [item.message for item in read(path)] == MESSAGES


def test_what_stood_before_a_broken_end_is_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", json.dumps(MESSAGES)[:-1] + ', {"role": "us')
    found: list[Any] = []
    with opened(path) as source, pytest.raises(FormatError, match="Unterminated string"):
        found.extend(item.message for item in read_items(source, "auto", None))
    assert found == MESSAGES


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b" \n\t\r\n", "it is empty"),
        (b"\xef\xbb\xbf", "it is empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "it is not valid UTF-8"),
        (b"\x7fELF\x02\x01\x01\x00", "it is not valid JSON at line 1: Expecting value"),
        (b'"a text"', "it is neither a list nor an object"),
        (b'{"foo": [1]}', "it has no list of messages under messages, traj, history"),
        (b"[] []", "it is not valid JSON at line 1: expected the end of the file, found '['"),
        (b"[1,]", "it is not valid JSON at line 1: Expecting value"),
        (b"{1: 2}", "it is not valid JSON at line 1: expected a key in double quotes, found '1'"),
        (gzip.compress(b"[" + b"1," * 10_000)[:-30], "it cannot be read: Compressed file ended"),
        (b"\x1f\x8bnot gzip", "it cannot be read"),
    ],
)
def test_a_file_without_messages_is_told_why(tmp_path: Path, content: bytes, reason: str) -> None:
    path = write(tmp_path / "a.json", content)
    with pytest.raises((FormatError, InvalidInputError)) as caught:
        read(path)
    assert reason.removeprefix("it ") in str(caught.value)


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no file"):
        read(tmp_path / "missing.json")
    with pytest.raises(InvalidInputError, match="cannot be read: Is a directory"):
        read(tmp_path)
