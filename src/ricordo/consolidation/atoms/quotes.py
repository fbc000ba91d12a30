"""Quotations: what a text puts between quotation marks or backticks, on one line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ricordo.consolidation.atoms.atom import Atom, fold

LONGEST_QUOTE = 300

_PAIRS = (
    r"“([^“”\n]{2,300})”",
    r"„([^„“”\n]{2,300})[“”]",
    r"«([^«»\n]{2,300})»",
    r"(?<![\w\"])\"(?=\S)([^\"\n]{2,300})(?<=\S)\"(?![\w\"])",
    r"(?<!`)`([^`\n]{2,300})`(?!`)",
    r"(?<![\w’'])['‘](?=\w)([^'’‘\n]{2,120}(?:['’]\w[^'’‘\n]{1,80}){0,3})(?<=[\w.!?…])['’](?!\w)",
)
_QUOTE = re.compile("|".join(_PAIRS))
_TRIM = " .,;:!?'\"*"


def find(text: str) -> Iterator[Atom]:
    """Yield the quotations of a text in order; a key is the folded words between the marks."""
    for match in _QUOTE.finditer(text):
        key = fold(match[match.lastindex or 0]).strip(_TRIM)
        if key:
            yield Atom("quote", match.group(), key, match.start(), match.end())
