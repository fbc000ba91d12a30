from __future__ import annotations

import json
from collections import Counter
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter

from ricordo.errors import InvalidMessageError
from ricordo.messages import parse, to_anthropic, to_openai
from ricordo.messages.turns import NO_RESULT, SHARED_RESULT

Messages = list[dict[str, Any]]
PNG = "data:image/png;base64,AAAA"
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
THINKING = {"type": "thinking", "thinking": "private è\n ", "signature": "c2ln=="}


OPENAI_FORM = TypeAdapter(list[ChatCompletionMessageParam])
"""The form as OpenAI's own library types it."""


def check_openai(messages: Messages) -> None:
    """Chat Completions' rule: the results of a turn's calls follow it at once, each once, and there are no others."""
    OPENAI_FORM.validate_python(messages)
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting
            assert isinstance(message["content"], str)
            waiting.remove(message["tool_call_id"])
            continue
        assert waiting == []
        waiting = [call["id"] for call in message.get("tool_calls", [])]
        assert message["content"] or waiting
        assert message["role"] in {"system", "developer", "user", "assistant"}
    assert waiting == []
    used = [call["id"] for message in messages for call in message.get("tool_calls", [])]
    assert max(Counter(used).values(), default=1) == 1
    json.dumps(messages, ensure_ascii=False).encode("utf-8")


def check_anthropic(messages: Messages) -> None:
    """The Messages API's rules: roles alternate from user, and results open the turn after their calls."""
    assert [message["role"] for message in messages] == (["user", "assistant"] * len(messages))[: len(messages)]
    waiting: list[str] = []
    used: list[str] = []
    for message in messages:
        blocks = message["content"]
        assert blocks
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert [block["type"] for block in blocks[: len(results)]] == ["tool_result"] * len(results)
        assert sorted(results) == sorted(waiting)
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert message["role"] == "assistant" or not waiting
        assert blocks[-1]["type"] not in {"thinking", "redacted_thinking"}
        assert all(block["text"].strip() for block in blocks if block["type"] == "text")
        used += waiting
    assert waiting == []
    assert len(set(used)) == len(used)
    json.dumps(messages, ensure_ascii=False).encode("utf-8")


def call(*ids: str, content: str | None = None) -> dict[str, Any]:
    calls = [{"id": id, "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}} for id in ids]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def result(id: str, words: str = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": words}


def user(words: str = "Hello") -> dict[str, Any]:
    return {"role": "user", "content": words}


def assistant(words: str = "Hi") -> dict[str, Any]:
    return {"role": "assistant", "content": words}


def words(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


def use(*ids: str) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": id, "name": "f", "input": {"x": 1}} for id in ids],
    }


def used(*ids: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "ok"} for id in ids]}


