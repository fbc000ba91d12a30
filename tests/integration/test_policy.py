from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from ricordo import AsyncMemory, Memory, Policy
from ricordo.consolidation.draft import Draft, Line
from ricordo.consolidation.source import Chunk
from ricordo.errors import ConfigurationError, InvalidInputError, ModelError, ModelUnavailableError
from ricordo.testing import ModelServer, empty, fail
from ricordo.tokens import MODEL_TOKEN_LIMITS
from ricordo.types import RawMessage
from tests.support import conversation, fill_thread

REPORT = "".join(f"row {n}: /srv/data/file{n}.txt INV-2026-{n:04} paid {n * 7} euro\n" for n in range(100))
SMALL = "small-window"


@pytest.fixture(autouse=True)
def small_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose window is 4,000 tokens."""
    monkeypatch.setitem(MODEL_TOKEN_LIMITS, SMALL, 4_000)


class Counting:
    """A summariser that counts how often it is asked."""

    name = "counting"
    window = 100_000

    def __init__(self, error: Exception | None = None) -> None:
        self.calls = 0
        self._error = error

    async def summarise(self, chunk: Chunk, *, budget: int) -> Draft:
        self.calls += 1
        if self._error:
            raise self._error
        line = Line(section="technical", text="The talk is about a corpus.", sources=(1,))
        return Draft(description="A talk about the corpus and how it was measured", lines=(line,))


def turn_with_report(id: str) -> list[RawMessage]:
    function = {"name": "report", "arguments": "{}"}
    return [
        {"role": "user", "content": f"Please read report {id}."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": id, "content": REPORT},
        {"role": "assistant", "content": f"Report {id} is read."},
    ]


async def test_a_thread_has_the_memorys_policy_until_it_has_its_own(memory: AsyncMemory, database_url: str) -> None:
    own = Policy(warn_percent=10, target_percent=20, keep_recent_turns=3, prune_above_tokens=None)
    assert await memory.policy("t") == Policy()
    await memory.set_policy("t", own)
    assert await memory.policy("t") == own
    assert await memory.policy("other") == Policy()
    async with await AsyncMemory.open(database_url, policy=Policy(keep_recent_turns=9)) as second:
        assert await second.policy("t") == own
        assert (await second.policy("other")).keep_recent_turns == 9
        await second.set_policy("t", None)
    assert await memory.policy("t") == Policy()
    assert (await memory.verify()).ok


async def test_setting_a_policy_changes_nothing_else_of_a_thread(memory: AsyncMemory) -> None:
    await fill_thread(memory, "t", turns=4)
    before = await memory.conversational.thread("t")
    await memory.set_policy("t", Policy(target_percent=10))
    assert await memory.conversational.thread("t") == before
    await fill_thread(memory, "t", turns=4)
    assert (await memory.verify()).ok
    with pytest.raises(InvalidInputError):
        await memory.set_policy("", Policy())


async def test_a_stored_policy_that_is_out_of_range_is_a_clear_error(memory: AsyncMemory, admin_url: str) -> None:
    await fill_thread(memory, "t", turns=4)
    with psycopg.connect(admin_url) as connection:
        connection.execute("""UPDATE ricordo.thread SET policy = '{"warn_percent": "much"}'""")
    with pytest.raises(ConfigurationError, match="warn_percent"):
        await memory.summarize_conversation("t")


async def test_the_monitor_and_the_window_measure_by_the_threads_own_policy(memory: AsyncMemory) -> None:
    await fill_thread(memory, "t", turns=8)
    assert (await memory.monitor("t", model=SMALL)).status == "ok"
    await memory.set_policy("t", Policy(warn_percent=1, critical_percent=2))
    assert (await memory.monitor("t", model=SMALL)).status == "critical"
    assert (await memory.window("t", budget=4000)).usage.status == "critical"


async def test_by_hand_without_a_target_everything_is_taken(memory: AsyncMemory) -> None:
    await fill_thread(memory, "t", turns=8)
    await memory.conversational.append("t", turn_with_report("a"))
    result = await memory.summarize_conversation("t")
    assert (result.num_messages_summarized, result.pruned, result.freed_tokens) == (20, 0, 0)
    assert await memory.tool_log.list("t") == ()


async def test_the_newest_turns_stay_verbatim_by_wish_or_by_policy(memory: AsyncMemory) -> None:
    for start in (0, 8):
        await fill_thread(memory, "t", turns=8, start=start)
        if start:
            await memory.set_policy("t", Policy(keep_recent_turns=2))
        await memory.summarize_conversation("t", keep_recent_turns=0 if start else 3)
        kept = [message.content for message in await memory.conversational.list("t")]
        assert kept == [str(message["content"]) for message in conversation(8, start=start)][-4 if start else -6 :]
    with pytest.raises(InvalidInputError, match="keep_recent_turns"):
        await memory.summarize_conversation("t", keep_recent_turns=-1)
    with pytest.raises(InvalidInputError, match="overhead_tokens"):
        await memory.summarize_conversation("t", overhead_tokens=-1)


async def test_a_window_below_its_target_is_left_alone_unless_forced(database_url: str) -> None:
    counting = Counting()
    policy = Policy(target_percent=60, keep_recent_turns=1)
    async with await AsyncMemory.open(database_url, model=counting, policy=policy) as memory:
        await fill_thread(memory, "t", turns=8)
        result = await memory.summarize_conversation("t", model=SMALL)
        assert (result.status, counting.calls) == ("below_threshold", 0)
        assert (await memory.summarize_conversation("nobody")).status == "nothing_to_summarize"
        over = await memory.summarize_conversation("t", model=SMALL, overhead_tokens=2000)
        assert (over.status, over.num_messages_summarized) == ("consolidated", 14)
        await fill_thread(memory, "t", turns=8)
        forced = await memory.summarize_conversation("t", model=SMALL, force=True)
        assert (forced.status, forced.num_messages_summarized) == ("consolidated", 18)


async def test_with_a_target_long_results_are_shortened_first_and_that_may_be_enough(database_url: str) -> None:
    counting = Counting()
    async with await AsyncMemory.open(database_url, model=counting, policy=Policy(target_percent=50)) as memory:
        await memory.conversational.append("t", [*turn_with_report("a"), *conversation(3)])
        before = await memory.monitor("t", model=SMALL)
        result = await memory.summarize_conversation("t", model=SMALL)
        after = await memory.monitor("t", model=SMALL)
        assert before.percent > 50 > after.percent
        assert (result.status, result.pruned, counting.calls) == ("below_threshold", 1, 0)
        assert before.tokens - after.tokens == result.freed_tokens
        assert len(await memory.conversational.list("t")) == 10
        assert (await memory.verify()).ok


async def test_with_a_target_what_pruning_cannot_reach_is_summarised_then(memory: AsyncMemory) -> None:
    await memory.set_policy("t", Policy(target_percent=15, keep_recent_turns=1))
    await memory.conversational.append("t", [*turn_with_report("a"), *conversation(8)])
    result = await memory.summarize_conversation("t", model=SMALL)
    assert (result.status, result.pruned, result.num_messages_summarized) == ("consolidated", 1, 18)
    assert (await memory.monitor("t", model=SMALL)).percent <= 15
    assert (await memory.verify()).ok


async def test_what_the_provider_reported_counts_towards_the_target(memory: AsyncMemory) -> None:
    await memory.set_policy("t", Policy(target_percent=50, keep_recent_turns=1))
    await fill_thread(memory, "t", turns=8)
    assert (await memory.summarize_conversation("t", model=SMALL)).status == "below_threshold"
    await memory.conversational.observe_usage("t", {"prompt_tokens": 2500, "completion_tokens": 1}, model=SMALL)
    assert (await memory.summarize_conversation("t")).status == "consolidated"


async def test_d1_a_system_prompt_larger_than_the_window_is_named_without_a_model_call(database_url: str) -> None:
    counting = Counting()
    async with await AsyncMemory.open(database_url, model=counting, policy=Policy(target_percent=50)) as memory:
        await memory.conversational.write("t", "system", "Always be exact. " * 1250)
        assert (await memory.monitor("t", model=SMALL)).status == "critical"
        for turn in range(5):
            await fill_thread(memory, "t", turns=1, start=turn)
            result = await memory.summarize_conversation("t", model=SMALL)
            assert result.status == "floor_above_target"
            assert "what must stay has 5" in result.detail
        assert (counting.calls, await memory.summary.list("t")) == (0, ())


async def test_d1_a_kept_tail_larger_than_the_target_is_named_without_a_model_call(database_url: str) -> None:
    counting = Counting()
    policy = Policy(target_percent=10, keep_recent_tokens=500)
    async with await AsyncMemory.open(database_url, model=counting, policy=policy) as memory:
        await fill_thread(memory, "t", turns=10)
        assert (await memory.summarize_conversation("t", model=SMALL)).status == "floor_above_target"
        assert counting.calls == 0


async def test_a_gain_below_the_policys_minimum_is_not_worthwhile(database_url: str) -> None:
    counting = Counting()
    async with await AsyncMemory.open(database_url, model=counting) as memory:
        await memory.set_policy("t", Policy(minimum_gain_tokens=5000))
        await fill_thread(memory, "t", turns=8)
        assert (await memory.summarize_conversation("t")).status == "not_worthwhile"
        assert counting.calls == 0


async def test_d8_a_summariser_that_always_fails_is_asked_once_a_turn_and_leaves_nothing_behind(
    database_url: str,
) -> None:
    counting = Counting(ModelUnavailableError("overloaded"))
    async with await AsyncMemory.open(database_url, model=counting) as memory:
        for turn in range(10):
            await fill_thread(memory, "t", turns=1, start=turn)
            with pytest.raises(ModelError, match="overloaded"):
                await memory.summarize_conversation("t")
            assert counting.calls == turn + 1
        assert await memory.summary.list("t") == ()
        assert len(await memory.conversational.list("t")) == 20
        assert (await memory.verify()).ok


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A model server on this machine, which the memory's model is served by."""
    with ModelServer() as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield running


