from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from ricordo.config import Policy, parse_policy
from ricordo.consolidation.plan import Target
from ricordo.consolidation.standing import Wish, standing
from ricordo.errors import ConfigurationError
from ricordo.stores.conversational import Counters


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"warn_percent": 81}, "warn_percent"),
        ({"warn_percent": -1}, "warn_percent"),
        ({"critical_percent": 101}, "critical_percent"),
        ({"critical_percent": float("nan")}, "critical_percent"),
        ({"target_percent": 80.1}, "target_percent"),
        ({"target_percent": "30"}, "target_percent"),
        ({"reference_percent": None}, "reference_percent"),
        ({"minimum_source_tokens": -1}, "minimum_source_tokens"),
        ({"minimum_gain_tokens": 1.5}, "minimum_gain_tokens"),
        ({"keep_recent_tokens": True}, "keep_recent_tokens"),
        ({"keep_recent_turns": 10**30}, "keep_recent_turns"),
        ({"orphan_after_messages": None}, "orphan_after_messages"),
        ({"prune_above_tokens": -5}, "prune_above_tokens"),
    ],
)
def test_a_value_out_of_range_is_named_with_a_hint(values: dict[str, Any], name: str) -> None:
    with pytest.raises(ConfigurationError, match=name) as caught:
        Policy(**values)
    assert caught.value.hint
    with pytest.raises(ConfigurationError, match=name):
        parse_policy(values, Policy())


def test_none_turns_the_target_and_pruning_off() -> None:
    policy = Policy(target_percent=None, prune_above_tokens=None)
    assert (policy.target_percent, policy.prune_above_tokens) == (None, None)


def test_a_stored_policy_is_read_back_and_a_part_of_one_is_completed() -> None:
    policy = Policy(target_percent=30, keep_recent_turns=2, prune_above_tokens=None)
    assert parse_policy(asdict(policy), Policy()) == policy
    assert parse_policy({"warn_percent": 10, "of a later version": 1}, policy).keep_recent_turns == 2


def test_a_wish_adds_to_what_the_policy_keeps_and_force_sets_it_aside() -> None:
    policy = Policy(target_percent=50, keep_recent_tokens=100, keep_recent_turns=3)
    wished = standing(Counters(0, 0), policy, Wish(keep_recent_tokens=50, keep_recent_turns=5)).policy
    assert (wished.keep_recent_tokens, wished.keep_recent_turns) == (100, 5)
    forced = standing(Counters(0, 0), policy, Wish(keep_recent_tokens=50, force=True))
    assert (forced.policy.keep_recent_tokens, forced.policy.keep_recent_turns, forced.target) == (50, 0, None)


def test_a_threads_own_policy_wins() -> None:
    counters = Counters(0, 0, policy={"keep_recent_turns": 7})
    assert standing(counters, Policy(keep_recent_turns=1), Wish()).policy.keep_recent_turns == 7


def test_the_target_is_of_the_models_window_in_estimated_tokens() -> None:
    policy = Policy(target_percent=50)
    plain = standing(Counters(0, 700), policy, Wish(model="gpt-5-mini", overhead_tokens=900)).target
    assert plain == Target(tokens=128_000, references=700, overhead=900)
    denser = standing(Counters(0, 700, ratio=2.0), policy, Wish(model="gpt-5-mini", overhead_tokens=900)).target
    assert denser == Target(tokens=64_000, references=700, overhead=450)


def test_what_was_observed_beyond_the_thread_is_overhead() -> None:
    counters = Counters(5000, 0, observed_tokens=9000, observed_estimate=4000, model="gpt-5-mini")
    target = standing(counters, Policy(target_percent=50), Wish(overhead_tokens=1)).target
    assert target == Target(tokens=128_000, references=0, overhead=5000)
    other = standing(counters, Policy(target_percent=50), Wish(model="gpt-4o", overhead_tokens=1)).target
    assert other is not None
    assert other.overhead == 1
