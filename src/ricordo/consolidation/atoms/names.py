"""Names: capitalised words and acronyms, told from words that are capitalised for another reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ricordo.consolidation.atoms.atom import Atom, plain
from ricordo.consolidation.atoms.lexicon import COMMON, GIVEN_NAMES, NEVER, ROLES, SMALL, word_set

BLANK = "\0"
"""Stands for each character that another atom has taken: no part of a word, nor of the space between two."""

LONGEST_ACRONYM = 12

_LINKS = word_set("of the di de del della dello dei degli delle da van von der la du dos ibn d")
_TITLES = word_set("mr mrs ms dr prof dott sig ing avv st")
_NOT_NAMES = NEVER | ROLES | COMMON
_ADJOINING = frozenset({" ", "\u00a0", "", ". "})
_GERMAN = re.compile(r"\b(?:der|die|das|und|ist|nicht|ein|eine|mit|für|auf|wird|den)\b")
_WORD = re.compile(r"[^\W\d_][\w&]*+(?:['’-][^\W\d_]++)*+")
_ELISION = re.compile(r"(?:d[ae]ll|nell|all|sull|quell|un|[dlcm])['’](?=\w)", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’]s?$")
_OPENING_MARK = re.compile(r"[.!?:;\n…—–•*#|>\]\"“”«»(\[{`/\\=]| - | ['‘]")
_ACTS = re.compile(
    r"['’]s\b| et al\b"
    r"| (?:pays|paid|wants|wanted|said|says|asked|asks|thinks|prefers|wrote|told|agreed|owns|fixed|suggested|proposed"
    r"|handles|writes|leads|manages|joins|attends|accepts|declines|recommends|refuses|replied|replies|explained|explains"
    r"|will (?:pay|send|write|call|present|bring|join|own|fix)"
    r"|vuole|paga|pagherà|versa|dice|pensa|preferisce|chiede|deve|può|scrive|guida|gestisce|accetta|rifiuta|propone"
    r"|consiglia|anticipa|ritira|accompagna"
    r"|ha (?:detto|chiesto|fornito|pagato|versato|inviato|scritto|proposto|deciso|accettato|passato|dato))\b"
)
"""What follows a person's name: an act that only people do, a possession, or "et al."."""


class _Word(NamedTuple):
    text: str
    plain: str
    start: int
    gap: str
    initial: bool
    capitalised: bool

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def find(text: str) -> tuple[list[Atom], list[Atom]]:
    """Return the names of a text, and the capitalised opening words that may be names or not; both in order.

    Consecutive capitalised words are one name. A word that opens a sentence, a label or a quotation is a name where
    it is an acronym or a common given name, where the text capitalises it elsewhere too, or where it does what only
    people do. German, and a text in title case, capitalise other words as well: there only acronyms and given names
    count.
    """
    words = list(_words(text))
    strict = _capitalises_freely(text, words)
    elsewhere = frozenset[str]() if strict else frozenset(w.plain for w in words if w.capitalised and not w.initial)
    names: list[Atom] = []
    openings: list[Atom] = []
    run: list[_Word] = []
    for index, word in enumerate(words):
        if not (word.capitalised or run):
            continue
        named = word.capitalised and (_is_name(word, elsewhere, strict=strict) or _acts(word, text))
        if named and (not run or _adjoins(word)):
            run.append(word)
        elif named or not (run and _links(words, index)):
            names += _name(text, run)
            run = [word] if named else []
        if word.initial and word.capitalised and not named and word.plain not in _NOT_NAMES:
            openings += _name(text, [word])
    return [*names, *_name(text, run)], openings


def _words(text: str) -> Iterator[_Word]:
    end = 0
    previous = ""
    for match in _WORD.finditer(text):
        written = match.group()
        gap = text[end : match.start()]
        initial = _opens(gap, previous) if previous else BLANK not in gap
        start, end = match.span()
        if "'" in written or "’" in written:
            if elision := _ELISION.match(written):
                written, gap, initial = written[elision.end() :], "", False
                start += elision.end()
            written = _POSSESSIVE.sub("", written)
        previous = written
        if previous:
            capitalised = previous[0].isupper()
            yield _Word(previous, plain(previous) if capitalised else previous, start, gap, initial, capitalised)


def _opens(gap: str, previous: str) -> bool:
    if gap == " " or (gap.startswith(".") and plain(previous) in _TITLES):
        return False
    return _OPENING_MARK.search(gap) is not None


def _is_name(word: _Word, elsewhere: frozenset[str], *, strict: bool) -> bool:
    if word.plain in NEVER or len(word.plain) < 2:
        return False
    if word.text.isupper():
        return len(word.text) <= LONGEST_ACRONYM
    if word.text.lower() in GIVEN_NAMES:
        return True
    return not strict and (not word.initial or word.plain in elsewhere)


def _acts(word: _Word, text: str) -> bool:
    """Whether a word does what only people do ("Galli ha chiesto"), or ends in an acronym ("Northwind-EU")."""
    if word.plain in NEVER or word.plain in ROLES or len(word.plain) < 3:
        return False
    return bool(_ACTS.match(text, word.end)) or ("-" in word.text and word.text.rsplit("-", 1)[1].isupper())


def _adjoins(word: _Word) -> bool:
    return word.gap in _ADJOINING and not word.initial


def _links(words: list[_Word], index: int) -> bool:
    """Whether a small word stands between two parts of one name: "Università di Bologna"."""
    word = words[index]
    if word.text not in _LINKS or word.gap != " " or index + 1 == len(words):
        return False
    following = words[index + 1]
    return following.capitalised and following.gap in (" ", "")


def _capitalises_freely(text: str, words: list[_Word]) -> bool:
    """Whether capitals say little here: in German, and in a title, where only small words are in lower case."""
    if len(_GERMAN.findall(text[:2000])) >= 2:
        return True
    if "," in text or BLANK in text or any(map(str.isdigit, text)):
        return False
    telling = [word for word in words[:400] if not word.initial and word.text not in SMALL]
    return len(telling) >= 3 and words[0].capitalised and all(word.capitalised for word in telling)


def _name(text: str, run: list[_Word]) -> Iterator[Atom]:
    if run:
        start, end = run[0].start, run[-1].end
        yield Atom("name", text[start:end], " ".join(word.plain for word in run), start, end)
