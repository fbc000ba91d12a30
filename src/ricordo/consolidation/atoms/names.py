"""Names: capitalised words and acronyms, told from words that are capitalised for another reason."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
_LINKS = "of the and de di del della dello dei degli delle da van von der la le du dos y e al bin ibn for in".split()
_PARTICLE = rf"(?:(?:{'|'.join(_LINKS)})\s|d[ei]ll?['’]|[dl]['’])"
_CAPITALISED = r"(?:(?:[Dd]ell|[Nn]ell|[Aa]ll|[Dd]all|[Ss]ull|[Uu]n|[DdLlOo]|[Cc]om)['’])?[^\W\d_a-z][\w&]{0,60}(?:['’-][^\W\d_]{1,40})*"
