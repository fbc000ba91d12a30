"""Words that tell what a sentence does, in English and Italian, and of which language a text is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, TypeAlias

Language: TypeAlias = Literal["en", "it", "other"]

_ENGLISH = (
    "a about after all also am an and any are as at be because been before but by can could did do does doing don down "
    "each few for from further get had has have having he her here hers him his how i if in into is it its just let me "
    "more most my no nor not now of off on once one only or other our out over own same she should so some such than "
    "that the their them then there these they this those through to too under until up us very was we were what when "
    "where which while who whom why will with would you your yours"
)
_ITALIAN = (
    "a ad ai al alla alle allo anche ancora avere c che chi ci come con cosa così cui da dal dalla dalle dei del della "
    "delle dello di dove due e è ed era essere fa già gli ha hai hanno ho i il in io l la le lei li lo loro lui ma mi "
    "mia mie mio molto ne negli nei nel nella nelle no noi non nostro o ogni per perché però più poi può qual quale "
    "quando quanto quella quello questa queste questi questo qui se sei si sia siamo sono sta su sua sue sul sulla suo "
    "te ti tra tu tua tuo tutti tutto un una uno va vi voi"
)
STOP_WORDS: dict[Language, frozenset[str]] = {
    "en": frozenset(_ENGLISH.split()),
    "it": frozenset(_ITALIAN.split()),
    "other": frozenset(),
}


def any_of(*alternatives: str) -> re.Pattern[str]:
    """Return a pattern that finds any of the alternatives at the start of a word, in any case."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(alternatives)})", re.IGNORECASE)


DECISION = any_of(
    r"let[’']?s\b", r"let us\b", r"decid\w+", r"agreed?\b", r"we(?:[’']ll| will| should| must| need)\b",
    r"(?:go|I[’']m going) with\b", r"I(?:[’']ll| will| confirm| agree| choose)\b", r"go ahead", r"proceed\b",
    r"(?:need|needs|have|has) to\b", r"must\b", r"to-?do\b", r"next steps?\b", r"deadline", r"due (?:by|on|date)",
    r"by (?:mon|tues|wednes|thurs|fri|satur|sun)day", r"by tomorrow", r"action items?", r"remind", r"follow[- ]up",
    r"approved?\b", r"reject", r"chose\b", r"(?:has|have) been \w+ed\b", r"successfully\b", r"cancel", r"booked\b",
    r"refund", r"submit", r"decis[oaie]\b", r"facciamo", r"dobbiamo", r"dovremmo", r"devo\b", r"dev[ei]\b",
    r"bisogna", r"occorre", r"entro\b", r"scadenza", r"prossim[oi] pass[oi]", r"da fare\b", r"conferm\w+",
    r"proced\w+", r"ricordami", r"promemoria",
    r"(?:far|mander|invier|chiamer|preparer|prenoter|pagher|aggiorner|scriver)(?:ò|emo|à)\b", r"approvat",
    r"scelt[oaie]\b", r"annull\w+", r"prenotat", r"rimbors", r"va bene\b", r"d[’']accordo", r"rimandat", r"spostat",
)  # fmt: skip
"""Decisions, actions, promises, deadlines and things to do."""

REQUEST = any_of(
    r"I[’']?d like", r"I (?:would|want|need|wish)\b", r"I[’']?m (?:looking|trying|hoping)\b",
    r"I don[’']?t (?:want|need)\b", r"(?:can|could|would) you\b", r"please\b", r"help me\b", r"is it possible",
    r"my (?:goal|budget|limit)\b", r"instead of\b", r"at (?:most|least)\b", r"no (?:more|later|earlier) than",
    r"vorrei\b", r"voglio\b", r"vogliamo\b", r"mi serv\w+", r"ho bisogno", r"puoi\b", r"potresti", r"può\b",
    r"potrebbe", r"per favore", r"aiutami", r"è possibile", r"non voglio", r"al massimo", r"almeno\b", r"invece di",
    r"il mio (?:obiettivo|budget|limite)",
)  # fmt: skip
"""What somebody asks for, and the limits that they set."""

