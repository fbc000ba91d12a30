from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from ricordo import AsyncMemory, Memory, Policy
from ricordo.consolidation.draft import Draft, Line
from ricordo.consolidation.source import Chunk
from ricordo.tokens import count
from ricordo.types import RawMessage
from tests.support import conversation, fill_thread

REPORT = "".join(f"row {n}: /srv/data/file{n}.txt INV-2026-{n:04} paid {n * 7} euro\n" for n in range(300))
QUESTION: RawMessage = {"role": "user", "content": "And what does the next one say?"}


def lookup(id: str, output: Any, *, name: str = "report", arguments: str = '{"year": 2026}') -> list[RawMessage]:
    """Return a turn in which a tool is called."""
    function = {"name": name, "arguments": arguments}
    return [
        {"role": "user", "content": f"Please look up {id}."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": id, "content": output},
        {"role": "assistant", "content": f"I have read {id}."},
    ]


class Reading:
    """A summariser that keeps what it was given to read."""

    name = "reading"
    window = 100_000

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}

    async def summarise(self, chunk: Chunk, *, budget: int) -> Draft:
        self.texts |= {message.number: message.text for message in chunk.messages}
        line = Line(section="technical", text="The talk is about a report.", sources=(1,))
        return Draft(description="A talk about a report that was read", lines=(line,))


async def live_tokens(memory: AsyncMemory) -> int:
    thread = await memory.conversational.thread("t")
    assert thread is not None
    return thread.live_tokens


async def test_an_old_result_is_shown_by_its_preview_and_kept_byte_for_byte(memory: AsyncMemory) -> None:
    await memory.conversational.append("t", [*lookup("a", REPORT), QUESTION])
    before = await memory.conversational.list("t")
    tokens = await live_tokens(memory)
    pruning = await memory.prune("t")
    after = await memory.conversational.list("t")
    assert (pruning.count, len(pruning.log_ids)) == (1, 1)
    assert pruning.freed_tokens > before[2].tokens * 0.9
    assert await live_tokens(memory) == tokens - pruning.freed_tokens == sum(one.window_tokens for one in after)
    assert [replace(one, preview=None, window_tokens=one.tokens) for one in after] == list(before)
    assert after[2].preview is not None
    assert f'read_tool_log("{pruning.log_ids[0]}")' in after[2].preview
    assert (await memory.verify()).ok


async def test_every_rendering_of_the_window_shows_the_preview(memory: AsyncMemory) -> None:
    await memory.conversational.append("t", [*lookup("a", REPORT), QUESTION])
    (id,) = (await memory.prune("t")).log_ids
    for text in (await memory.conversational.read("t"), (await memory.window("t", "q")).render()):
        assert f'read_tool_log("{id}")' in text
        assert "row 150:" not in text
    assert (await memory.monitor("t")).tokens == await live_tokens(memory)
    assert len((await memory.window("t", budget=1000)).render()) > 500


async def test_the_log_of_a_result_says_what_was_called_and_reads_all_of_it(memory: AsyncMemory) -> None:
    await memory.conversational.append("t", [*lookup("a", REPORT), QUESTION])
    (id,) = (await memory.prune("t")).log_ids
    log = await memory.tool_log.get(id)
    messages = await memory.conversational.list("t")
    assert (log.tool_name, log.call_id, log.tool_input, log.tool_output) == ("report", "a", {"year": 2026}, None)
    assert (log.message_id, log.timestamp, log.preview) == (messages[2].id, messages[2].timestamp, messages[2].preview)
    page = await memory.read_tool_log(id, max_tokens=100_000)
    assert page.output == REPORT
    assert 'report({"year": 2026}) -> success' in await memory.tool_log.read("t")
    hits = await memory.read_tool_log(id, "INV-2026-0123", max_tokens=200)
    assert hits.output.splitlines()[1].startswith("row 123:")


async def test_the_newest_turn_and_what_is_short_stay_whole(memory: AsyncMemory) -> None:
    await memory.conversational.append("t", [*lookup("a", "short"), *lookup("b", REPORT)])
    assert (await memory.prune("t")).count == 0
    await memory.conversational.append("t", [QUESTION])
    assert (await memory.prune("t")).count == 1
    assert (await memory.prune("t")).count == 0
    assert (await memory.prune("nobody")).count == 0


