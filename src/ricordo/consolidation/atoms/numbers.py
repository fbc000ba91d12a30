"""Numbers: English and Italian notation, multipliers ("12k", "3 milioni"), currencies, percentages and units."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import groupby
from operator import itemgetter

from ricordo.consolidation.atoms.atom import Atom, fold

_UNIT_ALIASES = {
    "USD": "$ us$ usd dollar dollars dollaro dollari",
    "EUR": "€ eur euro euros",
    "GBP": "£ gbp pound pounds sterlina sterline",
    "JPY": "¥ jpy yen",
    "CHF": "chf franc francs franchi",
    "%": "% percent pct",
    "ms": "ms millisecond milliseconds millisecondi",
    "s": "s sec secs second seconds secondo secondi",
    "min": "min mins minute minutes minuto minuti",
    "h": "h hr hrs hour hours ora ore",
    "day": "day days giorno giorni",
    "night": "night nights notte notti",
    "week": "week weeks settimana settimane",
    "month": "month months mese mesi",
    "year": "year years anno anni",
    "kB": "kb kib kilobyte kilobytes",
    "MB": "mb mib megabyte megabytes",
    "GB": "gb gib gigabyte gigabytes",
    "TB": "tb tib terabyte terabytes",
    "byte": "byte bytes",
    "mm": "mm millimetri millimetres millimeters",
    "cm": "cm centimetri centimetres centimeters",
    "km": "km kilometre kilometres kilometer kilometers chilometro chilometri",
    "mile": "mile miles miglio miglia",
    "g": "g gr gram grams grammo grammi",
    "kg": "kg kilo kilos kilogram kilograms chilo chili chilogrammi",
    "mg": "mg milligram milligrams milligrammi",
    "ml": "ml millilitre millilitres milliliters millilitri",
    "°C": "°c",
    "°F": "°f",
    "token": "token tokens",
    "ordinal": "st nd rd th",
}
_UNITS = {
    "per cent": "%",
    "per cento": "%",
    "m": "",  # metres, minutes or millions
    "x": "",
    **{fold(alias): unit for unit, aliases in _UNIT_ALIASES.items() for alias in aliases.split()},
}
_SYMBOLS = {"Ki": "kB", "Mi": "MB", "Gi": "GB", "Ti": "TB", "º": "ordinal", "ª": "ordinal"}
"""Units that are told by their exact spelling, written against the figure."""

_MULTIPLIERS = {
    **dict.fromkeys(["k", "thousand", "mila"], 3),
    **dict.fromkeys(["mln", "million", "millions", "milione", "milioni"], 6),
    **dict.fromkeys(["bn", "billion", "billions", "mld", "miliardo", "miliardi"], 9),
}
LONGEST_ROUNDED = 20
"""Values of more characters than this are not compared as roundings."""

_GROUPING = "'’\u00a0\u202f\u2009"

_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty",
    "zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici "
    "diciassette diciotto diciannove venti",
    "_ first second third fourth fifth sixth seventh eighth ninth tenth",
    "_ primo secondo terzo quarto quinto sesto settimo ottavo nono decimo",
    "_ prima seconda terza quarta quinta sesta settima ottava nona decima",
    "_ a twice",
)
_ROUND_WORDS = {
    "un": "1", "una": "1", "an": "1", "twice": "2", "dozen": "12", "dozzina": "12", "thirty": "30", "trenta": "30",
    "forty": "40", "quaranta": "40", "fifty": "50", "cinquanta": "50", "sixty": "60", "sessanta": "60",
    "ninety": "90", "novanta": "90", "hundred": "100", "cento": "100", "mille": "1000",
    "half": "0.5", "mezzo": "0.5", "mezza": "0.5",
}  # fmt: skip
WORDS = {word: str(value) for row in _WORDS for value, word in enumerate(row.split()) if word != "_"} | _ROUND_WORDS
"""Values of number words in English and Italian, for a line's figure whose source spells it out."""


def _alternatives(words: Iterable[str]) -> str:
    """Return a pattern of the words, longer ones first, by their first letter, so that most text fails at once."""
    ordered = sorted(words, key=lambda word: (word[0], -len(word)))
    return "|".join(
        rf"{re.escape(initial)}(?:{'|'.join(re.escape(word[1:]) for word in group)})"
        for initial, group in groupby(ordered, key=itemgetter(0))
    )


