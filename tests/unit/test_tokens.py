from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import toktok  # pyright: ignore[reportMissingTypeStubs]
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import InvalidInputError
from ricordo.tokens import (
    DEFAULT_TOKEN_LIMIT,
    MEDIA_TOKENS,
    MESSAGE_OVERHEAD,
    MODEL_TOKEN_LIMITS,
    UnknownModelWarning,
    count,
    count_message,
    count_tools,
    model_limit,
    reported_prompt_tokens,
    update_ratio,
)
from ricordo.tokens import limits as limits_module

any_text = st.text(st.characters(codec=None, exclude_categories=()), max_size=50)


def tokenizer(text: str) -> int:
    return toktok.batch_count([text], "o200k_base")[0]


@pytest.fixture
def fresh_names() -> Iterator[None]:
    """Forget which unknown models were warned about."""
    limits_module._listed_limit.cache_clear()  # pyright: ignore[reportPrivateUsage]
    yield
    limits_module._listed_limit.cache_clear()  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("text", ["<|endoftext|>", "<|endofprompt|>", "<|im_start|>system", "<|fim_prefix|>"])
def test_e1_special_token_text_is_counted_as_words(text: str) -> None:
    assert count(f"a {text} b") > 4


@pytest.mark.parametrize("text", ["汉" * 4000, "한국어 문장입니다. " * 500, "これはかなです。" * 500, "カタカナ" * 500])
def test_e3_cjk_is_counted_as_the_tokenizer_splits_it(text: str) -> None:
    assert count(text) == tokenizer(text)
    assert count(text) > len(text) // 4 * 1.2


def test_known_counts() -> None:
    assert count("") == 0
    assert count("hello world") == 2
    assert count("汉" * 4000) == 4000


@given(any_text)
def test_j1_any_string_is_counted(text: str) -> None:
    assert 0 <= count(text) <= 4 * len(text)
    assert (count(text) == 0) == (text == "")


@given(st.text(max_size=50))
def test_storable_text_is_counted_exactly(text: str) -> None:
    assert count(text) == tokenizer(text)


def test_a_lone_surrogate_counts_as_the_replacement_character() -> None:
    assert count("a\ud800b") == count("a\ufffdb")
    assert count("\ud83d\ude00") == count("😀")


@pytest.mark.parametrize("unit", ["a", " ", "=", "1", "\n", "汉", "👩‍🚀", "\u0301", "'s", "aB1_"])
def test_a_megabyte_of_repetition_is_counted(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    assert 0 < count(text) <= 4 * len(text)


def test_a_message_costs_its_words_its_frame_and_its_attachments() -> None:
    assert count_message("") == MESSAGE_OVERHEAD
    assert count_message("hello world") == 2 + MESSAGE_OVERHEAD
    assert count_message("hello world", images=2) == 2 + MESSAGE_OVERHEAD + 2 * MEDIA_TOKENS
    more = count_message("hello", reasoning="world", ids=("call_1", ""))
    assert more == count("hello\nworld\ncall_1") + MESSAGE_OVERHEAD


def test_e9_tool_schemas_are_counted() -> None:
    spec: dict[str, Any] = {
        "type": "function",
        "function": {
            "name": "search",
            "description": "Search the città " * 20,
            "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
        },
    }
    assert count_tools([]) == 0
    assert count_tools([spec]) == tokenizer(json.dumps(spec, ensure_ascii=False, separators=(",", ":")))
    assert count_tools([spec] * 50) == 50 * count_tools([spec]) > 4000


def test_the_tokenizer_and_the_tables_are_loaded_only_when_needed() -> None:
    script = (
        "import sys; import ricordo.tokens as t; t.model_limit('gpt-5-mini');"
        "assert 'toktok' not in sys.modules and 'genai_prices' not in sys.modules; t.count('x');"
        "assert 'toktok' in sys.modules and 'genai_prices' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_published_limit_wins_over_the_tables() -> None:
    assert MODEL_TOKEN_LIMITS == {"gpt-5-mini": 256_000}
    assert model_limit("gpt-5-mini") == 256_000


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        ("gpt-4o", 128_000),
        ("gpt-4o-2024-08-06", 128_000),
        ("openai/gpt-4o", 128_000),
        ("openai:gpt-4o", 128_000),
        ("claude-sonnet-4-5", 200_000),
        ("anthropic/claude-sonnet-4-5", 200_000),
    ],
)
@pytest.mark.usefixtures("fresh_names")
def test_a_known_model_has_its_own_limit(model: str, limit: int) -> None:
    assert model_limit(model) == limit


