from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.consolidation.chunk import FRAME_TOKENS, chunk, split
from ricordo.consolidation.source import Chunk, SourceMessage
from ricordo.tokens import count


def message(number: int, text: str, role: str = "user", tokens: int | None = None) -> SourceMessage:
    return SourceMessage(number=number, role=role, text=text, timestamp=None, tokens=tokens or count(text) + 4)


def talk(texts: Sequence[str]) -> list[SourceMessage]:
    return [message(n, text, "user" if n % 2 else "assistant") for n, text in enumerate(texts, 1)]


def size(one: Chunk) -> int:
    return sum(count(part.text) + FRAME_TOKENS for part in one.messages)


UNIQUE = {
    "words": " ".join(f"word{number}" for number in range(3_000)),
    "no spaces": "".join(f"{number:05d}" for number in range(4_000)),
    "ideographs": "".join(chr(0x4E00 + number) for number in range(9_000)),
    "lines": "".join(f"{number} is a line of a table\n" for number in range(4_000)),
}
"""Texts in which every stretch of some length occurs once."""


WORDS = st.text(st.sampled_from("ab àß語🇮🇹\n.,1"), max_size=400)


@settings(deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=40), st.integers(FRAME_TOKENS + 10, 600))
def test_chunks_fit_and_hold_every_message_in_order(texts: list[str], budget: int) -> None:
    messages = talk(texts)
    chunks = chunk(messages, budget=budget, count=count)
    parts = [part for one in chunks for part in one.messages]
    assert all(size(one) <= budget for one in chunks)
    assert all(one.tokens == sum(part.tokens for part in one.messages) for one in chunks)
    assert [number for number, _ in groupby(part.number for part in parts)] == [m.number for m in messages]
    for one in messages:
        mine = [part for part in parts if part.number == one.number]
        assert mine == [one] or all(part.text in one.text for part in mine)


def test_no_message_makes_no_chunk() -> None:
    assert chunk([], budget=100, count=count) == ()


def test_what_fits_is_one_chunk() -> None:
    messages = talk(["one", "two", "three"])
    assert chunk(messages, budget=1_000, count=count) == (Chunk(messages=tuple(messages), tokens=15),)


def test_a_chunk_ends_before_a_user_message_where_that_leaves_it_half_full() -> None:
    chunks = chunk(talk(["word " * 50] * 31), budget=5 * (50 + FRAME_TOKENS + 1), count=count)
    assert len(chunks) > 3
    assert all(one.messages[0].role == "user" for one in chunks)


def test_the_last_two_chunks_are_evened_out_where_the_last_would_be_small() -> None:
    steps = [message(number, "word " * 50, "tool") for number in range(1, 12)]
    chunks = chunk(steps, budget=10 * (count("word " * 50) + FRAME_TOKENS), count=count)
    assert [len(one.messages) for one in chunks] == [5, 6]


def test_many_short_messages_leave_room_for_their_numbers_times_and_roles() -> None:
    chunks = chunk(talk(["ok"] * 1_000), budget=2_000, count=count)
    assert all(len(one.messages) <= 2_000 // FRAME_TOKENS for one in chunks)
    assert sum(len(one.messages) for one in chunks) == 1_000


def test_f3_the_tokens_of_an_image_do_not_split_its_message() -> None:
    picture = message(1, "Look at this chart. [image]", tokens=8_000)
    assert chunk([picture], budget=500, count=count) == (Chunk(messages=(picture,), tokens=8_000),)


def test_a_message_without_text_is_not_lost() -> None:
    (one,) = chunk([message(1, "", tokens=9_000)], budget=100, count=count)
    assert [part.number for part in one.messages] == [1]


@pytest.mark.parametrize("text", UNIQUE.values(), ids=UNIQUE)
@pytest.mark.parametrize("budget", [50, 700])
def test_b3_a_split_message_is_read_whole_and_repeats_a_little_at_each_seam(text: str, budget: int) -> None:
    parts = list(split(text, budget, count))
    places = [(text.index(part), text.index(part) + len(part)) for part in parts]
    assert all(count(part) <= budget for part in parts)
    assert (places[0][0], places[-1][1]) == (0, len(text))
    assert all(0 <= end - start <= (end - begin) / 5 for (begin, end), (start, _) in pairwise(places))


def test_a_text_is_split_at_white_space() -> None:
    parts = list(split(UNIQUE["words"], 400, count))
    assert all(part.endswith(" ") for part in parts[:-1])
    assert all(part.startswith("word") for part in parts)
