"""A description of 8 to 12 words made of a conversation's own words: what was asked, and its most telling terms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import fsum

from ricordo.consolidation.extractive import cues
from ricordo.consolidation.extractive.candidates import USER_MARK, Candidate, stems, tokens_of
from ricordo.consolidation.extractive.weights import WORD, Valuation

FEWEST_WORDS, MOST_WORDS = 8, 12
REQUEST_WORDS = 8
"""How much of the request is told; the terms that identify the conversation fill the rest."""

LATER = 0.1
"""The topic is told early: how much less each further unit of the opening counts."""

FEWEST_CHARACTERS = 12
MOST_TERMS = 3
LONGEST_TERM = 40
LONGEST_WORD = 60

_ASKING = re.compile(
    r"\bI(?:[’']?m| am| was) (?:looking|trying|hoping|writing|calling) (?:to|for|about) |"
    r"\bI(?:[’']d| would) like (?:you )?to |\b(?:I|and) (?:need|want|have)(?: you)?(?: to)? |"
    r"\b(?:can|could|would) you(?: please)?(?: help me)?(?: to)? |\bhelp me(?: to)? |"
    r"\bwe (?:need|want) to |\bis it possible to |\b(?:vorrei|voglio|vogliamo|devo|dobbiamo|mi serve|aiutami a) |"
    r"\b(?:puoi|potresti|può|potrebbe)(?: per favore)? |\bho bisogno d(?:i |[’'])",
    re.IGNORECASE,
)
_OPENING_WORDS = re.compile(
    r"^(?:(?:hi|hello|hey|ciao|salve|buongiorno|buonasera|ok(?:ay)?|sure|yes|well|so|and|please|thanks?|grazie|sì|"
    r"allora|there|sorry|scus[ai]|actually|senti|let[’']?s|per favore)\b[\s,.!:;-]*)+",
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
    first = opening[0].order
    best = max(opening, key=lambda c: (_density(c, value.weights) / (1 + LATER * (c.order - first)), -c.order))
    words = [
        word
        for word in _asked(best.text.removeprefix(USER_MARK)).split()
        if len(word) <= LONGEST_WORD and any(map(str.isalnum, word))
    ]
    words = words[:REQUEST_WORDS]
    while len(words) > 1 and words[-1].casefold().strip(_EDGE) in stop:
        words.pop()
    phrase = " ".join(words).strip(_EDGE)
    return (phrase[:1].upper() + phrase[1:]).split()


def _asked(text: str) -> str:
    """Return what is asked for, without greeting and "I would like to"; the whole text where nothing is asked."""
    asking = _ASKING.search(text)
    if asking and len(text) - asking.end() >= FEWEST_CHARACTERS:
        return text[asking.end() :]
    return _OPENING_WORDS.sub("", text) or text


def _opening(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the prose of the first two messages by a user that say something; of any role where there are none."""
    prose = [c for c in candidates if c.kind == "prose" and c.role != "system" and len(c.words) >= 2] or list(
        candidates
    )
    spoken = next(filter(None, ([c for c in prose if c.role == role] for role in ("user", "assistant"))), prose)
    first = sorted({c.index for c in spoken})[:2]
    return [c for c in spoken if c.index in first]


def _density(candidate: Candidate, weights: Mapping[str, float]) -> float:
    """Return how much a unit tells a word, more for a request; a unit of few words cannot name a topic."""
    size = len(candidate.words)
    worth = fsum(weights[word] for word in candidate.words) + WORD * fsum(weights[atom] for atom in candidate.atoms)
    asks = 2.0 if cues.REQUEST.search(candidate.text) else 0.4 if cues.ENTITY.search(candidate.text) else 1.0
    return asks * worth / (3 + size) * min(1.0, size / 4)


def _terms(candidates: Sequence[Candidate], weights: Mapping[str, float]) -> Iterator[str]:
    """Yield the identifiers and names that people and the assistant use, by weight, then their other words."""
    forms: dict[str, str] = {}
    atoms: set[str] = set()
    for candidate in candidates:
        if candidate.kind == "prose" and candidate.role in ("user", "assistant"):
            atoms |= candidate.atoms
            for word in candidate.text.removeprefix(USER_MARK).split():
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