def item_call(id: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": id, "name": "f", "arguments": "not json"}


def item_result(id: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id, "output": "ok"}


HOSTED: Messages = [
    {"role": "assistant", "content": [{"type": "server_tool_use", "id": "s", "name": "web", "input": {}}]},
    {"role": "assistant", "content": [{"type": "web_search_tool_result", "tool_use_id": "s", "content": []}]},
]

PLAIN_OPENAI: Messages = [
    {"role": "system", "content": "Be kind."},
    user(),
    call("a", "b", content="I look."),
    result("a"),
    result("b", "no"),
    assistant(),
    {"role": "user", "content": [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": PNG}}]},
    {"role": "assistant", "content": "Seen", "name": "vision"},
    call("c"),
    result("c"),
    assistant("Done"),
]

ids = st.sampled_from(["a", "b", "c", "", "id with spaces", "é\ud800", "x" * 60])
steps = st.one_of(
    st.builds(user, st.sampled_from(["Hello", "", " ", "\ud800\x00"])),
    st.builds(assistant, st.sampled_from(["Hi", "", "data:image/png;base64," + "A" * 2000])),
    st.lists(ids, min_size=1, max_size=3).map(lambda found: call(*found)),
    st.builds(result, ids),
    st.lists(ids, min_size=1, max_size=3).map(lambda found: use(*found)),
    st.lists(ids, min_size=1, max_size=3).map(lambda found: used(*found)),
    st.lists(ids, min_size=1, max_size=3).map(lambda found: {"role": "tool", "tool_call_ids": found, "content": "all"}),
    st.builds(item_call, ids),
    st.builds(item_result, ids),
    st.just({"type": "reasoning", "summary": []}),
    st.just({"role": "system", "content": "Rule"}),
    st.just({"role": "assistant", "content": [THINKING]}),
    st.just({"role": "assistant", "content": [THINKING, {"type": "text", "text": "Thought"}]}),
    st.just({"role": "user", "content": [IMAGE, {"type": "future", "x": 1}]}),
    st.just({"role": "assistant", "content": None, "function_call": {"name": "g", "arguments": ""}}),
    st.just({"role": "function", "name": "g", "content": "r"}),
    st.sampled_from(HOSTED),
)


@given(st.lists(steps, max_size=15))
def test_a1_a3_a5_a8_every_history_gives_valid_requests(history: Messages) -> None:
    before = deepcopy(history)
    check_openai(to_openai(history))
    check_anthropic(to_anthropic(history)[1])
    assert history == before


@given(st.lists(steps, max_size=15))
def test_a_view_of_a_view_is_the_view(history: Messages) -> None:
    openai = to_openai(history)
    assert to_openai(openai) == openai
    system, anthropic = to_anthropic(history)
    assert to_anthropic([{"role": "system", "content": system}, *anthropic]) == (system, anthropic)


@given(st.lists(steps, max_size=12), st.integers(0, 12))
def test_every_suffix_of_a_history_is_sendable(history: Messages, cut: int) -> None:
    check_openai(to_openai(history[cut:]))
    check_anthropic(to_anthropic(history[cut:])[1])


def test_a_valid_openai_conversation_is_its_own_view() -> None:
    assert to_openai(PLAIN_OPENAI) == PLAIN_OPENAI
    assert to_openai([parse(message) for message in PLAIN_OPENAI]) == PLAIN_OPENAI


def test_a_valid_anthropic_conversation_is_its_own_view() -> None:
    cached = {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}
    history: Messages = [
        {"role": "user", "content": [cached, IMAGE]},
        {"role": "assistant", "content": [THINKING, {"type": "text", "text": "Look"}, *use("t1")["content"]]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [IMAGE], "is_error": True}, cached],
        },
    ]
    assert to_anthropic(history) == ("", history)


def test_openai_becomes_anthropic() -> None:
    system, messages = to_anthropic(PLAIN_OPENAI)
    assert system == "Be kind."
    assert messages == [
        {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
                {"type": "tool_use", "id": "b", "name": "f", "input": {"x": 1}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "ok"}]},
                {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "no"}]},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Hi"}]},
        {"role": "user", "content": [{"type": "text", "text": "See"}, IMAGE]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Seen"},
                {"type": "tool_use", "id": "c", "name": "f", "input": {"x": 1}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": words("ok")}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Done"}]},
    ]


