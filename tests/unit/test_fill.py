from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ricordo.tokens import count
from ricordo.window.fill import fill, sizes
from ricordo.window.segments import render

LINES = [f"[2026-01-01 10:00:{i:02}] user: message number {i} about retrieval" for i in range(40)]
REFERENCES = [f"[Summary ID: {i}] what was said in part {i}" for i in range(10)]


def test_all_is_shown_where_the_budget_allows_it() -> None:
    segments = fill("why?", LINES, REFERENCES, 10_000)
    text = render(segments)
    assert text.startswith("# Question\nwhy?\n\n## Conversation Memory\nMEMORY TYPE: Conversational Memory")
    assert text.index("## Summary Memory") > text.index(LINES[-1])
    assert all(line in text for line in [*LINES, *REFERENCES])
    assert sum(sizes(segments).values()) == count(text)


def test_the_newest_messages_win_without_a_gap() -> None:
    (_, said, _) = fill(None, LINES, [], 400)
    flags = [item.included for item in said.items]
    assert flags == sorted(flags)
    assert flags[-1]
    assert not flags[0]
    assert f"({flags.count(False)} older ones of this thread are not shown here)" in said.render()


def test_references_give_way_to_the_conversation_and_take_what_it_leaves() -> None:
    (_, said, condensed) = fill(None, LINES[:2], REFERENCES, 500)
    assert all(item.included for item in said.items)
    assert all(item.included for item in condensed.items)


def test_what_is_left_out_has_a_reason() -> None:
    assert all(item.reason for segment in fill("q", LINES, REFERENCES, 150) for item in segment.items)


@given(
    st.none() | st.text(max_size=200),
    st.lists(st.text(max_size=300), max_size=12),
    st.lists(st.text(max_size=100), max_size=8),
    st.integers(0, 600),
)
def test_a_window_is_never_above_its_budget(
    question: str | None, lines: list[str], references: list[str], budget: int
) -> None:
    segments = fill(question, lines, references, budget)
    assert count(render(segments)) <= budget
    assert [item.text for item in segments[1].items] == lines