async def test_d8_a_server_that_fails_is_asked_a_bounded_number_of_times(
    database_url: str, models: ModelServer
) -> None:
    models.behaviour = fail(503)
    async with await AsyncMemory.open(database_url, model="gpt-5-mini") as memory:
        for turn in range(10):
            await fill_thread(memory, "t", turns=1, start=turn)
            with pytest.raises(ModelUnavailableError):
                await memory.summarize_conversation("t")
        assert len(models.requests) <= 10 * 3
        assert await memory.summary.list("t") == ()


async def test_d8_a_server_that_answers_nothing_costs_three_calls_and_stores_no_empty_summary(
    database_url: str, models: ModelServer
) -> None:
    models.behaviour = empty()
    async with await AsyncMemory.open(database_url, model="gpt-5-mini") as memory:
        for turn in range(10):
            await fill_thread(memory, "t", turns=1, start=turn)
            result = await memory.summarize_conversation("t")
            assert result.model_calls <= 3
        assert len(models.requests) <= 10 * 3
        for summary in await memory.summary.list("t"):
            assert summary.items
            assert summary.description
        assert (await memory.verify()).ok


def test_the_synchronous_face_has_policies(database_url: str) -> None:
    with Memory.open(database_url) as memory:
        memory.set_policy("t", Policy(keep_recent_turns=2))
        assert memory.policy("t").keep_recent_turns == 2
