"""A description of 8 to 12 words made of a conversation's own words: what was asked, and its most telling terms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ricordo.consolidation.extractive import cues
from ricordo.consolidation.extractive.candidates import Candidate, stems, tokens_of
from ricordo.consolidation.sentences import clean

FEWEST_WORDS, MOST_WORDS = 8, 12
REQUEST_WORDS = 8
"""How much of the request is told; the terms that identify the conversation fill the rest."""

LONGEST_TERM = 40
LONGEST_WORD = 60

_LEAD = re.compile(
    r"^(?:user: )?(?:(?:hi|hello|hey|ciao|salve|buongiorno|buonasera|ok(?:ay)?|sure|yes|well|so|and|please|thanks?|grazie|sì|allora|"
    r"there|sorry|scus[ai]|actually|senti)\b[\s,.!:;-]*)*"
    r"(?:(?:I[’']?m|I am) (?:looking|trying|hoping|writing|calling) (?:to|for|about)|I(?:[’']d| would) like (?:you )?to|"
    r"I (?:need|want|have) (?:you )?to|I (?:need|want)(?= )|(?:can|could|would) you(?: please)?(?: help me)?(?: to)?|help me(?: to)?|"
    r"let[’']?s|we need to|is it possible to|(?:io )?(?:vorrei|voglio|vogliamo|devo|dobbiamo)|(?:puoi|potresti|può|potrebbe)(?: per favore)?|"
    r"ho bisogno d[i’']|mi serve|aiutami a|per favore)?\s*",
    re.IGNORECASE,
)
_EDGE = " ,.;:!?…-–—\"'“”‘’«»()[]{}*`"


def describe(
    candidates: Sequence[Candidate], *, weights: Mapping[str, float], salience: Sequence[float], stop: frozenset[str]
) -> str:
    """Return the topic: the first telling request, then the heaviest terms that it does not name; "" without words.

    Every word stands in the source, so the description has the conversation's language.
    """
    words = _request(candidates, weights, salience, stop)
    seen = set(tokens_of(" ".join(words)))
    terms: list[str] = []
    for term in _terms(candidates, weights):
        size = len(words) + len(terms)
        parts = set(tokens_of(term))
        if size >= MOST_WORDS or (size >= FEWEST_WORDS and len(terms) >= 3):
            break
        if not parts & seen:
            terms.append(term)
            seen |= parts
    request = " ".join(words)
    return f"{request}: {', '.join(terms)}" if request and terms else request or ", ".join(terms)


def _request(
    candidates: Sequence[Candidate], weights: Mapping[str, float], salience: Sequence[float], stop: frozenset[str]
) -> list[str]:
    opening = _opening(candidates)
    if not opening:
        return []
    best = max(opening, key=lambda c: (_density(c, weights) * salience[c.order], -c.order))
    text = _LEAD.sub("", best.text, count=1) or best.text
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
    worth = sum(sorted(weights[word] for word in candidate.words))
    asks = 2.0 if cues.REQUEST.search(candidate.text) else 1.0
    return asks * worth / (3 + len(candidate.words)) * min(1.0, len(candidate.words) / 4)


def _terms(candidates: Sequence[Candidate], weights: Mapping[str, float]) -> Iterator[str]:
    """Yield identifiers and names by weight, then the words that are written most like names."""
    forms: dict[str, str] = {}
    for candidate in candidates:
        if candidate.role != "system":
            for word in candidate.text.split():
                forms.setdefault(word.strip(_EDGE).casefold(), word.strip(_EDGE))
    ranked = sorted(weights, key=lambda element: (-weights[element], element))
    for element in ranked:
        kind, _, key = element.rpartition("\t")
        form = forms.get(key.casefold(), "")
        if kind and form and len(form) <= LONGEST_TERM and any(map(str.isalpha, form)):
            yield form
    by_stem = {next(iter(stems([low])), ""): form for low, form in reversed(forms.items()) if low.isalpha()}
    yield from (by_stem[element] for element in ranked if "\t" not in element and element in by_stem)
