"""Every row of docs/series.md, run against a real database."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
import pytest

import ricordo
from ricordo import AsyncMemory
from ricordo.consolidation.answer import describe
from ricordo.consolidation.draft import HEADINGS
from ricordo.demo import conversation
from ricordo.errors import InvalidInputError
from ricordo.stores.format import DESCRIPTORS, block
from ricordo.testing import ModelServer, empty, in_turn, meanwhile, well
from ricordo.tokens import MODEL_TOKEN_LIMITS, UnknownModelWarning, count, model_limit
from ricordo.types import Consolidation
from tests.docs.pages import names, table

THREAD = "thesis"
MODEL = "gpt-5-mini"
STAMP = r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\]"


@dataclass(frozen=True)
class World:
    """A memory without a model, one with a model, their database, and the server that the model is at."""

    memory: AsyncMemory
    modelled: AsyncMemory
    url: str
    server: ModelServer

    async def filled(self) -> Consolidation:
        """Return the outcome of consolidating the 30 messages of the sample."""
        await self.memory.conversational.append(THREAD, conversation())
        return await self.memory.summarize_conversation(THREAD)


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    with ModelServer(models=(MODEL,)) as running:
        yield running


@pytest.fixture
async def world(
    memory: AsyncMemory, database_url: str, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[World]:
    monkeypatch.setenv("OPENAI_BASE_URL", model_server.base_url)
    async with await AsyncMemory.open(database_url, model=MODEL) as modelled:
        yield World(memory, modelled, database_url, model_server)


Check = Callable[[World], Coroutine[Any, Any, None]]
CHECKS: dict[str, Check] = {}
ROWS = [row[-1] for row in table("docs/series.md", "published", "here", "exactly", "check") if row[-1] != "later"]


def check(function: Check) -> Check:
    """Register the check of a row."""
    CHECKS[function.__name__] = function
    return function


@pytest.mark.parametrize("cell", ROWS, ids=lambda cell: cell.strip("`"))
async def test_a_published_name_does_what_the_series_says(cell: str, world: World) -> None:
    (name,) = names(cell)
    await CHECKS[name](world)


def test_every_check_is_the_check_of_one_row() -> None:
    assert sorted(name for cell in ROWS for name in names(cell)) == sorted(CHECKS)


# Conversational memory


@check
async def writes_and_returns_a_uuid(world: World) -> None:
    id = await world.memory.conversational.write(THREAD, "user", "Ciao", {"lang": "it"})
    message = await world.memory.conversational.get(str(UUID(id)))
    assert (message.thread_id, message.role, message.content) == (THREAD, "user", "Ciao")
    assert message.metadata == {"lang": "it"}


@check
async def reads_the_newest_live_messages(world: World) -> None:
    await world.memory.conversational.append(THREAD, conversation())
    shown = await world.memory.conversational.read(THREAD, limit=2)
    assert "CONVERSATION HISTORY:\n(28 older ones of this thread are not shown here)\n[" in shown
    places = [shown.index(str(message["content"])) for message in conversation()[-2:]]
    assert places == sorted(places)
    assert str(conversation()[-3]["content"]) not in shown
    assert (await world.memory.conversational.read(THREAD)).count("] user: ") == 10


@check
async def lists_live_messages_only(world: World) -> None:
    done = await world.filled()
    await world.memory.conversational.write(THREAD, "user", "And now?")
    assert [message.content for message in await world.memory.conversational.list(THREAD)] == ["And now?"]
    everything = await world.memory.conversational.list(THREAD, include_covered=True)
    assert [message.summary_id for message in everything] == [done.id] * 30 + [None]


@check
async def formats_a_block(world: World) -> None:
    about = DESCRIPTORS["conversational"]
    shown = await world.memory.conversational.read(THREAD)
    assert shown == (
        f"MEMORY TYPE: {about.name}\n\nDESCRIPTION: {about.description}\n\nUSAGE: {about.usage}\n\n"
        "CONVERSATION HISTORY:\n(no result)"
    )
    assert about.name == "Conversational Memory (episodic memory)"
    assert shown == block("conversational", "CONVERSATION HISTORY:\n(no result)")


@check
async def shows_the_published_line(world: World) -> None:
    await world.memory.conversational.write(THREAD, "user", "Ciao")
    (message,) = await world.memory.conversational.list(THREAD)
    line = f"[{message.timestamp:%Y-%m-%d %H:%M:%S}] user: Ciao"
    assert (await world.memory.conversational.read(THREAD)).endswith(f"\n{line}")


@check
async def says_no_result(world: World) -> None:
    assert (await world.memory.conversational.read(THREAD)).endswith("CONVERSATION HISTORY:\n(no result)")
    assert (await world.memory.summary.read(THREAD)).endswith("AVAILABLE SUMMARIES:\n(no result)")


def _columns(url: str, table_name: str) -> set[str]:
    query = "SELECT column_name FROM information_schema.columns WHERE table_schema = 'ricordo' AND table_name = %s"
    with psycopg.connect(url) as connection:
        return {name for (name,) in connection.execute(query, [table_name])}


@check
async def has_the_conversational_table(world: World) -> None:
    published = {"id", "thread_id", "role", "content", "timestamp", "metadata", "summary_id"}
    assert published < _columns(world.url, "conversational_memory")


@check
async def opening_again_keeps_everything(world: World) -> None:
    await world.memory.conversational.append(THREAD, conversation())
    async with await AsyncMemory.open(world.url) as again:
        kept = await again.conversational.list(THREAD)
    assert [message.message for message in kept] == [*conversation()]


@check
async def reads_the_originals_of_a_summary(world: World) -> None:
    done = await world.filled()
    shown = await world.memory.read_conversations_by_summary_id(done.id or "")
    lines = re.findall(rf"^{STAMP} \w+: (.*)$", shown.partition("ORIGINAL MESSAGES:\n")[2], re.MULTILINE)
    assert lines == [message["content"] for message in conversation()]
    none = await world.memory.read_conversations_by_summary_id("xxx")
    assert none.endswith("ORIGINAL MESSAGES:\n(no result)")


# Summary memory


@check
async def has_the_summary_table(world: World) -> None:
    assert {"id", "description", "content", "thread_id"} < _columns(world.url, "summary_memory")


@check
async def stores_a_summary_with_its_id_and_description(world: World) -> None:
    done = await world.filled()
    stored = await world.memory.summary.get(done.id or "")
    assert (stored.content, stored.description) == (done.summary, done.description)
    assert UUID(stored.id).version == 4


@check
async def reads_a_summary_by_its_id(world: World) -> None:
    done = await world.filled()
    assert await world.memory.read_summary_by_id(done.id or "") == done.summary
    for unknown in ("xxx", "", "00000000-0000-4000-8000-000000000000"):
        assert await world.memory.read_summary_by_id(unknown) == "(summary not found)"


@check
async def reads_references_of_the_thread(world: World) -> None:
    done = await world.filled()
    shown = await world.memory.summary.read(THREAD)
    assert shown.endswith(f"AVAILABLE SUMMARIES:\n[Summary ID: {done.id}] {done.description}")
    assert (await world.memory.summary.read("another")).endswith("AVAILABLE SUMMARIES:\n(no result)")


# Tool log


@check
async def has_the_tool_log_table(world: World) -> None:
    columns = {"id", "thread_id", "tool_name", "tool_input", "tool_output", "status", "error_message", "duration_ms"}
    assert columns < _columns(world.url, "tool_log_memory")
    for status in ("success", "error", "timeout"):
        await world.memory.tool_log.write(THREAD, "grep", status=status)
    with pytest.raises(InvalidInputError):
        await world.memory.tool_log.write(THREAD, "grep", status="failed")  # pyright: ignore[reportArgumentType]


@check
async def logs_a_tool_and_returns_a_uuid(world: World) -> None:
    id = await world.memory.tool_log.write(THREAD, "grep", {"q": "x"}, "a line", "error", "no match", 38, {"run": 7})
    log = await world.memory.tool_log.get(str(UUID(id)))
    assert (log.thread_id, log.tool_name, log.tool_input, log.tool_output) == (THREAD, "grep", {"q": "x"}, "a line")
    assert (log.status, log.error_message, log.duration_ms, log.metadata) == ("error", "no match", 38, {"run": 7})


@check
async def reads_the_tool_log(world: World) -> None:
    await world.memory.tool_log.write(THREAD, "grep", {"q": "x"}, "found", duration_ms=38)
    await world.memory.tool_log.write(THREAD, "fetch", status="timeout", error_message="no answer")
    shown = await world.memory.tool_log.read(THREAD)
    assert re.fullmatch(
        r"\[\d\d:\d\d:\d\d\] grep\(\{\"q\": \"x\"\}\) -> success in 38 ms\n    found\n"
        r"\[\d\d:\d\d:\d\d\] fetch\(\) -> timeout\n    no answer",
        shown.partition("TOOL EXECUTIONS:\n")[2],
    )
    assert "grep" not in await world.memory.tool_log.read(THREAD, only_errors=True)


# The window's size


@check
async def knows_the_published_limits(world: World) -> None:
    assert MODEL_TOKEN_LIMITS["gpt-5-mini"] == 256_000
    assert model_limit("gpt-5-mini") == 256_000
    with pytest.warns(UnknownModelWarning):
        assert model_limit(f"model-of-{world.url}") == 128_000


@check
async def calculates_usage(world: World) -> None:
    assert ricordo.calculate_context_usage("x" * 8_327) == {"tokens": 2081, "max": 256_000, "percent": 0.8}
    assert ricordo.calculate_context_usage("") == {"tokens": 0, "max": 256_000, "percent": 0.0}


@check
async def monitors_with_the_published_numbers(world: World) -> None:
    published = {"tokens": 2081, "max": 256_000, "percent": 0.8, "status": "ok"}
    assert ricordo.monitor_context_window("x" * 8_324) == published
    first_of = {"ok": 0, "warning": 127_872, "critical": 204_672}
    for status, tokens in first_of.items():
        assert ricordo.monitor_context_window("x" * 4 * tokens)["status"] == status
        assert not tokens or ricordo.monitor_context_window("x" * 4 * (tokens - 1))["status"] != status


@check
async def measures_and_consolidates_below_the_threshold(world: World) -> None:
    await world.memory.conversational.append(THREAD, conversation())
    usage = await world.memory.monitor(THREAD)
    messages = await world.memory.conversational.list(THREAD)
    assert usage.tokens == sum(message.tokens for message in messages)
    assert usage.status == "ok"
    assert (await world.memory.summarize_conversation(THREAD)).status == "consolidated"


# Summarising


@check
async def a_blank_text_costs_nothing(world: World) -> None:
    for blank in (None, "", " \n\t"):
        assert (await world.modelled.summarize_context_window(blank)).status == "nothing_to_summarize"
    assert world.server.requests == []
    with psycopg.connect(world.url) as connection:
        connection.execute("SET ricordo.namespace = 'default'")
        assert connection.execute("SELECT count(*) FROM ricordo.summary_memory").fetchone() == (0,)


@check
async def has_the_four_headings(world: World) -> None:
    done = await world.filled()
    found = re.findall(r"^### .*$", done.summary, re.MULTILINE)
    assert found == [*HEADINGS.values()]
    assert found == [
        "### Technical Information",
        "### Emotional Context",
        "### Entities & References",
        "### Action Items & Decisions",
    ]


@check
async def asks_with_one_message_and_4000_tokens(world: World) -> None:
    await world.modelled.conversational.append(THREAD, conversation())
    assert (await world.modelled.summarize_conversation(THREAD)).status == "consolidated"
    (request,) = world.server.requests
    assert [message["role"] for message in request["messages"]] == ["user"]
    assert request["max_completion_tokens"] == 4000
    (prompt,) = world.server.prompts
    assert "durable memory of an AI research assistant" in prompt
    assert all(heading in prompt for heading in HEADINGS.values())


@check
async def retries_and_then_asks_shortly(world: World) -> None:
    world.server.behaviour = in_turn(empty(), empty(), well())
    await world.modelled.conversational.append(THREAD, conversation())
    done = await world.modelled.summarize_conversation(THREAD)
    assert (done.status, done.model, done.model_calls) == ("consolidated", MODEL, 3)
    first, second, third = (prompt.partition("<record")[0] for prompt in world.server.prompts)
    assert re.sub(r"\b[0-9a-f]{6,}\b", "…", first) == re.sub(r"\b[0-9a-f]{6,}\b", "…", second)
    assert "in at most 180 words" in third


@check
async def describes_in_the_same_call(world: World) -> None:
    await world.modelled.conversational.append(THREAD, conversation())
    done = await world.modelled.summarize_conversation(THREAD)
    assert len(world.server.requests) == done.model_calls == 1
    assert 1 <= len(done.description.split()) <= 12
    assert describe("Summary", ()) == "Conversation summary"


@check
async def returns_id_description_and_summary(world: World) -> None:
    done = await world.filled()
    assert done.id == str(UUID(done.id))
    assert UUID(done.id).version == 4
    assert done.description
    assert done.summary


@check
async def reads_all_of_a_long_text(world: World) -> None:
    paragraphs = [f"Run {number} of the series ended with a recall of 0.{number:04}." for number in range(4_000)]
    text = "\n\n".join(paragraphs)
    assert count(text) > 40_000
    done = await world.modelled.summarize_context_window(text)
    assert done.status == "consolidated"
    asked = "\n".join(world.server.prompts)
    assert all(paragraph in asked for paragraph in paragraphs)


# Consolidating


@check
async def an_empty_thread_has_nothing_to_summarize(world: World) -> None:
    assert (await world.memory.summarize_conversation("never written")).status == "nothing_to_summarize"


@check
async def shows_the_transcript_with_roles_in_capitals(world: World) -> None:
    await world.modelled.conversational.append(THREAD, conversation())
    await world.modelled.summarize_conversation(THREAD)
    transcript = re.findall(r"^\d+\. \[.*", world.server.prompts[0], re.MULTILINE)
    assert re.match(rf"1\. {STAMP} \[USER\] ", transcript[0])
    assert re.match(r"2\. \[(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\] \[ASSISTANT\] ", transcript[1])
    assert len(transcript) == 30
    shown = [line.partition("] [")[2].partition("] ")[2] for line in transcript]
    assert shown == [message["content"] for message in conversation()]


@check
async def marks_exactly_what_was_summarised(world: World) -> None:
    await world.modelled.conversational.append(THREAD, conversation())

    def arrive() -> None:
        with ricordo.Memory.open(world.url) as other:
            other.conversational.write(THREAD, "user", "I came in between")

    world.server.behaviour = meanwhile(arrive)
    done = await world.modelled.summarize_conversation(THREAD)
    assert done.num_messages_summarized == 30
    assert [message.content for message in await world.memory.conversational.list(THREAD)] == ["I came in between"]


@check
async def a_second_call_finds_nothing(world: World) -> None:
    await world.filled()
    again = await world.memory.summarize_conversation(THREAD)
    assert (again.status, again.num_messages_summarized) == ("nothing_to_summarize", 0)
    assert len(await world.memory.summary.list(THREAD)) == 1


# The agent's verbs


@check
async def expands_in_the_published_form(world: World) -> None:
    done = await world.filled()
    originals = await world.memory.read_conversations_by_summary_id(done.id or "")
    assert str(await world.memory.expand_summary(done.id or "")) == f"## Summary Context\n{done.summary}\n\n{originals}"


@check
async def answers_a_malformed_id_kindly(world: World) -> None:
    found = await world.memory.expand_summary("xxx")
    assert not found.found
    assert "## Summary Context\n(summary not found)\n\n" in found.text
    assert "ORIGINAL MESSAGES:\n(no result)" in found.text


@check
async def answers_the_agent_in_the_published_words(world: World) -> None:
    await world.memory.conversational.append(THREAD, conversation())
    stored = await world.memory.summarize_and_store(thread_id=THREAD)
    (summary,) = await world.memory.summary.list(THREAD)
    assert stored == f"Stored as [Summary ID: {summary.id}] {summary.description}"
    nothing = await world.memory.summarize_and_store(thread_id=THREAD)
    assert nothing == f"No unsummarized messages found for thread {THREAD}."
    text = "\n\n".join(str(message["content"]) for message in conversation())
    free = await world.memory.summarize_and_store(text)
    assert re.fullmatch(r"Stored as \[Summary ID: [0-9a-f-]{36}\] .+", free)


@check
async def offloading_nothing_returns_the_context(world: World) -> None:
    context = "## Conversation Memory\n\n  nothing of it is stored \n"
    assert await world.memory.offload_to_summary(context, THREAD) == context


@check
async def offloads_in_the_core_form(world: World) -> None:
    await world.memory.conversational.append(THREAD, conversation())
    context = f"## Conversation Memory\n{await world.memory.conversational.read(THREAD)}"
    offloaded = await world.memory.offload_to_summary(context, THREAD)
    (summary,) = await world.memory.summary.list(THREAD)
    assert offloaded == (
        "## Conversation Memory\n"
        "Older conversation content was summarized to reduce context size.\n"
        "Use expand_summary(id) for full detail.\n"
        "\n"
        "## Summary Memory\n"
        f"[Summary ID: {summary.id}] {summary.description}"
    )


@check
async def offloading_keeps_the_other_segments(world: World) -> None:
    await world.memory.conversational.append(THREAD, conversation())
    said = await world.memory.conversational.read(THREAD)
    context = f"# Question\nWhat now?\n\n## Conversation Memory\n{said}\n\n## Notes\nLuca prefers tea.\n- twice a day"
    offloaded = await world.memory.offload_to_summary(context, THREAD)
    parts = ("# Question\nWhat now?\n\n", "## Conversation Memory\n", "## Notes\nLuca prefers tea.\n- twice a day\n\n")
    places = [offloaded.index(part) for part in (*parts, "## Summary Memory\n[Summary ID: ")]
    assert places == sorted(places)
    assert "CONVERSATION HISTORY" not in offloaded


# The acceptance story


@check
async def thirty_messages_are_ok(world: World) -> None:
    await world.memory.conversational.append(THREAD, conversation())
    usage = ricordo.monitor_context_window(await world.memory.conversational.read(THREAD, limit=100))
    assert usage["status"] == "ok"
    assert 0 < usage["percent"] < 1


@check
async def thirty_messages_come_back(world: World) -> None:
    done = await world.filled()
    assert done.num_messages_summarized == 30
    page = await world.memory.expand_summary(done.id or "")
    assert [message.message for message in page.messages] == [*conversation()]
    assert len(re.findall(rf"^{STAMP} \w+: ", str(page), re.MULTILINE)) == 30


@check
async def sql_counts_nought_and_thirty(world: World) -> None:
    await world.filled()
    with psycopg.connect(world.url) as connection:
        connection.execute("SET ricordo.namespace = 'default'")
        counts = connection.execute(
            "SELECT COUNT(*) FILTER (WHERE summary_id IS NULL), COUNT(*) FILTER (WHERE summary_id IS NOT NULL) "
            "FROM ricordo.conversational_memory WHERE thread_id = %s",
            [THREAD],
        ).fetchone()
    assert counts == (0, 30)


@check
async def only_new_messages_are_read_afterwards(world: World) -> None:
    await world.filled()
    await world.memory.conversational.write(THREAD, "user", "Where were we?")
    shown = await world.memory.conversational.read(THREAD)
    assert shown.count("] user: ") == 1
    assert shown.endswith("] user: Where were we?")