def test_a_limit_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODEL_TOKEN_LIMITS, "my-model", 8192)
    assert model_limit("my-model") == 8192


@pytest.mark.parametrize("model", ["no-such-model", "", "a/b/c", "/", ":", "x:", "\x00" * 1000, "\ud800", "qwen3:8b"])
@pytest.mark.usefixtures("fresh_names")
def test_f38_e14_an_unknown_model_warns_once_and_has_the_default(model: str) -> None:
    with pytest.warns(UnknownModelWarning, match="128000") as caught:
        assert model_limit(model) == DEFAULT_TOKEN_LIMIT
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert model_limit(model) == DEFAULT_TOKEN_LIMIT  # a second warning would be an error here


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 38196, "prompt_tokens_details": {"cached_tokens": 38153}, "completion_tokens": 5}, 38196),
        ({"prompt_tokens": 38196, "cached_tokens": 38153}, 38196),
        ({"input_tokens": 900, "input_tokens_details": {"cached_tokens": 800}, "output_tokens": 5}, 900),
        ({"input_tokens": 12, "cache_read_input_tokens": 800, "cache_creation_input_tokens": 88}, 900),
        ({"input_tokens": 12, "cache_read_input_tokens": 800, "cache_creation_input_tokens": None}, 812),
        ({"input_tokens": 12}, 12),
        ({"prompt_tokens": 0}, 0),
    ],
)
def test_e7_cached_tokens_are_counted_once(usage: dict[str, Any], tokens: int) -> None:
    assert reported_prompt_tokens(usage) == tokens


@pytest.mark.parametrize(
    "usage",
    [
        {},
        {"completion_tokens": 3},
        {"prompt_tokens": -1},
        {"prompt_tokens": True},
        {"prompt_tokens": None},
        {"prompt_tokens": "38"},
        {"prompt_tokens": 3.0},
        {"input_tokens": 3, "cache_read_input_tokens": -3},
        {"input_tokens": 3, "cache_creation_input_tokens": "3"},
    ],
)
def test_a_nonsensical_usage_is_refused(usage: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="usage"):
        reported_prompt_tokens(usage)


def test_the_ratio_is_the_mean_of_the_first_requests() -> None:
    ratio = None
    for n, reported in enumerate([1000, 1200, 1400, 1600]):
        ratio = update_ratio(ratio, n, 1000, reported)
    assert ratio == pytest.approx(1.3)  # pyright: ignore[reportUnknownMemberType]


def test_the_ratio_follows_a_changed_tokenizer() -> None:
    ratio = 1.0
    for n in range(1000, 1060):
        ratio = update_ratio(ratio, n, 1000, 2000)
    assert ratio > 1.99


@pytest.mark.parametrize(("estimated", "reported", "ratio"), [(1000, 100_000, 3.0), (100_000, 1000, 0.5)])
def test_the_ratio_is_bounded(estimated: int, reported: int, ratio: float) -> None:
    assert update_ratio(None, 0, estimated, reported) == ratio


@pytest.mark.parametrize(("estimated", "reported"), [(0, 0), (5, 2000), (2000, 5), (199, 199)])
def test_a_tiny_sample_teaches_nothing(estimated: int, reported: int) -> None:
    assert update_ratio(None, 0, estimated, reported) == 1.0
    assert update_ratio(1.4, 3, estimated, reported) == 1.4


@given(
    st.none() | st.floats(allow_nan=False),
    st.integers(0, 10**6),
    st.integers(0, 10**9),
    st.integers(0, 10**9),
)
def test_the_ratio_never_leaves_its_bounds(old: float | None, seen: int, estimated: int, reported: int) -> None:
    assert 0.5 <= update_ratio(old, seen, estimated, reported) <= 3.0


@pytest.mark.parametrize("numbers", [(-1, 1, 1), (1, -1, 1), (1, 1, -1)])
def test_negative_numbers_are_refused(numbers: tuple[int, int, int]) -> None:
    with pytest.raises(InvalidInputError):
        update_ratio(None, *numbers)
