"""Names: capitalised words and acronyms, told from words that are capitalised for another reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ricordo.consolidation.atoms.atom import Atom, plain
from ricordo.consolidation.atoms.dates import MONTHS

GIVEN_NAMES = frozenset(
    # English
    "james john robert michael david william richard joseph thomas charles christopher daniel matthew anthony mark "
    "steven paul andrew joshua kenneth kevin brian george edward ronald timothy jason jeffrey ryan jacob gary nicholas "
    "eric jonathan stephen larry justin scott brandon benjamin samuel gregory frank alexander patrick raymond jack "
    "dennis jerry tyler aaron adam henry nathan peter kyle noah ethan liam oliver lucas leo oscar simon tom tim ben sam "
    "dan mike jim joe bob steve chris alex max mary patricia jennifer linda elizabeth barbara susan jessica sarah karen "
    "lisa nancy betty sandra margaret ashley kimberly emily donna michelle carol amanda melissa deborah stephanie "
    "rebecca laura helen sharon cynthia kathleen amy angela shirley anna brenda pamela emma nicole samantha katherine "
    "christine rachel carolyn janet maria heather diane olivia julie victoria lauren christina joan evelyn judith kate "
    "sophia sophie isabella mia charlotte alice ella lucy ruth jane claire eva nina sara anne priya raj amir omar ali "
    "yusuf fatima aisha wei chen yuki hiro ivan olga dmitri elena sofia mei lei raj ravi noor "
    # Italian
    "marco luca andrea francesco giuseppe antonio alessandro lorenzo matteo davide simone federico riccardo stefano "
    "giovanni roberto paolo mario luigi carlo giorgio pietro enrico filippo tommaso gabriele edoardo nicola vincenzo "
    "salvatore giulio claudio massimo fabio maurizio sergio bruno dario emanuele michele daniele alberto franco "
    "giulia chiara francesca martina alessandra federica silvia elisa valentina paola giovanna rosa lucia caterina "
    "camilla beatrice aurora ginevra giorgia marta irene ilaria roberta cristina claudia monica simona barbara "
    "antonella daniela serena benedetta arianna eleonora bianca teresa carla luisa".split()
)
"""Common given names of English and Italian speakers: at the start of a sentence they are names all the same."""

_NEVER = frozenset(
    # days, and words that are capitalised by convention rather than as names
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun "
    "lunedi martedi mercoledi giovedi venerdi sabato domenica i i'm i'd i'll i've "
    "user users assistant agent customer client system tool human utente assistente agente cliente "
    "mr mrs ms dr prof dott dott.ssa sig sig.ra ing avv "
    # acronyms that a summariser uses of itself
    "ok id ids todo tbd tba fyi asap api apis url urls ui db faq faqs eta aka am pm n/a na et al vs ie eg ps nb tl dr "
    "pdf ai it us eu pr prs cv json csv html".split()
) | frozenset(MONTHS)
_LINKS = frozenset("of the di de del della dello dei degli delle da van von der la du dos ibn d".split())
_GERMAN = re.compile(r"\b(?:der|die|das|und|ist|nicht|ein|eine|mit|für|auf|wird|den)\b")
_WORD = re.compile(r"[^\W\d_][\w&]*+(?:['’-][^\W\d_]++)*+")
_ELISION = re.compile(r"(?:d[ae]ll|nell|all|sull|quell|un|[dlcm])['’](?=\w)", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’]s?$")
_TITLES = frozenset("mr mrs ms dr prof dott sig ing avv st".split())
LONGEST_ACRONYM = 6


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int
    gap: str
    initial: bool

    @property
    def capitalised(self) -> bool:
        return self.text[0].isupper()

    @property
    def plain(self) -> str:
        return plain(self.text)


def find(text: str) -> Iterator[Atom]:
    """Yield the names of a text in order; consecutive capitalised words are one name.

    A word that opens a sentence, a label or a quotation counts where it is an acronym or a common given name, or
    where the text also capitalises it elsewhere. German, and a line in title case, capitalise other words too: there
    only acronyms and given names count.
    """
    words = list(_words(text))
    strict = _capitalises_freely(text, words)
    elsewhere = frozenset() if strict else frozenset(w.plain for w in words if w.capitalised and not w.initial)
    run: list[_Word] = []
    for word, following in zip(words, [*words[1:], None], strict=True):
        if word.capitalised and _is_name(word, elsewhere, strict=strict):
            if run and not _adjoins(word):
                yield from _name(text, run)
                run = []
            run.append(word)
        elif not (run and _links(word, following)):
            yield from _name(text, run)
            run = []
    yield from _name(text, run)


def _words(text: str) -> Iterator[_Word]:
    end = 0
    previous = ""
    for match in _WORD.finditer(text):
        gap = text[end : match.start()]
        elision = _ELISION.match(match.group())
        start = match.start() + (elision.end() if elision else 0)
        written = _POSSESSIVE.sub("", match.string[start : match.end()])
        initial = not elision and (not end or _opens(gap, previous))
        end = match.end()
        if written:
            yield _Word(written, start, start + len(written), "" if elision else gap, initial)
        previous = written


def _opens(gap: str, previous: str) -> bool:
    if gap.startswith(".") and plain(previous) in _TITLES:
        return False
    return any(c in ".!?:;\n…—–•*#|>\"“”«»([{`/\\=" for c in gap) or " - " in gap or " '" in gap or " ‘" in gap


def _is_name(word: _Word, elsewhere: frozenset[str], *, strict: bool) -> bool:
    normal = word.plain
    if normal in _NEVER or len(normal) < 2:
        return False
    if word.text.isupper():
        return len(word.text) <= LONGEST_ACRONYM
    if normal in GIVEN_NAMES:
        return True
    return not strict and (not word.initial or normal in elsewhere)


def _adjoins(word: _Word) -> bool:
    return word.gap in (" ", "\u00a0", "", ". ") and not word.initial


def _links(word: _Word, following: _Word | None) -> bool:
    return (
        word.text in _LINKS and word.gap == " " and following is not None and following.capitalised
        and following.gap in (" ", "")
    )


def _capitalises_freely(text: str, words: list[_Word]) -> bool:
    """Whether capitals say little in this text: German, a title, or a text in capitals."""
    if len(_GERMAN.findall(text[:2000])) >= 2:
        return True
    long = [word for word in words[:400] if len(word.text) >= 4]
    return len(long) >= 4 and sum(word.capitalised for word in long) > 0.7 * len(long)


def _name(text: str, run: list[_Word]) -> Iterator[Atom]:
    if run:
        start, end = run[0].start, run[-1].end
        yield Atom("name", text[start:end], " ".join(word.plain for word in run), start, end)
