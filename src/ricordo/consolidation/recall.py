"""Recall keys: the most telling atoms of a source that its summary does not carry: what a reader finds beneath it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from ricordo.consolidation.atoms import Atom, AtomIndex
from ricordo.consolidation.atoms.scan import Reading, read
from ricordo.consolidation.ground import Sources, heading
from ricordo.consolidation.source import SourceMessage
from ricordo.tokens import count

PREFIX = "Expand for: "
SEPARATOR = ", "

RECALL_SHARE = 0.25
"""The part of a summary's budget that its recall keys may take."""

LONGEST_KEY = 60
"""Characters: longer addresses and paths cost more than they recall."""

FEWEST_DIGITS = 3
"""A bare figure with fewer digits only counts something."""

_KIND: Mapping[str, float] = {"identifier": 1.3, "error": 1.3, "number": 0.8}
_ROLE: Mapping[str, float] = {"user": 2.0, "assistant": 1.5}
"""An atom that a person or the assistant took up matters more than one that only a tool printed. Both tables agree with
the weights of the extractive summariser."""

_LABELLING = re.compile(r"[\"']?\s?:\s?(?![\d/{])|\(")
_FORGING = re.compile(r"[\[\]`\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]|, ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A telling atom of a source, as it first stands there.

    `messages` counts those that state it, `role` is that of the most weighty, `first` and `last` are the numbers of
    the first and the last.
    """

    atom: Atom
    messages: int
    role: str
    first: int
    last: int


def telling(text: str) -> Iterator[Atom]:
    """Yield the atoms of a text that tell something by themselves, in order.

    Left out are bare figures of one or two digits, quotations (what they hold counts), emphasis in capitals, and
    names of fields and called functions.
    """
    return _telling(read(text))


def _telling(reading: Reading) -> Iterator[Atom]:
    for atom in reading.atoms:
        if atom.kind == "number":
            value, unit = atom.readings[0].split(" ", 1)
            tells = bool(unit) or sum(map(str.isdigit, value)) >= FEWEST_DIGITS
        elif atom.kind == "name":
            tells = not (atom.text.isupper() and " " in atom.text)
        elif atom.kind == "identifier":
            digits = sum(map(str.isdigit, atom.text))
            tells = digits >= FEWEST_DIGITS or not _LABELLING.match(reading.text, atom.end)
        else:
            tells = atom.kind != "quote"
        if tells:
            yield atom


def inventory(messages: Sequence[SourceMessage], sources: Sources | None = None) -> tuple[Mention, ...]:
    """Return the telling atoms of some messages, each once, in order of appearance; linear in the messages.

    `sources` holds the messages where they are read already.
    """
    held = sources or Sources.of(messages)
    # The parts of a split message are read as one.
    whole = {message.number: message for message in messages}
    return joined(_mentions(message, held.reading(number)) for number, message in whole.items())


def _mentions(message: SourceMessage, reading: Reading) -> Iterator[Mention]:
    start = len(heading(message))
    said = [atom for atom in _telling(reading) if atom.start >= start]
    stated = {(atom.kind, atom.key): atom for atom in reversed(said)}
    for atom in reversed(stated.values()):
        yield Mention(atom=atom, messages=1, role=message.role, first=message.number, last=message.number)


def joined(inventories: Iterable[Iterable[Mention]]) -> tuple[Mention, ...]:
    """Return the inventory of consecutive stretches of messages from that of each."""
    found: dict[tuple[str, str], Mention] = {}
    for mention in chain.from_iterable(inventories):
        key = mention.atom.kind, mention.atom.key
        found[key] = _both(found[key], mention) if key in found else mention
    return tuple(found.values())


def _both(seen: Mention, mention: Mention) -> Mention:
    """Return a mention with a later one; a split message may be in both."""
    return Mention(
        atom=seen.atom,
        messages=seen.messages + mention.messages - (seen.last == mention.first),
        role=max(seen.role, mention.role, key=_weight),
        first=seen.first,
        last=mention.last,
    )


def _weight(role: str) -> float:
    return _ROLE.get(role, 1.0)


def recall_keys(
    sources: Sequence[SourceMessage],
    content: str,
    *,
    budget: int,
    frequency: Mapping[str, int] | None = None,
) -> tuple[str, ...]:
    """Return the most telling atoms of the sources that the content does not carry, the most telling first.

    The line that `recall_line` makes of them has at most `budget` tokens. `frequency` says, by the key of an atom,
    how many other summaries of the namespace hold it: what is common there tells less. An atom weighs by its kind, by
    who used it, by tf-idf over the messages (Salton and Buckley, 1988), and up to twice as much where it is used late.
    """
    return chosen(inventory(sources), AtomIndex([content]), size=len(sources), budget=budget, frequency=frequency)


def chosen(
    mentions: Sequence[Mention],
    carried: AtomIndex,
    *,
    size: int,
    budget: int,
    frequency: Mapping[str, int] | None = None,
) -> tuple[str, ...]:
    """Return the recall keys of an inventory of `size` messages; see `recall_keys`."""
    known = frequency or {}

    def worth(mention: Mention) -> float:
        commonness = 1 + math.log2(1 + known.get(mention.atom.key, 0))
        return worth_of(mention, size) / commonness

    keys: list[str] = []
    left = budget - count(PREFIX)
    for mention in sorted(mentions, key=worth, reverse=True):
        key = " ".join(mention.atom.text.split())
        cost = count(f"{key}{SEPARATOR}")
        if left < 2:
            break
        if cost <= left and _is_showable(key) and key not in keys and not carried.contains(mention.atom):
            keys.append(key)
            left -= cost
    return tuple(keys)


def worth_of(mention: Mention, size: int) -> float:
    """Return how telling an atom is within a source of `size` messages."""
    rarity = math.log(1 + size / mention.messages) / math.log(1 + size)
    frequency = 1 + math.log2(mention.messages)
    freshness = 1 + mention.last / size
    return _KIND.get(mention.atom.kind, 1.0) * _weight(mention.role) * frequency * rarity * freshness


def _is_showable(key: str) -> bool:
    return 1 < len(key) <= LONGEST_KEY and not _FORGING.search(key)


def recall_line(keys: Sequence[str]) -> str:
    """Return the line that closes a summary's content, or an empty text without keys."""
    return f"{PREFIX}{SEPARATOR.join(keys)}" if keys else ""


def share_kept(mentions: Sequence[Mention], carried: AtomIndex) -> float:
    """Return the share of an inventory's atoms that a text carries, 1.0 where there are none."""
    return sum(carried.contains(one.atom) for one in mentions) / len(mentions) if mentions else 1.0
