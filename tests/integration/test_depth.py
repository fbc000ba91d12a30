from __future__ import annotations

import json
from itertools import pairwise
from typing import LiteralString

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import AsyncMemory, Policy
from ricordo.consolidation.condense import FAN_IN, Sibling, choose
from ricordo.tokens import count
from tests.support import conversation, fill_thread

SMALL = Policy(reference_percent=0.1)
"""256 tokens of gpt-5-mini's window: about five references."""


@st.composite
def rows_of_siblings(draw: st.DrawFn) -> list[Sibling]:
    found: list[Sibling] = []
    seq = 1
    for number in range(draw(st.integers(0, 40))):
        size = draw(st.integers(1, 50))
        level = draw(st.integers(0, 3))
        found.append(
            Sibling(str(number), level, seq, seq + size - 1, size, 100, 50, draw(st.integers(20, 60)), (), b"")
        )
        seq += size
    return found


@given(rows_of_siblings(), st.integers(0, 1000))
def test_condensing_takes_neighbours_and_ends_within_the_budget_or_with_one_reference(
    siblings: list[Sibling], budget: int
) -> None:
    for _ in range(len(siblings) + 1):
        chosen = choose(siblings, budget)
        if not chosen:
            assert sum(one.reference_tokens for one in siblings) <= budget or len(siblings) < 2
            return
        start = siblings.index(chosen[0])
        assert list(chosen) == siblings[start : start + len(chosen)]
        assert 2 <= len(chosen) <= FAN_IN
        level = max(one.level for one in chosen) + 1
        parent = Sibling("p", level, chosen[0].first_seq, chosen[-1].last_seq, 1, 1, 1, 40, (), b"")
        siblings = [*siblings[:start], parent, *siblings[start + len(chosen) :]]
    raise AssertionError("condensing went on without end")


async def deep(memory: AsyncMemory, rounds: int = 12) -> None:
    for number in range(rounds):
        await fill_thread(memory, "t", turns=4, start=4 * number)
        assert (await memory.summarize_conversation("t")).status == "consolidated"


async def test_f7_references_stay_within_their_budget_and_originals_within_reach(database_url: str) -> None:
    async with await AsyncMemory.open(database_url, policy=SMALL) as memory:
        await deep(memory)
        summaries = await memory.summary.list("t")
        assert sum(one.reference_tokens for one in summaries) <= 256
        assert max(one.level for one in summaries) >= 1
        thread = await memory.conversational.thread("t")
        assert thread is not None
        assert thread.summary_tokens == sum(one.reference_tokens for one in summaries)
        proof = await memory.verify()
        assert proof.ok, proof.faults
        assert proof.covered == 96
        seen: list[int] = []
        for one in summaries:
            cursor = None
            while True:
                page = await memory.expand_summary(one.id, depth="originals", cursor=cursor, max_tokens=2000)
                seen += [message.seq for message in page.messages if message.seq not in seen[-1:]]
                cursor = page.cursor
                if cursor is None:
                    break
        assert seen == list(range(1, 97))
        (first,) = await memory.conversational.list("t", include_covered=True, before=2)
        assert json.dumps(first.message) == json.dumps(conversation(1)[0])


async def test_a_parent_opens_to_its_children_and_they_to_their_messages(database_url: str) -> None:
    async with await AsyncMemory.open(database_url, policy=SMALL) as memory:
        await deep(memory, 8)
        parent = next(one for one in await memory.summary.list("t") if one.level == 1)
        page = await memory.expand_summary(parent.reference)
        assert page.messages == ()
        assert len(page.children) >= 2
        assert all(child.reference in str(page) for child in page.children)
        assert f'expand_summary("{parent.id}", depth="originals")' in str(page)
        assert {child.level for child in page.children} == {0}
        assert page.children[0].first_seq == parent.first_seq
        assert page.children[-1].last_seq == parent.last_seq
        leaf = await memory.expand_summary(page.children[0].id)
        assert len(leaf.messages) == page.children[0].message_count
        found = await memory.expand_summary(parent.id, query="INV-2026-0447")
        assert any("INV-2026-0447" in message.content for message in found.messages)


async def test_a_parents_lines_rest_on_its_childrens_sources(database_url: str) -> None:
    async with await AsyncMemory.open(database_url, policy=SMALL) as memory:
        await deep(memory, 8)
        parent = next(one for one in await memory.summary.list("t") if one.level == 1)
        children = await memory.summary.children(parent.id)
        known = {(line.text, line.sources) for child in children for line in child.items}
        texts = {text for text, _ in known}
        assert parent.items
        for line in parent.items:
            assert line.sources
            assert all(parent.first_seq <= seq <= parent.last_seq for seq in line.sources)  # type: ignore[operator]
            assert any(line.text.removeprefix("User: ").strip("… ") in text for text in texts)
        assert parent.tokens < sum(child.tokens for child in children)
        assert parent.message_count == sum(child.message_count for child in children)


