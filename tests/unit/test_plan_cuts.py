"""The planner at every position where a conversation could be cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.config import Policy
from ricordo.consolidation.plan import REFERENCE_TOKENS, Fact, Plan, Refusal, Target, plan, recent_start
from ricordo.messages import pairs

POLICY = Policy(minimum_source_tokens=1, orphan_after_messages=6)
TOKENS = 50


def user(seq: int) -> Fact:
    return Fact(seq=seq, role="user", tokens=TOKENS, question=True)


def assistant(seq: int, *calls: str) -> Fact:
    return Fact(seq=seq, role="assistant", tokens=TOKENS, calls=calls, tools=("grep",) * len(calls))


def tool(seq: int, *results: str) -> Fact:
    return Fact(seq=seq, role="tool", tokens=TOKENS, results=results)


def every_plan(facts: Sequence[Fact]) -> Iterator[Plan]:
    """Yield the plan for each amount that can be kept: in tokens, one message after another, and in turns."""
    total = sum(fact.window_tokens for fact in facts)
    for tokens in range(0, total + TOKENS, TOKENS):
        for turns in (0, 1, 2):
            decision = plan(facts, POLICY, keep_recent_tokens=tokens, keep_recent_turns=turns)
            if isinstance(decision, Plan):
                yield decision


def assert_whole(facts: Sequence[Fact], decision: Plan) -> None:
    """Fail where a call and its result stand on different sides of the cut."""
    chosen = set(decision.seqs)
    for pair in pairs(facts):
        if pair.result is not None:
            assert (facts[pair.call].seq in chosen) == (facts[pair.result].seq in chosen)


def test_a1_a_parallel_batch_of_ten_is_kept_whole_at_every_cut() -> None:
    batch = [f"call-{n}" for n in range(10)]
    facts = [user(1), assistant(2), user(3), assistant(4, *batch)]
    facts += [tool(5 + n, id) for n, id in enumerate(batch)] + [assistant(15)]
    found = list(every_plan(facts))
    assert found
    for decision in found:
        assert_whole(facts, decision)
    assert {decision.last_seq for decision in found} == {1, 2, 3, 14, 15}


def test_a3_thirty_pairs_in_one_turn_are_kept_whole_at_every_cut() -> None:
    facts = [user(1)]
    for n in range(30):
        facts += [assistant(2 + 2 * n, f"c{n}"), tool(3 + 2 * n, f"c{n}")]
    facts.append(assistant(62))
    found = list(every_plan(facts))
    for decision in found:
        assert_whole(facts, decision)
        assert decision.last_seq % 2 == 1 or decision.last_seq == 62
    assert len({decision.last_seq for decision in found}) == 32


def test_a5_results_that_come_after_other_results_are_paired_by_id() -> None:
    facts = [user(1), assistant(2, "a"), assistant(3, "b"), tool(4, "a"), tool(5, "b"), assistant(6), user(7)]
    for decision in every_plan(facts):
        assert_whole(facts, decision)
        assert decision.last_seq in {1, 5, 6}


def test_a5_results_in_reverse_order_are_paired_by_id() -> None:
    facts = [user(1), assistant(2, "a", "b"), tool(3, "b"), tool(4, "a"), assistant(5), user(6)]
    assert {decision.last_seq for decision in every_plan(facts)} == {1, 4, 5}


def test_a5_an_id_that_a_later_turn_uses_again_belongs_to_that_turn() -> None:
    first = [user(1), assistant(2, "x"), tool(3, "x"), assistant(4)]
    second = [user(5), assistant(6, "x"), tool(7, "x"), assistant(8)]
    assert {decision.last_seq for decision in every_plan([*first, *second])} == {1, 3, 4, 5, 7, 8}


def test_a5_an_id_that_two_open_calls_share_is_answered_in_order() -> None:
    facts = [user(1), assistant(2, "x"), assistant(3, "x"), tool(4, "x"), tool(5, "x"), assistant(6), user(7)]
    for decision in every_plan(facts):
        assert_whole(facts, decision)
    assert {decision.last_seq for decision in every_plan(facts)} == {1, 5, 6}


def test_a5_a_result_that_is_given_twice_holds_nothing_back() -> None:
    facts = [user(1), assistant(2, "x"), tool(3, "x"), tool(4, "x"), assistant(5), user(6), assistant(7)]
    assert {decision.last_seq for decision in every_plan(facts)} == {1, 3, 4, 5, 6, 7}


@pytest.mark.parametrize("later", range(12))
def test_a8_a_call_without_a_result_blocks_until_its_limit_and_then_no_more(later: int) -> None:
    facts = [user(1), assistant(2), user(3), assistant(4, "lost")]
    facts += [user(5 + n) if n % 2 == 0 else assistant(5 + n) for n in range(later)]
    decision = plan(facts, POLICY)
    assert isinstance(decision, Plan)
    assert (decision.last_seq > 4) == (later >= POLICY.orphan_after_messages)


def test_a8_a_late_result_is_found_whatever_lies_between() -> None:
    facts = [user(1), assistant(2, "slow"), *(user(3 + n) for n in range(10)), tool(13, "slow"), assistant(14)]
    for decision in every_plan(facts):
        assert_whole(facts, decision)
        assert decision.last_seq in {1, 13, 14}


@st.composite
def conversations(draw: st.DrawFn) -> list[Fact]:
    facts: list[Fact] = []
    waiting: list[str] = []
    for seq in range(1, draw(st.integers(1, 18))):
        kind = draw(st.sampled_from(["user", "assistant", "call", "result", "system", "pinned"]))
        if kind == "call":
            calls = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=3))
            waiting += calls
            facts.append(assistant(seq, *calls))
        elif kind == "result":
            facts.append(tool(seq, *draw(st.lists(st.sampled_from(waiting or ["a"]), min_size=1, max_size=2))))
        elif kind == "user":
            facts.append(user(seq))
        else:
            role = "system" if kind == "system" else "assistant"
            facts.append(Fact(seq=seq, role=role, tokens=TOKENS, pinned=kind == "pinned"))
    return facts


@settings(deadline=None)
@given(conversations())
def test_a1_a3_a5_a8_no_cut_of_any_conversation_parts_a_call_and_its_result(facts: list[Fact]) -> None:
    for decision in every_plan(facts):
        assert_whole(facts, decision)
        assert not {fact.seq for fact in facts if fact.held} & set(decision.seqs)


@settings(deadline=None)
@given(conversations(), st.integers(0, 4))
def test_the_newest_turns_stay(facts: list[Fact], turns: int) -> None:
    decision = plan(facts, POLICY, keep_recent_turns=turns)
    questions = [fact.seq for fact in facts if fact.question]
    if isinstance(decision, Plan) and turns:
        assert len(questions) >= turns
        assert decision.last_seq < questions[-turns]
    if turns > len(questions):
        assert isinstance(decision, Refusal)


def test_turns_begin_with_the_users_words() -> None:
    facts = [user(1), assistant(2, "a"), tool(3, "a"), assistant(4), user(5), assistant(6)]
    assert [recent_start(facts, 0, turns) for turns in (0, 1, 2, 3)] == [6, 4, 0, 0]
    assert recent_start(facts, 120, 1) == 3
    assert recent_start([], 10, 1) == 0


def test_a_shortened_result_counts_as_what_the_window_shows() -> None:
    short = Fact(seq=3, role="tool", tokens=5000, results=("a",), preview_tokens=60)
    facts = [user(1), assistant(2, "a"), short, assistant(4), user(5)]
    decision = plan(facts, POLICY)
    assert isinstance(decision, Plan)
    assert (decision.tokens, decision.window_tokens) == (5150, 210)
    assert recent_start(facts, 150, 0) == 2


def reason(decision: Plan | Refusal) -> str:
    return decision.reason if isinstance(decision, Refusal) else "plan"


TALK = [user(1), assistant(2), user(3), assistant(4), user(5)]


def test_at_or_below_the_target_there_is_nothing_to_do() -> None:
    assert reason(plan(TALK, POLICY, target=Target(tokens=250))) == "below_threshold"
    assert reason(plan(TALK, POLICY, target=Target(tokens=249))) == "plan"
    assert reason(plan(TALK, POLICY, target=Target(tokens=250, references=1))) == "plan"
    assert reason(plan(TALK, POLICY, target=Target(tokens=250, overhead=1))) == "plan"


def test_d1_what_must_stay_above_the_target_is_a_reason_of_its_own() -> None:
    floor = TOKENS + REFERENCE_TOKENS
    assert reason(plan(TALK, POLICY, target=Target(tokens=floor))) == "plan"
    assert reason(plan(TALK, POLICY, target=Target(tokens=floor - 1))) == "floor_above_target"
    assert reason(plan(TALK, POLICY, target=Target(tokens=floor, overhead=1))) == "floor_above_target"
    kept = Target(tokens=floor + 2 * TOKENS - 1)
    assert reason(plan(TALK, POLICY, keep_recent_turns=2, target=kept)) == "floor_above_target"
    system = Fact(seq=1, role="system", tokens=5000)
    assert reason(plan([system, user(2)], POLICY, target=Target(tokens=4000))) == "floor_above_target"


@settings(deadline=None)
@given(conversations(), st.integers(0, 900), st.integers(0, 200), st.integers(0, 200), st.integers(0, 300))
def test_a_plan_for_a_target_can_reach_it_unless_something_else_holds_back(
    facts: list[Fact], tokens: int, references: int, overhead: int, keep: int
) -> None:
    target = Target(tokens=tokens, references=references, overhead=overhead)
    decision = plan(facts, POLICY, keep_recent_tokens=keep, target=target)
    used = overhead + references + sum(fact.tokens for fact in facts)
    if used <= tokens:
        assert reason(decision) == ("below_threshold" if facts else "nothing_to_summarize")
    if isinstance(decision, Plan):
        stays = sum(fact.tokens for fact in facts if fact.held)
        assert overhead + stays + REFERENCE_TOKENS <= tokens


@settings(deadline=None)
@given(conversations(), st.integers(0, 400))
def test_a_plan_shrinks_the_window_by_the_minimum_gain(facts: list[Fact], gain: int) -> None:
    decision = plan(facts, Policy(minimum_source_tokens=0, minimum_gain_tokens=gain))
    if isinstance(decision, Plan):
        assert decision.window_tokens - REFERENCE_TOKENS >= gain
