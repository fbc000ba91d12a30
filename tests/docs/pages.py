"""Reading the documentation: its tables, its code blocks, and the tests that it names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    ROOT / "README.md",
    ROOT / "AGENTS.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
)

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CELL = re.compile(r"(?<!\\)\|")


def text(page: str | Path) -> str:
    """Return the text of a page, named from the root of the repository."""
    return (ROOT / page).read_text(encoding="utf-8")


def tables(page: str | Path) -> Iterator[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
    """Yield the header and the rows of every table of a page."""
    lines: list[tuple[str, ...]] = []
    for line in [*_FENCE.sub("", text(page)).splitlines(), ""]:
        if line.startswith("|"):
            lines.append(tuple(cell.strip() for cell in _CELL.split(line.strip())[1:-1]))
        elif lines:
            header, rule, *rows = lines
            assert all(set(cell) == {"-"} for cell in rule), f"{page}: a table without a rule below {header}"
            assert all(len(row) == len(header) for row in rows), f"{page}: uneven rows below {header}"
            yield header, rows
            lines = []


def table(page: str | Path, *header: str) -> list[tuple[str, ...]]:
    """Return the rows of all tables of a page that begin with these column names."""
    found = [rows for names, rows in tables(page) if names[: len(header)] == header]
    assert found, f"{page} has no table {header}"
    return [row for rows in found for row in rows]


def names(cell: str) -> list[str]:
    """Return what stands in backticks in a cell."""
    return re.findall(r"`([^`]+)`", cell)


def blocks(page: str | Path, language: str) -> list[str]:
    """Return the code blocks of a page in a language."""
    return [match[2] for match in _FENCE.finditer(text(page)) if match[1] == language]
