"""The canonical message: exact storage, reading of every provider's form, pairing of calls and results, views."""

from __future__ import annotations

from ricordo.messages.exact import decode, decode_value, encode, encode_value, escape_id, searchable
from ricordo.messages.export import to_anthropic, to_openai
from ricordo.messages.pairing import Fact, Pair, cut_positions, pairs, unanswered
from ricordo.messages.parse import ParsedMessage, parse
from ricordo.messages.shorten import boundary, shorten

__all__ = [
    "Fact",
    "Pair",
    "ParsedMessage",
    "boundary",
    "cut_positions",
    "decode",
    "decode_value",
    "encode",
    "encode_value",
    "escape_id",
    "pairs",
    "parse",
    "searchable",
    "shorten",
    "to_anthropic",
    "to_openai",
    "unanswered",
]
