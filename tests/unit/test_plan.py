from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ricordo.config import Policy
from ricordo.consolidation.plan import Fact, Plan, Refusal, plan

POLICY = Policy(minimum_source_tokens=1, orphan_after_messages=6)


def fact(seq: int, role: str = "user", tokens: int = 50, **values: object) -> Fact:
    return Fact(seq=seq, role=role, tokens=tokens, question=role == "user", **values)  # pyright: ignore[reportArgumentType]


def talk(turns: int, start: int = 1) -> list[Fact]:
    return [fact(start + i, "user" if i % 2 == 0 else "assistant") for i in range(2 * turns)]


def taken(decision: Plan | Refusal) -> tuple[int, ...]:
    assert isinstance(decision, Plan), decision
    return decision.seqs


def reason(decision: Plan | Refusal) -> str:
    assert isinstance(decision, Refusal), decision
    return decision.reason


def test_by_hand_everything_is_taken() -> None:
    decision = plan(talk(15), POLICY)
    assert taken(decision) == tuple(range(1, 31))
    assert isinstance(decision, Plan)
    assert (decision.first_seq, decision.last_seq, decision.tokens) == (1, 30, 1500)


def test_an_empty_thread_has_nothing_to_summarize() -> None:
    assert reason(plan([], POLICY)) == "nothing_to_summarize"


def test_c3_system_developer_and_pinned_messages_stay() -> None:
    facts = [fact(1, "system"), *talk(2, 2), fact(6, "developer"), fact(7, "user", pinned=True), *talk(1, 8)]
    assert taken(plan(facts, POLICY)) == (2, 3, 4, 5, 8, 9)


def test_c5_the_question_without_an_answer_stays() -> None:
    facts = [*talk(3), fact(7, "user")]
    assert taken(plan(facts, POLICY)) == (1, 2, 3, 4, 5, 6)
    assert reason(plan([fact(1, "user")], POLICY)) == "nothing_to_summarize"


def test_an_answered_question_may_go() -> None:
    assert taken(plan([fact(1, "user"), fact(2, "assistant")], POLICY)) == (1, 2)


def test_in_the_middle_of_a_turn_finished_tool_calls_may_go_and_the_question_stays() -> None:
    steps = [
        fact(2 + i, "assistant", calls=(f"c{i}",)) if i % 2 == 0 else fact(2 + i, "tool", results=(f"c{i - 1}",))
        for i in range(8)
    ]
    assert taken(plan([fact(1, "user"), *steps], POLICY)) == tuple(range(2, 10))


def test_a_question_waits_until_something_was_said_after_the_last_tool() -> None:
    question = [*talk(2), fact(5)]
    thinking = fact(6, "assistant", silent=True)
    looking = [fact(6, "assistant"), fact(7, "assistant", calls=("a",)), fact(8, "tool", results=("a",))]
    assert taken(plan([*question, thinking], POLICY)) == (1, 2, 3, 4, 6)
    assert taken(plan([*question, *looking], POLICY)) == (1, 2, 3, 4, 6, 7, 8)
    assert taken(plan([*question, *looking, fact(9, "assistant")], POLICY)) == tuple(range(1, 10))


def test_what_a_summary_passed_over_stays_live() -> None:
    facts = [fact(11, passed=True), *talk(2, 30)]
    assert taken(plan(facts, POLICY)) == (30, 31, 32, 33)
    assert reason(plan(facts[:1], POLICY)) == "nothing_to_summarize"


def test_f6_the_recent_part_stays_verbatim() -> None:
    assert taken(plan(talk(5), POLICY, keep_recent_tokens=120)) == tuple(range(1, 8))
    assert reason(plan(talk(5), POLICY, keep_recent_tokens=10_000)) == "below_threshold"


def test_d3_a_short_history_is_not_worthwhile() -> None:
    assert reason(plan([fact(1, "user", 25), fact(2, "assistant", 25)], Policy())) == "not_worthwhile"


