from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo.errors import InvalidMessageError
from ricordo.messages import parse
from ricordo.tokens import MEDIA_TOKENS, MESSAGE_OVERHEAD, count

BASE64 = "iVBORw0KGgo" + "Ab3+/" * 800_000
DATA_URI = f"data:image/png;base64,{BASE64}"


def view(raw: dict[str, Any]) -> tuple[str, str, tuple[str, ...], tuple[str, ...], int, bool]:
    parsed = parse(raw)
    return parsed.role, parsed.text, parsed.calls, parsed.results, parsed.images, parsed.question


def function(id: str | None, name: str = "read", arguments: Any = '{"path":"a"}') -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


OPENAI_CHAT: list[tuple[dict[str, Any], Any]] = [
    ({"role": "system", "content": "Be kind."}, ("system", "Be kind.", (), (), 0, False)),
    ({"role": "developer", "content": "x"}, ("developer", "x", (), (), 0, False)),
    ({"role": "user", "content": "Ciao"}, ("user", "Ciao", (), (), 0, True)),
    ({"role": "user", "content": "  \n"}, ("user", "  \n", (), (), 0, False)),
    ({"role": "user"}, ("user", "", (), (), 0, False)),
    (
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        ("user", "a\nb", (), (), 0, True),
    ),
    (
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}}]},
        ("user", "[image]", (), (), 1, True),
    ),
    (
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}]},
        ("user", "[audio]", (), (), 1, True),
    ),
    (
        {"role": "user", "content": [{"type": "file", "file": {"filename": "r.pdf", "file_data": "data:x"}}]},
        ("user", "[file r.pdf]", (), (), 1, True),
    ),
    (
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        ("assistant", "No.", (), (), 0, False),
    ),
    (
        {"role": "assistant", "content": None, "refusal": "I can't.", "annotations": []},
        ("assistant", "I can't.", (), (), 0, False),
    ),
    (
        {"role": "assistant", "content": None, "audio": {"id": "a1", "data": "AAAA", "transcript": "Hello"}},
        ("assistant", "Hello", (), (), 0, False),
    ),
    (
        {"role": "assistant", "content": "Look:", "tool_calls": [function("c1"), function("c2", "list", "")]},
        ("assistant", 'Look:\nread({"path":"a"})\nlist()', ("c1", "c2"), (), 0, False),
    ),
    (
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "sql", "input": "SELECT"}}],
        },
        ("assistant", "sql(SELECT)", ("c",), (), 0, False),
    ),
    (
        {"role": "assistant", "content": "", "tool_calls": [function(None, arguments={"città": 1})]},
        ("assistant", 'read({"città": 1})', ("",), (), 0, False),
    ),
    ({"role": "assistant", "content": "x", "tool_calls": None}, ("assistant", "x", (), (), 0, False)),
    ({"role": "tool", "tool_call_id": "c1", "content": "42"}, ("tool", "42", (), ("c1",), 0, False)),
    (
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        ("assistant", "f({})", ("function:f",), (), 0, False),
    ),
    ({"role": "function", "name": "f", "content": "r"}, ("function", "r", (), ("function:f",), 0, False)),
]

