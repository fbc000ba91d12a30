"""The canonical message: exact storage, reading of every provider's form, pairing of calls and results, views."""

from __future__ import annotations

from ricordo.messages.exact import decode, encode, escape_id, searchable
from ricordo.messages.export import to_anthropic, to_openai
from ricordo.messages.pairing import Fact, Pair, cut_positions, pairs, unanswered
from ricordo.messages.parse import ParsedMessage, parse
from ricordo.messages.shorten import shorten

__all__ = [
    "Fact",
    "Pair",
    "ParsedMessage",
    "cut_positions",
    "decode",
    "encode",
    "escape_id",
    "pairs",
    "parse",
    "searchable",
    "shorten",
    "to_anthropic",
    "to_openai",
    "unanswered",
]
