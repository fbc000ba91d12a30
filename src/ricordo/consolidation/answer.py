"""Reading a model's answer: JSON in whatever wrapping, or the four headings as text, cleaned line by line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import index
from typing import Annotated, Any, cast

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from ricordo.consolidation.draft import EMPTY_SECTION, HEADINGS, Draft, Line
from ricordo.errors import ModelAnswerError, ModelRefusalError
from ricordo.messages import searchable, shorten
from ricordo.tokens import count
from ricordo.types import LineStatus, Section

ANSWER_TOKENS = 4_000
"""The most tokens that a model may answer with, as published."""

DESCRIPTION_WORDS = 12
"""The most words that a description has; the least that a model is asked for are 8."""

DESCRIPTION_CHARACTERS = 100
"""The most characters: a language without spaces has no words to count."""

DEFAULT_DESCRIPTION = "Conversation summary"

_GENERIC = frozenset({"", "summary", "conversation summary", "chat summary", "thread summary", "description"})
_NONE = frozenset({"none", "n/a", "not available", "nessuno", "nessuna"})

_WIDEST_RANGE = 50

_FAILURE = 400
"""The characters at the beginning of an answer in which a refusal shows."""

_REFUSAL = re.compile(
    r"i['’]?m (?:very )?sorry,? (?:but )?(?:i|as)\b"
    r"|\bi (?:can(?:no|['’])t|am (?:unable|not able) to|won['’]t|must decline to)"
    r" (?:help|assist|provide|comply|do|summari[sz]e|create|fulfil)"
    r"|mi dispiace,? (?:ma )?non posso|\bnon posso (?:aiutar|assister|fornire)",
    re.IGNORECASE,
)
_NOTHING_GIVEN = re.compile(
    r"please (?:provide|share|paste|send)|could you (?:please )?(?:provide|share|paste)"
    r"|(?:i )?(?:don['’]t|do not) see (?:a|any|the) (?:conversation|text|message|record)"
    r"|per favore,? (?:fornisci|invia|condividi)"
    r"|\bno (?:conversation|text) (?:was|were)|nessun[ao]? (?:conversazione|testo) (?:è|e') stat",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^(?:[-*•‣–]|\d{1,3}[.)])\s+")
_MARKER = re.compile(r"^(?:(?:[-*•‣–]|#{1,6})(?:\s+|$))+")
_CITATIONS = re.compile(
    r"\s*(?:\[\s*|(?P<bare>\(\s*))(?P<label>(?:messages?|msgs?|sources?|fonti?|messaggi[oi]?)[\s:#]*)?"
    r"(?P<numbers>\d(?:[\d\s,;–-]|and|&)*)[\])]\.?\s*$",
    re.IGNORECASE,
)
_OPEN = re.compile(r"\s*[(\[](open|aperto|aperta|da fare|to do)[)\]]\s*\.?\s*$", re.IGNORECASE)
_REFERENCE = re.compile(r"\[\s*Summary ID\s*:(?:[^\]]*\])?", re.IGNORECASE)
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_LABEL = re.compile(r"^\W*(?:description|label|title|descrizione|titolo)\W*[:：][\s*_]*(.+)$", re.IGNORECASE)
_BROKEN_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\u(?![0-9a-fA-F]{4})[0-9a-fA-F]{0,3}")
_START = re.compile(r'\{\s*"(?:description|items)"|\{')


def _plain(heading: str) -> str:
    """Return a heading's words, without its marks, number and capitals."""
    return " ".join(re.findall(r"[a-z]+", heading.lower().replace("&", "and")))


_SECTIONS: dict[str, Section] = {
    **{_plain(heading): section for section, heading in HEADINGS.items()},
    **{section: section for section in HEADINGS},
}


def _section(value: Any) -> Any:
    """Accept a section's heading for its name."""
    return _SECTIONS.get(_plain(str(value)), value)


def _status(value: Any) -> Any:
    return str(value).strip().lower()


