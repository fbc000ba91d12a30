"""What a query asks for, and where in a long message it is answered."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ricordo.consolidation.extractive.cues import STOP_WORDS

CHARACTERS_PER_TOKEN = 2
"""What a token holds at least in JSON, code and most languages, so that what was found still fits the page."""

LEAD = 20
"""Characters before the first word that matches and behind the last: what is asked for stands beside a match."""

_WORD = re.compile(r"[^\W_]+")
_STOP = STOP_WORDS["en"] | STOP_WORDS["it"]


def query_words(query: str) -> str:
    """Return a query without the words that carry no content, or the query itself where none is left."""
    telling = _WORD.sub(lambda word: "" if word[0].casefold() in _STOP else word[0], query)
    return telling if _WORD.search(telling) else query


def passage(text: str, weights: Mapping[str, float], tokens: int) -> int:
    """Return the character from which on `tokens` tokens of the text hold the words that weigh most together.

    `weights` are of lexemes, which may be of several words. Each word counts once. Without any of them that is the
    first character. Linear in the text.
    """
    span = tokens * CHARACTERS_PER_TOKEN
    reach = max(span - 2 * LEAD, LEAD)
    weights = {word: weight for lexeme, weight in weights.items() for word in _WORD.findall(lexeme)}
    found = [(word.start(), word[0].casefold()) for word in _WORD.finditer(text) if word[0].casefold() in weights]
    held: dict[str, int] = {}
    best, start, weight, end = 0.0, LEAD, 0.0, 0
    for place, word in found:
        while end < len(found) and found[end][0] <= place + reach:
            entering = found[end][1]
            weight += weights[entering] if not held.get(entering) else 0.0
            held[entering] = held.get(entering, 0) + 1
            end += 1
        if weight > best + 1e-9:
            best, start = weight, place
        held[word] -= 1
        weight -= weights[word] if not held[word] else 0.0
    return max(min(start - LEAD, len(text) - span), 0)