_SIGN = r"us\$|[$€£¥]|(?:usd|eur|gbp|chf)(?=[ \u00a0]?\d)"
_SUFFIX = (
    rf"(?P<multiplier>[ \u00a0]?(?:(?:{_alternatives(_MULTIPLIERS)})(?![^\W\d_])|(?-i:M|B)(?!\w)))?"
    rf"(?:[ \u00a0-]?(?P<unit>(?-i:(?<=\d)(?:[KMGT]i|º|ª))|{_alternatives(_UNITS)})(?![^\W\d_]))?"
)
_DIGITS = rf"(?P<digits>\d++(?:[.,{_GROUPING}]\d++)*+)"
_NUMBER = re.compile(
    rf"(?<![A-Za-z0-9_À-ɏ])(?<!\d[.,])(?:(?P<sign>{_SIGN})[ \u00a0]?)?{_DIGITS}{_SUFFIX}(?![A-Za-z0-9_À-ɏ])",
    re.IGNORECASE,
)
_LISTED = re.compile(r"\d+(?:\.\d+)*")
_MARK = re.compile(rf"[.,{_GROUPING}]")
_QUANTITY = re.compile(rf"(?:{_SIGN})?{_DIGITS}{_SUFFIX}", re.IGNORECASE)


def find(text: str) -> Iterator[Atom]:
    """Yield the numbers of a text in order; a key is one reading or more of the form "value unit"."""
    for match in _NUMBER.finditer(text):
        digits = match["digits"]
        values = _values(digits)
        if values:
            key = "|".join(f"{_scaled(value, match['multiplier'])} {_unit(match)}" for value in values)
            yield Atom("number", match.group(), key, match.start(), match.end())
        else:
            yield from _listed(digits, match.start("digits"))


def rounding(figure: str) -> tuple[Decimal, Decimal] | None:
    """Return the least and the greatest value that a figure with a multiplier, such as "412k", is a rounding of."""
    match = _NUMBER.search(figure)
    values = _values(match["digits"]) if match and match["multiplier"] else []
    if not (match and values):
        return None
    step = Decimal(10) ** (_places(match["multiplier"]) - len(values[0].partition(".")[2]))
    value = Decimal(_scaled(values[0], match["multiplier"]))
    return (value - step / 2, value + step / 2) if step > 1 else None


def is_quantity(word: str) -> bool:
    """Whether a word is a number with its unit or multiplier written against it, such as "3.5GB" or "12k"."""
    return _QUANTITY.fullmatch(word) is not None


def is_unit(word: str) -> bool:
    """Whether a word is a unit of measure, a currency or a multiplier."""
    return fold(word) in _UNITS or word.lower() in _MULTIPLIERS


def _listed(digits: str, start: int) -> Iterator[Atom]:
    for part in _LISTED.finditer(digits):
        for value in _values(part.group()):
            yield Atom("number", part.group(), f"{value} ", start + part.start(), start + part.end())


def _unit(match: re.Match[str]) -> str:
    written = match["sign"] or match["unit"]
    return _SYMBOLS.get(written) or _UNITS.get(fold(written), "") if written else ""


def _values(digits: str) -> list[str]:
    """Return the values that a figure may have, likeliest first; none where it is not one figure."""
    if digits.isdecimal():
        return [_canonical(digits)]
    groups = _MARK.split(digits)
    marks = _MARK.findall(digits)
    grouped = len(groups[0]) <= 3 and groups[0][0] != "0" and all(len(group) == 3 for group in groups[1:-1])
    if grouped and len(set(marks)) == 1 and len(groups[-1]) == 3:
        return _thousands(groups, marks)
    if len(marks) == 1 and marks[0] in ".,":
        return [_canonical(groups[0], groups[1])]
    if grouped and len(set(marks[:-1])) == 1 and marks[-1] in ".," and marks[-1] != marks[0]:
        return [_canonical("".join(groups[:-1]), groups[-1])]
    return []


def _thousands(groups: list[str], marks: list[str]) -> list[str]:
    whole = _canonical("".join(groups))
    if len(marks) > 1 or marks[0] not in ".,":
        return [whole]
    fraction = _canonical(groups[0], groups[1])
    return [whole, fraction] if marks[0] == "," else [fraction, whole]


def _canonical(whole: str, fraction: str = "") -> str:
    whole = ascii_digits(whole).lstrip("0") or "0"
    fraction = ascii_digits(fraction).rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def _scaled(value: str, multiplier: str | None) -> str:
    if not multiplier:
        return value
    zeros = _places(multiplier)
    whole, _, fraction = value.partition(".")
    shifted = fraction.ljust(zeros, "0")
    return _canonical(whole + shifted[:zeros], shifted[zeros:])


def _places(multiplier: str) -> int:
    word = multiplier.strip()
    return {"M": 6, "B": 9}.get(word) or _MULTIPLIERS[word.lower()]


def ascii_digits(digits: str) -> str:
    """Return digits of any script as 0 to 9."""
    return digits if digits.isascii() else "".join(str(unicodedata.digit(c)) for c in digits)
