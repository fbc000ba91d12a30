from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import psycopg
import pytest

from ricordo import AsyncMemory, Policy
from ricordo.consolidation.draft import HEADINGS, Draft, Line
from ricordo.consolidation.source import Chunk
from ricordo.errors import InvalidInputError
from tests.support import conversation, fill_thread


class Slow:
    """A summariser of a user's own, which takes its time and can be told to do something meanwhile."""

    name = "slow"
    window = 100_000

    def __init__(self, meanwhile: Any = None) -> None:
        self.calls = 0
        self._meanwhile = meanwhile

    async def summarise(self, chunk: Chunk, *, budget: int) -> Draft:
        self.calls += 1
        await asyncio.sleep(0.3)
        if self._meanwhile:
            await self._meanwhile()
        numbers = tuple(message.number for message in chunk.messages[:2])
        line = Line(section="technical", text="The talk is about a corpus.", sources=numbers)
        return Draft(description="A talk about the corpus and how it was measured", lines=(line,))


async def test_a_conversation_becomes_a_summary_with_its_messages_marked(memory: AsyncMemory) -> None:
    await fill_thread(memory, "t", turns=15)
    result = await memory.summarize_conversation("t")
    assert result.status == "consolidated"
    assert result.num_messages_summarized == 30
    assert [line for line in result.summary.splitlines() if line.startswith("#")] == list(HEADINGS.values())
    assert result.tokens < result.source_tokens
    assert result.reference == f"[Summary ID: {result.id}] {result.description}"
    assert 1 <= len(result.description.split()) <= 12
    thread = await memory.conversational.thread("t")
    assert thread is not None
    assert (thread.messages, thread.live_messages, thread.live_tokens, thread.summaries) == (30, 0, 0, 1)
    assert (await memory.conversational.read("t", limit=100)).endswith("(no result)")
    assert (await memory.verify()).ok


async def test_nothing_is_processed_twice(memory: AsyncMemory, database_url: str) -> None:
    await fill_thread(memory, "t", turns=15)
    first = await memory.summarize_conversation("t")
    assert (await memory.summarize_conversation("t")).status == "nothing_to_summarize"
    await fill_thread(memory, "t", turns=5)
    second = await memory.summarize_conversation("t")
    assert second.num_messages_summarized == 10
    with psycopg.connect(database_url) as connection:
        connection.execute("SET LOCAL ricordo.namespace = 'default'")
        rows = connection.execute(
            "SELECT summary_id::text, count(*), min(seq) FROM ricordo.conversational_memory GROUP BY 1 ORDER BY 3"
        ).fetchall()
    assert rows == [(first.id, 30, 1), (second.id, 10, 31)]


async def test_an_unknown_thread_has_nothing_to_summarize(memory: AsyncMemory) -> None:
    assert (await memory.summarize_conversation("nobody")).status == "nothing_to_summarize"


async def test_f6_the_recent_part_stays_live(memory: AsyncMemory) -> None:
    await fill_thread(memory, "t", turns=15)
    result = await memory.summarize_conversation("t", keep_recent_tokens=300)
    live = await memory.conversational.list("t")
    assert result.num_messages_summarized + len(live) == 30
    assert sum(message.tokens for message in live) >= 300
    assert sum(message.tokens for message in live[1:]) < 300
    with pytest.raises(InvalidInputError):
        await memory.summarize_conversation("t", keep_recent_tokens=-1)


async def test_d3_a_short_history_is_left_alone(memory: AsyncMemory) -> None:
    await memory.conversational.write("t", "user", " ".join(["word"] * 20))
    await memory.conversational.write("t", "assistant", " ".join(["word"] * 20))
    assert (await memory.summarize_conversation("t")).status == "not_worthwhile"
    assert len(await memory.conversational.list("t")) == 2


async def test_c5_the_question_just_asked_stays_last_and_verbatim(memory: AsyncMemory) -> None:
    await fill_thread(memory, "t", turns=8)
    await memory.conversational.write("t", "user", "What is 17*3?" + " " * 4000)
    await memory.summarize_conversation("t")
    (message,) = await memory.conversational.list("t")
    assert message.content.startswith("What is 17*3?")


async def test_c3_system_messages_stay_first_and_unmarked(memory: AsyncMemory) -> None:
    await memory.conversational.write("t", "system", "You are terse.")
    await fill_thread(memory, "t", turns=20)
    await memory.conversational.write("t", "user", "Never forget: the code word is Ossobuco.", pinned=True)
    await memory.conversational.write("t", "assistant", "I will not.")
    assert (await memory.summarize_conversation("t")).num_messages_summarized == 41
    live = await memory.conversational.list("t")
    assert [message.role for message in live] == ["system", "user"]
    assert live[0].message == {"role": "system", "content": "You are terse."}