def _numbers(value: Any) -> Any:
    """Accept a single number, numbers as text, and ranges, as models write them."""
    found = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [number for one in found for number in _ranges(str(one))]


class Item(BaseModel):
    """One note as a model is asked to write it."""

    section: Annotated[Section, BeforeValidator(_section)]
    text: str
    sources: Annotated[list[int], BeforeValidator(_numbers)]
    status: Annotated[LineStatus, BeforeValidator(_status)] = "confirmed"


class Answer(BaseModel):
    """A whole answer as a model is asked to write it."""

    description: str = ""
    items: list[Item] = Field(default_factory=list[Item])


SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["description", "items"],
    "properties": {
        "description": {"type": "string"},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["section", "text", "sources", "status"],
                "properties": {
                    "section": {"type": "string", "enum": list(HEADINGS)},
                    "text": {"type": "string"},
                    "sources": {"type": "array", "items": {"type": "integer"}},
                    "status": {"type": "string", "enum": ["confirmed", "open"]},
                },
            },
        },
    },
}
"""What structured output is asked for: strict, so every key is required and none is added."""


def parse(text: str) -> Draft:
    """Return the draft in a model's answer: JSON, also fenced, wrapped in prose or slightly broken; else headings.

    Raises ModelRefusalError for a refusal, and ModelAnswerError where neither form is found, no line is left, or the
    lines only ask for the conversation.
    """
    draft = _parse_json(text) if "{" in text else None
    if draft is None or not draft.lines:
        draft = _parse_headings(text)
    if draft.lines and not all(_fails(line.text) for line in draft.lines):
        return draft
    said = draft.lines[0].text if draft.lines else text[:_FAILURE]
    if _REFUSAL.search(said):
        raise ModelRefusalError("the model declined to summarise", hint="the messages stay as they are")
    if _NOTHING_GIVEN.search(said):
        raise ModelAnswerError("the model asks for the conversation in place of summarising it")
    raise ModelAnswerError("the model's answer holds no notes in a known form")


def _fails(text: str) -> bool:
    """Whether a line is the model's own refusal or request, which begins with it; a report of one does not."""
    return bool(_REFUSAL.match(text) or _NOTHING_GIVEN.match(text))


def _parse_json(text: str) -> Draft | None:
    start = min(_START.finditer(text), key=lambda match: len(match[0]) == 1)
    try:
        value = _loaded(_BROKEN_ESCAPE.sub("\\1\ufffd", text[start.start() :]))
    except (RecursionError, ValueError):
        raise ModelAnswerError("the model's notes are nested without end") from None
    candidates = cast("list[Any]", value) if isinstance(value, list) else [value]
    for candidate in candidates:
        if isinstance(candidate, dict) and "items" in candidate:
            try:
                answer = Answer.model_validate(candidate)
            except ValidationError as error:
                raise ModelAnswerError(f"the model's notes are malformed: {error.error_count()} faults") from error
            return _draft(answer.description, map(_tidied, answer.items))
    return None


def _loaded(text: str) -> Any:
    """Return what JSON says; where it is broken it is repaired, in time that may grow with the square of its length."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        from json_repair import repair_json  # noqa: PLC0415  (only needed once a model has answered badly)

        size = count(text)
        if size > ANSWER_TOKENS:
            raise ModelAnswerError(
                f"the model's notes are broken, and too long to mend: {size} tokens, {ANSWER_TOKENS} were asked for"
            ) from None
        return repair_json(text, return_objects=True, skip_json_loads=True)


def _tidied(item: Item) -> Item:
    """Leave out of a note's text what its sources and its status say too; other numbers at its end are its own."""
    text = clean(item.text)
    is_open = bool(_OPEN.search(text))
    text = _OPEN.sub("", text)
    match = _CITATIONS.search(text)
    if match and set(_ranges(match["numbers"])) <= set(item.sources):
        text = text[: match.start()]
    return item.model_copy(update={"text": text, "status": "open" if is_open else item.status})


