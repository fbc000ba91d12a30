from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import openai
import pytest
from openai import OpenAI

from ricordo.testing import (
    Failure,
    ModelServer,
    Reply,
    Request,
    answer,
    answer_json,
    call_tool,
    hang,
    meanwhile,
    reasoning,
    recorded,
    refuse,
    until,
    well,
)

PROMPT = """Notes, please.
<record 1a2b3c4d>
1. [2026-03-12 10:00:00] [USER] We index 4,200 abstracts. They are short.
2. [10:00:05] [ASSISTANT] Recall rises to 0.81
and stays there.
</record 1a2b3c4d>"""


@pytest.fixture
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def client(server: ModelServer, key: str = "none") -> OpenAI:
    return OpenAI(base_url=server.base_url, api_key=key, max_retries=0)


def test_the_models_are_listed() -> None:
    with ModelServer(models=("a", "b")) as server, client(server) as openai_client:
        assert [model.id for model in openai_client.models.list()] == ["a", "b"]


def test_a_stream_holds_the_same_as_a_whole_answer() -> None:
    text = "A longer answer, with àccents and 語, in more than one piece."
    with ModelServer(reasoning("Hm.", tags=False, then=answer(text))) as server, client(server) as openai_client:
        ask = openai_client.chat.completions
        whole = ask.create(model="m", messages=[{"role": "user", "content": "?"}])
        with ask.create(
            model="m", messages=[{"role": "user", "content": "?"}], stream=True, stream_options={"include_usage": True}
        ) as stream:
            chunks = list(stream)
    pieces = [choice.delta.content or "" for chunk in chunks for choice in chunk.choices]
    assert whole.choices[0].message.content == text == "".join(pieces)
    assert len([piece for piece in pieces if piece]) > 1
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices][-1] == "stop"
    assert chunks[-1].usage == whole.usage


def test_a_tool_call_comes_whole_and_in_a_stream() -> None:
    with ModelServer(call_tool("expand_summary", {"summary_id": "5f"})) as server, client(server) as openai_client:
        ask = openai_client.chat.completions
        whole = ask.create(model="m", messages=[{"role": "user", "content": "?"}])
        with ask.create(model="m", messages=[{"role": "user", "content": "?"}], stream=True) as stream:
            deltas = [chunk.choices[0].delta for chunk in stream]
    (call,) = whole.choices[0].message.tool_calls or []
    assert call.type == "function"
    assert (call.function.name, json.loads(call.function.arguments)) == ("expand_summary", {"summary_id": "5f"})
    assert whole.choices[0].finish_reason == "tool_calls"
    (streamed,) = [part for delta in deltas for part in delta.tool_calls or ()]
    assert streamed.function is not None
    assert streamed.function.name == "expand_summary"


def test_a_refusal_has_its_own_field() -> None:
    with ModelServer(refuse("No.")) as server, client(server) as openai_client:
        message = openai_client.chat.completions.create(model="m", messages=[]).choices[0].message
    assert (message.content, message.refusal) == (None, "No.")


def test_a_wrong_key_is_denied_and_an_unknown_path_is_not_found() -> None:
    with (
        ModelServer(api_key="sk-right") as server,
        client(server, "sk-wrong") as wrong,
        client(server, "sk-right") as right,
    ):
        with pytest.raises(openai.AuthenticationError):
            wrong.models.list()
        with pytest.raises(openai.AuthenticationError):
            wrong.chat.completions.create(model="m", messages=[])
        with pytest.raises(openai.NotFoundError):
            right.embeddings.create(model="m", input="x")
        assert right.models.list().data
        assert server.requests == []


def test_requests_are_recorded_and_the_behaviour_can_be_replaced(models: ModelServer) -> None:
    with client(models) as openai_client:
        openai_client.chat.completions.create(model="m", messages=[{"role": "user", "content": "one"}])
        models.behaviour = answer_json({"n": 2})
        second = openai_client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": [{"type": "text", "text": "two"}]}]
        )
    assert models.prompts == ["one", "two"]
    assert second.choices[0].message.content == '{"n": 2}'


