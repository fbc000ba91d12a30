"""Files that are written into a text as base64: no words, and no sense to a reader."""

from __future__ import annotations

import re

SMALLEST = 1000
"""Characters of base64 from which on it stands for a file; a shorter one, such as an icon in a style sheet, is text."""

_PAYLOAD = rf"[A-Za-z0-9+/_-]{{{SMALLEST},}}={{0,2}}"
_DATA_URI = re.compile(rf"data:(\w*)[\w.+/-]{{0,100}}(?:;[\w.+=-]{{1,100}}){{0,4}};base64,{_PAYLOAD}")
_MAGIC = {"iVBORw0KGgo": "image", "/9j/": "image", "R0lGOD": "image", "UklGR": "image", "JVBERi0": "file"}
"""How base64 of PNG, JPEG, GIF, WebP and PDF begins."""

_FILE = re.compile(rf"(?<![A-Za-z0-9+/_-])({'|'.join(_MAGIC)}){_PAYLOAD}")
_KINDS = frozenset({"image", "audio", "video"})


def without_files(text: str) -> tuple[str, int]:
    """Return a text with a placeholder, such as `[image]`, for each file in it, and the number of files.

    A file is a data URI, or the bare base64 of a PNG, JPEG, GIF, WebP or PDF, of at least `SMALLEST` characters.
    """
    if len(text) < SMALLEST:
        return text, 0
    found = 0
    if ";base64," in text:
        text, found = _DATA_URI.subn(lambda match: f"[{match[1] if match[1] in _KINDS else 'file'}]", text)
    if any(magic in text for magic in _MAGIC):
        text, bare = _FILE.subn(lambda match: f"[{_MAGIC[match[1]]}]", text)
        found += bare
    return text, found
