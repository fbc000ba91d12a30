from __future__ import annotations

import asyncio
import sys
import threading

import pytest

from ricordo import AsyncMemory, Memory
from ricordo.consolidation.draft import HEADINGS
from ricordo.errors import (
    ModelAuthenticationError,
    ModelError,
    ModelRefusalError,
    ModelUnavailableError,
)
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
    malformed,
    meanwhile,
    reasoning,
    recorded,
    refuse,
    refuse_in_text,
    slow,
    too_long,
    until,
    well,
    without_max_completion_tokens,
    without_structured_output,
)
from tests.stored import rows, summaries
from tests.support import conversation, fill_thread

TURNS = 8
"""Those of the thread that `told` holds."""


async def assert_untouched(memory: AsyncMemory, admin_url: str, *, messages: int = 2 * TURNS) -> None:
    """Nothing is stored, every message is live and unchanged, and nobody holds the thread."""
    assert summaries(admin_url) == 0
    live = await memory.conversational.list("t", limit=1_000)
    assert [message.message for message in live] == conversation(messages // 2)
    assert rows(admin_url, "SELECT count(*) FROM ricordo.thread WHERE lease_token IS NOT NULL") == [(0,)]
    assert (await memory.verify()).ok


SURFACING: dict[str, tuple[Behaviour, type[ModelError]]] = {
    "HTTP 401": (fail(401), ModelAuthenticationError),
    "HTTP 402": (fail(402), ModelError),
    "HTTP 404": (fail(404), ModelError),
    "HTTP 429": (fail(429), ModelUnavailableError),
    "HTTP 503": (fail(503), ModelUnavailableError),
    "hung up": (drop_connection(), ModelUnavailableError),
    "refusal": (refuse("I will not, said the failure notice."), ModelRefusalError),
    "refusal in text": (refuse_in_text(), ModelRefusalError),
    "refusal as a note": (
        answer_json(
            {
                "description": "A refusal",
                "items": [
                    {"section": "technical", "text": "I can't help with that.", "sources": [1], "status": "open"}
                ],
            }
        ),
        ModelRefusalError,
    ),
}


@pytest.mark.parametrize("name", SURFACING)
async def test_b1_b7_a_failure_is_raised_not_stored_and_the_next_attempt_starts_from_the_originals(
    told: AsyncMemory, models: ModelServer, admin_url: str, name: str
) -> None:
    models.behaviour, error = SURFACING[name]
    with pytest.raises(ModelError) as raised:
        await told.summarize_conversation("t")
    assert type(raised.value) is error
    await assert_untouched(told, admin_url)

    models.behaviour = well()
    before = len(models.requests)
    result = await told.summarize_conversation("t")
    assert (result.status, result.num_messages_summarized) == ("consolidated", 2 * TURNS)
    prompts = models.prompts[before:]
    assert len(prompts) == 1
    assert [message.text for message in recorded(prompts[0])] == [m["content"] for m in conversation(TURNS)]
    for notice in ("fail", "refus", "I can't help", "I'm sorry", "error 503"):
        assert notice not in prompts[0]
        assert notice not in result.summary
    assert (await told.verify()).ok


ESCALATING: dict[str, Behaviour] = {
    "empty": empty(),
    "cut off": cut_off(),
    "too long": too_long(),
    "thought without an end": reasoning("My secret thought.", closed=False),
    "chatter": answer("It was a pleasant failure notice."),
    "asks for the conversation": answer("Please provide the conversation that I should summarise."),
    "no JSON at all": fail(200, "<html>failure notice</html>"),
    "request too long": limited(100),
}


@pytest.mark.parametrize("name", ESCALATING)
async def test_d8_an_unusable_answer_ends_in_extraction_after_three_calls_and_is_never_stored(
    told: AsyncMemory, models: ModelServer, admin_url: str, name: str
) -> None:
    models.behaviour = ESCALATING[name]
    result = await told.summarize_conversation("t")
    assert (result.status, result.model, result.model_calls) == ("consolidated", "extractive", 3)
    assert len(models.requests) == 3
    assert result.escalations[-1] == "extractive"
    assert result.tokens < result.source_tokens
    ((content, description, items),) = rows(
        admin_url, "SELECT content, description, items::text FROM ricordo.summary_memory"
    )
    for failure in ("secret thought", "think>", "failure notice", "Please provide", "html"):
        assert failure not in content + description + items
    assert (await told.summarize_conversation("t")).status == "nothing_to_summarize"
    assert len(models.requests) == 3
    assert (await told.verify()).ok


WRAPPED: dict[str, Behaviour] = {
    "well": well(),
    "fenced": malformed("fenced"),
    "in prose": malformed("in prose"),
    "bad escape": malformed("bad escape"),
    "raw newline": malformed("raw newline"),
    "reasoning": reasoning("My secret thought."),
    "no structured output": without_structured_output(),
    "no max_completion_tokens": without_max_completion_tokens(),
    "slow": slow(0.2),
    "busy at first": in_turn(fail(429), fail(503), well()),
    "empty at first": in_turn(empty(), well()),
}


@pytest.mark.parametrize("name", WRAPPED)
async def test_p1_j6_b5_a_good_answer_is_stored_whatever_it_is_wrapped_in(
    told: AsyncMemory, models: ModelServer, name: str
) -> None:
    models.behaviour = WRAPPED[name]
    result = await told.summarize_conversation("t")
    assert (result.status, result.model, result.dropped_lines) == ("consolidated", "test-model", 0)
    assert result.num_messages_summarized == 2 * TURNS
    assert [line for line in result.summary.splitlines() if line.startswith("#")] == list(HEADINGS.values())
    assert "Question 0: what about the corpus?" in result.summary
    assert "secret thought" not in result.summary + result.description
    assert result.tokens < result.source_tokens


async def test_the_four_headings_are_read_where_a_server_has_no_structured_output(
    told: AsyncMemory, models: ModelServer
) -> None:
    models.behaviour = without_structured_output()
    await told.summarize_conversation("t")
    await fill_thread(told, "t", turns=TURNS, start=TURNS)
    result = await told.summarize_conversation("t")
    assert "Answer in exactly this form" in models.prompts[-1]
    assert (result.model, result.escalations, result.model_calls) == ("test-model", (), 1)


async def test_an_unreachable_server_stores_nothing(
    database_url: str, admin_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer() as closed:
        monkeypatch.setenv("OPENAI_BASE_URL", closed.base_url)
    monkeypatch.setenv("RICORDO_MODEL_WINDOW", "16000")
    async with await AsyncMemory.open(database_url, model="test-model") as memory:
        await fill_thread(memory, "t", turns=TURNS)
        with pytest.raises(ModelUnavailableError):
            await memory.summarize_conversation("t")
        await assert_untouched(memory, admin_url)


async def test_a_cancelled_consolidation_leaves_everything_as_it_was(
    told: AsyncMemory, models: ModelServer, admin_url: str
) -> None:
    models.behaviour = hang()
    task = asyncio.create_task(told.summarize_conversation("t"))
    await requested(models, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await assert_untouched(told, admin_url)
    models.behaviour = well()
    assert (await told.summarize_conversation("t")).status == "consolidated"


async def requested(models: ModelServer, number: int) -> None:
    """Wait until that many requests have reached the model."""
    while len(models.requests) < number:  # noqa: ASYNC110  (the server's threads know no event of this loop)
        await asyncio.sleep(0.01)


async def test_one_failing_chunk_fails_the_whole_and_ends_the_other_calls(
    told: AsyncMemory, models: ModelServer, admin_url: str, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_MODEL_WINDOW", "1200")
    started = threading.Barrier(2)

    def one_fails(request: Request) -> Reply | Failure | None:
        started.wait(timeout=30)
        return (fail(401) if request.number == 1 else hang())(request)

    models.behaviour = one_fails
    monkeypatch.setenv("RICORDO_MODEL_CONCURRENCY", "2")
    async with await AsyncMemory.open(database_url, model="test-model") as second:
        with pytest.raises(ModelAuthenticationError):
            await second.summarize_conversation("t")
        while models.busy:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert len(models.requests) == 2
    await assert_untouched(told, admin_url)


async def test_g1_rows_written_during_the_call_stay_live_and_in_order(
    told: AsyncMemory, models: ModelServer, database_url: str
) -> None:
    def write() -> None:
        with Memory.open(database_url) as other:
            other.conversational.write("t", "user", "Written while the model was busy.")
            other.conversational.write("t", "assistant", "Noted.")

    models.behaviour = meanwhile(write)
    result = await told.summarize_conversation("t")
    assert result.num_messages_summarized == 2 * TURNS
    live = await told.conversational.list("t")
    assert [message.content for message in live] == ["Written while the model was busy.", "Noted."]
    assert [message.seq for message in live] == [2 * TURNS + 1, 2 * TURNS + 2]
    assert (await told.verify()).ok


async def test_g4_two_consolidations_at_once_pay_for_one_summary(
    told: AsyncMemory, models: ModelServer, admin_url: str
) -> None:
    released = threading.Event()
    models.behaviour = until(released)
    first = asyncio.create_task(told.summarize_conversation("t"))
    await requested(models, 1)
    second = await told.summarize_conversation("t")
    assert second.status == "busy"
    released.set()
    assert (await first).status == "consolidated"
    assert (await told.summarize_conversation("t")).status == "nothing_to_summarize"
    assert len(models.requests) == 1
    assert summaries(admin_url) == 1
    covered = rows(admin_url, "SELECT count(*), count(DISTINCT summary_id) FROM ricordo.conversational_memory")
    assert covered == [(2 * TURNS, 1)]


async def test_g4_gathered_consolidations_make_one_summary(
    told: AsyncMemory, models: ModelServer, admin_url: str
) -> None:
    models.behaviour = slow(0.2)
    results = await asyncio.gather(*(told.summarize_conversation("t") for _ in range(5)))
    found = sorted(result.status for result in results)
    assert found.count("consolidated") == 1
    assert set(found) <= {"consolidated", "busy", "nothing_to_summarize"}
    assert (len(models.requests), summaries(admin_url)) == (1, 1)
    assert (await told.verify()).ok


CONSOLIDATE = """
import sys
from ricordo import Memory
with Memory.open(sys.argv[1], model="test-model") as memory:
    print(memory.summarize_conversation("t").status)
"""


async def consolidating_process(database_url: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", CONSOLIDATE, database_url, stdout=asyncio.subprocess.PIPE
    )


async def test_g4_two_processes_make_one_summary(
    told: AsyncMemory, models: ModelServer, database_url: str, admin_url: str
) -> None:
    released = threading.Event()
    models.behaviour = until(released)
    first = await consolidating_process(database_url)
    await requested(models, 1)
    second = await consolidating_process(database_url)
    assert (await second.communicate())[0].split() == [b"busy"]
    released.set()
    assert (await first.communicate())[0].split() == [b"consolidated"]
    assert (len(models.requests), summaries(admin_url)) == (1, 1)
    assert (await told.verify()).ok


async def test_no_key_reaches_an_error_or_the_database(
    told: AsyncMemory,
    models: ModelServer,
    database_url: str,
    admin_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key = "sk-live-0123456789abcdef"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    models.behaviour = fail(400, {"error": {"message": f"bad request with key {key}"}})
    async with await AsyncMemory.open(database_url, model="test-model") as keyed:
        with pytest.raises(ModelError) as raised:
            await keyed.summarize_conversation("t")
    assert key not in str(raised.value)
    assert raised.value.__cause__ is None
    await assert_untouched(told, admin_url)
