"""Shortening old tool results in the window, without a model: which ones, and what is shown in their place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ricordo.config import Policy
from ricordo.consolidation.atoms import AtomKind, atoms
from ricordo.consolidation.plan import Fact, recent_start
from ricordo.consolidation.recalled import recalls
from ricordo.messages import boundary
from ricordo.tokens import count, truncate

PREVIEW_TOKENS = 200
"""Tokens of the quoted parts of a preview; its note adds about 60."""

SCANNED = 40_000
"""Characters in which identifiers are looked for, half at each end: 0.1 s of reading."""

_TOLD: tuple[AtomKind, ...] = ("error", "identifier", "url", "path")
_LONGEST = 80
_SPEAKERS = frozenset({"assistant", "system", "developer"})
_DIGITS = re.compile(r"\d+")


def prunable(facts: Sequence[Fact], policy: Policy) -> tuple[int, ...]:
    """Return the places of the live messages that may be shortened, in order.

    They hold tool results alone and more than `policy.prune_above_tokens`, and are older than the newest turn and what
    the policy keeps verbatim. What ricordo itself brought back is never among them. Linear.
    """
    if policy.prune_above_tokens is None:
        return ()
    end = recent_start(facts, policy.keep_recent_tokens, max(policy.keep_recent_turns, 1))
    exempt = {one.result for one in recalls(facts)}
    return tuple(
        fact.seq
        for index, fact in enumerate(facts[:end])
        if index not in exempt and _is_long_result(fact, policy.prune_above_tokens)
    )


def _is_long_result(fact: Fact, limit: int) -> bool:
    words = fact.question or fact.role in _SPEAKERS or bool(fact.calls)
    return bool(fact.results) and not words and not fact.pinned and fact.preview_tokens is None and fact.tokens > limit


def preview(text: str, log_id: str, *, above: int | None = 0) -> str | None:
    """Return what a window shows of a long output: its beginning, its end, and how to read the rest.

    The note between them names identifiers of the rest and the exact call that reads it. None is returned for a text
    of at most `above` tokens, for every text where that is None, and where the preview would not be shorter in
    characters and tokens. No cut falls inside what is seen as one character.
    """
    total = count(text)
    if above is None or total <= above:
        return None
    budget = min(PREVIEW_TOKENS, total // 4)
    head = _head(text, budget // 2)
    tail = _tail(text[len(head) :], budget // 4)
    left_out = text[len(head) : len(text) - len(tail)]
    shown = "\n".join(part for part in (head, *_note(left_out, log_id, budget // 4), tail.removeprefix("\n")) if part)
    return shown if len(shown) < len(text) and count(shown) < total else None


def _note(left_out: str, log_id: str, budget: int) -> Iterator[str]:
    found = list(_identifiers(left_out))
    named: list[str] = []
    for one in found:
        budget -= count(one) + 2
        if budget < 0:
            break
        named.append(one)
    yield f'(… {count(left_out):,} tokens are left out; read_tool_log("{log_id}") reads them, with query="…" a part)'
    if named:
        more = f" and {len(found) - len(named):,} more" if len(named) < len(found) else ""
        yield f"(in them: {', '.join(named)}{more})"


def _identifiers(text: str) -> Iterator[str]:
    """Yield what may be asked for by name: errors, then what is one of a kind, members of long series last."""
    half = SCANNED // 2
    scanned = text if len(text) <= SCANNED else f"{text[:half]}\n{text[-half:]}"
    told = [atom for atom in atoms(scanned) if atom.kind in _TOLD and len(atom.text) <= _LONGEST]
    series = Counter(_DIGITS.sub("0", atom.text) for atom in told)
    told.sort(key=lambda atom: (atom.kind != "error", series[_DIGITS.sub("0", atom.text)]))
    yield from dict.fromkeys(atom.text for atom in told)


def _head(text: str, limit: int) -> str:
    """Return the beginning of a text: whole lines where that leaves at least half of the limit."""
    part = truncate(text, limit)
    line = part.rfind("\n")
    return text[: boundary(text, line if line > len(part) // 2 else len(part))]


def _tail(text: str, limit: int) -> str:
    """Return the end of a text: whole lines where that leaves at least half of it."""
    size = min(limit * 4, len(text))
    while count(text[len(text) - size :]) > limit:
        size = size * 3 // 4
    start = len(text) - size
    line = text.find("\n", start)
    return text[boundary(text, line + 1 if 0 <= line < start + size // 2 else start) :]
