"""A description of 8 to 12 words made of a conversation's own words: what was asked, and its most telling terms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import fsum

from ricordo.consolidation.extractive import cues
from ricordo.consolidation.extractive.candidates import USER_MARK, Candidate, stems, tokens_of
from ricordo.consolidation.extractive.weights import Valuation
from ricordo.consolidation.sentences import clean

FEWEST_WORDS, MOST_WORDS = 8, 12
REQUEST_WORDS = 8
"""How much of the request is told; the terms that identify the conversation fill the rest."""

MOST_TERMS = 3
LONGEST_TERM = 40
LONGEST_WORD = 60

_LEAD = re.compile(
    r"^(?:(?:hi|hello|hey|ciao|salve|buongiorno|buonasera|ok(?:ay)?|sure|yes|well|so|and|please|thanks?|grazie|sì|allora|"
    r"there|sorry|scus[ai]|actually|senti)\b[\s,.!:;-]*)*"
    r"(?:(?:I[’']?m|I am) (?:looking|trying|hoping|writing|calling) (?:to|for|about)|I(?:[’']d| would) like (?:you )?to|"
    r"I (?:need|want|have) (?:you )?to|I (?:need|want)(?= )|(?:can|could|would) you(?: please)?(?: help me)?(?: to)?|help me(?: to)?|"
    r"let[’']?s|we need to|is it possible to|(?:io )?(?:vorrei|voglio|vogliamo|devo|dobbiamo)|(?:puoi|potresti|può|potrebbe)(?: per favore)?|"
    r"ho bisogno d[i’']|mi serve|aiutami a|per favore)?\s*",
    re.IGNORECASE,
)
_EDGE = " ,.;:!?…-–—\"'“”‘’«»()[]{}*`"


def describe(candidates: Sequence[Candidate], value: Valuation, *, stop: frozenset[str]) -> str:
    """Return the topic: the first telling request, then the heaviest terms that it does not name; "" without words.

    Every word stands in the source, so the description has the conversation's language.
    """
    words = _request(candidates, value, stop)
    seen = set(tokens_of(" ".join(words)))
    terms: list[str] = []
    for term in _terms(candidates, value.weights):
        size = len(words) + len(terms)
        parts = set(tokens_of(term))
        if size >= MOST_WORDS or (size >= FEWEST_WORDS and len(terms) >= MOST_TERMS):
            break
        if not parts & seen:
            terms.append(term)
            seen |= parts
    request = " ".join(words)
    return f"{request}: {', '.join(terms)}" if request and terms else request or ", ".join(terms)


def _request(candidates: Sequence[Candidate], value: Valuation, stop: frozenset[str]) -> list[str]:
    opening = _opening(candidates)
    if not opening:
        return []
    best = max(opening, key=lambda c: (_density(c, value.weights), -c.order))
    text = _LEAD.sub("", best.text.removesuffix(USER_MARK), count=1) or best.text
    words = [word for word in clean(text).split() if len(word) <= LONGEST_WORD and any(map(str.isalnum, word))]
    words = words[:REQUEST_WORDS]
    while len(words) > 1 and words[-1].casefold().strip(_EDGE) in stop:
        words.pop()
    phrase = " ".join(words).strip(_EDGE)
    return (phrase[:1].upper() + phrase[1:]).split()


def _opening(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the units of the first two messages by a user that say something; of any role where there are none."""
    for role in ("user", "assistant", None):
        spoken = [c for c in candidates if role in (c.role, None) and len(c.words) >= 2]
        if spoken:
            first = sorted({c.index for c in spoken})[:2]
            return [c for c in spoken if c.index in first]
    return list(candidates[:1])


def _density(candidate: Candidate, weights: Mapping[str, float]) -> float:
    worth = fsum(weights[word] for word in candidate.words)
    asks = 2.0 if cues.REQUEST.search(candidate.text) else 1.0
    return asks * worth / (3 + len(candidate.words)) * min(1.0, len(candidate.words) / 4)


def _terms(candidates: Sequence[Candidate], weights: Mapping[str, float]) -> Iterator[str]:
    """Yield the identifiers and names that people and the assistant use, by weight, then their other words."""
    forms: dict[str, str] = {}
    atoms: set[str] = set()
    for candidate in candidates:
        if candidate.kind == "prose" and candidate.role in ("user", "assistant"):
            atoms |= candidate.atoms
            for word in candidate.text.removesuffix(USER_MARK).split():
                forms.setdefault(word.strip(_EDGE).casefold(), word.strip(_EDGE))
    for atom in sorted(atoms, key=lambda element: (-weights[element] * _shape(element), element)):
        form = forms.get(atom.partition("\t")[2].casefold(), "")
        if len(form) <= LONGEST_TERM and any(map(str.isalpha, form)):
            yield form
    by_stem = {stem: form for low, form in reversed(forms.items()) if low.isalpha() for stem in stems([low])}
    yield from (by_stem[stem] for stem in sorted(by_stem, key=lambda stem: (-weights.get(stem, 0.0), stem)))


def _shape(atom: str) -> float:
    """Prefer what looks like an identifier or a name to a short abbreviation."""
    key = atom.partition("\t")[2]
    if any(map(str.isdigit, key)) and any(map(str.isalpha, key)):
        return 2.0
    return 0.5 if len(key) <= 3 else 1.0
