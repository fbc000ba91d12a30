"""Run the benchmarks and print one table: `python -m benchmarks [NAME …]`."""

from __future__ import annotations

import asyncio
import importlib
import sys

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.measure import Result
from benchmarks.place import database

NAMES = ("writes", "reads", "consolidation", "retention")


async def measure(names: list[str]) -> list[Result]:
    """Run the named benchmarks, each on a database of its own."""
    results: list[Result] = []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        for name in names:
            task = progress.add_task(name, total=None)
            async with database() as url:
                results += await importlib.import_module(f"benchmarks.{name}").run(url)
            progress.remove_task(task)
    return results


def main() -> None:
    """Print the table; the exit status says nothing, since a machine's noise is no failure."""
    results = asyncio.run(measure(sys.argv[1:] or list(NAMES)))
    table = Table("measured", "ratio", "limit", "", "detail", title="ricordo benchmarks: ratios of one run")
    for result in results:
        table.add_row(result.name, result.figure, result.limit, "ok" if result.ok else "[red]off[/red]", result.detail)
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
