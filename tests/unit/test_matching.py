"""Where a query is answered: the words that count, and the part of a long message that holds them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ricordo.consolidation.matching import CHARACTERS_PER_TOKEN, passage, query_words


def test_a_query_keeps_what_carries_content_as_it_is_written() -> None:
    assert query_words("What is the date of the flight?").split() == ["date", "flight?"]
    assert query_words("quando è il volo del 2024-05-20 per /srv/rag").split() == ["volo", "2024-05-20", "/srv/rag"]
    assert query_words("what is it") == "what is it"


def test_the_passage_with_the_weightiest_words_is_found() -> None:
    text = "lorem " * 200 + "the price of HAT136 is 250" + " ipsum" * 200
    start = passage(text, {"price": 2.0, "hat136": 3.0, "lorem": 0.1}, tokens=40)
    assert "price of HAT136 is 250" in text[start : start + 40 * CHARACTERS_PER_TOKEN]


def test_a_word_counts_once() -> None:
    text = "price " * 50 + "filler " * 50 + "price seats"
    start = passage(text, {"price": 1.0, "seats": 0.5}, tokens=20)
    assert "price seats" in text[start:]


def test_lexemes_of_several_words_count_by_their_words() -> None:
    text = "x " * 300 + "on 2024-05-20 in tests/missing_colon.py"
    start = passage(text, {"-05": 1.0, "tests/missing_colon.py": 2.0}, tokens=20)
    assert "missing_colon" in text[start : start + 60]


@given(st.text(max_size=300), st.dictionaries(st.text(max_size=5), st.floats(0, 5)), st.integers(0, 100))
def test_any_text_has_a_passage_that_does_not_waste_its_end(text: str, weights: dict[str, float], tokens: int) -> None:
    start = passage(text, weights, tokens)
    assert 0 <= start <= len(text)
    assert start == 0 or len(text) - start >= tokens * CHARACTERS_PER_TOKEN
