from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.config import Policy
from ricordo.consolidation.plan import Fact
from ricordo.consolidation.prune import PREVIEW_TOKENS, preview, prunable
from ricordo.messages import boundary
from ricordo.tokens import count

ID = "0198b3c2-7a0e-7c43-9d5a-3c1f7f3f2f10"
LISTING = "".join(f"row {n}: /srv/data/file{n}.txt INV-2026-{n:04} paid\n" for n in range(800))
CLUSTERS = [
    "a",
    "e\u0301",
    "🇮🇹",
    "👩\u200d👩\u200d👧",
    "👍🏽",
    "क्षि",
    "각",
    "\r\n",
    " ",
    "\n",
    "\u0e33",
    "x\u0300\u0301\u0302",
]


def ask(seq: int) -> Fact:
    return Fact(seq=seq, role="user", tokens=20, question=True)


def call(seq: int, *ids: str, tool: str = "grep") -> Fact:
    return Fact(seq=seq, role="assistant", tokens=20, calls=ids, tools=(tool,) * len(ids))


def result(seq: int, *ids: str, tokens: int = 5000, **values: Any) -> Fact:
    return Fact(seq=seq, role="tool", tokens=tokens, results=ids, **values)


def answer(seq: int) -> Fact:
    return Fact(seq=seq, role="assistant", tokens=20)


TURN = [ask(1), call(2, "a"), result(3, "a"), answer(4)]


def test_a_long_result_of_an_older_turn_is_shortened() -> None:
    assert prunable([*TURN, ask(5)], Policy()) == (3,)


def test_a_result_that_a_summary_passed_over_is_shortened_too() -> None:
    assert prunable([ask(1), call(2, "a"), result(3, "a", passed=True), answer(4), ask(5)], Policy()) == (3,)


def test_the_newest_turn_stays_whole_whatever_its_size() -> None:
    assert prunable(TURN, Policy()) == ()
    assert prunable([], Policy()) == ()
    assert prunable([*TURN, ask(5), call(6, "b"), result(7, "b")], Policy()) == (3,)


def test_without_words_of_the_user_no_turn_is_known_to_be_over() -> None:
    assert prunable([call(1, "a"), result(2, "a"), answer(3)], Policy()) == ()


def test_what_the_policy_keeps_stays_whole() -> None:
    later = [*TURN, ask(5), answer(6), ask(7)]
    assert prunable(later, Policy(keep_recent_turns=2)) == (3,)
    assert prunable(later, Policy(keep_recent_turns=3)) == ()
    assert prunable(later, Policy(keep_recent_tokens=60)) == (3,)
    assert prunable(later, Policy(keep_recent_tokens=600)) == ()


def test_the_limit_is_the_policys() -> None:
    assert prunable([*TURN, ask(5)], Policy(prune_above_tokens=5000)) == ()
    assert prunable([*TURN, ask(5)], Policy(prune_above_tokens=4999)) == (3,)
    assert prunable([*TURN, ask(5)], Policy(prune_above_tokens=None)) == ()


@pytest.mark.parametrize(
    "fact",
    [
        result(3, "a", pinned=True),
        result(3, "a", preview_tokens=100),
        result(3, "a", question=True),
        Fact(seq=3, role="system", tokens=5000, results=("a",)),
        Fact(seq=3, role="assistant", tokens=5000, results=("a",)),
        Fact(seq=3, role="user", tokens=5000, question=True),
        result(3, tokens=5000),
    ],
    ids=["pinned", "shortened already", "words of the user", "system", "assistant", "no result", "no id"],
)
def test_nothing_but_a_whole_tool_result_is_shortened(fact: Fact) -> None:
    assert prunable([ask(1), call(2, "a"), fact, answer(4), ask(5)], Policy()) == ()


@pytest.mark.parametrize(
    "tool", ["expand_summary", "read_tool_log", "mcp__ricordo__expand_summary", "ricordo.read_tool_log"]
)
def test_p9_what_ricordo_brought_back_is_never_shortened(tool: str) -> None:
    facts = [ask(1), call(2, "a", tool=tool), call(3, "b"), result(4, "b"), result(5, "a"), answer(6), ask(7)]
    assert prunable(facts, Policy()) == (4,)


def test_p9_an_id_that_is_used_again_is_told_apart_by_its_call() -> None:
    first = [ask(1), call(2, "a", tool="expand_summary"), result(3, "a"), answer(4)]
    second = [ask(5), call(6, "a", tool="grep"), result(7, "a"), answer(8)]
    assert prunable([*first, *second, ask(9)], Policy()) == (7,)


def test_a_tool_whose_name_only_resembles_is_shortened() -> None:
    facts = [ask(1), call(2, "a", tool="expand_summaryx"), result(3, "a"), answer(4), ask(5)]
    assert prunable(facts, Policy()) == (3,)


def test_a_preview_shows_both_ends_the_identifiers_and_how_to_read_the_rest() -> None:
    text = LISTING[:9000] + "failed with ECONNRESET on host db-7.example\n" + LISTING[9000:] + "exit status 1\n"
    shown = preview(text, ID)
    assert shown is not None
    lines = shown.splitlines()
    assert lines[0] == "row 0: /srv/data/file0.txt INV-2026-0000 paid"
    assert lines[-1] == "exit status 1"
    assert f'read_tool_log("{ID}")' in shown
    assert "ECONNRESET" in shown
    assert count(shown) < PREVIEW_TOKENS + 80


def test_a_short_text_has_no_preview() -> None:
    assert preview("done", ID) is None
    assert preview("", ID) is None
    assert preview("[image]", ID) is None
    assert preview(LISTING, ID, above=10**6) is None
    assert preview(LISTING, ID, above=None) is None


def ends(shown: str) -> tuple[str, str]:
    """Return the beginning and the end of a text that its preview quotes."""
    head, _, rest = f"\n{shown}".partition("\n(… ")
    _, _, tail = rest.partition("\n")
    return head[1:], tail.partition("\n")[2] if tail.startswith("(in them: ") else tail


TEXTS = st.lists(st.sampled_from([*CLUSTERS, "word ", "INV-2026-0447 ", "https://x.org/1 "]), max_size=400).map("".join)


@settings(deadline=None)
@given(TEXTS | st.text(max_size=2000))
def test_j4_a_preview_is_shorter_names_its_log_and_splits_no_character(text: str) -> None:
    shown = preview(text, ID)
    if shown is None:
        return
    assert len(shown) < len(text)
    assert count(shown) < count(text)
    assert ID in shown
    head, tail = ends(shown)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert boundary(text, len(head)) == len(head)
    assert boundary(text, len(text) - len(tail)) == len(text) - len(tail)


@settings(deadline=None)
@given(st.integers(0, 400), st.sampled_from(CLUSTERS))
def test_j4_every_length_of_a_repeated_character_is_cut_between_characters(length: int, cluster: str) -> None:
    shown = preview(cluster * length + "x" * 300 + cluster * length, ID)
    if shown is not None:
        head, _ = ends(shown)
        assert boundary(cluster * length + "x" * 300, len(head)) == len(head)


@settings(deadline=None)
@given(st.integers(1, 3000))
def test_a_preview_of_any_length_of_words_is_shorter_or_none(words: int) -> None:
    text = " ".join(f"word{n}" for n in range(words))
    shown = preview(text, ID)
    assert shown is None or (len(shown) < len(text) and count(shown) < count(text) and ID in shown)
    assert words < 400 or shown is not None
