"""Reading a model's answer: JSON in whatever wrapping, or the four headings as text, cleaned line by line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from ricordo.consolidation.draft import EMPTY_SECTION, HEADINGS, Draft, Line
from ricordo.errors import ModelAnswerError, ModelRefusalError
from ricordo.types import Section

DESCRIPTION_WORDS = 12
"""The most words that a description has; the least that a model is asked for are 8."""

DEFAULT_DESCRIPTION = "Conversation summary"

_GENERIC = frozenset({"", "summary", "conversation summary", "chat summary", "thread summary", "description"})
_FORMS: dict[str, Section] = {heading.removeprefix("### ").lower(): section for section, heading in HEADINGS.items()}

_REFUSAL = re.compile(
    r"(?:i['’]?m (?:very )?sorry,? (?:but )?(?:i|as)|i (?:can(?:no|['’])t|am unable to|won['’]t) (?:help|assist|provide|"
    r"comply|do|summari[sz]e|create|fulfil)|mi dispiace,? (?:ma )?non posso|non posso (?:aiutar|assister|fornire))",
    re.IGNORECASE,
)
_NOTHING_GIVEN = re.compile(
    r"(?:please (?:provide|share|paste|send)|could you (?:please )?(?:provide|share|paste)|(?:don['’]t|do not) see (?:a|any|"
    r"the) (?:conversation|text|message|record)|per favore,? (?:fornisci|invia|condividi)|(?:no|nessuna?) "
    r"(?:conversation|conversazione|text|testo) (?:was|were|è stat))",
    re.IGNORECASE,
)
_MARKER = re.compile(r"^\s*(?:[-*•‣–]|\d{1,3}[.)])\s+|^\s*[#>]+\s*")
_CITATIONS = re.compile(
    r"\s*[\[(]\s*(?:messages?|msgs?|sources?|fonti?|messaggi[oi]?)?[\s:#]*(\d[\d\s,;–-]*)\s*[\])]\s*$", re.I
)
_OPEN = re.compile(r"\s*[(\[](open|aperto|aperta|da fare|to do)[)\]]\s*\.?\s*$", re.IGNORECASE)
_REFERENCE = re.compile(r"\[\s*Summary ID\s*:[^\]]*\]", re.IGNORECASE)
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_LABEL = re.compile(r"^\W*(?:description|label|title|descrizione|titolo)\W*[:：]\s*(.+)$", re.IGNORECASE)


def _numbers(value: Any) -> Any:
    """Accept a single number, and numbers as text, as models write them."""
    found = value if isinstance(value, list) else [value]
    return [int(n) for one in found for n in re.findall(r"\d{1,9}", str(one))]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


class Item(BaseModel):
    """One note as a model is asked to write it."""

    section: Literal["technical", "emotional", "entities", "actions"]
    text: str
    sources: Annotated[list[int], BeforeValidator(_numbers)]
    status: Literal["confirmed", "open"] = "confirmed"


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

    Raises ModelRefusalError for a refusal, and ModelAnswerError where neither form is found or no line is left.
    """
    draft = _parse_json(text) if "{" in text else None
    if draft is None or not draft.lines:
        draft = _parse_headings(text)
    if draft.lines:
        return draft
    if _REFUSAL.search(text[:400]):
        raise ModelRefusalError("the model declined to summarise", hint="the messages stay as they are")
    if _NOTHING_GIVEN.search(text[:400]):
        raise ModelAnswerError("the model asks for the conversation in place of summarising it")
    raise ModelAnswerError("the model's answer holds no notes in a known form")


def _parse_json(text: str) -> Draft | None:
    from json_repair import repair_json  # noqa: PLC0415  (only needed once a model has answered)

    value: Any = repair_json(text[text.index("{") :], return_objects=True)
    candidates: list[Any] = value if isinstance(value, list) else [value]
    for candidate in candidates:
        if isinstance(candidate, dict) and "items" in candidate:
            try:
                answer = Answer.model_validate(candidate)
            except ValidationError as error:
                raise ModelAnswerError(f"the model's notes are malformed: {error.error_count()} faults") from error
            return _draft(answer.description, answer.items)
    return None


def _draft(description: str, items: Iterable[Item]) -> Draft:
    lines = tuple(
        Line(section=item.section, text=text, sources=tuple(sorted(set(item.sources))), status=item.status)
        for item in items
        if (text := clean(_CITATIONS.sub("", item.text)))
    )
    return Draft(description=describe(description, lines), lines=lines)


def _parse_headings(text: str) -> Draft:
    section: Section | None = None
    description = ""
    items: list[Item] = []
    for raw in text.splitlines():
        heading = _FORMS.get(raw.strip().strip("#*: ").lower())
        label = _LABEL.match(raw)
        if heading:
            section = heading
        elif label and not items:
            description = label[1]
        elif section and _is_note(raw):
            items.append(_note(raw, section))
    return _draft(description, items)


def _is_note(raw: str) -> bool:
    text = clean(raw)
    return bool(text) and text.lower().strip("(). ") not in {"none", "n/a", "not available", "nessuno", "nessuna"}


def _note(raw: str, section: Section) -> Item:
    is_open = bool(_OPEN.search(raw))
    text = _OPEN.sub("", raw)
    cited: list[int] = []
    while match := _CITATIONS.search(text):
        cited += _ranges(match[1])
        text = text[: match.start()]
    is_open = is_open or bool(_OPEN.search(text))
    return Item(section=section, text=_OPEN.sub("", text), sources=cited, status="open" if is_open else "confirmed")


def _ranges(text: str) -> Iterator[int]:
    for first, last in re.findall(r"(\d{1,9})(?:\s*[–-]\s*(\d{1,9}))?", text):
        end = int(last or first)
        yield from range(int(first), min(end, int(first) + 50) + 1)


def clean(text: str) -> str:
    """Return a note as one line that cannot pass for a heading, a list, a reference or a control sequence."""
    flat = _BLANK.sub(" ", _REFERENCE.sub("", text)).strip()
    while (shorter := _MARKER.sub("", flat)) != flat:
        flat = shorter
    return "" if f"- {flat}" == EMPTY_SECTION else flat


def describe(label: str, lines: Iterable[Line]) -> str:
    """Return a description of at most DESCRIPTION_WORDS words; a generic one gives way to the first telling note."""
    text = clean(label).strip("\"'“”«».")
    if text.lower() in _GENERIC:
        text = next((line.text for line in lines if len(line.text.split()) >= 4), DEFAULT_DESCRIPTION)
    return " ".join(text.split()[:DESCRIPTION_WORDS]).rstrip(",;:—–-")