def test_a1_a_parallel_batch_is_kept_whole() -> None:
    batch = tuple(f"call-{i}" for i in range(10))
    facts = [fact(1), fact(2, "assistant"), fact(3), fact(4, "assistant", calls=batch)]
    facts += [fact(5 + i, "tool", results=(id,)) for i, id in enumerate(batch)]
    facts += [fact(15, "assistant")]
    for keep in range(0, 800, 10):
        decision = plan(facts, POLICY, keep_recent_tokens=keep)
        if isinstance(decision, Plan):
            assert not ({4} & set(decision.seqs)) or set(range(4, 15)) <= set(decision.seqs)


def test_a8_a_young_unanswered_call_holds_the_rest_back_and_an_old_one_does_not() -> None:
    facts = [fact(1), fact(2, "assistant", calls=("lost",)), fact(3), fact(4, "assistant")]
    assert taken(plan(facts, POLICY)) == (1,)
    older = [*facts, *talk(3, 5)]
    assert taken(plan(older, POLICY)) == tuple(range(1, 11))
    assert reason(plan(facts[1:2], POLICY)) == "open_tool_call"


def test_the_other_side_of_a_pinned_tool_call_stays_with_it() -> None:
    facts = [fact(1), fact(2, "assistant", calls=("a",), pinned=True), fact(3, "tool", results=("a",)), *talk(1, 4)]
    decision = plan(facts, Policy(minimum_source_tokens=60))
    assert taken(decision) == (1, 4, 5)


@st.composite
def threads(draw: st.DrawFn) -> list[Fact]:
    facts: list[Fact] = []
    waiting: list[str] = []
    ids = st.sampled_from(["a", "b", "c", "d"])
    seq = 0
    for _ in range(draw(st.integers(0, 25))):
        seq += draw(st.sampled_from([1, 1, 1, 1, 2]))
        kind = draw(st.sampled_from(["user", "assistant", "call", "result", "system"]))
        tokens = draw(st.integers(1, 80))
        if kind == "call":
            calls = tuple(draw(st.lists(ids, min_size=1, max_size=3)))
            waiting += calls
            facts.append(fact(seq, "assistant", tokens, calls=calls))
        elif kind == "result":
            id = draw(st.sampled_from(waiting)) if waiting else draw(ids)
            facts.append(fact(seq, "tool", tokens, results=(id,)))
        else:
            facts.append(fact(seq, kind, tokens, pinned=draw(st.integers(0, 9)) == 0))
    return facts


def pairs(facts: Sequence[Fact]) -> list[tuple[int, int]]:
    open_calls: dict[str, list[int]] = {}
    found: list[tuple[int, int]] = []
    for one in facts:
        for id in one.results:
            if open_calls.get(id):
                found.append((open_calls[id].pop(0), one.seq))
        for id in one.calls:
            open_calls.setdefault(id, []).append(one.seq)
    return found


@given(threads(), st.integers(0, 400), st.integers(1, 200), st.integers(1, 10))
def test_a3_no_plan_breaks_a_promise(facts: list[Fact], keep: int, minimum: int, orphans: int) -> None:
    policy = Policy(minimum_source_tokens=minimum, orphan_after_messages=orphans)
    decision = plan(facts, policy, keep_recent_tokens=keep)
    if isinstance(decision, Refusal):
        return
    chosen = set(decision.seqs)
    by_seq = {one.seq: one for one in facts}
    assert decision.seqs == tuple(sorted(chosen))
    assert decision.tokens == sum(by_seq[seq].tokens for seq in chosen) >= minimum
    for call, result in pairs(facts):
        assert (call in chosen) == (result in chosen)
    assert all(by_seq[seq].role != "system" and not by_seq[seq].pinned for seq in chosen)
    rest_after = sum(one.tokens for one in facts if one.seq > decision.last_seq)
    assert keep == 0 or rest_after >= keep
    questions = [one for one in facts if one.question]
    if questions and not any(one.answer and one.seq > questions[-1].seq for one in facts):
        assert questions[-1].seq not in chosen


@given(threads())
def test_planning_is_stable_and_reaches_an_end(facts: list[Fact]) -> None:
    live = list(facts)
    for _ in range(len(facts) + 1):
        decision = plan(live, POLICY)
        if isinstance(decision, Refusal):
            return
        chosen = set(decision.seqs)
        assert all(one.passed is False for one in live if one.seq in chosen)
        live = [replace(one, passed=one.seq < decision.last_seq) for one in live if one.seq not in chosen]
    raise AssertionError("planning went on without end")
