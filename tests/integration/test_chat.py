from __future__ import annotations

import asyncio
import json
import socket
import threading
import traceback
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from typing import Any

import pytest

from ricordo.errors import (
    ConfigurationError,
    ModelAnswerError,
    ModelAuthenticationError,
    ModelError,
    ModelRefusalError,
    ModelUnavailableError,
    RicordoError,
)
from ricordo.models import ChatModel, Completion
from ricordo.models.chat import RETRIES
from ricordo.testing import (
    Behaviour,
    Failure,
    ModelServer,
    Reply,
    Request,
    answer,
    answer_json,
    cut_off,
    drop_connection,
    empty,
    fail,
    hang,
    in_turn,
    limited,
    reasoning,
    refuse,
    slow,
    without_max_completion_tokens,
    without_structured_output,
)

KEY = "sk-test-0123456789abcdef"
SCHEMA: dict[str, Any] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
QUESTION = [{"role": "user", "content": "What is 17*3?"}]


@asynccontextmanager
async def chat_with(base_url: str, **options: Any) -> AsyncGenerator[ChatModel]:
    model = ChatModel("test-model", base_url=base_url, **options)
    try:
        yield model
    finally:
        await model.aclose()


async def ask(model: ChatModel) -> Completion:
    return await model.complete(QUESTION, max_tokens=50, schema=SCHEMA)


async def ask_once(behaviour: Behaviour, **options: Any) -> tuple[Completion | RicordoError, int]:
    """Return the completion or the error, and the number of requests that it took."""
    with ModelServer(behaviour) as server:
        async with chat_with(server.base_url, **options) as model:
            try:
                return await ask(model), len(server.requests)
            except RicordoError as error:
                return error, len(server.requests)


async def test_an_answer_comes_with_its_model_and_the_servers_token_counts() -> None:
    with ModelServer(answer("51")) as server:
        async with chat_with(server.base_url) as model:
            completion = await ask(model)
        (body,) = server.requests
    assert (completion.text, completion.model, completion.output_tokens) == ("51", "test-model", 1)
    assert completion.input_tokens is not None
    assert completion.input_tokens > 1
    assert body["model"] == "test-model"
    assert body["messages"] == QUESTION
    assert body["max_completion_tokens"] == 50
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert body["response_format"]["json_schema"]["strict"] is True


TRIES = RETRIES + 1


def reply(**fields: Any) -> Behaviour:
    return lambda _: Reply(**fields)


@pytest.mark.parametrize(
    ("behaviour", "error", "requests"),
    [
        (fail(401), ModelAuthenticationError, 1),
        (fail(403), ModelAuthenticationError, 1),
        (fail(429), ModelUnavailableError, TRIES),
        (fail(500), ModelUnavailableError, TRIES),
        (fail(503, "<html>Service Unavailable</html>"), ModelUnavailableError, TRIES),
        (drop_connection(), ModelUnavailableError, TRIES),
        (fail(200, {"error": {"code": 429, "message": "overloaded"}}), ModelUnavailableError, 1),
        (fail(400), ModelError, 1),
        (fail(402), ModelError, 1),
        (fail(404), ModelError, 1),
        (fail(422), ModelError, 1),
        (fail(400, {"error": {"message": "filtered", "code": "content_filter"}}), ModelRefusalError, 1),
        (refuse(), ModelRefusalError, 1),
        (reply(text="", finish_reason="content_filter"), ModelRefusalError, 1),
        (limited(20), ModelAnswerError, 1),
        (fail(413), ModelAnswerError, 1),
        (fail(400, {"error": {"message": "the request exceeds the available context size"}}), ModelAnswerError, 1),
        (empty(), ModelAnswerError, 1),
        (answer(" \n "), ModelAnswerError, 1),
        (reply(text=None), ModelAnswerError, 1),
        (cut_off(answer("fifty-one")), ModelAnswerError, 1),
        (reply(text="", finish_reason="length"), ModelAnswerError, 1),
    ],
)
async def test_every_failure_has_its_error_and_its_number_of_tries(
    behaviour: Behaviour, error: type[ModelError], requests: int
) -> None:
    found, tries = await ask_once(behaviour)
    assert type(found) is error
    assert tries == requests


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<html>",
        "null",
        "[]",
        '"ok"',
        "[" * 100_000,
        {},
        {"choices": []},
        {"choices": None},
        {"choices": "ok"},
        {"choices": [None]},
        {"choices": [{"message": None}]},
        {"choices": [{"message": {"content": 51}}]},
        {"choices": [{"message": {"content": {"text": "51"}}}]},
        {"choices": [{"message": {"content": "51"}}], "usage": {"prompt_tokens": -5}},
        {"choices": [{"message": {"content": "51"}}], "usage": "none"},
    ],
)
async def test_an_answer_that_is_not_in_the_openai_form_is_an_error(body: Any) -> None:
    found, tries = await ask_once(fail(200, body))
    assert type(found) is ModelAnswerError
    assert tries == 1


