"""Reading a summariser's request as a model reads it: the numbered messages, and the notes to mend."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FRAME = re.compile(r"<(record|notes) (\w+)>\n(.*?)\n?</\1 \2>", re.DOTALL)
_MESSAGE = re.compile(r"^(\d+)\. (?:\[[\d: -]+\] )?\[([A-Z]+)\] ", re.MULTILINE)
_NOTE = re.compile(r"^- (.+?) \[([\d, ]*)\]: ", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s")
_LONGEST_SENTENCE = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A message in a summariser's request: its number, its role in lower case, and its text."""

    number: int
    role: str
    text: str

    @property
    def sentence(self) -> str:
        """The first sentence on one line, or the first 40 words of a longer one."""
        words = _SENTENCE.split(" ".join(self.text.split()), maxsplit=1)[0].split(" ")
        return " ".join(words[:_LONGEST_SENTENCE])


def recorded(prompt: str) -> tuple[Recorded, ...]:
    """Return the messages that a prompt gives to summarise, in order; none where it is not a summariser's."""
    text = _part(prompt, "record")
    starts = list(_MESSAGE.finditer(text))
    ends = [*(match.start() for match in starts), len(text)][1:]
    return tuple(
        Recorded(number=int(match[1]), role=match[2].lower(), text=text[match.end() : end].rstrip("\n"))
        for match, end in zip(starts, ends, strict=True)
    )


def notes_to_mend(prompt: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return the faulty notes that a prompt gives back, each with the numbers that it cites; none in other prompts."""
    found = _NOTE.finditer(_part(prompt, "notes"))
    return tuple((match[1], tuple(int(number) for number in re.findall(r"\d+", match[2]))) for match in found)


def _part(prompt: str, name: str) -> str:
    return next((match[3] for match in _FRAME.finditer(prompt) if match[1] == name), "")