async def test_anthropic_results_in_one_message_are_one_log(memory: AsyncMemory) -> None:
    calls = [{"type": "tool_use", "id": id, "name": f"read_{id}", "input": {"id": id}} for id in ("a", "b")]
    results = [{"type": "tool_result", "tool_use_id": id, "content": REPORT, "is_error": id == "b"} for id in "ab"]
    turn: list[RawMessage] = [
        {"role": "user", "content": "Read both."},
        {"role": "assistant", "content": calls},
        {"role": "user", "content": results},
        {"role": "assistant", "content": "Both say the same."},
    ]
    await memory.conversational.append("t", [*turn, QUESTION])
    (id,) = (await memory.prune("t")).log_ids
    log = await memory.tool_log.get(id)
    assert (log.tool_name, log.call_id, log.status) == ("read_a, read_b", None, "error")
    assert log.tool_input == [{"id": "a"}, {"id": "b"}]
    assert (await memory.conversational.list("t"))[2].message == {"role": "user", "content": results}


@pytest.mark.parametrize("arguments", ["", "not json", '{"a": NaN}', "[" * 500 + "]" * 500, '{"a": "\\ud800\\u0000"}'])
async def test_j6_arguments_that_are_no_json_are_kept_as_they_are(memory: AsyncMemory, arguments: str) -> None:
    await memory.conversational.append("t", [*lookup("a\x00", REPORT, name="x\x00y", arguments=arguments), QUESTION])
    (id,) = (await memory.prune("t")).log_ids
    log = await memory.tool_log.get(id)
    assert log.tool_input == ({"a": "\ud800\x00"} if "ud800" in arguments else arguments)
    assert (log.tool_name, log.call_id) == ("x\ufffdy", "a\\0000")
    assert (await memory.verify()).ok


async def test_p1_expansions_and_summaries_use_the_whole_original(database_url: str) -> None:
    reading = Reading()
    async with await AsyncMemory.open(database_url, model=reading) as memory:
        await memory.conversational.append("t", [*lookup("a", REPORT), *conversation(6)])
        await memory.prune("t")
        result = await memory.summarize_conversation("t")
        assert (result.status, result.num_messages_summarized) == ("consolidated", 16)
        assert reading.texts[3] == REPORT
        page = await memory.expand_summary(str(result.id), max_tokens=100_000)
        assert page.messages[2].message == lookup("a", REPORT)[2]
        assert "row 150:" in str(page)
        assert "row 150:" in str(await memory.expand_summary(str(result.id), "row 150", max_tokens=100_000))
        assert await live_tokens(memory) == 0
        assert (await memory.verify()).ok


async def test_p9_what_was_brought_back_is_neither_shortened_nor_read_again(database_url: str) -> None:
    reading = Reading()
    async with await AsyncMemory.open(database_url, model=reading) as memory:
        await fill_thread(memory, "t", turns=8)
        first = await memory.summarize_conversation("t")
        opened = str(await memory.expand_summary(str(first.id)))
        log = await memory.tool_log.write("t", "report", None, REPORT)
        read = str(await memory.read_tool_log(log))
        turns = [
            *lookup("x", opened, name="expand_summary", arguments=f'{{"summary_id": "[Summary ID: {first.id}] x"}}'),
            *lookup("y", read, name="mcp__ricordo__read_tool_log", arguments=f'{{"id": "{log}"}}'),
            *lookup("z", REPORT),
        ]
        await memory.conversational.append("t", [*turns, QUESTION])
        assert (await memory.prune("t")).count == 1
        reading.texts.clear()
        second = await memory.summarize_conversation("t")
        assert second.num_messages_summarized == 12
        assert reading.texts[3] == f"[what expand_summary brought back stands under {first.id} and is left out here]"
        assert (
            reading.texts[7]
            == f"[what mcp__ricordo__read_tool_log brought back stands under {log} and is left out here]"
        )
        assert reading.texts[11] == REPORT
        page = await memory.expand_summary(str(second.id), max_tokens=100_000)
        assert page.messages[2].message["content"] == opened
        assert (await memory.verify()).ok


