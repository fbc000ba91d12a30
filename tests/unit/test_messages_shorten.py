from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.messages import shorten

WHOLE = {
    "emoji": "😀",
    "zwj family": "👨‍👩‍👧‍👦",
    "skin tone": "👍🏽",
    "flag": "🇮🇹",
    "tag flag": "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "keycap": "1\ufe0f\u20e3",
    "variation selector": "❤\ufe0f",
    "combining": "e\u0301\u0323",
    "hangul jamo": "\u1112\u1161\u11ab",
    "devanagari": "क्षि",
    "thai": "กำ",
    "crlf": "\r\n",
    "surrogate halves": "\ud83d\ude00",
}


@pytest.mark.parametrize("unit", WHOLE.values(), ids=WHOLE.keys())
@pytest.mark.parametrize("limit", range(15, 26))
@pytest.mark.parametrize("before", range(3))
def test_j4_no_character_is_split_around_the_limit(unit: str, limit: int, before: int) -> None:
    text = "a" * before + unit * 40
    cut = shorten(text, limit)
    assert len(cut) <= limit
    assert cut.endswith("…")
    body = cut.removesuffix("…")[before:]
    assert body == unit * (len(body) // len(unit))


@given(st.text(st.sampled_from("ab\u0301\u200d👍🏽🇮🇹🇫🇷\r\n\ufe0f😀"), max_size=30), st.integers(-2, 35))
def test_a_shortened_text_is_a_prefix_within_the_limit(text: str, limit: int) -> None:
    cut = shorten(text, limit)
    assert len(cut) <= max(limit, 0)
    if len(text) <= limit:
        assert cut == text
    elif limit > 0:
        assert cut.endswith("…")
        assert text.startswith(cut[:-1])
        rest = text[len(cut) - 1 :]
        assert cut == "…" or not unicodedata.combining(rest[0])


def test_as_much_is_kept_as_fits() -> None:
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("abcdef", 5) == "abcd…"
    assert shorten("🇮🇹🇫🇷🇩🇪", 5) == "🇮🇹🇫🇷…"
    assert shorten("🇮🇹🇫🇷🇩🇪", 4) == "🇮🇹…"


def test_a_character_longer_than_the_limit_leaves_only_the_mark() -> None:
    assert shorten("e" + "\u0301" * 50, 10) == "…"
    assert shorten("abc", 1) == "…"
    assert shorten("abc", 0) == ""
