"""Bars: how many cells of a line each part of a whole gets, and how they look with and without colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

COLOURS = ("cyan", "magenta", "yellow", "blue", "green")
"""Of the parts, in their order."""

_SHADES = "█▓▒▚▞"
_ASCII_SHADES = "#=+*%"


def cells(parts: Sequence[int], whole: int, width: int) -> list[int]:
    """Return the cells of each part in a line of `width` cells that stands for `whole`, or for the parts where
    they are more.

    Nothing but 0 has no cell, so what is small stays visible; the widest part gives way where that is too much.
    """
    whole = max(whole, sum(parts), 1)
    given = [max(round(part * width / whole), 1) if part > 0 else 0 for part in parts]
    while sum(given) > width and max(given) > 1:
        given[given.index(max(given))] -= 1
    return given


def has_colour(console: Console) -> bool:
    """Whether colours reach the reader."""
    return console.color_system is not None and not console.no_color


def shade(console: Console, index: int) -> str:
    """Return the character that a part's bar is made of: told apart by its colour, or else by its shape."""
    if console.options.ascii_only:
        return _ASCII_SHADES[index % len(_ASCII_SHADES)]
    return _SHADES[0] if has_colour(console) else _SHADES[index % len(_SHADES)]


def free(console: Console) -> str:
    """Return the character of what is free."""
    return "." if console.options.ascii_only else "░"


def stacked(console: Console, parts: Mapping[str, int], whole: int, width: int, *, colour: str = "") -> Text:
    """Return one line of all parts side by side and the free rest, each part in its colour, or all in one."""
    given = cells([*parts.values()], whole, width)
    bar = Text(no_wrap=True)
    for index, count in enumerate(given):
        bar.append(shade(console, index) * count, colour or COLOURS[index % len(COLOURS)])
    return bar.append(free(console) * (width - sum(given)), "bright_black")


def ruler(marks: Mapping[float, str], width: int) -> Text:
    """Return a line of labels under a bar, each ending at its percentage of the width."""
    line = Text(no_wrap=True)
    for percent, label in sorted(marks.items()):
        line.append(label.rjust(max(round(percent * width / 100) - len(line), 0)), "bright_black")
    return line
