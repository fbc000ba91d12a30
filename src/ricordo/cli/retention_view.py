"""What people see of a retention: a row for each kind of atom, with a bar of what is kept."""

from __future__ import annotations

from collections.abc import Mapping

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ricordo.cli import bars
from ricordo.cli.views import console, number, plural, safe, show
from ricordo.types import Kept, Retention

BAR_WIDTH = 24


def show_retention(found: Mapping[str, Retention], whole: Retention) -> None:
    """Show what the summaries of a thread keep, or those of several conversations all together."""
    if not whole.total.atoms:
        show("nothing is summarised here yet; `ricordo consolidate THREAD` makes a summary")
        return
    named = next(iter(found)) if len(found) == 1 else plural(len(found), "conversation")
    counts = f"{plural(whole.messages, 'message')} under {plural(whole.summaries, 'summary')}"
    show(Text.assemble(safe(named, "bold"), f": {counts}"), _table(whole), _legend())


def _table(found: Retention) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, show_edge=False)
    table.add_column("atoms", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name in ("in text", "with keys", "expanded"):
        table.add_column(name, justify="right", no_wrap=True)
    screen = console()
    for kind, kept in found.kinds.items():
        table.add_row(*_row(screen, kind, kept))
    table.add_section()
    table.add_row(*_row(screen, "all", found.total), style="bold")
    return table


def _row(screen: Console, name: str, kept: Kept) -> tuple[str | Text, ...]:
    bar = bars.stacked(screen, {"kept": kept.kept, "keyed": kept.keyed}, kept.atoms, BAR_WIDTH)
    shares = (kept.kept, kept.kept + kept.keyed, kept.reachable)
    return name, number(kept.atoms), bar, *(f"{share / kept.atoms:.0%}" for share in shares)


def _legend() -> Text:
    screen = console()
    return Text.assemble(
        (bars.shade(screen, 0), bars.COLOURS[0]),
        " in the summary's lines  ",
        (bars.shade(screen, 1), bars.COLOURS[1]),
        ' only named after "Expand for:"  ',
        (bars.free(screen), "bright_black"),
        " by expanding only",
    )
