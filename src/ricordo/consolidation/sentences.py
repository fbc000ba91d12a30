"""Text cut into units that can stand alone: sentences, list items with their heading, table rows, lines of code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

UNIT_CHARACTERS = 200
"""A unit longer than this is cut at clause boundaries: about 50 tokens, a long sentence of ordinary prose."""

LONGEST_WORD = 400
"""A run without spaces that is longer than this is a blob (base64, minified code), not text; it becomes "…"."""

UnitKind: TypeAlias = Literal["prose", "row", "code", "record"]


@dataclass(frozen=True, slots=True)
class Unit:
    """One line of text that can be quoted on its own; "…" marks where a longer passage was cut."""

    text: str
    kind: UnitKind = "prose"


@dataclass(frozen=True, slots=True)
class _Line:
    kind: Literal["blank", "item", "prose", "row", "code"]
    text: str
    indent: int = 0


_ENGLISH = (
    "mr mrs ms dr prof st jr sr vs etc eg ie e.g i.e approx dept est inc ltd co corp gen gov hon rep sen rev al ca cf "
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat"
)
_ITALIAN = (
    "sig sigg sig.ra sig.na dott dott.ssa ing avv arch geom rag on prof.ssa ecc es p.es pag pagg vol cap fig tab all "
    "art artt cod tel cell ind spett egr gent.mo gent.ma gent cfr v vd ss s.p.a s.r.l u.s a.c d.c p.zza v.le c.so "
    "lett n.b p.s gen febb mag giu lug ago sett ott dic lun mart merc giov ven dom min max"
)
_NUMBERING = "no nr n art pag p pp vol fig cap sec ch eq ver rev tel"
_ABBREVIATIONS = frozenset(f"{_ENGLISH} {_ITALIAN}".split())
_BEFORE_DIGIT = frozenset(_NUMBERING.split())
_END = re.compile(r"[.!?…]+[\"'”’»)\]]*\s+|[。！？｡]+[」』”’）】]*\s*")
_LAST_WORD = re.compile(r"([\w.]+)$")
_CLAUSE = re.compile(r"(?<=[,;])\s+|\s+(?=[—–]\s)|(?<=[、，；])")
_BINDING = re.compile(
    r"\b(?:not|no|never|without|unless|except|if|only|non|mai|senza|salvo|tranne|se|solo|né)\b|n['’]t\b", re.IGNORECASE
)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_ITEM = re.compile(r"(?:[-*•‣◦–+]|\d{1,3}[.)]|[a-z][.)])\s+(?=\S)")
_FENCE = re.compile(r"(?:```|~~~)")
_CODE = re.compile(
    r"(?:(?:def|class|import|from|return|const|let|var|function|public|private|elif|else:)\b"
    r"|[-+]\S.*[(){};=]|@@ |.*[{};]$|[)\]}])"
)
_LINE_NUMBER = re.compile(r"\d+(?:\s*[:|](?!\d)|\t)\s*")
_MARKUP = re.compile(r"\*\*|^#{1,6}\s+|^>+\s*")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_WORD = re.compile(r"\w")


def split(text: str, *, limit: int = UNIT_CHARACTERS) -> Iterator[Unit]:
    """Yield the units of a text in reading order, each a single line of about `limit` characters at most.

    Words are never changed and never cut. A list item carries the heading above it, sibling items share a unit
    while they fit, hard-wrapped lines are joined, fenced or numbered code and table rows stay lines.
    """
    lines = _classified(text)
    index = 0
    heading = ""
    while index < len(lines):
        line = lines[index]
        index += 1
        if line.kind == "item":
            end = _list_end(lines, index)
            yield from _list_units(heading, lines[index - 1 : end], limit)
            heading, index = "", end
        elif line.kind == "prose":
            paragraph, index = _paragraph(lines, index - 1)
            *body, last = sentences(paragraph)
            heading = last if last.endswith(":") and len(last) <= limit // 2 and _item_follows(lines, index) else ""
            yield from _pieces(body if heading else [*body, last], "prose", limit)
        elif line.kind != "blank":
            yield from _pieces([line.text], line.kind, limit)


def sentences(text: str) -> list[str]:
    """Return the sentences of one paragraph, in order; a text without an end mark is one sentence, a blank one none."""
    found: list[str] = []
    start = 0
    for match in _END.finditer(text):
        if _is_boundary(text, start, match):
            found.append(text[start : match.end()].strip())
            start = match.end()
    rest = text[start:].strip()
    return [*found, rest] if rest else found


def clauses(sentence: str, *, limit: int = UNIT_CHARACTERS) -> list[str]:
    """Return a sentence as pieces of about `limit` characters, cut between clauses, "…" marking each cut.

    A short clause, and one that negates, restricts or sets a condition, keeps the next, up to twice the limit.
    """
    if len(sentence) <= limit:
        return [sentence]
    packed: list[str] = []
    for part in _parts(sentence, limit):
        if packed and _fits(packed[-1], part, limit):
            packed[-1] = f"{packed[-1]}{'' if _CJK.match(part) else ' '}{part}"
        else:
            packed.append(part)
    last = len(packed) - 1
    return [f"{'…' if i else ''}{piece}{'…' if i < last else ''}" for i, piece in enumerate(packed) if piece != "…"]


def clean(text: str) -> str:
    """Return a single line: control characters and runs of space become one space, lone surrogates U+FFFD."""
    return " ".join(_SURROGATE.sub("\ufffd", _UNPRINTABLE.sub(" ", text)).split())


def _fits(piece: str, part: str, limit: int) -> bool:
    size = len(piece) + 1 + len(part)
    hangs = len(piece) < limit // 3 or bool(_BINDING.search(piece[-limit:]))
    return size <= limit or (hangs and size <= 2 * limit)


def _parts(sentence: str, limit: int) -> Iterator[str]:
    for clause in _CLAUSE.split(sentence):
        if len(clause) <= limit:
            yield clause
        else:
            yield from _wrapped(clause, limit)


def _wrapped(clause: str, limit: int) -> Iterator[str]:
    line = ""
    for word in _words(clause, limit):
        if line and len(line) + 1 + len(word) > limit:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    if line:
        yield line


def _words(clause: str, limit: int) -> Iterator[str]:
    for word in clause.split(" "):
        if len(word) <= limit:
            yield word
        elif _CJK.search(word):
            yield from (word[i : i + limit] for i in range(0, len(word), limit))
        else:
            yield word if len(word) <= LONGEST_WORD else "…"


def _is_boundary(text: str, start: int, end: re.Match[str]) -> bool:
    mark = end.group()
    if mark[0] in "。！？｡" or "!" in mark or "?" in mark:
        return True
    following = text[end.end() : end.end() + 1]
    if not mark.startswith(".") or mark.startswith(".."):
        return not following.islower()
    word = _LAST_WORD.search(text, max(start, end.start() - 20), end.start())
    return word is None or not _is_abbreviation(word.group(), following)


def _is_abbreviation(word: str, following: str) -> bool:
    lower = word.lower()
    return (
        lower in _ABBREVIATIONS
        or (lower in _BEFORE_DIGIT and following.isdigit())
        or (len(word) == 1 and word.isupper() and word != "I")
        or (following.islower() and (len(word) < 3 or "." in word))
    )


def _classified(text: str) -> list[_Line]:
    """Return the lines with their kinds; fences count only where every one that opens also closes."""
    raws = text.splitlines()
    fences = [bool(_FENCE.match(raw.lstrip())) for raw in raws]
    closing = sum(fences) % 2 == 0
    lines: list[_Line] = []
    fenced = False
    for raw, fence in zip(raws, fences, strict=True):
        if fence:
            fenced = closing and not fenced
        else:
            lines.append(_classify(raw, fenced=fenced))
    return lines


def _classify(raw: str, *, fenced: bool) -> _Line:
    body = raw.lstrip(" \t")
    indent = len(raw) - len(body)
    number = _LINE_NUMBER.match(body)
    text = clean(body[number.end() :] if number else body)
    if not _WORD.search(text):
        return _Line("blank", "")
    marker = None if fenced or number else _ITEM.match(body)
    if marker:
        return _Line("item", clean(_MARKUP.sub("", body[marker.end() :])), indent)
    if fenced or number or _CODE.match(body):
        return _Line("code", text)
    return (
        _Line("row", text.strip("| ")) if text.startswith("|") else _Line("prose", clean(_MARKUP.sub("", body)), indent)
    )


def _paragraph(lines: list[_Line], start: int) -> tuple[str, int]:
    """Join hard-wrapped lines: a long line without an end mark goes on where the next begins in lower case."""
    joined = [lines[start].text]
    index = start + 1
    while index < len(lines) and lines[index].kind == "prose" and _goes_on(joined[-1], lines[index].text):
        joined.append(lines[index].text)
        index += 1
    return " ".join(joined), index


def _goes_on(line: str, following: str) -> bool:
    return len(line) >= 50 and line[-1] not in ".!?:;。！？" and following[0].islower()


def _list_end(lines: list[_Line], index: int) -> int:
    """Return where a list ends: blank lines and indented continuations belong to it while another item follows."""
    end = index
    while index < len(lines):
        line = lines[index]
        if not (line.kind in ("item", "blank") or (line.kind == "prose" and line.indent >= 2)):
            break
        index += 1
        end = end if line.kind == "blank" else index
    return end


def _item_follows(lines: list[_Line], index: int) -> bool:
    while index < len(lines) and lines[index].kind == "blank":
        index += 1
    return index < len(lines) and lines[index].kind == "item"


def _items(lines: Iterable[_Line]) -> list[_Line]:
    """Return the items with their continuations; an indented paragraph stands above the items that follow it."""
    items: list[_Line] = []
    after_blank = True
    for line in lines:
        if line.kind == "prose" and not after_blank:
            items[-1] = _Line("item", f"{items[-1].text} {line.text}", items[-1].indent)
        elif line.kind == "prose":
            items.append(_Line("item", line.text, line.indent - 1))
        elif line.kind == "item":
            items.append(line)
        after_blank = line.kind == "blank"
    return items


def _list_units(heading: str, lines: list[_Line], limit: int) -> Iterator[Unit]:
    items = _items(lines)
    heads: list[tuple[int, str]] = [(-1, heading)]
    group: list[str] = []
    for item, following in zip(items, [*items[1:], None], strict=True):
        while heads[-1][0] >= item.indent:
            yield from _grouped(heads.pop()[1], group, limit)
            group = []
        if following is not None and following.indent > item.indent and len(item.text) <= limit // 2:
            yield from _grouped(heads[-1][1], group, limit)
            group = []
            heads.append((item.indent, item.text))
        else:
            group.append(item.text)
    yield from _grouped(heads[-1][1], group, limit)


def _grouped(heading: str, items: list[str], limit: int) -> Iterator[Unit]:
    """Yield a heading with as many items as fit, again and again until all items are told."""
    lead = f"{heading.rstrip(': ')}: " if heading else ""
    line = ""
    for item in items:
        if line and len(lead) + len(line) + len(item) + 2 > limit:
            yield from _pieces([lead + line], "prose", limit)
            line = item
        else:
            line = f"{line}{' ' if line.endswith(('.', '!', '?')) else '; '}{item}" if line else item
    if line:
        yield from _pieces([lead + line], "prose", limit)


def _pieces(texts: Iterable[str], kind: UnitKind, limit: int) -> Iterator[Unit]:
    for text in texts:
        for piece in clauses(text, limit=limit):
            if _WORD.search(piece):
                yield Unit(piece, kind)
