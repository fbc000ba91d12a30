from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import InvalidInputError
from ricordo.tokens import UnknownModelWarning
from ricordo.window.monitor import calculate_context_usage, monitor_context_window, usage


def context(tokens: int) -> str:
    return "abcd" * tokens


def test_the_published_example() -> None:
    estimate = monitor_context_window(context(2081))
    assert estimate == {"tokens": 2081, "max": 256_000, "percent": 0.8, "status": "ok"}
    assert list(estimate) == ["tokens", "max", "percent", "status"]
    assert type(estimate) is dict
    assert calculate_context_usage(context(2081) + "abc") == {"tokens": 2081, "max": 256_000, "percent": 0.8}


def test_an_empty_context() -> None:
    assert monitor_context_window("") == {"tokens": 0, "max": 256_000, "percent": 0.0, "status": "ok"}


@pytest.mark.parametrize(
    ("tokens", "percent", "status"),
    [
        (127_871, 49.9, "ok"),
        (127_872, 50.0, "warning"),
        (204_671, 79.9, "warning"),
        (204_672, 80.0, "critical"),
        (300_000, 117.2, "critical"),
    ],
)
def test_f15_the_status_is_decided_on_the_rounded_percentage(tokens: int, percent: float, status: str) -> None:
    estimate = monitor_context_window(context(tokens), "gpt-5-mini")
    assert (estimate["percent"], estimate["status"]) == (percent, status)


def test_an_unknown_model_has_the_published_default() -> None:
    with pytest.warns(UnknownModelWarning):
        estimate = calculate_context_usage("abcd", "unknown-to-the-monitor")
    assert estimate == {"tokens": 1, "max": 128_000, "percent": 0.0}


@given(st.dictionaries(st.text(max_size=5), st.integers(0, 10**6), max_size=6), st.integers(1, 10**6))
def test_every_token_is_accounted_for_by_its_segment(segments: dict[str, int], limit: int) -> None:
    found = usage(segments, limit=limit, warn=50, critical=80)
    assert found.tokens == sum(found.segments.values())
    assert list(found.segments.items()) == list(segments.items())
    assert found.max == limit
    assert found.percent == round(found.tokens / limit * 100, 1)
    expected = "ok" if found.percent < 50 else "warning" if found.percent < 80 else "critical"
    assert found.status == expected


def test_thresholds_are_the_thread_s_own() -> None:
    assert usage({"a": 30}, limit=100, warn=30, critical=90).status == "warning"
    assert usage({"a": 30}, limit=100, warn=10, critical=30).status == "critical"
    assert usage({"a": 29}, limit=100, warn=30, critical=30).status == "ok"


def test_the_segments_are_a_copy() -> None:
    segments = {"a": 1}
    found = usage(segments, limit=10, warn=50, critical=80)
    segments["a"] = 9
    assert found.segments == {"a": 1}


@pytest.mark.parametrize(
    ("segments", "limit", "warn", "critical"),
    [({}, 0, 50, 80), ({}, -1, 50, 80), ({"a": -1}, 10, 50, 80), ({}, 10, 80, 50), ({}, 10, -1, 50)],
)
def test_nonsense_is_refused(segments: dict[str, int], limit: int, warn: float, critical: float) -> None:
    with pytest.raises(InvalidInputError):
        usage(segments, limit=limit, warn=warn, critical=critical)
