from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from ricordo.messages import cut_positions, pairs, unanswered


@dataclass(frozen=True)
class Row:
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()


ids = st.lists(st.sampled_from("abc"), max_size=3).map(tuple)
histories = st.lists(st.builds(Row, calls=ids, results=ids), max_size=12)


def answered_by_search(rows: Sequence[Row]) -> dict[tuple[int, int], int | None]:
    """The definition, spelled out: each result takes the earliest call of its id that has none yet."""
    answers: dict[tuple[int, int], int | None] = {}
    for index, row in enumerate(rows):
        answers |= {(index, nth): None for nth in range(len(row.calls))}
        for id in row.results:
            free = (at for at, answer in answers.items() if answer is None and rows[at[0]].calls[at[1]] == id)
            place = next(free, None)
            if place is not None:
                answers[place] = index
    return answers


@given(histories)
def test_a5_calls_are_paired_by_id_and_in_order(rows: list[Row]) -> None:
    expected = [(rows[at].calls[nth], at, result) for (at, nth), result in answered_by_search(rows).items()]
    assert pairs(rows) == expected


@given(histories)
def test_a1_a3_a_cut_never_parts_a_call_from_its_result(rows: list[Row]) -> None:
    answers = answered_by_search(rows)
    assert cut_positions(rows) == [
        not any(result is not None and at < cut <= result for (at, _), result in answers.items())
        for cut in range(len(rows) + 1)
    ]


@given(histories)
def test_a8_calls_without_any_result_are_named(rows: list[Row]) -> None:
    expected = [(at, rows[at].calls[nth]) for (at, nth), result in answered_by_search(rows).items() if result is None]
    assert unanswered(rows) == expected


@given(histories)
def test_the_ends_are_always_cuts(rows: list[Row]) -> None:
    positions = cut_positions(rows)
    assert len(positions) == len(rows) + 1
    assert positions[0]
    assert positions[-1]


def test_a1_no_cut_inside_ten_parallel_calls() -> None:
    calls = tuple(f"call_{n}" for n in range(10))
    rows = [Row(), Row(calls=calls), *(Row(results=(id,)) for id in reversed(calls)), Row()]
    assert [cut for cut, free in enumerate(cut_positions(rows)) if free] == [0, 1, 12, 13]


def test_a3_thirty_pairs_allow_a_cut_between_each() -> None:
    rows = [Row(), *(row for n in range(30) for row in (Row(calls=(f"{n}",)), Row(results=(f"{n}",)))), Row()]
    assert [cut for cut, free in enumerate(cut_positions(rows)) if not free] == list(range(2, 61, 2))


def test_a5_neighbours_are_not_mistaken_for_pairs() -> None:
    rows = [Row(calls=("a",)), Row(calls=("b",)), Row(results=("a",)), Row(results=("b",))]
    assert unanswered(rows) == []
    assert cut_positions(rows) == [True, False, False, False, True]


def test_an_id_may_come_back_in_a_later_turn() -> None:
    rows = [Row(calls=("1",)), Row(results=("1",)), Row(calls=("1",)), Row(results=("1",))]
    assert cut_positions(rows) == [True, False, True, False, True]


def test_a_duplicate_result_closes_nothing_else() -> None:
    rows = [Row(calls=("1",)), Row(results=("1",)), Row(results=("1",)), Row(calls=("1",))]
    assert unanswered(rows) == [(3, "1")]
    assert cut_positions(rows) == [True, False, True, True, True]


def test_a_result_before_its_call_answers_nothing() -> None:
    assert unanswered([Row(results=("a",)), Row(calls=("a",))]) == [(1, "a")]


def test_a_provider_s_own_tool_is_answered_in_its_message() -> None:
    assert pairs([Row(calls=("s",), results=("s",))]) == [("s", 0, 0)]