async def test_p9_beside_other_results_in_a_message_only_what_was_brought_back_is_left_out(database_url: str) -> None:
    reading = Reading()
    names = {"a": "expand_summary", "b": "report"}
    calls: list[RawMessage] = [{"type": "tool_use", "id": id, "name": name, "input": {}} for id, name in names.items()]
    results = [{"type": "tool_result", "tool_use_id": id, "content": f"{id} " + REPORT} for id in names]
    async with await AsyncMemory.open(database_url, model=reading) as memory:
        turn: list[RawMessage] = [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
        await memory.conversational.append("t", [{"role": "user", "content": "x"}, *turn, *conversation(3)])
        assert (await memory.prune("t")).count == 0
        assert (await memory.summarize_conversation("t")).status == "consolidated"
        assert reading.texts[3].startswith("[what expand_summary brought back stands under its own id")
        assert "b row 0:" in reading.texts[3]
        assert "a row 0:" not in reading.texts[3]


async def test_two_that_prune_at_once_shorten_each_result_once(database_url: str) -> None:
    async with await AsyncMemory.open(database_url) as one, await AsyncMemory.open(database_url) as two:
        turns = [message for n in range(8) for message in lookup(f"c{n}", REPORT)]
        await one.conversational.append("t", [*turns, QUESTION])
        done = await asyncio.gather(one.prune("t"), two.prune("t"), one.prune("t"))
        assert sum(pruning.count for pruning in done) == 8
        assert len(await one.tool_log.list("t")) == 8
        assert (await one.verify()).ok


async def test_g1_pruning_and_consolidating_at_once_keep_the_counters_right(database_url: str) -> None:
    async with await AsyncMemory.open(database_url) as writer:

        class Pruning(Reading):
            async def summarise(self, chunk: Chunk, *, budget: int) -> Draft:
                assert (await writer.prune("t")).count == 1
                await writer.conversational.append("t", [QUESTION])
                return await super().summarise(chunk, budget=budget)

        async with await AsyncMemory.open(database_url, model=Pruning()) as memory:
            await memory.conversational.append("t", [*lookup("a", REPORT), *conversation(6)])
            assert (await memory.summarize_conversation("t")).status == "consolidated"
            (message,) = await memory.conversational.list("t")
            assert await live_tokens(memory) == message.tokens
            assert (await memory.verify()).ok


async def test_verify_notices_a_log_that_is_gone_or_another_messages(memory: AsyncMemory, admin_url: str) -> None:
    await memory.conversational.append("t", [*lookup("a", REPORT), *lookup("b", REPORT), QUESTION])
    await memory.prune("t")
    with psycopg.connect(admin_url) as connection:
        connection.execute("UPDATE ricordo.conversational_memory SET window_tokens = window_tokens + 1 WHERE seq = 3")
    assert {fault.code for fault in (await memory.verify()).faults} == {"counter"}
    with psycopg.connect(admin_url) as connection:
        connection.execute("UPDATE ricordo.conversational_memory SET window_tokens = window_tokens - 1 WHERE seq = 3")
        connection.execute(
            "UPDATE ricordo.conversational_memory SET tool_log_id = (SELECT tool_log_id FROM "
            "ricordo.conversational_memory WHERE seq = 7) WHERE seq = 3"
        )
    (fault,) = (await memory.verify()).faults
    assert (fault.code, fault.seqs) == ("log", (3,))
    with psycopg.connect(admin_url) as connection:
        connection.execute("DELETE FROM ricordo.tool_log_memory")
    (fault,) = (await memory.verify()).faults
    assert (fault.code, fault.seqs) == ("log", (3, 7))


async def test_forgetting_a_shortened_message_takes_its_log_and_keeps_the_counters(memory: AsyncMemory) -> None:
    await memory.conversational.append("t", [*lookup("a", REPORT), QUESTION])
    (id,) = (await memory.prune("t")).log_ids
    message = (await memory.conversational.list("t"))[2]
    await memory.forget(messages=[message.id])
    assert not (await memory.read_tool_log(id)).found
    assert (await memory.verify()).ok


def test_the_synchronous_face_prunes(database_url: str) -> None:
    with Memory.open(database_url, policy=Policy(prune_above_tokens=100)) as memory:
        memory.conversational.append("t", [*lookup("a", "word " * 300), QUESTION])
        pruning = memory.prune("t")
        assert pruning.count == 1
        assert 'read_tool_log("' in memory.conversational.read("t")
        assert count(memory.conversational.read("t")) < 400
