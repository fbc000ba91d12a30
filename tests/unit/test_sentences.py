"""Text is cut where sentences, items, rows and lines of code end, and never inside a word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.consolidation.sentences import LONGEST_WORD, UNIT_CHARACTERS, Unit, clauses, clean, sentences, split


def texts(text: str) -> list[str]:
    return [unit.text for unit in split(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It works. It is fast! Is it?", ["It works.", "It is fast!", "Is it?"]),
        (
            "Dr. Smith paid $1.50 at 5 p.m. on Jan. 3. Then he left.",
            ["Dr. Smith paid $1.50 at 5 p.m. on Jan. 3.", "Then he left."],
        ),
        (
            "Use e.g. this one. See https://a.org/x.y?z=1. Done.",
            ["Use e.g. this one.", "See https://a.org/x.y?z=1.", "Done."],
        ),
        ("See no. 5 first. No. I will not.", ["See no. 5 first.", "No.", "I will not."]),
        ("J. R. Tolkien wrote it. And I. We agree.", ["J. R. Tolkien wrote it.", "And I.", "We agree."]),
        ("Wait... there is more. Well… Yes.", ["Wait... there is more.", "Well…", "Yes."]),
        ("ok. thanks a lot. see you", ["ok. thanks a lot.", "see you"]),
        ('He said "stop." Then he ran.', ['He said "stop."', "Then he ran."]),
    ],
)
def test_english_sentences_end_at_end_marks_only(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Il Sig. Rossi ha pagato 1.250,00 € il 3.5.2026. Va bene?",
            ["Il Sig. Rossi ha pagato 1.250,00 € il 3.5.2026.", "Va bene?"],
        ),
        (
            "La Dott.ssa Bianchi abita in P.zza Dante, n. 4. Scriva a lei.",
            ["La Dott.ssa Bianchi abita in P.zza Dante, n. 4.", "Scriva a lei."],
        ),
        (
            "Pane, latte, ecc. sono qui. Vedi art. 12 del contratto.",
            ["Pane, latte, ecc. sono qui.", "Vedi art. 12 del contratto."],
        ),
    ],
)
def test_italian_abbreviations_and_figures_do_not_end_a_sentence(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_cjk_end_marks_need_no_space() -> None:
    assert sentences("今日は雨です。傘は？ある！") == ["今日は雨です。", "傘は？", "ある！"]


def test_text_without_marks_is_one_sentence_and_empty_text_none() -> None:
    assert sentences("no marks here") == ["no marks here"]
    assert sentences("   ") == []
    assert texts("\n \n") == []


def test_hard_wrapped_lines_are_one_sentence() -> None:
    wrapped = "The deployment of the second service was moved to Friday because\nthe database migration takes an hour."
    assert texts(wrapped) == [wrapped.replace("\n", " ")]


def test_items_carry_their_heading_across_a_blank_line() -> None:
    text = "Here is the payment:\n\n- Certificate 7504069: $250\n- Visa ending in 7447: $55"
    assert texts(text) == ["Here is the payment: Certificate 7504069: $250; Visa ending in 7447: $55"]


def test_nested_items_belong_to_the_item_above_them() -> None:
    text = "Options:\n1. **Flight A1**\n   - Price: $10\n   - Seats: 3\n2. **Flight B2**\n   - Price: $20"
    assert texts(text) == ["Flight A1: Price: $10; Seats: 3", "Flight B2: Price: $20"]


def test_an_indented_paragraph_inside_a_list_heads_the_items_that_follow_it() -> None:
    text = "1. **Flight A1**\n   - Price: $10\n\n   **Then Flight B2**\n   - Price: $20"
    assert texts(text) == ["Flight A1: Price: $10", "Then Flight B2: Price: $20"]


def test_a_long_list_is_told_in_several_units_under_the_same_heading() -> None:
    text = "Hosts:\n" + "\n".join(f"- server-{n}.example.org is healthy" for n in range(20))
    units = texts(text)
    assert len(units) > 1
    assert all(unit.startswith("Hosts: ") and len(unit) <= UNIT_CHARACTERS for unit in units)
    assert all(f"server-{n}.example.org" in " ".join(units) for n in range(20))


def test_fenced_and_numbered_code_and_table_rows_stay_lines() -> None:
    text = "Look:\n```python\nx = f(**kwargs)\ny = 2\n```\nThen:\n12: return x\n\n| id | name |\n|---|---|\n| 7 | Ada |"
    assert list(split(text)) == [
        Unit("Look:"),
        Unit("x = f(**kwargs)", "code"),
        Unit("y = 2", "code"),
        Unit("Then:"),
        Unit("return x", "code"),
        Unit("id | name", "row"),
        Unit("7 | Ada", "row"),
    ]


def test_a_fence_that_never_closes_does_not_swallow_the_text() -> None:
    assert Unit("This is prose after all.") in list(split("```\nThis is prose after all."))


def test_a_long_sentence_is_cut_between_clauses_with_marks() -> None:
    sentence = ", ".join(f"the part number {n} goes to its own shelf" for n in range(12))
    pieces = clauses(sentence)
    assert all(len(piece) <= UNIT_CHARACTERS + 2 for piece in pieces)
    assert pieces[0].endswith(",…")
    assert pieces[1].startswith("…the part")
    assert " ".join(piece.strip("…") for piece in pieces) == sentence


def test_a_negation_keeps_the_clause_that_follows_it() -> None:
    lead = "we agreed after a long discussion with everybody in the room about the whole matter and its many costs"
    sentence = (
        f"{lead}, {lead[:60]}, that unless the audit of the first quarter is finished, the refund goes to nobody at all"
    )
    held = next(piece for piece in clauses(sentence) if "unless" in piece)
    assert "refund goes to nobody" in held


def test_a_giant_line_without_punctuation_is_cut_between_words() -> None:
    line = " ".join(f"word{n}" for n in range(2000))
    pieces = clauses(line)
    assert len(pieces) > 50
    assert " ".join(piece.strip("…") for piece in pieces) == line


def test_a_blob_without_spaces_is_left_out() -> None:
    assert texts("a" * (LONGEST_WORD + 1)) == []
    assert texts(f"key {'b' * 5000} end") == ["key … end"]


def test_cjk_text_without_marks_is_cut_anywhere_and_kept_whole() -> None:
    text = "漢字仮名" * 300
    assert "".join(unit.strip("…") for unit in texts(text)) == text


def test_j4_a_cut_never_splits_a_character_sequence() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    for length in range(180, 220):
        pieces = texts(f"{'x' * 8} " * (length // 9) + f"{family} e\u0301 end " * 20)
        assert all(family in piece or "\u200d" not in piece for piece in pieces)


def test_a_unit_is_a_single_line_without_control_characters() -> None:
    assert clean("a\x00b\u2028c\t d\ud800") == "a b c d\ufffd"


@given(st.text())
def test_any_text_gives_single_lines_of_the_texts_own_words(text: str) -> None:
    for unit in split(text):
        assert unit.text == clean(unit.text)
        assert len(unit.text.splitlines()) == 1


@given(
    st.lists(
        st.sampled_from(["word", "non", "1.5,", "end.", "no;", "—", "漢字、", "x" * 250, "\n", "- item"]), max_size=120
    )
)
def test_every_word_of_a_text_is_in_some_unit(words: list[str]) -> None:
    told = " ".join(unit.text for unit in split(" ".join(words)))
    assert all(word in told for word in words if word not in ("\n", "- item", "—"))