async def test_d6_the_size_of_summaries_does_not_grow_with_the_rounds(database_url: str) -> None:
    async with await AsyncMemory.open(database_url, policy=SMALL) as memory:
        await deep(memory, 30)
        summaries = await memory.summary.list("t")
        assert max(one.tokens for one in summaries) < 2000
        window = await memory.window("t", "What was decided about the budget?", budget=1500)
        assert count(window.render()) <= 1500


async def test_condensing_by_hand_says_when_there_is_nothing_to_do(database_url: str) -> None:
    async with await AsyncMemory.open(database_url) as memory:
        assert (await memory.condense("t")).status == "below_threshold"
        await deep(memory, 4)
        assert (await memory.condense("t")).status == "below_threshold"
        result = await memory.condense("t", budget=60)
        assert result.status == "condensed"
        assert len(await memory.summary.list("t")) == 1
        assert (await memory.condense("t", budget=0)).status == "below_threshold"
        assert (await memory.verify()).ok


DAMAGES: list[tuple[LiteralString, str]] = [
    ("UPDATE ricordo.summary_memory SET content = content || '.' WHERE level = 0 AND parent_id IS NOT NULL", "digest"),
    ("UPDATE ricordo.summary_memory SET first_seq = first_seq + 1 WHERE level = 1", "range"),
    ("UPDATE ricordo.summary_memory SET message_count = message_count + 1 WHERE level = 1", "count"),
    ("UPDATE ricordo.summary_memory SET source_tokens = 0 WHERE level = 1", "tokens"),
    ("UPDATE ricordo.summary_memory SET level = 1 WHERE parent_id IS NOT NULL", "level"),
    ("UPDATE ricordo.summary_memory SET parent_id = NULL WHERE parent_id IS NOT NULL AND first_seq = 1", "count"),
    ("UPDATE ricordo.summary_memory SET parent_id = gen_random_uuid() WHERE first_seq = 1 AND level = 0", "parent"),
    ("DELETE FROM ricordo.summary_memory WHERE level = 1", "parent"),
    ("UPDATE ricordo.summary_memory SET parent_id = id WHERE level = 1", "parent"),
]


@pytest.mark.parametrize(("statement", "code"), DAMAGES, ids=[code + str(n) for n, (_, code) in enumerate(DAMAGES)])
async def test_verify_understands_the_tree(
    database_url: str, admin_url: str, statement: LiteralString, code: str
) -> None:
    async with await AsyncMemory.open(database_url, policy=SMALL) as memory:
        await deep(memory, 7)
        assert (await memory.verify()).ok
        with psycopg.connect(admin_url) as connection:
            connection.execute("SET session_replication_role = replica")
            assert connection.execute(statement).rowcount
        assert code in {fault.code for fault in (await memory.verify()).faults}


@pytest.mark.slow
async def test_a_hundred_thousand_messages_stay_in_a_bounded_window(database_url: str) -> None:
    policy = Policy(reference_percent=0.5)
    budget = 4_000
    async with await AsyncMemory.open(database_url, policy=policy) as memory:
        for number in range(100):
            await fill_thread(memory, "t", turns=500, start=500 * number)
            assert (await memory.summarize_conversation("t")).status == "consolidated"
            window = await memory.window("t", "What was decided about the corpus?", budget=budget)
            assert count(window.render()) <= budget
        summaries = await memory.summary.list("t")
        assert sum(one.reference_tokens for one in summaries) <= 1280
        proof = await memory.verify()
        assert proof.ok, proof.faults
        assert proof.covered == 100_000
        reached = [(one.first_seq, one.last_seq) for one in summaries]
        assert reached[0][0] == 1
        assert reached[-1][1] == 100_000
        assert all(first == before + 1 for (_, before), (first, _) in pairwise(reached) if before is not None)
        for place in (1, 77_777, 100_000):
            (message,) = await memory.conversational.list("t", include_covered=True, before=place + 1, limit=1)
            top = next(one for one in summaries if (one.first_seq or 0) <= place <= (one.last_seq or 0))
            steps = 0
            while top.level:
                top = next(
                    child
                    for child in (await memory.expand_summary(top.id)).children
                    if (child.first_seq or 0) <= place <= (child.last_seq or 0)
                )
                steps += 1
            page = await memory.expand_summary(top.id, cursor=f"{place}:0")
            assert page.messages[0].message == message.message
            assert steps <= max(one.level for one in summaries)