def test_anthropic_becomes_openai() -> None:
    history: Messages = [
        {"role": "user", "content": [{"type": "text", "text": "Look"}, IMAGE]},
        {"role": "assistant", "content": [THINKING, {"type": "text", "text": "Yes"}, *use("t1", "t2")["content"]]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t2", "content": "two"},
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "one"}, IMAGE]},
                {"type": "text", "text": "And?"},
            ],
        },
    ]
    assert to_openai(history) == [
        {"role": "user", "content": [*words("Look"), {"type": "image_url", "image_url": {"url": PNG}}]},
        {
            "role": "assistant",
            "content": "Yes",
            "tool_calls": [
                {"id": "t1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}},
                {"id": "t2", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "t1", "content": "one\n[image]"},
        {"role": "tool", "tool_call_id": "t2", "content": "two"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Attachments of the tool results above:"},
                {"type": "image_url", "image_url": {"url": PNG}},
            ],
        },
        {"role": "user", "content": "And?"},
    ]


def test_responses_items_of_one_answer_become_one_turn() -> None:
    items: Messages = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go"}]},
        {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "x"},
        {"type": "function_call", "id": "fc1", "call_id": "a", "name": "f", "arguments": '{"x":1}'},
        {"type": "function_call", "id": "fc2", "call_id": "b", "name": "f", "arguments": '{"x":1}'},
        {"type": "function_call_output", "call_id": "b", "output": "two"},
        {"type": "function_call_output", "call_id": "a", "output": "one"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Done", "annotations": []}],
        },
    ]
    assert to_openai(items) == [user("Go"), call("a", "b"), result("a", "one"), result("b", "two"), assistant("Done")]


def test_a1_ten_parallel_calls_without_their_turn_are_left_out() -> None:
    history = [user(), call(*"abcdefghij"), *(result(id) for id in "abcdefghij")]
    assert to_openai(history[-6:]) == []
    assert to_openai(history) == history


def test_a5_a_result_two_rows_later_is_found() -> None:
    history = [user(), call("a"), call("b"), result("a", "1"), result("b", "2")]
    assert to_openai(history) == [user(), call("a", "b"), result("a", "1"), result("b", "2")]


def test_a8_an_unanswered_call_is_closed_in_the_view() -> None:
    history = [user(), call("a"), user("Still there?")]
    assert to_openai(history) == [user(), call("a"), result("a", NO_RESULT), user("Still there?")]
    closed = to_anthropic(history)[1][2]["content"]
    assert closed[0]["is_error"] is True
    assert closed[1] == {"type": "text", "text": "Still there?"}


def test_words_after_an_unanswered_call_come_after_it() -> None:
    history = [user(), call("a"), assistant("It failed.")]
    assert to_openai(history) == [user(), call("a"), result("a", NO_RESULT), assistant("It failed.")]


def test_a_late_result_moves_to_its_call() -> None:
    history = [user(), call("a"), user("Wait"), result("a"), assistant()]
    assert to_openai(history) == [user(), call("a"), result("a"), user("Wait"), assistant()]


def test_the_first_of_two_results_counts() -> None:
    assert to_openai([call("a"), result("a", "first"), result("a", "again")]) == [call("a"), result("a", "first")]


def test_one_result_for_several_calls_is_shown_once() -> None:
    history = [call("a", "b"), {"role": "tool", "tool_call_ids": ["a", "b"], "content": "both"}]
    assert [message["content"] for message in to_openai(history)[1:]] == ["both", SHARED_RESULT]


def test_a_reused_or_unsendable_id_is_replaced_in_call_and_result() -> None:
    history = [user(), call("1"), result("1", "x"), call("1"), result("1", "y"), call("è"), result("è", "z")]
    sent = to_openai(history)
    names = [message["tool_calls"][0]["id"] for message in sent if "tool_calls" in message]
    assert names[0] == "1"
    assert len(set(names)) == 3
    assert [message["tool_call_id"] for message in sent if message["role"] == "tool"] == names
    assert to_openai(history) == sent


@pytest.mark.parametrize("thinking", [THINKING, {"type": "redacted_thinking", "data": "b3BhcXVl"}])
def test_h8_a_signed_thinking_block_is_byte_identical_or_left_out_whole(thinking: dict[str, Any]) -> None:
    history: Messages = [user(), {"role": "assistant", "content": [thinking, *use("t")["content"]]}, used("t")]
    blocks = to_anthropic(history)[1][1]["content"]
    assert json.dumps(blocks[0]) == json.dumps(thinking)
    assert "private" not in json.dumps(to_openai(history))


def test_h8_unsigned_or_trailing_thinking_is_left_out_whole() -> None:
    unsigned = {"type": "thinking", "thinking": "private"}
    assert to_anthropic([user(), {"role": "assistant", "content": [unsigned, *words("A")]}])[1][1]["content"] == words(
        "A"
    )
    assert to_anthropic([user(), {"role": "assistant", "content": [THINKING]}])[1] == [
        {"role": "user", "content": [{"type": "text", "text": "Hello"}]}
    ]


def test_h8_litellm_thinking_blocks_go_back_to_anthropic() -> None:
    history = [user(), {**call("a"), "thinking_blocks": [THINKING], "reasoning_content": "private"}, result("a")]
    assert to_anthropic(history)[1][1]["content"][0] == THINKING
    assert to_openai(history) == [user(), call("a"), result("a")]


def test_a_provider_s_own_tool_stays_whole_or_is_left_out() -> None:
    asked = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "q"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"type": "web", "url": "u"}]}
    whole: Messages = [user(), {"role": "assistant", "content": [asked, found, *words("Found")]}]
    assert to_anthropic(whole)[1][1]["content"] == [asked, found, *words("Found")]
    half: Messages = [user(), {"role": "assistant", "content": [asked, *words("Found")]}]
    assert to_anthropic(half)[1][1]["content"] == words("Found")
    assert to_openai(whole)[1]["content"].endswith("Found")


