"""Cutting a text where a reader sees a boundary."""

from __future__ import annotations

import unicodedata

ELLIPSIS = "…"

_ZERO_WIDTH_JOINER = "\u200d"


def shorten(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters; one that was cut, as `boundary` says, ends with "…"."""
    if len(text) <= limit:
        return text
    if limit < 1:
        return ""
    return text[: boundary(text, limit - len(ELLIPSIS))] + ELLIPSIS


def boundary(text: str, position: int) -> int:
    """Return the last position up to the given one at which a text may be cut.

    A cut never falls inside what is seen as one character: a base and its combining marks, a Hangul syllable, an
    emoji sequence, a flag, a surrogate pair, CR LF. These are the extended grapheme clusters of Unicode Standard
    Annex 29 but for its prepended marks (Arabic number signs); where in doubt the cut falls earlier.
    """
    end = min(position, len(text))
    while 0 < end < len(text) and _joined(text, end):
        end -= 1
    return end


def _joined(text: str, position: int) -> bool:
    """Return whether the characters on both sides of a position are seen as one."""
    left, right = text[position - 1], text[position]
    return (
        _extends(right)
        or left == _ZERO_WIDTH_JOINER
        or _is_linker(left)
        or (left, right) == ("\r", "\n")
        or (_within(left, 0xD800, 0xDBFF) and _within(right, 0xDC00, 0xDFFF))
        or (_is_flag_half(right) and _flag_halves_before(text, position) % 2 == 1)
    )


def _extends(character: str) -> bool:
    """Return whether a character belongs to the one before it."""
    return (
        character == _ZERO_WIDTH_JOINER
        or unicodedata.category(character) in {"Mn", "Mc", "Me"}
        or _within(character, 0x1F3FB, 0x1F3FF)  # skin tones
        or _within(character, 0xE0020, 0xE007F)  # tags, which spell a flag
        or _within(character, 0x1160, 0x11FF)  # Hangul vowels and final consonants
        or character in "\u200c\u0e33\u0eb3\uff9e\uff9f"
    )


def _is_linker(character: str) -> bool:
    """Return whether a character is a virama, which joins the consonant after it to the one before."""
    return unicodedata.combining(character) == 9


def _is_flag_half(character: str) -> bool:
    return _within(character, 0x1F1E6, 0x1F1FF)


def _flag_halves_before(text: str, position: int) -> int:
    start = position
    while start > 0 and _is_flag_half(text[start - 1]):
        start -= 1
    return position - start


def _within(character: str, first: int, last: int) -> bool:
    return first <= ord(character) <= last