async def test_f1_all_of_a_long_transcript_is_read(database_url: str) -> None:
    class Counting(Slow):
        window = 1_000
        seen: list[str]

        async def summarise(self, chunk: Chunk, *, budget: int) -> Draft:
            self.seen += [message.text for message in chunk.messages]
            return await super().summarise(chunk, budget=budget)

    counting = Counting()
    counting.seen = []
    async with await AsyncMemory.open(database_url, model=counting) as memory:
        await fill_thread(memory, "t", turns=60)
        await memory.conversational.write("t", "assistant", "The last word: zx-4471.")
        assert (await memory.summarize_conversation("t")).num_messages_summarized == 121
    assert counting.seen == [*(str(m["content"]) for m in conversation(60)), "The last word: zx-4471."]


async def test_b3_one_message_larger_than_any_chunk_is_read_whole(database_url: str) -> None:
    class Reading(Slow):
        window = 500
        parts: list[str]

        async def summarise(self, chunk: Chunk, *, budget: int) -> Draft:
            self.parts += [message.text for message in chunk.messages if message.number == 4]
            return await super().summarise(chunk, budget=budget)

    reading = Reading()
    reading.parts = []
    text = " ".join(f"row {number} of the table holds {number * 7}" for number in range(2_000))
    async with await AsyncMemory.open(database_url, model=reading) as memory:
        await fill_thread(memory, "t", turns=1)
        await memory.conversational.append(
            "t",
            [
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
                },
                {"role": "tool", "tool_call_id": "c", "content": text},
                {"role": "assistant", "content": "Done."},
            ],
        )
        result = await memory.summarize_conversation("t")
        assert result.num_messages_summarized == 5
        for part in reading.parts:
            assert part in text
        assert {word for part in reading.parts for word in part.split()} == set(text.split())
        expanded = await memory.expand_summary(str(result.id), max_tokens=200_000)
        assert expanded.messages[3].message["content"] == text


async def test_g1_messages_that_arrive_during_the_model_call_stay_live(database_url: str) -> None:
    async with await AsyncMemory.open(database_url) as writer:

        async def meanwhile() -> None:
            await writer.conversational.write("t", "user", "I came in between.")

        async with await AsyncMemory.open(database_url, model=Slow(meanwhile)) as memory:
            await fill_thread(memory, "t", turns=8)
            result = await memory.summarize_conversation("t")
            assert result.num_messages_summarized == 16
            assert [m.content for m in await memory.conversational.list("t")] == ["I came in between."]
            assert (await memory.verify()).ok


async def test_g4_two_at_once_pay_once_and_make_one_summary(database_url: str) -> None:
    slow = Slow()
    async with (
        await AsyncMemory.open(database_url, model=slow) as one,
        await AsyncMemory.open(database_url, model=slow) as two,
    ):
        await fill_thread(one, "t", turns=8)
        results = await asyncio.gather(*(m.summarize_conversation("t") for m in (one, two, one, two)))
        assert sorted(result.status for result in results) == ["busy", "busy", "busy", "consolidated"]
        assert slow.calls == 1
        assert len(await one.summary.list("t")) == 1
        assert (await one.verify()).ok


CONSOLIDATOR = """
import asyncio, sys
from ricordo import AsyncMemory
sys.path.insert(0, sys.argv[2])
from tests.integration.test_consolidation import Slow

async def main():
    slow = Slow()
    async with await AsyncMemory.open(sys.argv[1], model=slow) as memory:
        print((await memory.summarize_conversation("t")).status, slow.calls)

asyncio.run(main())
"""


async def test_g4_two_processes_pay_once(memory: AsyncMemory, database_url: str, pytestconfig: pytest.Config) -> None:
    await fill_thread(memory, "t", turns=8)
    command = [sys.executable, "-c", CONSOLIDATOR, database_url, str(pytestconfig.rootpath)]
    processes = [await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE) for _ in range(3)]
    said = [(await process.communicate())[0].decode().split() for process in processes]
    assert sum(int(calls) for _, calls in said) == 1
    assert [status for status, _ in said].count("consolidated") == 1
    assert {status for status, _ in said} <= {"consolidated", "busy", "nothing_to_summarize"}
    assert len(await memory.summary.list("t")) == 1