DONE = any_of(
    r"(?:has|have|had|was|were) (?:now |all |already |been |successfully )*\w+(?:ed|en|nt|id)\b", r"successfully",
    r"done\b", r"fixed\b", r"completed?\b", r"resolved\b", r"works now", r"submitted\b", r"paid\b", r"passed\b",
    r"no longer\b", r"(?:è|sono|ho|abbiamo|hai) (?:già |ora |stat[oaie] )*\w+(?:at|ut|it|tt|st|s)[oaie]\b",
    r"fatt[oaie]\b", r"risolt", r"completat", r"funziona\b", r"inviat", r"pagat",
)  # fmt: skip
"""What closes an open matter."""

EMOTION = any_of(
    r"thank", r"grateful", r"appreciat", r"sorry\b", r"apolog", r"frustrat", r"annoy", r"upset", r"angry", r"furious",
    r"worr(?:y|ied)", r"afraid", r"scared", r"concerned", r"anxious", r"happy\b", r"glad\b", r"i (?:love|hate)\b",
    r"unfortunately", r"urgent", r"asap\b", r"disappoint", r"unacceptable", r"confus", r"stress", r"excited",
    r"tired of", r"oh no\b", r"i (?:really )?(?:like|prefer)\b", r"ridiculous", r"understand (?:your|how)", r"health",
    r"(?:passed away|death)", r"grazie", r"purtroppo", r"arrabbiat", r"preoccup", r"paura", r"ansi(?:a|os)",
    r"felice", r"content[oaie]\b", r"adoro", r"odio\b", r"preferi", r"delus", r"inaccettabil", r"stanc[oaie]",
    r"dispiac", r"mi (?:piac|scus)", r"scusa", r"non ne posso più", r"che bello", r"in ritardo", r"fretta",
)  # fmt: skip
"""Feelings, preferences, urgency and courtesy that colour a conversation."""

ENTITY = any_of(
    r"my (?:\w+ ){0,2}(?:names?|ids?|e-?mail|address|phone|account|number|company|team|boss|wife|husband|doctor)\b",
    r"(?:is|are) (?:called|named)\b", r"stands for\b", r"works? (?:at|for|as)\b", r"lives? in\b", r"id(?: is|:)",
    r"https?://", r"mi chiamo",
    r"(?:il mio|la mia|i miei) (?:\w+ )?(?:nome|id|codice|indirizzo|numero|mail|telefono|conto|medico|azienda)",
    r"si chiama", r"lavor[aoi] (?:a|per|come|in|da)\b", r"abit[aoi] (?:a|in)\b", r"codice\b",
    r"(?:[\w.+-]+@[\w-]+\.\w)",
    r"(?:\w+_)?(?:id|name|email|address\d?|city|dob|phone|url|path|repo|repository|host|author|owner): ",
)  # fmt: skip
"""Who and what things are: people, places, systems, identifiers, addresses."""

CHATTER = any_of(
    r"(?:hi|hello|hey|dear|good (?:morning|afternoon|evening)|ciao|salve|buongiorno|buonasera|gentile)\b\W*\w*[!,.]?$",
    r"^(?:user: )?(?:thank you|thanks|thank you, \w+|no worries|sure|certo|grazie)[!.]?$", r"feel free",
    r"let me know if", r"anything else", r"any (?:further|other|more) (?:questions|assistance|help)",
    r"(?:safe|nice) travels", r"talk to you",
    r"thank(?:s| you) (?:so|very|for (?:your|the|all)) (?:much|help|assistance|patience)",
    r"grazie (?:mille|tante)[!.]?$", r"you[’']?re welcome", r"have a (?:great|nice|good|wonderful)",
    r"how (?:can|may) I (?:help|assist)", r"i(?:[’']m| am) here to", r"happy to help",
    r"assist you (?:further|today)", r"thank you for (?:your|providing|the|confirming|reaching)",
    r"se hai (?:altre )?(?:domande|bisogno)", r"fammi sapere", r"resto a disposizione", r"non esitare", r"prego\b",
    r"buona (?:giornata|serata)", r"cordiali saluti", r"posso (?:aiutarti|esserti)",
)  # fmt: skip
"""Courtesies that carry no content."""

QUESTION = re.compile(r"[?？][\"'”’»)\]]*…?$")


def language(words: Iterable[str]) -> Language:
    """Return the language that most stop words of a text belong to; "other" when they are fewer than one in twelve."""
    total = 0
    hits: dict[Language, int] = {"en": 0, "it": 0}
    for word in words:
        total += 1
        for tongue in hits:
            hits[tongue] += word in STOP_WORDS[tongue]
    best = max(hits, key=lambda tongue: hits[tongue])
    return best if hits[best] * 12 > total else "other"