def test_the_record_is_read_out_of_a_prompt() -> None:
    one, two = recorded(PROMPT)
    assert (one.number, one.role, one.text) == (1, "user", "We index 4,200 abstracts. They are short.")
    assert (two.number, two.role, two.text) == (2, "assistant", "Recall rises to 0.81\nand stays there.")
    assert (one.sentence, two.sentence) == ("We index 4,200 abstracts.", "Recall rises to 0.81 and stays there.")
    assert recorded("no record here") == ()


def ask(prompt: str, *, structured: bool) -> str:
    body: dict[str, Any] = {"messages": [{"role": "user", "content": prompt}]}
    if structured:
        body["response_format"] = {"type": "json_schema"}
    reply = well()(Request(number=1, body=body, wait=lambda _: True))
    assert isinstance(reply, Reply)
    return reply.text or ""


def test_a_good_model_cites_the_first_sentences() -> None:
    notes = json.loads(ask(PROMPT, structured=True))
    assert notes["items"][0] == {
        "section": "technical",
        "text": "We index 4,200 abstracts.",
        "sources": [1],
        "status": "confirmed",
    }
    text = ask(PROMPT, structured=False)
    assert "### Technical Information\n- We index 4,200 abstracts. [1]" in text
    assert "### Emotional Context\n- (none)" in text
    assert ask("Hello", structured=True) == "Understood."


def test_a_good_model_mends_notes_from_what_they_cite() -> None:
    returned = '\n<notes 1a2b3c4d>\n- Recall rises to 0.91 [2, 9]: not_in_source: "0.91"\n</notes 1a2b3c4d>\n'
    notes = json.loads(ask(returned + PROMPT, structured=True))
    assert [note["sources"] for note in notes["items"]] == [[2]]


def test_closing_lets_go_of_a_client_and_leaves_no_thread() -> None:
    before = threading.active_count()
    failures: list[Exception] = []

    def wait_for_ever() -> None:
        with client(server) as openai_client:
            try:
                openai_client.chat.completions.create(model="m", messages=[])
            except openai.APIConnectionError as error:
                failures.append(error)

    with ModelServer(hang()) as server:
        waiting = threading.Thread(target=wait_for_ever)
        waiting.start()
        while not server.busy:
            pass
    waiting.join()
    assert len(failures) == 1
    assert threading.active_count() == before


def test_closing_does_not_wait_for_a_client_that_sends_nothing() -> None:
    before = threading.active_count()
    with (
        ModelServer() as server,
        socket.create_connection(("127.0.0.1", urlsplit(server.base_url).port or 0)) as silent,
    ):
        while threading.active_count() < before + 2:
            pass
        server.close()
        assert silent.recv(1) == b""
    assert threading.active_count() == before


def test_a_behaviour_may_act_and_be_held_back(models: ModelServer) -> None:
    acted, released = threading.Event(), threading.Event()
    models.behaviour = meanwhile(acted.set, until(released, answer("done")))
    answers: list[str | None] = []

    def ask_for_it() -> None:
        with client(models) as openai_client:
            answers.append(openai_client.chat.completions.create(model="m", messages=[]).choices[0].message.content)

    asking = threading.Thread(target=ask_for_it)
    asking.start()
    assert acted.wait(timeout=30)
    assert answers == []
    released.set()
    asking.join()
    assert answers == ["done"]


def test_an_exception_in_a_behaviour_reaches_the_test() -> None:
    def broken(_: Request) -> Reply | Failure | None:
        raise AssertionError("the prompt is wrong")

    def run() -> None:
        with ModelServer(broken) as server, client(server) as asking, pytest.raises(openai.InternalServerError):
            asking.chat.completions.create(model="m", messages=[])

    with pytest.raises(AssertionError, match="the prompt is wrong"):
        run()
