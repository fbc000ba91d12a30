"""Dates and times of day, in English and Italian.

A date's key is "year-month-day" with zeros for what is not said ("0000-03-12", "2026-03-00", "2026-Q3-00"), a
time's is "Thh:mm" or "Thh:mm:ss". What can be read as day/month or month/day, or as morning or afternoon, has both
readings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ricordo.consolidation.atoms.atom import Atom
from ricordo.consolidation.atoms.numbers import ascii_digits

_MONTH_NAMES = (
    "january jan gennaio gen genn",
    "february feb febbraio febb",
    "march mar marzo",
    "april apr aprile",
    "may maggio mag magg",
    "june jun giugno giu",
    "july jul luglio lug",
    "august aug agosto ago",
    "september sept sep settembre sett set",
    "october oct ottobre ott",
    "november nov novembre",
    "december dec dicembre dic",
)
MONTHS: dict[str, int] = {name: month for month, row in enumerate(_MONTH_NAMES, start=1) for name in row.split()}
"""The number of each month by its name or abbreviation."""

_FULL_MONTH = "|".join(name for name in MONTHS if len(name) > 4 or name in ("may", "june", "july"))
_SHORT_MONTH = "|".join(name for name in MONTHS if len(name) <= 4)
# ASCII, so that no letter but those of the table matches: "ſ" is an "s" in another case.
_MONTH = rf"(?P<month>(?a:{_FULL_MONTH})\b|(?a:{_SHORT_MONTH})\b\.?)"
_MONTH_HINT = re.compile(
    rf"\b[{''.join(sorted({initial for name in MONTHS for initial in (name[0], name[0].upper())}))}]"
    rf"(?i:{'|'.join(sorted({name[1:3] for name in MONTHS}))})"
)
"""The first letters of what may be a month: quick to find, and most texts hold none."""

_DAY = r"(?:\d{1,2}(?:st|nd|rd|th|º|°)?|first|primo)"
_RANGE = r"\s?(?:-|–|,|/|and|to|or|through|e|o|al|all'|e il|&)\s?"
_YEAR = r"(?:,?\s(?:of\s|del\s|de\s)?(?P<year>(?:19|20)\d\d)(?!\d))"
_START = r"(?<![\w./-])"
# Here and below, what may not stand before a figure is told after its first digit: a search then skips to the digits.
_NUMERIC = re.compile(
    r"(\d(?<![\w/-]\d)(?<!\d[.:]\d)\d{0,3})([-/.])(\d{1,2})(?:\2(\d{1,4}))?(?=T\d|(?![\w/])(?![-.,]\d))"
)
_DAY_MONTH = re.compile(
    rf"{_START}(?:(?P<first>{_DAY}){_RANGE})?(?P<day>{_DAY})(?:\s|-)(?:of\s|di\s)?{_MONTH}(?:{_YEAR}|-(?P<tail>\d{{4}}))?",
    re.IGNORECASE,
)
_MONTH_DAY = re.compile(
    rf"{_START}{_MONTH}\s(?:the\s)?(?:(?P<first>{_DAY}){_RANGE})?(?P<day>{_DAY})(?![\w]|[.,:]\d){_YEAR}?",
    re.IGNORECASE,
)
_MONTH_YEAR = re.compile(rf"{_START}{_MONTH},?\s(?:of\s|del\s)?(?P<year>(?:19|20)\d\d)(?!\d)", re.IGNORECASE)
_MONTH_ALONE = re.compile(rf"{_START}(?P<month>(?a:{_FULL_MONTH}))(?!\w)", re.IGNORECASE)
_MONTH_AFTER = re.compile(
    r"\b(?:in|by|of|since|until|during|last|next|this|from|through|early|late|mid)[ -](?P<month>March|May)(?!\w)"
)
_QUARTER = re.compile(r"(?<![\w.-])(?:Q([1-4])(?:[ /-]?(20\d\d))?|(20\d\d)[ /-]?Q([1-4]))(?!\w)")
_CLOCK = re.compile(
    r"(\d(?:(?<![\w.:/]\d)|(?<=\dT\d))\d?)[:h](\d{2})(?::(\d{2}))?(?:[.,]\d{1,9}(?!\d))?(?:\s?([ap])\.?m\b)?(?![^\WZz]|:\d)",
    re.IGNORECASE,
)
_HOUR = re.compile(r"(\d(?<![\w.,:/-]\d)\d?)\s?([ap])\.?m\b", re.IGNORECASE)
_ITALIAN_HOUR = re.compile(
    r"\b(?:alle|dalle|ore|(?<!\d\s)h)\s(\d{1,2})(?:\.(\d\d))?(?!\w|[.,:]\d|\s?[%€$])", re.IGNORECASE
)
_AMBIGUOUS_ALONE = frozenset({"march", "may"})


def find(text: str) -> Iterator[Atom]:
    """Yield the dates and times of a text; where two overlap, the fuller one comes first."""
    yield from _numeric(text)
    months = [hint.start() for hint in _MONTH_HINT.finditer(text)]
    for match in _DAY_MONTH.finditer(text) if months else ():
        yield from _days(match)
    for match in _matches(_MONTH_DAY, text, months):
        yield from _days(match)
    for match in _matches(_MONTH_YEAR, text, months):
        yield _date(match, f"{ascii_digits(match['year'])}-{_month(match):02}-00")
    for match in _QUARTER.finditer(text) if "Q" in text else ():
        quarter, year = match[1] or match[4], match[2] or match[3] or "0000"
        yield _date(match, f"{year}-Q{quarter}-00")
    for match in _matches(_MONTH_ALONE, text, months):
        if match["month"].lower() not in _AMBIGUOUS_ALONE:
            yield _date(match, f"0000-{_month(match):02}-00")
    for match in _MONTH_AFTER.finditer(text) if months else ():
        yield Atom("date", match["month"], f"0000-{_month(match):02}-00", match.start("month"), match.end())
    yield from _times(text)


def _matches(pattern: re.Pattern[str], text: str, starts: Iterable[int]) -> Iterator[re.Match[str]]:
    return filter(None, (pattern.match(text, start) for start in starts))


def _numeric(text: str) -> Iterator[Atom]:
    for match in _NUMERIC.finditer(text):
        first, mark, second, third = match.groups()
        readings = _numeric_readings(ascii_digits(first), mark, ascii_digits(second), ascii_digits(third or ""))
        if readings:
            yield _date(match, "|".join(dict.fromkeys(readings)))


def _numeric_readings(first: str, mark: str, second: str, third: str) -> list[str]:
    if len(first) == 4:
        return _valid(first, second, third or "0") if third or mark == "-" else []
    if len(first) == 3 or len(third) in (1, 3) or not (third or mark == "/"):
        return []
    year = f"20{third}" if len(third) == 2 else third or "0000"
    return [*_valid(year, second, first), *_valid(year, first, second)]


def _valid(year: str, month: str, day: str) -> list[str]:
    fits = int(month) in range(1, 13) and int(day) in range(32) and (year == "0000" or 1900 <= int(year) <= 2100)
    return [f"{year}-{int(month):02}-{int(day):02}"] if fits else []


def _days(match: re.Match[str]) -> Iterator[Atom]:
    """Yield the day of the match and, for "12-14 March", the day before it."""
    groups = match.groupdict()
    year = ascii_digits(groups["year"] or groups.get("tail") or "0000")
    first, last = (_day(groups[name]) for name in ("first", "day"))
    if last in range(1, 32) and first in range(32):
        if first:
            key = f"{year}-{_month(match):02}-{first:02}"
            yield Atom("date", groups["first"], key, match.start("first"), match.end("first"))
        start = match.start("day") if first and match.start("day") < match.start("month") else match.start()
        end = match.start("first") if first and match.start("month") < match.start("first") else match.end()
        if end <= match.start("day"):
            start, end = match.start("day"), match.end()
        written = match.string[start:end].rstrip(".")
        yield Atom("date", written, f"{year}-{_month(match):02}-{last:02}", start, start + len(written))


def _day(written: str | None) -> int:
    return int(re.sub(r"\D", "", written) or "1") if written else 0


def _times(text: str) -> Iterator[Atom]:
    for match in _CLOCK.finditer(text):
        hour, minute, second, half = match.groups()
        yield from _time(match, hour, minute, second, half)
    for match in _HOUR.finditer(text):
        yield from _time(match, match[1], "00", None, match[2])
    for match in _ITALIAN_HOUR.finditer(text):
        yield from _time(match, match[1], match[2] or "00", None, None)


def _time(match: re.Match[str], hour: str, minute: str, second: str | None, half: str | None) -> Iterator[Atom]:
    if int(hour) > 24 or int(minute) > 59 or (half and int(hour) not in range(1, 13)):
        return
    hours = [int(hour)]
    if half:
        hours = [int(hour) % 12 + (12 if half.lower() == "p" else 0)]
    elif 1 <= int(hour) <= 12:
        hours = [int(hour), (int(hour) + 12) % 24]
    tail = f":{int(second):02}" if second and int(second) else ""
    yield _date(match, "|".join(f"T{h:02}:{int(minute):02}{tail}" for h in hours))


def _date(match: re.Match[str], key: str) -> Atom:
    written = match.group().rstrip(".")
    return Atom("date", written, key, match.start(), match.start() + len(written))


def _month(match: re.Match[str]) -> int:
    return MONTHS[match["month"].lower().rstrip(".")]