def _draft(description: str, items: Iterable[Item]) -> Draft:
    lines = tuple(
        Line(section=item.section, text=text, sources=tuple(sorted(set(item.sources))), status=item.status)
        for item in items
        if (text := clean(item.text))
    )
    return Draft(description=describe(description, lines), lines=lines)


def _parse_headings(text: str) -> Draft:
    section: Section | None = None
    description = ""
    notes: list[tuple[Section, str]] = []
    for raw in text.splitlines():
        flat = _BLANK.sub(" ", raw).strip()
        label = _LABEL.match(flat)
        if heading := _SECTIONS.get(_plain(flat)):
            section = heading
        elif label and not notes:
            description = label[1]
        elif notes and raw[:1].isspace() and flat and not _BULLET.match(flat):
            notes[-1] = (notes[-1][0], f"{notes[-1][1]} {flat}")
        elif section and _is_note(flat):
            notes.append((section, _BULLET.sub("", flat)))
    return _draft(description, (_note(flat, section) for section, flat in notes))


def _is_note(flat: str) -> bool:
    """Whether a line is a note: an item of a list, or a sentence with a citation; what else is said is none."""
    bare = _BULLET.sub("", flat)
    is_marked = bare != flat or bool(_CITATIONS.search(_OPEN.sub("", bare)))
    return is_marked and bare.lower().strip("(). ") not in _NONE


def _note(flat: str, section: Section) -> Item:
    is_open = bool(_OPEN.search(flat))
    text = _OPEN.sub("", flat)
    cited: list[int] = []
    # Behind a citation, a number in plain brackets is the note's own.
    while (match := _CITATIONS.search(text)) and not (cited and match["bare"] and not match["label"]):
        cited += _ranges(match["numbers"])
        text = text[: match.start()]
    is_open = is_open or bool(_OPEN.search(text))
    return Item(section=section, text=_OPEN.sub("", text), sources=cited, status="open" if is_open else "confirmed")


def _ranges(text: str) -> Iterator[int]:
    for first, last in re.findall(r"(\d{1,9})(?:\s*[–-]\s*(\d{1,9}))?", text):
        yield from range(int(first), min(int(last or first), int(first) + _WIDEST_RANGE) + 1)


def clean(text: str) -> str:
    """Return a note as one line that cannot pass for a heading, a list, a reference or a control sequence."""
    flat = _BLANK.sub(" ", text).strip()
    while (shorter := _MARKER.sub("", _REFERENCE.sub("", flat)).strip()) != flat:
        flat = _BLANK.sub(" ", shorter)
    return "" if f"- {flat}" == EMPTY_SECTION else flat


def describe(label: str, lines: Iterable[Line]) -> str:
    """Return a description of at most DESCRIPTION_WORDS words; one that tells nothing gives way to a telling note."""
    text = clean(label).strip("\"'“”«».")
    if text.lower() in _GENERIC or _fails(text):
        text = next((line.text for line in lines if len(line.text.split()) >= 4), DEFAULT_DESCRIPTION)
    return shorten(" ".join(text.split()[:DESCRIPTION_WORDS]).rstrip(",;:—–-"), DESCRIPTION_CHARACTERS)


def tidy(draft: Draft) -> Draft:
    """Return a draft of any origin with its lines and description in the form that is stored.

    Blank lines go; every other is one physical line that forges nothing. Raises ModelAnswerError for a draft that is
    none.
    """
    try:
        lines = tuple(
            replace(line, text=text, sources=tuple(sorted({index(number) for number in line.sources})))
            for line in draft.lines
            if (text := clean(searchable(line.text))) and line.section in HEADINGS
        )
        return Draft(description=describe(searchable(draft.description), lines), lines=lines)
    except (AttributeError, TypeError, ValueError) as error:
        raise ModelAnswerError(f"the summariser returned no draft: {error}") from error
