"""The units of a chunk as candidates for a summary: what each would tell, where it stands, what it costs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ricordo.consolidation.atoms import Atom, atoms
from ricordo.consolidation.extractive import cues
from ricordo.consolidation.extractive.records import units
from ricordo.consolidation.redact import redact_secrets
from ricordo.consolidation.sentences import Unit, UnitKind
from ricordo.consolidation.source import SourceMessage
from ricordo.tokens import count

STEM = 6
"""Words that share their first six letters count as one: a stemmer for both languages without tables."""

LONGEST_HEADING = 40
USER_MARK = "User: "

_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,2}|[^\W_]+(?:['’_-][^\W_]+)*")
_SENTENCE = re.compile(r"\w[.!?:…。！？][\"'”’»)\]]*$")
_ERROR = re.compile(r"\W{0,3}(?:\w{0,30}error|fail|exception|traceback|errore)", re.IGNORECASE)
ANSWERING = frozenset({"tool", "function"})
_STOP = cues.STOP_WORDS["en"] | cues.STOP_WORDS["it"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A unit that a summary may quote.

    `index` is the place of its first message in the chunk, `order` its place among all units, `sources` the numbers
    of the messages that say it, ascending. `cost` is in tokens, as a line of a list. `atoms` and `words` are what it
    covers; words are stems, without stop words. `failed` marks a call that was answered with an error.
    """

    text: str
    kind: UnitKind
    role: str
    index: int
    order: int
    sources: tuple[int, ...]
    cost: int
    failed: bool
    atoms: frozenset[str]
    words: frozenset[str]


@dataclass(slots=True)
class _Draft:
    unit: Unit
    role: str
    index: int
    failed: bool
    numbers: list[int] = field(default_factory=list[int])


def tokens_of(text: str) -> list[str]:
    """Return the words of a text in lower case, in order; CJK runs come as pairs of characters."""
    return _TOKEN.findall(text.casefold())


def stems(words: Iterable[str]) -> frozenset[str]:
    """Return the stems of the words that carry content."""
    return frozenset(
        word[:STEM]
        for word in words
        if word not in _STOP and not word.isdigit() and (len(word) > 2 or ord(word[0]) > 0x2FFF)
    )


def atom_keys(text: str) -> frozenset[str]:
    """Return the atoms of a text as keys that are equal for what a reader takes as the same.

    A figure counts without its unit, a day without its year, and each word of a name for itself, because
    later mentions leave those out. The labels of a record are left out, and so are quotations: what they hold counts.
    """
    return frozenset(
        f"{_kind(atom)}\t{key}"
        for atom in atoms(text)
        if atom.kind != "quote" and not (atom.kind == "identifier" and text.startswith(": ", atom.end))
        for key in _simple(atom)
    )


def _kind(atom: Atom) -> str:
    """Return an atom's kind; a bare figure of one or two digits only counts something."""
    return "count" if atom.kind == "number" and len(atom.text) < 3 else atom.kind


def _simple(atom: Atom) -> Iterable[str]:
    """Return the keys that an atom counts as; several words in capitals are emphasis, not a name."""
    reading = atom.readings[0]
    if atom.kind == "number":
        return (reading.partition(" ")[0],)
    if atom.kind == "date":
        return (reading if reading.startswith("T") else reading.partition("-")[2],)
    if atom.kind == "name":
        return () if atom.text.isupper() and " " in atom.text else (w for w in reading.split(" ") if w not in _STOP)
    return (reading,)


def candidates_of(messages: Sequence[SourceMessage]) -> list[Candidate]:
    """Return the candidates in reading order; units of the same words become one that cites all their messages.

    Units that hold a secret are left out, and so is prose that says nothing: a lone word, number or heading.
    """
    drafts: dict[tuple[str, ...], _Draft] = {}
    for index, message in enumerate(messages):
        failed = _failed(messages, index)
        for unit, role in _voiced(message):
            draft = drafts.setdefault(_key(unit, failed=failed), _Draft(unit, role, index, failed))
            if not draft.numbers or draft.numbers[-1] != message.number:
                draft.numbers.append(message.number)
    built = (_candidate(draft) for draft in drafts.values() if redact_secrets(draft.unit.text) == draft.unit.text)
    telling = (candidate for candidate in built if _tells(candidate))
    return [replace(candidate, order=order) for order, candidate in enumerate(telling)]


def _key(unit: Unit, *, failed: bool) -> tuple[str, ...]:
    return (str(failed and unit.kind == "record"), *sorted(set(tokens_of(unit.text))))


def _failed(messages: Sequence[SourceMessage], index: int) -> bool:
    """Tell whether a message's only answer is an error; of several answers it is unknown which call failed."""
    answers = [message.text for message in messages[index + 1 : index + 3] if message.role in ANSWERING]
    return messages[index].role == "assistant" and len(answers) == 1 and bool(_ERROR.match(answers[0]))


def _voiced(message: SourceMessage) -> list[tuple[Unit, str]]:
    """Return a message's units and who speaks: output that a user's message carries is not the user's words."""
    told = list(units(message.text))
    printed = message.role == "user" and _is_output(told)
    return [(unit, "tool" if printed and not _SENTENCE.search(unit.text) else message.role) for unit in told]


def _is_output(told: Sequence[Unit]) -> bool:
    sentences = sum(unit.kind == "prose" and bool(_SENTENCE.search(unit.text)) for unit in told)
    return len(told) >= 4 and sentences < len(told) / 2


def _tells(candidate: Candidate) -> bool:
    """Tell whether a unit says something on its own: a lone word, figure or heading does not."""
    covered = len(candidate.words) + len(candidate.atoms)
    if candidate.kind == "record":
        return covered > 0
    spoken = candidate.text.removeprefix(USER_MARK)
    heading = spoken.endswith(":") and len(spoken) <= LONGEST_HEADING
    return bool(candidate.words) and covered > 1 and not heading and len(set(tokens_of(spoken))) > 1


def _candidate(draft: _Draft) -> Candidate:
    text = quoted(draft.unit, draft.role)
    return Candidate(
        text=text,
        kind=draft.unit.kind,
        role=draft.role,
        index=draft.index,
        order=0,
        sources=tuple(sorted(set(draft.numbers))),
        cost=count(f"- {text}\n"),
        failed=draft.failed and draft.unit.kind == "record",
        atoms=atom_keys(draft.unit.text),
        words=stems(tokens_of(draft.unit.text)),
    )


def quoted(unit: Unit, role: str) -> str:
    """Return the unit as a summary's line tells it: what a user says is marked as theirs."""
    return f"{USER_MARK}{unit.text}" if role == "user" and unit.kind == "prose" else unit.text