OPENAI_RESPONSES: list[tuple[dict[str, Any], Any]] = [
    (
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_image"}]},
        ("user", "a\n[image]", (), (), 1, True),
    ),
    (
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "b", "annotations": []}]},
        ("assistant", "b", (), (), 0, False),
    ),
    (
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{}"},
        ("assistant", "f({})", ("call_1",), (), 0, False),
    ),
    (
        {"type": "function_call", "role": "assistant", "call_id": "call_1", "name": "f", "arguments": "{}"},
        ("assistant", "f({})", ("call_1",), (), 0, False),
    ),
    (
        {"type": "function_call_output", "call_id": "call_1", "output": "ok"},
        ("tool", "ok", (), ("call_1",), 0, False),
    ),
    (
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "t"}]},
        ("tool", "t", (), ("c",), 0, False),
    ),
    (
        {"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "hi"}]},
        ("tool", '[{"stdout": "hi"}]', (), ("c",), 0, False),
    ),
    (
        {"type": "computer_call", "call_id": "c", "action": {"type": "click"}},
        ("assistant", 'computer({"type": "click"})', ("c",), (), 0, False),
    ),
    (
        {
            "type": "computer_call_output",
            "call_id": "c",
            "output": {"type": "computer_screenshot", "image_url": DATA_URI},
        },
        ("tool", "[image]", (), ("c",), 1, False),
    ),
    (
        {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** Begin"},
        ("assistant", "patch(*** Begin)", ("c",), (), 0, False),
    ),
    (
        {"type": "mcp_call", "id": "mcp_1", "name": "find", "arguments": "{}", "output": "found"},
        ("assistant", "find({})\nfound", (), (), 0, False),
    ),
    (
        {"type": "mcp_approval_request", "id": "r1", "name": "rm", "arguments": "{}"},
        ("assistant", "rm({})", ("r1",), (), 0, False),
    ),
    (
        {"type": "mcp_approval_response", "approval_request_id": "r1", "approve": True},
        ("tool", "true", (), ("r1",), 0, False),
    ),
    ({"type": "compaction", "encrypted_content": "gAAA"}, ("assistant", "", (), (), 0, False)),
]

ANTHROPIC: list[tuple[dict[str, Any], Any]] = [
    (
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "private", "signature": "sig"},
                {"type": "redacted_thinking", "data": "opaque"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "look", "input": {"q": "è"}},
            ],
        },
        ("assistant", 'I look.\nlook({"q": "è"})', ("t1",), (), 0, False),
    ),
    (
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "seen", "is_error": False}],
        },
        ("user", "seen", (), ("t1",), 0, False),
    ),
    (
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1"}, {"type": "text", "text": "And?"}]},
        ("user", "And?", (), ("t1",), 0, True),
    ),
    (
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [
                        {"type": "text", "text": "chart"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": BASE64}},
                    ],
                }
            ],
        },
        ("user", "chart\n[image]", (), ("t1",), 1, False),
    ),
    (
        {
            "role": "user",
            "content": [{"type": "document", "title": "Plan", "source": {"type": "text", "data": "Words"}}],
        },
        ("user", "Words", (), (), 0, True),
    ),
    (
        {
            "role": "user",
            "content": [
                {
                    "type": "document",
                    "title": "p.pdf",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": BASE64},
                }
            ],
        },
        ("user", "[file p.pdf]", (), (), 1, True),
    ),
    (
        {
            "role": "assistant",
            "content": [
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
                {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web", "title": "T"}]},
                {"type": "text", "text": "Found."},
            ],
        },
        ("assistant", 'web_search({"query": "q"})\nFound.', ("s1",), ("s1",), 0, False),
    ),
]

SWE_AGENT: list[tuple[dict[str, Any], Any]] = [
    (
        {
            "role": "assistant",
            "content": "Let me see.",
            "thought": "Let me see.",
            "action": "ls",
            "agent": "main",
            "message_type": "action",
            "tool_calls": [function("c1", "bash", '{"command":"ls"}')],
            "thinking_blocks": None,
        },
        ("assistant", 'Let me see.\nbash({"command":"ls"})', ("c1",), (), 0, False),
    ),
    (
        {
            "role": "tool",
            "content": [{"type": "text", "text": "OBSERVATION: a.py"}],
            "tool_call_ids": ["c1", "c2"],
            "message_type": "observation",
        },
        ("tool", "OBSERVATION: a.py", (), ("c1", "c2"), 0, False),
    ),
]


@pytest.mark.parametrize(("raw", "expected"), OPENAI_CHAT + OPENAI_RESPONSES + ANTHROPIC + SWE_AGENT)
def test_every_provider_s_form_is_read(raw: dict[str, Any], expected: Any) -> None:
    before = deepcopy(raw)
    assert view(raw) == expected
    assert parse(raw).message is raw
    assert raw == before