async def test_an_answer_in_parts_is_put_together() -> None:
    parts = [
        {"type": "thinking", "thinking": "17 times 3"},
        {"type": "text", "text": "5"},
        {"type": "text", "text": "1"},
    ]
    found, _ = await ask_once(fail(200, {"choices": [{"message": {"content": parts}}]}))
    assert isinstance(found, Completion)
    assert (found.text, found.input_tokens) == ("51", None)


@pytest.mark.parametrize("failure", [fail(503), fail(429), drop_connection()])
async def test_a_passing_failure_is_overcome(failure: Behaviour) -> None:
    found, tries = await ask_once(in_turn(failure, answer("51")))
    assert isinstance(found, Completion)
    assert tries == 2


async def test_an_unreachable_server_is_named_as_such() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        async with chat_with(f"http://127.0.0.1:{unused.getsockname()[1]}/v1") as model:
            with pytest.raises(ModelUnavailableError, match="cannot be reached"):
                await ask(model)


async def test_a_server_that_never_answers_is_given_up() -> None:
    found, tries = await ask_once(hang(), timeout=0.1)
    assert type(found) is ModelUnavailableError
    assert "0.1 s" in found.message
    assert 1 <= tries <= TRIES


async def test_a_server_that_only_keeps_the_line_open_is_given_up() -> None:
    async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        with closing(writer):
            while not writer.is_closing():
                writer.write(b" ")
                await asyncio.sleep(0.01)

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        async with chat_with(f"http://127.0.0.1:{port}/v1", timeout=0.1) as model:
            with pytest.raises(ModelUnavailableError, match="did not answer"):
                await ask(model)


async def settled(server: ModelServer, *, busy: int) -> None:
    """Wait until the server works on that many requests."""
    while server.busy != busy:  # noqa: ASYNC110  (the server's threads know no event of this loop)
        await asyncio.sleep(0.01)


