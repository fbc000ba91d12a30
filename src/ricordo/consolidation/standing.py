"""What holds for one consolidation: the thread's policy, what the caller wishes, and the target that follows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ricordo.config import Policy, parse_policy
from ricordo.consolidation.plan import Target
from ricordo.stores.conversational import Counters
from ricordo.tokens import DEFAULT_MODEL, model_limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a caller asks for; see `Memory.summarize_conversation`. Token counts are in tokens of `ricordo.tokens`."""

    keep_recent_tokens: int = 0
    keep_recent_turns: int = 0
    force: bool = False
    model: str | None = None
    overhead_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The policy with the wish in it, and the target, None where there is none."""

    policy: Policy
    target: Target | None


def policy_of(counters: Counters, default: Policy) -> Policy:
    """Return the thread's own policy, or the default; raises ConfigurationError where what is stored is none."""
    return default if counters.policy is None else parse_policy(counters.policy, default)


def standing(counters: Counters, default: Policy, wish: Wish) -> Standing:
    """Return what holds for a consolidation of the thread with these counters.

    The wish adds to what the policy keeps. With `force` the policy's target and what it keeps do not count.
    """
    policy = policy_of(counters, default)
    if wish.force:
        policy = replace(policy, target_percent=None, keep_recent_tokens=0, keep_recent_turns=0)
    policy = replace(
        policy,
        keep_recent_tokens=max(policy.keep_recent_tokens, wish.keep_recent_tokens),
        keep_recent_turns=max(policy.keep_recent_turns, wish.keep_recent_turns),
    )
    return Standing(policy=policy, target=_target(counters, policy, wish))


def _target(counters: Counters, policy: Policy, wish: Wish) -> Target | None:
    """Return the target in tokens as they are estimated: the model's own are divided by its ratio.

    What the provider reported beyond the thread's estimate at that time is the system prompt and the tools.
    """
    if policy.target_percent is None:
        return None
    name = wish.model or counters.model or DEFAULT_MODEL
    ratio = counters.ratio or 1.0
    overhead = wish.overhead_tokens
    if counters.observed_tokens is not None and counters.model == name:
        overhead = max(counters.observed_tokens - round((counters.observed_estimate or 0) * ratio), 0)
    return Target(
        tokens=int(model_limit(name) * policy.target_percent / 100 / ratio),
        references=counters.summary_tokens,
        overhead=round(overhead / ratio),
    )
