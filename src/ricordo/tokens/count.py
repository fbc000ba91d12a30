"""Counting tokens with the tokenizer of current OpenAI models, compiled in: no download, no network."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

ENCODING = "o200k_base"
"""The vocabulary of GPT-4o, GPT-4.1, GPT-5 and the o-series; `ricordo.tokens.calibration` corrects for other models."""

_NO_LIMIT = 2**40

MESSAGE_OVERHEAD = 4
"""Tokens around each message: 3 for its frame and 1 for its role, as in OpenAI's cookbook "How to count tokens with
tiktoken"."""

MEDIA_TOKENS = 1600
"""Tokens of an image or another attachment, whatever its bytes: the most that Anthropic's vision guide gives for one
image of 1,568 pixels; OpenAI charges 765 for 1024 by 1024 pixels in high detail."""


def count(text: str) -> int:
    """Return the number of tokens of any string, exactly as `o200k_base` splits it.

    The text of a special token, such as `<|endoftext|>`, is ordinary text. A lone surrogate, which has no UTF-8
    form, counts as U+FFFD.
    """
    import toktok  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]  (8 MB, loaded when needed)

    # Of the public functions this one counts a single text without setting up a batch: 1 µs instead of 30.
    return toktok.truncate(_encodable(text), _NO_LIMIT, ENCODING)[1]


def truncate(text: str, limit: int) -> str:
    """Return the longest beginning of a text that has at most `limit` tokens; characters stay whole."""
    import toktok  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]

    readable = _encodable(text)
    if len(readable) == len(text):
        return text[: len(toktok.truncate(readable, max(limit, 0), ENCODING)[0])]
    # Two halves of a surrogate pair became one character, so places in the two texts differ.
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(text[:middle]) <= limit else (low, middle - 1)
    return text[:low]


def count_message(text: str, *, images: int = 0, reasoning: str = "", ids: Iterable[str] = ()) -> int:
    """Return the tokens that a message adds to a request.

    They are its text with calls and results written out, its reasoning and call ids, `MESSAGE_OVERHEAD`, and
    `MEDIA_TOKENS` for each image or other attachment.
    """
    words = "\n".join(part for part in (text, reasoning, *ids) if part)
    return count(words) + MESSAGE_OVERHEAD + MEDIA_TOKENS * images


def count_tools(specs: Sequence[Mapping[str, Any]]) -> int:
    """Return the tokens of tool schemas, each as its compact JSON; 0 for none.

    The provider's own rendering is not published; the JSON is at least as long as the forms that have been observed.
    """
    return sum(count(json.dumps(spec, ensure_ascii=False, separators=(",", ":"), default=str)) for spec in specs)


def _encodable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
