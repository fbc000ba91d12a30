from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.consolidation.excerpt import GAP, LONGEST_LINE, excerpt
from ricordo.tokens import count

LINES = "\n".join(f"line {n} of the report on run{n}" for n in range(200))


def test_a_matching_line_is_shown_with_its_neighbours() -> None:
    found = excerpt(LINES, "run77", 1000)
    assert found.text.splitlines() == [f"line {n} of the report on run{n}" for n in (76, 77, 78)]
    assert (found.matches, found.next) == (1, None)


def test_lines_apart_have_a_gap_between_them_and_stand_in_their_order() -> None:
    found = excerpt(LINES, "run150 run20", 1000)
    assert found.text.splitlines()[3] == GAP
    assert found.text.index("run20") < found.text.index("run150")


def test_the_rarer_word_counts_more_and_case_and_accents_do_not() -> None:
    text = "Caffè at noon\n" * 50 + "the CAFFÈ called Zucca\n" + "tea\n" * 50
    assert "Zucca" in excerpt(text, "caffe ZUCCA", 20).text


def test_an_identifier_counts_as_a_whole() -> None:
    text = "\n".join(f"INV-{n} paid 2026, INV, 447 lines" for n in range(400, 500))
    assert excerpt(text, "INV-447", 40).text.splitlines()[1].startswith("INV-447 ")


def test_a_short_word_is_no_part_of_another() -> None:
    assert excerpt("category\nscatter", "cat", 100).matches == 0
    assert excerpt("the cat sat", "cat", 100).matches == 1


def test_a_line_without_end_is_read_in_pieces() -> None:
    text = "{" + ", ".join(f'"key{n}": {n}' for n in range(5000)) + "}"
    found = excerpt(text, "key4321", 500)
    assert '"key4321": 4321' in found.text
    assert len(found.text) <= 4 * LONGEST_LINE


def test_a_query_without_a_match_shows_nothing() -> None:
    for query in ("zebra", "", "  ", "!?"):
        assert excerpt(LINES, query, 100).text == ""
    assert excerpt("", "x", 100).matches == 0


@settings(deadline=None)
@given(st.integers(30, 300), st.sampled_from(["run1", "line", "9", "report", "line report"]))
def test_going_on_from_rank_to_rank_shows_every_match(budget: int, query: str) -> None:
    skip, seen = 0, set[str]()
    while True:
        found = excerpt(LINES, query, budget, skip=skip)
        assert count(found.text) <= max(budget, 60) + 10
        seen |= set(found.text.splitlines())
        if found.next is None:
            break
        assert found.next > skip
        skip = found.next
    assert {line for line in LINES.splitlines() if query.split()[0] in line.split()} <= seen


def test_lines_with_common_words_alone_are_no_matches() -> None:
    found = excerpt(LINES, "the line of run77", 1000)
    assert found.matches == 1
