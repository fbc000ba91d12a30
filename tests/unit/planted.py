"""True and false summary lines, told apart by construction.

A bank holds short conversations and lines that state them truly in other words. A line marks what can be falsified:
`{f:400 euros~500 euros}` gives the true line with "400 euros" and a false one with "500 euros". `= 1,3 @2 : …` cites
messages 1 and 3, and cites message 2 instead as a falsehood. `! mixed 5 : …` is false as a whole.
The banks follow one another in time: each was written before the code was measured on it, then kept as a regression.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ricordo.consolidation.draft import Line

BANKS = ("development", "validation", "held_out")
KINDS = {
    "f": "false figure",
    "n": "swapped name",
    "d": "wrong date",
    "t": "altered identifier, path, URL or code",
    "q": "altered quotation",
    "u": "altered common word",
}
OPENING = "swapped name that opens a sentence"
INVENTED = "invented citation"
MISPLACED = "wrong citation"
TRUE = "true"
_MARK = re.compile(r"\{([fndtqu]):([^~{}]+)~([^~{}]+)\}")
_STATEMENT = re.compile(r"= (?P<sources>[\d,]+)(?: @(?P<elsewhere>\d+))? : (?P<text>.+)")
_FALSE = re.compile(r"! (?P<kind>\w+) (?P<sources>[\d,]+) : (?P<text>.+)")
_MESSAGE = re.compile(r"(?P<number>\d+) (?P<role>\w+): (?P<text>.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One line with the messages that it could cite; `kind` says in which way it is false, or that it is true."""

    kind: str
    line: Line
    sources: dict[int, str]


def cases(bank: str) -> Iterator[Case]:
    """Yield the cases of a bank, always in the same order."""
    text = (Path(__file__).parent / "planted_banks" / f"{bank}.txt").read_text(encoding="utf-8")
    for conversation in re.split(r"^# ", text, flags=re.MULTILINE)[1:]:
        header, *rows = conversation.splitlines()
        sources = dict(_messages(header.rsplit("| ", 1)[1], rows))
        for row in rows:
            yield from _cases(row, sources)


def _messages(day: str, rows: list[str]) -> Iterator[tuple[int, str]]:
    for row in rows:
        if match := _MESSAGE.fullmatch(row):
            number = int(match["number"])
            text = match["text"].replace(r"\n", "\n") if match["role"] == "tool" else match["text"]
            yield number, f"[{day} 09:0{number}:00] [{match['role'].upper()}] {text}"


def _cases(row: str, sources: dict[int, str]) -> Iterator[Case]:
    if false := _FALSE.fullmatch(row):
        yield Case(kind="mixed facts", line=_line(false["text"], false["sources"]), sources=sources)
    statement = _STATEMENT.fullmatch(row)
    if not statement:
        return
    text, cited = statement["text"], statement["sources"]
    true = _MARK.sub(r"\2", text)
    yield Case(kind=TRUE, line=_line(true, cited), sources=sources)
    for mark in _MARK.finditer(text):
        false_text = _MARK.sub(r"\2", text[: mark.start()]) + mark[3] + _MARK.sub(r"\2", text[mark.end() :])
        kind = OPENING if mark[1] == "n" and _opens(text[: mark.start()]) else KINDS[mark[1]]
        yield Case(kind=kind, line=_line(false_text, cited), sources=sources)
    yield Case(kind=INVENTED, line=_line(true, f"{cited},{len(sources) + 1}"), sources=sources)
    if statement["elsewhere"]:
        yield Case(kind=MISPLACED, line=_line(true, statement["elsewhere"]), sources=sources)


def _opens(before: str) -> bool:
    return not before or before.endswith((": ", ". ", "; "))


def _line(text: str, sources: str) -> Line:
    return Line(section="technical", text=text, sources=tuple(int(number) for number in sources.split(",")))