@pytest.mark.parametrize(
    ("raw", "reasoning"),
    [
        ({"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]}, "hm"),
        ({"role": "assistant", "content": "x", "reasoning_content": "hm"}, "hm"),
        ({"role": "assistant", "content": "x", "reasoning": "hm", "reasoning_content": None}, "hm"),
        (
            {
                "role": "assistant",
                "content": "x",
                "reasoning_content": "hm",
                "thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "s"}],
            },
            "hm",
        ),
        ({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "g"}, "hm"),
        ({"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]}, "hm"),
    ],
)
def test_b5_reasoning_is_counted_but_is_not_text(raw: dict[str, Any], reasoning: str) -> None:
    parsed = parse(raw)
    assert parsed.reasoning == reasoning
    assert reasoning not in parsed.text
    assert parsed.tokens == count(f"{parsed.text}\n{reasoning}".strip()) + MESSAGE_OVERHEAD


@pytest.mark.parametrize(
    "part",
    [
        {"type": "tool_reference", "tool_name": "x"},
        {"type": "some_future_block", "data": {"deep": [1, None]}},
        {"no": "type"},
        {"type": None},
        {"type": 7, "text": 7},
    ],
)
def test_unknown_parts_are_kept_and_never_refused(part: dict[str, Any]) -> None:
    raw = {"role": "user", "content": ["first", part, {"type": "new", "text": "last"}], "unknown_key": {"a": 1}}
    assert parse(raw).text == "first\nlast"
    assert parse(raw).message == raw


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        ({"role": "user", "content": 3}, "content"),
        ({"role": "user", "content": {"type": "text", "text": "x"}}, "content"),
        ({"role": "user", "content": [3]}, "content[0]"),
        ({"role": "user", "content": [{"type": "text", "text": 3}]}, "content[0].text"),
        ({"role": "user", "content": [{"type": "tool_result", "tool_use_id": 3}]}, "content[0].tool_use_id"),
        ({"role": "assistant", "tool_calls": {}}, "tool_calls"),
        ({"role": "assistant", "tool_calls": ["x"]}, "tool_calls[0]"),
        ({"role": "assistant", "tool_calls": [{"id": 3, "function": {"name": "f"}}]}, "tool_calls[0].id"),
        ({"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": 3}}]}, "tool_calls[0].name"),
        ({"role": "tool", "tool_call_id": 3, "content": "x"}, "tool_call_id"),
        ({"role": "tool", "tool_call_ids": "x", "content": "x"}, "tool_call_ids"),
        ({"content": "x"}, "role"),
        ({"role": 3}, "role"),
        ({"role": ""}, "role"),
        ({"role": "r" * 51}, "role"),
        ({"role": "us\x00er"}, "role"),
        ({"role": "us\ner"}, "role"),
        ({"role": "\ud800"}, "role"),
        ({}, "role"),
        ({"role": "user", "content": [{"type": "x", "when": {1}}]}, "content[0].when"),
    ],
)
def test_malformed_shapes_are_refused_by_their_place_with_a_hint(raw: dict[str, Any], place: str) -> None:
    with pytest.raises(InvalidMessageError) as raised:
        parse(raw)
    assert raised.value.message.startswith(f"{place} ")
    assert raised.value.hint


@pytest.mark.parametrize("raw", [None, "text", [("role", "user")], 3, object()])
def test_what_is_no_mapping_is_refused(raw: Any) -> None:
    with pytest.raises(InvalidMessageError, match="model_dump"):
        parse(raw)


def test_a_role_may_have_fifty_characters_of_any_script() -> None:
    assert parse({"role": "è" * 50, "content": "x"}).role == "è" * 50


MEDIA: dict[str, dict[str, Any]] = {
    "chat": {"role": "user", "content": [{"type": "image_url", "image_url": {"url": DATA_URI}}]},
    "responses": {"role": "user", "content": [{"type": "input_image", "image_url": DATA_URI}]},
    "in the words": {"role": "user", "content": f"![chart]({DATA_URI})"},
    "tool": {"role": "tool", "tool_call_id": "c", "content": f'{{"png": "{DATA_URI}"}}'},
    "tool, bare": {"role": "tool", "tool_call_id": "c", "content": f'{{"png": "{BASE64}=="}}'},
    "tool parts": {
        "role": "tool",
        "tool_call_id": "c",
        "content": [{"type": "image_url", "image_url": {"url": DATA_URI}}],
    },
    "mcp": {
        "role": "tool",
        "tool_call_id": "c",
        "content": [{"type": "image", "data": BASE64, "mimeType": "image/png"}],
    },
    "function output": {"type": "function_call_output", "call_id": "c", "output": f"see {DATA_URI}"},
    "arguments": {"role": "assistant", "tool_calls": [function("c", arguments=f'{{"i":"{DATA_URI}"}}')]},
    "anthropic result": {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "c",
                "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": BASE64}}],
            }
        ],
    },
}


