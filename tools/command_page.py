"""Write the help of every command into docs/command.md, below the marks `<!-- help: … -->`.

Run it without arguments to write the page, with `--check` to fail where the page is not current.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from typer.main import get_command
from typer.testing import CliRunner

from ricordo.cli.app import app

PAGE = Path(__file__).resolve().parent.parent / "docs/command.md"

_BLOCK = re.compile(r"<!-- help:(?P<words>[ \w]*) -->\n```text\n.*?```\n", re.DOTALL)


def commands() -> Iterator[tuple[str, ...]]:
    """Yield the words of every command, the bare `ricordo` first."""
    yield ()
    for name, command in getattr(get_command(app), "commands", {}).items():
        yield (name,)
        yield from ((name, below) for below in getattr(command, "commands", {}))


def help_of(words: tuple[str, ...]) -> str:
    """Return what `ricordo … --help` writes in a terminal of 80 columns."""
    return CliRunner().invoke(app, [*words, "--help"], prog_name="ricordo").output.strip()


def block(words: tuple[str, ...]) -> str:
    """Return the part of the page that shows a command's help."""
    return f"<!-- help: {' '.join(words)} -->\n```text\n{help_of(words)}\n```\n".replace("help:  -->", "help: -->")


def current(page: str) -> str:
    """Return the page with every help as it is now; raises ValueError where a command has no mark, or is no more."""
    known = set(commands())
    marked = [tuple(match["words"].split()) for match in _BLOCK.finditer(page)]
    if len(marked) != len(set(marked)) or set(marked) != known:
        raise ValueError(f"the page marks {sorted(marked)}, the commands are {sorted(known)}")
    return _BLOCK.sub(lambda match: block(tuple(match["words"].split())), page)


def main() -> int:
    """Write or check the page."""
    page = PAGE.read_text(encoding="utf-8")
    written = current(page)
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(written, encoding="utf-8")
    elif written != page:
        print("docs/command.md is not current: run `python tools/command_page.py`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
