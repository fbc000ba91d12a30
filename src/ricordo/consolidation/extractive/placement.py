"""Under which heading a chosen unit stands, and whether what it says is still open."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ricordo.consolidation.extractive import cues
from ricordo.consolidation.extractive.candidates import Candidate
from ricordo.types import LineStatus, Section

_INTENT = cues.any_of(
    r"(?:we|i|you|it) (?:still )?(?:need|have|has|needs) to\b", r"(?:I|we)(?:[’']ll| will)\b", r"let (?:me|us)\b",
    r"let[’']s\b", r"dobbiamo", r"devo\b", r"bisogna", r"occorre",
    r"(?:far|mander|invier|chiamer|preparer|prenoter|pagher|aggiorner|scriver)(?:ò|emo)\b",
)  # fmt: skip
_LASTING = cues.any_of(
    r"to-?do\b", r"deadline", r"due (?:by|on|date)", r"remind me", r"follow[- ]up\b", r"action items?",
    r"next steps?\b", r"not yet\b", r"still (?:need|have|open|missing|pending)", r"pending\b",
    r"by (?:tomorrow|tonight|next|mon|tues|wednes|thurs|fri|satur|sun)", r"scadenza", r"da fare\b", r"ricordami",
    r"promemoria", r"in sospeso", r"non ancora\b", r"manca(?:no)?\b", r"prossimi passi", r"entro\b",
)  # fmt: skip
_CHANGING_CALL = re.compile(
    r"^(?:\w+[._-])?(?:book|cancel|update|create|delete|remove|send|submit|modify|add|set|transfer|pay|refund|edit|write|insert|"
    r"deploy|merge|commit|schedule|assign|move|rename|approve|reject|close|prenota|annulla|crea|invia|modifica)\w*:",
    re.IGNORECASE,
)
_SHARED_WORDS = 2
"""A closing sentence speaks of the same matter when it shares an atom or this many word stems."""


def section_of(candidate: Candidate) -> Section:
    """Return the heading that a unit's role and cue words point to; technical where they point nowhere."""
    text = candidate.text
    if candidate.kind == "record":
        if candidate.role == "assistant" and not candidate.failed and _CHANGING_CALL.match(text):
            return "actions"
        return "entities" if candidate.role != "assistant" and cues.ENTITY.search(text) else "technical"
    if candidate.kind != "prose" or candidate.role not in ("user", "assistant"):
        return "technical"
    acts = len(cues.DECISION.findall(text)) + len(cues.REQUEST.findall(text))
    feels = len(cues.EMOTION.findall(text))
    if feels > acts:
        return "emotional"
    if cues.ENTITY.search(text) and not (cues.DECISION.search(text) or cues.QUESTION.search(text)):
        return "entities"
    return "actions" if acts or (candidate.role == "user" and cues.QUESTION.search(text)) else "technical"


@dataclass(frozen=True, slots=True)
class _Turns:
    last_user: int
    last_assistant: int


class Closings:
    """What was closed where: tells whether a unit is still open at the end of the chunk."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        """Index the units that close a matter by the atoms and words that they share with it; linear in both."""
        self._last: dict[str, int] = {}
        self._turns = _Turns(_last(candidates, "user"), _last(candidates, "assistant"))
        for candidate in candidates:
            if _closes(candidate):
                for element in candidate.atoms | candidate.words:
                    self._last[element] = max(candidate.index, self._last.get(element, -1))

    def status_of(self, candidate: Candidate) -> LineStatus:
        """Return "open" for what waits for an answer and for a thing to do that no later unit closes.

        A question, a request or an intention waits until the other side speaks; a deadline or a reminder waits until
        something that shares its atoms or words is said to be done. Only prose can be open.
        """
        if (
            candidate.kind != "prose"
            or candidate.role not in ("user", "assistant")
            or cues.CHATTER.search(candidate.text)
        ):
            return "confirmed"
        if _LASTING.search(candidate.text) and not self._closed(candidate):
            return "open"
        waits = (
            cues.QUESTION.search(candidate.text)
            or cues.REQUEST.search(candidate.text)
            or _INTENT.search(candidate.text)
        )
        return "open" if waits and not (self._answered(candidate) or self._closed(candidate)) else "confirmed"

    def _answered(self, candidate: Candidate) -> bool:
        other = self._turns.last_assistant if candidate.role == "user" else self._turns.last_user
        return other > candidate.index

    def _closed(self, candidate: Candidate) -> bool:
        return (
            self._later(candidate.atoms, candidate.index) > 0
            or self._later(candidate.words, candidate.index) >= _SHARED_WORDS
        )

    def _later(self, elements: Iterable[str], index: int) -> int:
        return sum(self._last.get(element, -1) > index for element in elements)


def _last(candidates: Sequence[Candidate], role: str) -> int:
    return max((candidate.index for candidate in candidates if candidate.role == role), default=-1)


def _closes(candidate: Candidate) -> bool:
    return (
        candidate.kind == "prose"
        and not cues.QUESTION.search(candidate.text)
        and not _LASTING.search(candidate.text)
        and bool(cues.DONE.search(candidate.text))
    )