def test_c3_system_messages_become_the_system_text_in_order() -> None:
    history = [{"role": "system", "content": "One"}, user(), {"role": "developer", "content": "Two"}]
    assert to_anthropic(history)[0] == "One\n\nTwo"
    assert to_openai(history) == history


def test_an_anthropic_view_begins_with_the_user() -> None:
    first, second = to_anthropic([assistant()])[1]
    assert first["role"] == "user"
    assert second == {"role": "assistant", "content": words("Hi")}


def test_f3_a_file_in_a_text_is_a_placeholder_in_the_view() -> None:
    big = result("a", f"see data:image/png;base64,{'A' * 4_000_000} end")
    assert to_openai([call("a"), big])[1]["content"] == "see [image] end"
    assert to_anthropic([call("a"), big])[1][2]["content"][0]["content"] == words("see [image] end")


def test_a_pdf_is_converted_both_ways() -> None:
    chat = {"type": "file", "file": {"filename": "r.pdf", "file_data": "data:application/pdf;base64,JVBE"}}
    block = {
        "type": "document",
        "title": "r.pdf",
        "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"},
    }
    assert to_openai([{"role": "user", "content": [block]}])[0]["content"] == [chat]
    sent = to_anthropic([{"role": "user", "content": [chat]}])[1][0]["content"][0]
    assert sent["source"] == block["source"]


def test_what_a_form_cannot_hold_is_a_placeholder() -> None:
    audio = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    assert to_anthropic([{"role": "user", "content": [audio]}])[1][0]["content"] == words("[audio]")
    stored = {"type": "image", "source": {"type": "file", "file_id": "f1"}}
    assert to_openai([{"role": "user", "content": [stored]}])[0]["content"] == "[image]"


def test_keys_of_a_framework_are_not_sent() -> None:
    history = [{**assistant(), "agent": "main", "message_type": "thought", "reasoning_content": "hm", "refusal": None}]
    assert to_openai(history) == [assistant()]


def test_arguments_that_are_no_object_still_reach_anthropic() -> None:
    custom = {"id": "a", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
    history: Messages = [{"role": "assistant", "tool_calls": [custom]}, result("a")]
    assert to_anthropic(history)[1][1]["content"][0]["input"] == {"input": "SELECT 1"}
    assert to_openai(history)[0]["tool_calls"] == [custom]


def test_j1_j4_what_no_request_can_carry_is_replaced() -> None:
    history = [user("a\x00b\ud83d"), use("t"), used("t")]
    history[1]["content"][0]["input"] = {"k\ud800": "\ud800"}
    assert to_openai(history)[0]["content"] == "a\ufffdb\ufffd"
    assert to_anthropic(history)[1][1]["content"][0]["input"] == {"k\ufffd": "\ufffd"}


def test_an_id_that_is_used_all_the_time_costs_no_more() -> None:
    sent = to_openai([call(*["x"] * 5000)])
    assert len({message["tool_call_id"] for message in sent[1:]}) == 5000


def test_a_malformed_message_is_refused() -> None:
    with pytest.raises(InvalidMessageError):
        to_openai([{"role": "user", "content": 3}])
    with pytest.raises(InvalidMessageError):
        to_anthropic([{"content": "x"}])