async def test_cancelling_ends_the_request() -> None:
    with ModelServer(hang()) as server:
        async with chat_with(server.base_url) as model:
            task = asyncio.create_task(ask(model))
            await settled(server, busy=1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await settled(server, busy=0)
        assert len(server.requests) == 1


async def test_no_more_calls_than_allowed_run_side_by_side() -> None:
    most: list[int] = []

    def watching(request: Request) -> Reply | Failure | None:
        most.append(server.busy)
        return slow(0.05, answer("51"))(request)

    with ModelServer(watching) as server:
        async with chat_with(server.base_url, max_concurrency=2) as model:
            await asyncio.gather(*(ask(model) for _ in range(8)))
    assert len(most) == 8
    assert max(most) == 2


async def test_structured_output_that_a_server_refuses_is_given_up_once() -> None:
    with ModelServer(without_structured_output(answer("51"))) as server:
        async with chat_with(server.base_url) as model:
            assert model.structured
            assert [(await ask(model)).text for _ in range(2)] == ["51", "51"]
            assert not model.structured
        assert ["response_format" in body for body in server.requests] == [True, False, False]


async def test_the_newer_name_of_the_token_limit_is_given_up_once() -> None:
    both = without_structured_output(without_max_completion_tokens(answer("51")))
    with ModelServer(both) as server:
        async with chat_with(server.base_url) as model:
            assert [(await ask(model)).text for _ in range(2)] == ["51", "51"]
        assert [body.get("max_tokens") for body in server.requests] == [None, None, 50, 50]


async def test_calls_side_by_side_all_learn_what_a_server_does_not_know() -> None:
    barrier = threading.Barrier(4)

    def together(request: Request) -> Reply | Failure | None:
        if request.number <= 4:
            barrier.wait(timeout=30)
        return without_structured_output(without_max_completion_tokens(answer("51")))(request)

    with ModelServer(together) as server:
        async with chat_with(server.base_url, max_concurrency=4) as model:
            assert {one.text for one in await asyncio.gather(*(ask(model) for _ in range(4)))} == {"51"}


@pytest.mark.parametrize(
    "behaviour",
    [
        reasoning(then=answer("51")),
        reasoning(tags=False, then=answer("51")),
        reasoning(field=False, then=answer("51")),
        answer("<THINKING>17 times 3</THINKING>51"),
        answer("17 times 3, let me see\n</think>\n\n51"),
        answer("\n <thought>17 times 3</thought> 51"),
    ],
)
async def test_b5_reasoning_is_never_part_of_the_answer(behaviour: Behaviour) -> None:
    found, _ = await ask_once(behaviour)
    assert isinstance(found, Completion)
    assert found.text == "51"


async def test_b5_reasoning_without_an_end_is_an_empty_answer() -> None:
    found, _ = await ask_once(reasoning(closed=False))
    assert type(found) is ModelAnswerError


@pytest.mark.parametrize("before", ["", "\n  "])
async def test_an_answer_about_reasoning_tags_stays_whole(before: str) -> None:
    notes = json.dumps({"text": "The template opens <think> and the model writes </think>."})
    found, _ = await ask_once(answer(before + notes))
    assert isinstance(found, Completion)
    assert found.text == notes


def shown(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(error) + str(error)


@pytest.mark.parametrize("status", [400, 401, 404, 422, 500])
@pytest.mark.parametrize("padding", [0, 285])
async def test_an_error_never_shows_the_key(status: int, padding: int) -> None:
    said = {"error": {"message": "x" * padding + f" Incorrect API key provided: {KEY}. Find yours in the settings."}}
    found, _ = await ask_once(fail(status, said), api_key=KEY)
    assert isinstance(found, ModelError)
    assert KEY[:8] not in shown(found)


async def test_a_server_that_demands_a_key_gets_it() -> None:
    with ModelServer(answer("51"), api_key=KEY) as server:
        async with chat_with(server.base_url, api_key=f" {KEY}\n") as model:
            assert (await ask(model)).text == "51"
        async with chat_with(server.base_url, api_key="sk-another-key-000") as model:
            with pytest.raises(ModelAuthenticationError) as raised:
                await ask(model)
    assert "OPENAI_API_KEY" in raised.value.hint
    assert "sk-another-key" not in shown(raised.value)


async def test_a_local_server_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(answer("51")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        model = ChatModel("llama3.2")
        assert (await ask(model)).text == "51"
        await model.aclose()
        assert server.requests[0]["model"] == "llama3.2"


@pytest.mark.parametrize(
    "url", ["localhost:11434", "127.0.0.1:8000/v1", "http://", "file:///etc/passwd", "http://[::1"]
)
def test_an_address_that_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_BASE_URL"):
        ChatModel("test-model", base_url=url)


@pytest.mark.parametrize("key", ["sk-línea-0123456789", "sk-two lines", "sk-\r\nX-Header: 1"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY") as raised:
        ChatModel("test-model", api_key=key)
    assert key not in shown(raised.value)


def test_a_model_without_a_server_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        ChatModel("test-model")


async def test_closing_is_repeatable_and_the_model_opens_again() -> None:
    with ModelServer(answer_json({"n": 51})) as server:
        async with chat_with(server.base_url) as model:
            await ask(model)
            await model.aclose()
            await model.aclose()
            assert (await ask(model)).text == '{"n": 51}'
