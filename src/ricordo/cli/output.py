"""What the command writes: JSON on request, errors, and stored text that cannot reach out of its place."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, TextIO, cast

import typer

if TYPE_CHECKING:
    from rich.console import Console

_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""Control characters but tab and line feed, line separators, overrides of the writing direction, and what has no UTF-8
form: a terminal must not act on any of them."""


def clean(text: str) -> str:
    r"""Return a text that a terminal shows as it is: what would steer the terminal is shown as a symbol or `\u…`."""
    return _UNPRINTABLE.sub(_visible, text.replace("\r\n", "\n"))


def _visible(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"\\u{code:04x}"


def write(text: str) -> None:
    """Write a text and a line's end to the standard output; a reader that has gone away is no error."""
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)


def silence(stream: TextIO) -> None:
    """Send all that is still written to a stream whose reader has gone away nowhere."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def write_json(value: object) -> None:
    """Write a value as one line of JSON, in ASCII: dataclasses as objects, times in ISO 8601."""
    write(json.dumps(value, default=_plain))


def _plain(value: Any) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, object]", value))
    return value.isoformat() if isinstance(value, datetime) else str(value)


def write_error(code: str, message: str, hint: str, *, as_json: bool) -> None:
    """Write an error to the standard error stream, as JSON or as a line with its hint."""
    if as_json:
        typer.echo(json.dumps({"error": {"code": code, "message": message, "hint": hint}}), err=True)
        return
    typer.echo(f"{_styled('error:', 'red')} {clean(message)}", err=True)
    if hint:
        typer.echo(f"{_styled('hint:', 'cyan')} {clean(hint)}", err=True)


def write_warning(message: str) -> None:
    """Write a warning as a line of the standard error stream."""
    typer.echo(f"{_styled('warning:', 'yellow')} {clean(message)}", err=True)


def _styled(text: str, colour: str) -> str:
    return text if "NO_COLOR" in os.environ else typer.style(text, fg=colour, bold=True)


@contextmanager
def spinner(what: str, *, enabled: bool = True) -> Generator[Callable[[str], None]]:
    """Show that something is going on, where the standard error stream is a terminal."""
    if not (enabled and sys.stderr.isatty()):
        yield lambda _: None
        return
    with stderr_console().status(what) as status:
        yield lambda text: status.update(clean(text))


@contextmanager
def byte_progress(what: str, total: int, *, enabled: bool = True) -> Generator[Callable[[int], None]]:
    """Show how many bytes of a file were read, where the standard error stream is a terminal."""
    if not (enabled and sys.stderr.isatty()):
        yield lambda _: None
        return
    from rich import progress  # noqa: PLC0415  (only for a terminal)

    columns = (progress.TextColumn("{task.description}", markup=False), progress.BarColumn())
    sizes = (progress.DownloadColumn(), progress.TimeRemainingColumn())
    with progress.Progress(*columns, *sizes, console=stderr_console(), transient=True) as bar:
        task = bar.add_task(clean(what), total=total)
        yield lambda done: bar.update(task, completed=done)


def stderr_console() -> Console:
    """Return a console for progress, which leaves the standard output alone."""
    from rich.console import Console  # noqa: PLC0415  (only for a terminal)

    return Console(stderr=True, markup=False, highlight=False, emoji=False)
