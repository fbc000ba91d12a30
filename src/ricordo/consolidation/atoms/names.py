"""Names: capitalised words and acronyms, told from words that are capitalised for another reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

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
    "clara stella ingrid astrid helena viktor victor karl hans klaus lars sven erik felix emil hugo theo tobias jonas "
    "fiona zoe chloe grace hannah leah naomi noemi nora nadia tanya irina natalia svetlana sergei pavel boris igor "
    "carlos juan jose miguel pedro diego javier pablo rafael raphael fernando manuel luis mateo ana carmen isabel "
    "lucas joao tiago jean pierre jacques louis michel marie sophie camille claude antoine hassan mohammed ahmed "
    "khalid layla leila zara kofi kwame ngozi chidi arjun anil sunil deepak anita sunita kenji hiroshi akira jin min "
    "priscilla gary hugh rhys owen dylan ellie molly kate kelly stacy tracy vera ada ines agnes bridget "
    "mateus miriam lara flora gemma abigail adele adrian agatha aldo alba alberta alessia alessio alfredo alicia alina "
    "allison amalia amelia amira anastasia andreas angelo angus anika anja anton april arthur ashok astrid audrey axel "
    "barry basil bernard bernardo bert beth bettina bjorn boyd brad bradley bram brent bryan caleb cameron carla carlotta "
    "carmela carmen caroline cecilia celeste cesare chad charlie chloe christian christoph claudine cole colin connor "
    "corrado cosimo craig damian damiano danny darren dean debra denis derek diana dominic domenico donald doris douglas "
    "duncan edith edna eduardo edwin eileen elaine eleanor elias elio eliza ellen elsa emilia emilio emmanuel enzo erica "
    "erika ernesto esther ettore eugene eugenia eva evan fabrizio fatma fausto federica felicia ferdinand flavia flavio "
    "florence francis franz fred frederick fritz gaia geoffrey gerald gerard gianni gianluca gianna gilbert gina gino "
    "glen gloria gordon graham greta guido gunther gwen harold harriet harry harvey heidi heinrich herbert holly howard "
    "ian ida ignazio ilya isaac isla ivy jade jake james jamie jan jana jasmine jasper jenny jeremy jessie joanna joanne "
    "joel johan johanna jordan jorge josef josephine joyce juliet june karin karina katia keith ken kim kirsten kurt kylie "
    "lance lars lea lena leonardo leonora leslie lewis lidia lillian lily lina livia logan lola lorna lorraine louise "
    "luciano ludovica luigia lydia lynn madeleine maddalena malik manuela marcel marcella marcus margherita mariana "
    "marianna marilyn marina marion marlene marvin mason matilda matilde maureen maurice max megan mehmet melanie mirko "
    "miranda mitchell mohamed morgan muhammad murray nadine natalie neil nelson nicolas nicole nigel nils nina nino noel "
    "norma norman ornella oskar otto pam pascal patrizia patty paula pauline pearl penny perry petra philip phil philippe "
    "pilar pippa quentin quinn ralph ramon randy raffaele raffaella regina reginald renata renato renee ricardo rita rob "
    "robin roger roland rolf roman romeo ron rosalie rosanna rosario rose ross roxanne ruby rudolf rupert russell sabina "
    "sabrina sally salvador samira sandro santiago sarita saverio sean sebastian serge seth shane sheila sibylle sidney "
    "sonia sonya stan stanley stefan stefania stella stuart sue susanna suzanne sylvia tamara tania tara ted terence "
    "terry thea theresa theodore tiffany tina todd toby toni tony travis trevor tristan ugo umberto ursula vanessa vera "
    "vernon vincent viola virginia viviana walter wanda warren wayne wendy wilhelm will willow wolfgang yasmin yvonne "
    "xavier zachary zeno zoey "
    "camilla beatrice aurora ginevra giorgia marta irene ilaria roberta cristina claudia monica simona barbara "
    "antonella daniela serena benedetta arianna eleonora bianca teresa carla luisa".split()
)
"""Common given names of English and Italian speakers: at the start of a sentence they are names all the same."""

_NEVER = frozenset(
    # days, and words that are capitalised by convention rather than as names
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun "
    "lunedi martedi mercoledi giovedi venerdi sabato domenica i i'm i'd i'll i've "
    "user users assistant agent customer client system tool human utente assistente agente cliente "
    "iban vat iva tel dob otp pin sms gmt utc cet cest eur usd gbp chf kb mb gb tb "
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
_SMALL = frozenset(
    "with from that this into over after before than when della delle degli sulla nella dalla alla alle come".split()
)
_ACTS = re.compile(
    r" (?:pays|paid|wants|wanted|said|says|asked|asks|thinks|prefers|wrote|told|agreed|owns|fixed|suggested|proposed"
    r"|will (?:pay|send|write|call|present|bring|join|own|fix)|et al"
    r"|vuole|paga|pagherà|versa|dice|pensa|preferisce|chiede|deve|può"
    r"|ha (?:detto|chiesto|fornito|pagato|versato|inviato|scritto|proposto|deciso|accettato|passato|dato))\b"
)
_ROLES = frozenset(
    "he she it they we you who one someone everyone nobody patient student buyer seller vendor team company owner "
    "doctor manager boss husband wife son daughter mother father brother sister friend colleague candidate author "
    "reviewer tenant landlord speaker teacher professor guest passenger caller board lawyer contractor supplier "
    "developer engineer designer tester maintainer both all each neither mom dad kid kids parents paziente studente "
    "venditore acquirente proprietario medico marito moglie figlio figlia madre padre fratello sorella amico amica "
    "collega candidato autore relatore relatrice docente professore professoressa inquilino tecnico ospite chi lui "
    "lei egli ella nessuno qualcuno ciascuno ognuno ditta azienda fornitore impiegato today yesterday tomorrow that "
    "there here what let this".split()
)
_COMMON = frozenset(
    "from about over under until by in on at for to with since after before around up only nearly almost roughly "
    "approximately circa dal dalle da dopo prima entro oltre fino alle sono restano line page room section version step "
    "order seat gate flight row total number the a an all and but not no yes if when".split()
)
_TITLES = frozenset("mr mrs ms dr prof dott sig ing avv st".split())
LONGEST_ACRONYM = 6


_NOT_NAMES = _NEVER | _ROLES | _COMMON


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
    for word, following in pairwise([*words, None]):
        if word is None:
            break
        if word.capitalised and (_is_name(word, elsewhere, strict=strict) or _acts(word, text)):
            if run and not _adjoins(word):
                yield from _name(text, run)
                run = []
            run.append(word)
        elif not (run and _links(word, following)):
            yield from _name(text, run)
            run = []
    yield from _name(text, run)


def openings(text: str) -> Iterator[Atom]:
    """Yield, in order, the capitalised words that open a sentence, a label or a quotation and that `find` leaves out.

    Each may be a name or a common word; which it is, only another text can tell.
    """
    counted = {position for atom in find(text) for position in range(atom.start, atom.end)}
    for word in _words(text):
        if word.initial and word.capitalised and word.start not in counted and word.plain not in _NOT_NAMES:
            yield Atom("name", word.text, word.plain, word.start, word.end)


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
    return any(c in ".!?:;\n…—–•*#|>]\"“”«»([{`/\\=" for c in gap) or " - " in gap or " '" in gap or " ‘" in gap


def _is_name(word: _Word, elsewhere: frozenset[str], *, strict: bool) -> bool:
    normal = word.plain
    if normal in _NEVER or len(normal) < 2:
        return False
    if word.text.isupper():
        return len(word.text) <= LONGEST_ACRONYM
    if normal in GIVEN_NAMES:
        return True
    return not strict and (not word.initial or normal in elsewhere)


def _acts(word: _Word, text: str) -> bool:
    """Whether an opening word does what only people do ("Galli ha chiesto", "Packer et al.") or owns ("Accel's")."""
    normal = word.plain
    if normal in _NEVER or normal in _ROLES or len(normal) < 3:
        return False
    return bool(_ACTS.match(text, word.end)) or bool(re.compile(r"['’]s\b").match(text, word.end)) or (
        "-" in word.text and word.text.rsplit("-", 1)[1].isupper()
    )


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
    long = [word for word in words[:400] if len(word.text) >= 4 and not word.initial and word.text not in _SMALL]
    return len(long) >= 4 and all(word.capitalised for word in long)


def _name(text: str, run: list[_Word]) -> Iterator[Atom]:
    if run:
        start, end = run[0].start, run[-1].end
        yield Atom("name", text[start:end], " ".join(word.plain for word in run), start, end)
