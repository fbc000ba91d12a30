from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.consolidation.paging import Place, parse_id, text_page
from ricordo.errors import InvalidInputError
from ricordo.tokens import count

ID = "0198b3c2-7a0e-7c43-9d5a-3c1f7f3f2f10"


@settings(deadline=None)
@given(st.text(max_size=400), st.integers(1, 50))
def test_the_pages_of_a_text_are_the_text(text: str, budget: int) -> None:
    place: Place | None = Place(0, 0)
    parts: list[str] = []
    while place is not None:
        part, place = text_page(text, place, budget)
        assert part or not text
        assert len(part) <= 1 or count(part) <= budget
        parts.append(part)
    assert "".join(parts) == text


@given(st.integers(0, 10**18 - 1), st.integers(0, 10**18 - 1))
def test_a_cursor_is_read_back(seq: int, offset: int) -> None:
    assert Place.parse(str(Place(seq, offset))) == Place(seq, offset)


@pytest.mark.parametrize("cursor", ["", "1", "1:", "a:b", "1:2:3", "-1:0", " 1:2", "1:2\n"])
def test_a_cursor_that_is_none_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidInputError, match="cursor"):
        Place.parse(cursor)


@pytest.mark.parametrize("text", [ID, f"[Summary ID: {ID}] x", f'read_tool_log("{ID}")', ID.upper(), f" {ID}\n"])
def test_an_id_is_found_in_what_is_pasted(text: str) -> None:
    assert parse_id(text) == ID


@pytest.mark.parametrize("text", ["", "x", "0198b3c2", "[Summary ID: …]", ID[:-1]])
def test_a_text_without_an_id_has_none(text: str) -> None:
    assert parse_id(text) is None