async def test_f19_a_source_that_changed_supersedes_the_summary(database_url: str, admin_url: str) -> None:
    async def meanwhile() -> None:
        with psycopg.connect(admin_url) as connection:
            connection.execute("UPDATE ricordo.conversational_memory SET metadata = '{\"a\": 1}' WHERE seq = 3")

    async with await AsyncMemory.open(database_url, model=Slow(meanwhile)) as memory:
        await fill_thread(memory, "t", turns=8)
        assert (await memory.summarize_conversation("t")).status == "superseded"
        assert await memory.summary.list("t") == ()
        assert len(await memory.conversational.list("t")) == 16


async def test_a_lease_that_was_lost_supersedes_the_summary(database_url: str, admin_url: str) -> None:
    async def meanwhile() -> None:
        with psycopg.connect(admin_url) as connection:
            connection.execute("UPDATE ricordo.thread SET lease_token = gen_random_uuid()")

    async with await AsyncMemory.open(database_url, model=Slow(meanwhile)) as memory:
        await fill_thread(memory, "t", turns=8)
        assert (await memory.summarize_conversation("t")).status == "superseded"
        assert await memory.summary.list("t") == ()


async def test_a_lease_ends_when_its_holder_is_gone(
    database_url: str, admin_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await AsyncMemory.open(database_url) as memory:
        await fill_thread(memory, "t", turns=8)
        with psycopg.connect(admin_url) as connection:
            connection.execute("UPDATE ricordo.thread SET lease_token = gen_random_uuid(), lease_until = now() + '1 h'")
        assert (await memory.summarize_conversation("t")).status == "busy"
        with psycopg.connect(admin_url) as connection:
            connection.execute("UPDATE ricordo.thread SET lease_until = now() - interval '1 s'")
        assert (await memory.summarize_conversation("t")).status == "consolidated"


async def test_a_lease_is_renewed_while_the_model_works(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_LEASE_SECONDS", "1")

    class VerySlow(Slow):
        async def summarise(self, chunk: Chunk, *, budget: int) -> Draft:
            await asyncio.sleep(2.5)
            return await super().summarise(chunk, budget=budget)

    slow = VerySlow()
    async with (
        await AsyncMemory.open(database_url, model=slow) as one,
        await AsyncMemory.open(database_url, model=Slow()) as two,
    ):
        await fill_thread(one, "t", turns=8)
        running = asyncio.create_task(one.summarize_conversation("t"))
        await asyncio.sleep(2)
        assert (await two.summarize_conversation("t")).status == "busy"
        assert (await running).status == "consolidated"


async def test_a_cancelled_consolidation_leaves_everything_as_it_was(database_url: str) -> None:
    async with await AsyncMemory.open(database_url, model=Slow()) as memory:
        await fill_thread(memory, "t", turns=8)
        running = asyncio.create_task(memory.summarize_conversation("t"))
        await asyncio.sleep(0.15)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await memory.summary.list("t") == ()
        assert (await memory.summarize_conversation("t")).status == "consolidated"


async def test_b1_a_summarisers_error_surfaces_and_nothing_is_stored(database_url: str) -> None:
    class Failing(Slow):
        async def summarise(self, chunk: Chunk, *, budget: int) -> Draft:
            raise RuntimeError("rate limit")

    async with await AsyncMemory.open(database_url, model=Failing()) as memory:
        await fill_thread(memory, "t", turns=8)
        with pytest.raises(RuntimeError, match="rate limit"):
            await memory.summarize_conversation("t")
        assert await memory.summary.list("t") == ()
        assert len(await memory.conversational.list("t")) == 16
    async with await AsyncMemory.open(database_url) as memory:
        assert (await memory.summarize_conversation("t")).status == "consolidated"


async def test_a_line_without_ground_is_dropped_and_recorded(database_url: str) -> None:
    class Inventing(Slow):
        async def summarise(self, chunk: Chunk, *, budget: int) -> Draft:
            true = Line(section="technical", text="We index 4,200 abstracts of arXiv.", sources=(1,))
            false = Line(section="technical", text="We index 9,999 abstracts of arXiv.", sources=(1,))
            nowhere = Line(section="actions", text="Anna Ferrari pays.", sources=(77,))
            return Draft(
                description="Indexing of arXiv abstracts with chunks and a reranker", lines=(true, false, nowhere)
            )

    async with await AsyncMemory.open(database_url, model=Inventing()) as memory:
        await fill_thread(memory, "t", turns=8)
        result = await memory.summarize_conversation("t")
        assert result.dropped_lines == 2
        assert "4,200" in result.summary
        assert "9,999" not in result.summary
        assert "Anna Ferrari pays" not in result.summary
        summary = await memory.summary.get(str(result.id))
        dropped = [item for item in summary.items if item.check == "dropped"]
        assert [item.faults for item in dropped] != [(), ()]
        assert all(item.faults for item in dropped)


async def test_every_line_of_a_stored_summary_cites_messages_of_its_range(memory: AsyncMemory) -> None:
    await memory.conversational.write("t", "system", "You are terse.")
    await fill_thread(memory, "t", turns=15)
    summary = await memory.summary.get(str((await memory.summarize_conversation("t")).id))
    assert summary.items
    assert summary.first_seq == 2
    for item in summary.items:
        assert item.sources
        assert all(2 <= seq <= 31 for seq in item.sources)


async def test_the_monitor_reads_one_row_and_counts_what_the_window_holds(memory: AsyncMemory) -> None:
    empty = await memory.monitor("t")
    assert (empty.tokens, empty.percent, empty.status) == (0, 0.0, "ok")
    await fill_thread(memory, "t", turns=15)
    before = await memory.monitor("t", model="gpt-5-mini")
    live = await memory.conversational.list("t")
    assert before.tokens == sum(message.tokens for message in live)
    assert before.max == 256_000
    result = await memory.summarize_conversation("t")
    after = await memory.monitor("t")
    summary = await memory.summary.get(str(result.id))
    assert after.tokens == summary.reference_tokens < before.tokens
    assert sum(after.segments.values()) == after.tokens


async def test_e9_tool_schemas_and_overhead_count(memory: AsyncMemory) -> None:
    await fill_thread(memory, "t", turns=2)
    tools: list[dict[str, object]] = [
        {"name": f"tool_{n}", "description": "does something " * 20, "parameters": {}} for n in range(50)
    ]
    bare = await memory.monitor("t")
    full = await memory.monitor("t", tools=tools, overhead_tokens=500)
    assert full.segments["overhead"] == 500
    assert full.tokens == bare.tokens + full.segments["tools"] + 500
    assert full.segments["tools"] > 1000


async def test_e12_reported_usage_counts_until_the_window_shrinks(memory: AsyncMemory) -> None:
    await fill_thread(memory, "t", turns=8)
    usage = {"prompt_tokens": 38_196, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 38_153}}
    assert await memory.conversational.observe_usage("t", usage, model="gpt-5-mini") == 38_196
    assert (await memory.monitor("t")).tokens == 38_196
    await fill_thread(memory, "t", turns=1)
    added = sum(message.tokens for message in await memory.conversational.list("t", limit=2))
    assert (await memory.monitor("t")).tokens == 38_196 + added
    await memory.summarize_conversation("t")
    assert (await memory.monitor("t")).tokens < 200


async def test_reported_usage_calibrates_the_estimate_of_the_model(memory: AsyncMemory) -> None:
    await fill_thread(memory, "t", turns=15)
    before = await memory.monitor("t", model="claude-sonnet-4-5")
    for _ in range(10):
        await memory.conversational.observe_usage(
            "t",
            {"input_tokens": before.tokens * 3 // 2, "output_tokens": 1},
            model="claude-sonnet-4-5",
            estimated_tokens=before.tokens,
        )
    await fill_thread(memory, "other", turns=15)
    assert 1.2 < (await memory.monitor("other", model="claude-sonnet-4-5")).tokens / before.tokens < 1.6
    assert (await memory.monitor("other", model="gpt-5-mini")).tokens == before.tokens


async def test_thresholds_are_the_policys(database_url: str) -> None:
    async with await AsyncMemory.open(database_url, policy=Policy(warn_percent=0.1, critical_percent=0.2)) as memory:
        await fill_thread(memory, "t", turns=6)
        assert (await memory.monitor("t")).status == "critical"


async def test_items_are_stored_as_json_that_any_reader_understands(memory: AsyncMemory, database_url: str) -> None:
    await fill_thread(memory, "t", turns=8)
    await memory.summarize_conversation("t")
    with psycopg.connect(database_url) as connection:
        connection.execute("SET LOCAL ricordo.namespace = 'default'")
        row = connection.execute("SELECT items::text FROM ricordo.summary_memory").fetchone()
    assert row is not None
    assert {"section", "text", "sources", "status", "check", "faults"} == set(json.loads(row[0])[0])