@pytest.mark.parametrize("raw", MEDIA.values(), ids=MEDIA.keys())
def test_e5_f3_an_image_of_four_megabytes_costs_the_flat_figure(raw: dict[str, Any]) -> None:
    parsed = parse(raw)
    assert parsed.images == 1
    assert "[image]" in parsed.text
    assert len(parsed.text) < 60
    assert MEDIA_TOKENS < parsed.tokens < MEDIA_TOKENS + 40


def test_a_small_data_uri_is_part_of_the_words() -> None:
    css = "background: url(data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7)"
    parsed = parse({"role": "user", "content": css})
    assert (parsed.text, parsed.images) == (css, 0)


@pytest.mark.parametrize("text", ["a" * 5000, "deadbeef" * 500, "data: " * 2000, "data:image/png;base64," * 500])
def test_long_plain_text_is_not_taken_for_a_file(text: str) -> None:
    parsed = parse({"role": "user", "content": text})
    assert (parsed.text, parsed.images) == (text, 0)


def test_tokens_count_words_reasoning_calls_and_ids() -> None:
    parsed = parse({"role": "assistant", "content": "Look", "tool_calls": [function("call_abc")]})
    assert parsed.tokens == count('Look\nread({"path":"a"})\ncall_abc') + MESSAGE_OVERHEAD
    assert parse({"role": "user", "content": ""}).tokens == MESSAGE_OVERHEAD


KEYS = [
    "content",
    "tool_calls",
    "tool_call_id",
    "tool_call_ids",
    "function_call",
    "text",
    "name",
    "id",
    "input",
    "call_id",
    "output",
    "source",
    "data",
    "reasoning",
    "thinking_blocks",
    "summary",
    "image_url",
    "function",
    "audio",
]
TYPES = [
    "text",
    "tool_use",
    "tool_result",
    "image",
    "image_url",
    "document",
    "thinking",
    "reasoning",
    "function_call",
    "function_call_output",
    "web_search_tool_result",
    "mcp_call",
    "input_audio",
    "file",
    "message",
    "content",
]
leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=5)


def objects(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    roles = st.sampled_from(["user", "assistant", "tool", "function", "system"])
    return st.dictionaries(st.sampled_from(KEYS), values | st.lists(values, max_size=3), max_size=5).flatmap(
        lambda fields: st.fixed_dictionaries(
            {key: st.just(value) for key, value in fields.items()},
            optional={"type": st.sampled_from(TYPES), "role": roles | leaves},
        )
    )


@given(objects(st.recursive(leaves, objects, max_leaves=6)))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_json_object_is_read_or_refused_with_our_error(raw: dict[str, Any]) -> None:
    before = deepcopy(raw)
    with suppress(InvalidMessageError):
        assert parse(raw).tokens >= MESSAGE_OVERHEAD
    assert raw == before


def test_the_names_of_the_called_tools_stand_beside_their_ids() -> None:
    function = {"name": "grep", "arguments": "{}"}
    chat = {"role": "assistant", "tool_calls": [{"id": "a", "function": function}, {"id": "a", "function": function}]}
    blocks: dict[str, Any] = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "b", "name": "read", "input": {}}],
    }
    item = {"type": "function_call", "call_id": "c", "name": "now", "arguments": ""}
    cases: list[tuple[dict[str, Any], str, list[str]]] = [
        (chat, "aa", ["grep", "grep"]),
        (blocks, "b", ["read"]),
        (item, "c", ["now"]),
    ]
    for raw, ids, names in cases:
        parsed = parse(raw)
        assert (list(parsed.calls), list(parsed.tools)) == (list(ids), names)
