"""What people see of results: tables, bars and lines. Stored text is cleaned before it gets here."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import groupby

from rich import box
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ricordo.cli import bars
from ricordo.cli.output import clean, silence
from ricordo.config import Policy
from ricordo.consolidation.draft import EMPTY_SECTION, HEADINGS
from ricordo.importers import ImportReport
from ricordo.types import (
    Consolidation,
    Expansion,
    Forgetting,
    Summary,
    SummaryLine,
    Thread,
    Usage,
    UsageStatus,
    Verification,
)
from ricordo.window.segments import Item, Window

STATUS_COLOURS: dict[UsageStatus, str] = {"ok": "green", "warning": "yellow", "critical": "red"}

SHOWN_FAULTS = 20
SHOWN_ITEMS = 5
MAX_WIDTH = 100
"""Cells: longer lines are hard to read."""


class _Console(Console):
    """A console for which a reader that has gone away is no error."""

    def on_broken_pipe(self) -> None:
        """Go on without an output, so that the exit status still says what was found."""
        self.quiet = True
        silence(sys.stdout)


def console() -> Console:
    """Return a console on the standard output, in which text is never markup."""
    screen = _Console(markup=False, highlight=False, emoji=False)
    screen.width = min(screen.width, MAX_WIDTH)
    return screen


def safe(text: str, style: str = "") -> Text:
    """Return stored text for a console."""
    return Text(clean(text), style)


def show(*renderables: RenderableType) -> None:
    """Write renderables to the standard output, one below the other."""
    screen = console()
    for renderable in renderables:
        screen.print(renderable)


def number(value: int) -> str:
    """Return a number with thousands separated."""
    return f"{value:,}"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun."""
    if count == 1:
        return f"1 {noun}"
    return f"{number(count)} {noun[:-1] + 'ies' if noun.endswith('y') else noun + 's'}"


def when(timestamp: datetime) -> str:
    """Return a time in UTC, to the second."""
    return timestamp.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def imported(report: ImportReport) -> None:
    """Show what an import did."""
    threads = plural(len(report.threads), "thread")
    show(
        Text.assemble(
            (number(report.added), "bold green"),
            f" added, {number(report.skipped)} already there: {plural(report.messages, 'message')} in {threads}",
        )
    )
    for bad in report.bad[:SHOWN_FAULTS]:
        show(Text.assemble(("not imported: ", "red"), safe(f"{bad.thread_id}, {bad.number or 'list'}: {bad.reason}")))
    if report.bad_count > SHOWN_FAULTS:
        show(f"and {number(report.bad_count - SHOWN_FAULTS)} more (--json lists them)")
    if report.threads:
        show(safe(f"next: ricordo status {report.threads[0]}", "bright_black"))


def threads(found: Sequence[Thread], namespace: str) -> None:
    """Show threads as a table."""
    if not found:
        show(safe(f"no threads in the namespace {namespace!r} yet; `ricordo import FILE` brings some in"))
        return
    table = _table("thread", "messages", "live", "tokens", "summaries", "last change")
    for thread in found:
        counts = (thread.messages, thread.live_messages, thread.live_tokens, thread.summaries)
        table.add_row(safe(thread.thread_id), *map(number, counts), when(thread.updated_at)[:16])
    show(table)


def _table(first: str, *others: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, show_edge=False)
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(name, justify="right", no_wrap=name == "last change")
    return table


def status(thread: Thread, usage: Usage) -> None:
    """Show how full the window is with a thread."""
    covered = thread.messages - thread.live_messages
    line = (
        f"{plural(thread.messages, 'message')}: {number(thread.live_messages)} live, {number(covered)} covered by "
        f"{plural(thread.summaries, 'summary')}"
    )
    show(_framed(thread.thread_id, *usage_picture(usage, by_status=True), Text(line, "bright_black")))


def context(thread: Thread, window: Window) -> None:
    """Show a window as a picture, its text, and what was left out."""
    shown = next(len(segment.included) for segment in window.segments if segment.kind == "conversational")
    live = f"{number(shown)} of {plural(thread.live_messages, 'live message')} shown"
    show(_framed(thread.thread_id, *usage_picture(window.usage), Text(live, "bright_black")))
    console().print(safe(window.render()), soft_wrap=True)
    if window.left_out:
        show("", Text("left out", "bold"), *_left_out(window))


def _left_out(window: Window) -> Iterable[RenderableType]:
    for segment in window.segments:
        outside = [item for item in segment.items if not item.included]
        for reason, group in groupby(outside, key=lambda item: item.reason):
            yield from _group(segment.kind, reason, [*group])


def _group(kind: str, reason: str, items: Sequence[Item]) -> Iterable[RenderableType]:
    tokens = number(sum(item.tokens for item in items))
    yield Text.assemble((kind, "bold"), f": {plural(len(items), 'item')}, {tokens} tokens, {reason}")
    for item in items[:SHOWN_ITEMS]:
        line = safe(item.text.partition("\n")[0], "bright_black")
        line.truncate(MAX_WIDTH - 24, overflow="ellipsis")
        yield Text("  ").append_text(line)
    if len(items) > SHOWN_ITEMS:
        yield Text(f"  and {number(len(items) - SHOWN_ITEMS)} more (--json lists them)", "bright_black")


def usage_picture(usage: Usage, *, by_status: bool = False, scale: int = 0) -> list[RenderableType]:
    """Return a window's fill: the figure, a bar against the limit (or `scale`), and its segments."""
    screen = console()
    width = screen.width - 4
    colour = STATUS_COLOURS[usage.status]
    figure = Text.assemble(
        (f" {usage.status} ", f"bold reverse {colour}"),
        (f"  {usage.percent} %", f"bold {colour}"),
        f"  {number(usage.tokens)} of {number(usage.max)} tokens",
    )
    bar = bars.stacked(screen, usage.segments, scale or usage.max, width, colour=colour if by_status else "")
    policy = Policy()
    marks = {policy.warn_percent: "warning ", policy.critical_percent: "critical ", 100.0: "full"}
    under = [] if scale else [bars.ruler(marks, width)]
    return [figure, bar, *under, _segments(screen, usage, width, scale)]


def _segments(screen: Console, usage: Usage, width: int, scale: int) -> Table:
    """Return a row a segment, with its share of the tokens that are used."""
    table = Table.grid(padding=(0, 2))
    for justify in ("left", "left", "right", "right"):
        table.add_column(justify=justify, no_wrap=True)
    for index, (name, tokens) in enumerate(usage.segments.items()):
        if not tokens:
            continue
        count = bars.cells([tokens], scale or usage.tokens, max(width - 44, 10))[0]
        share = f"{tokens / usage.tokens * 100:.0f} %"
        colour = bars.COLOURS[index % len(bars.COLOURS)]
        table.add_row(Text(name, colour), Text(bars.shade(screen, index) * count, colour), number(tokens), share)
    return table


def _framed(title: str, *lines: RenderableType) -> Panel:
    return Panel(Group(*lines), title=safe(title, "bold"), title_align="left", border_style="bright_black")


def consolidation(result: Consolidation, summary: Summary | None) -> None:
    """Show a new summary, or why there is none."""
    if summary is None:
        show(Text.assemble((result.status, "bold yellow"), safe(f": {result.detail}" if result.detail else "")))
        return
    show(summary_panel(summary))
    saved = f"{plural(result.num_messages_summarized, 'message')}, {number(result.source_tokens)} tokens"
    show(f"{saved} are now one reference to a summary of {number(result.tokens)} tokens; every original is kept.")
    show(Text(f"next: ricordo expand {summary.id}", "bright_black"))


def summary_panel(summary: Summary) -> Panel:
    """Return a summary under its headings, each line with the places of the messages that it rests on."""
    lines = [safe(summary.description, "bold")]
    for section, heading in HEADINGS.items():
        items = [item for item in summary.items if item.section == section and item.check != "dropped"]
        lines += [Text(), Text(heading, "bold cyan"), *(map(_cited, items) if items else [Text(EMPTY_SECTION)])]
    cost = f"{summary.model}, {number(summary.source_tokens)} tokens as {number(summary.tokens)}"
    return Panel(Group(*lines), title="summary", title_align="left", subtitle=safe(cost), subtitle_align="right")


def _cited(item: SummaryLine) -> Text:
    line = Text("- ").append_text(safe(item.text))
    if item.status == "open":
        line.append(" (open)", "yellow")
    return line.append(f"  [{', '.join(map(str, item.sources))}]", "bright_black")


def summaries(found: Sequence[Summary]) -> None:
    """Show a thread's summaries with their references, ready to be expanded."""
    if not found:
        show("no summaries yet; `ricordo consolidate THREAD` makes one")
    for summary in found:
        show(Text.assemble((f"[Summary ID: {summary.id}] ", "cyan"), safe(summary.description)))
        places = f"{plural(summary.message_count, 'message')} ({summary.first_seq} to {summary.last_seq})"
        tokens = f"{number(summary.source_tokens)} tokens as {number(summary.tokens)}"
        show(safe(f"  {places}, {tokens}, {summary.model}, {when(summary.created_at)}", "bright_black"))


def expansion(found: Expansion) -> None:
    """Show an opened summary as the agent gets it, and the command for the next page."""
    console().print(safe(found.text), soft_wrap=True)
    if found.cursor and found.summary:
        show(Text(f"next: ricordo expand {found.summary.id} --cursor {found.cursor}", "bright_black"))


def forgetting(found: Forgetting) -> None:
    """Show what was forgotten, or would be, and what becomes of the summaries above it."""
    verb = "would be forgotten" if found.dry_run else "forgotten"
    show(Text(f"{plural(len(found.messages), 'message')} {verb}", "bold"))
    for thread, messages in groupby(found.messages, key=lambda one: one.thread_id):
        places = ", ".join(str(one.seq) for one in messages)
        console().print(safe(f"  thread {thread}: places {places}"), soft_wrap=True)
    for what, ids in (
        ("emptied and written again from the rest" if found.dry_run else "emptied", found.summaries_emptied),
        ("removed", found.summaries_removed),
        ("written again", found.rebuilt),
        ("withdrawn until they can be written again", found.pending),
    ):
        if ids:
            console().print(safe(f"  summaries {what}: {', '.join(ids)}"), soft_wrap=True)
    if found.detail:
        show(safe(found.detail, "yellow"))
    if found.dry_run and (found.messages or found.summaries_removed or found.summaries_emptied):
        show(Text("nothing was changed: add --yes to forget it for good", "bright_black"))


def rebuilt(ids: Sequence[str]) -> None:
    """Show which summaries were written again."""
    show(Text(f"{plural(len(ids), 'summary')} written again"))
    for id in ids:
        console().print(safe(f"  {id}"))


def verification(found: Verification) -> None:
    """Show the proof, or each fault with its rows."""
    counts = (
        f"{plural(found.threads, 'thread')}, {plural(found.messages, 'message')}: {number(found.live)} live, "
        f"{number(found.covered)} covered by {plural(found.summaries, 'summary')}"
    )
    if found.ok:
        show(Text.assemble(("verified", "bold green"), f": nothing is lost. {counts}"))
        return
    show(Text.assemble((plural(len(found.faults), "fault"), "bold red"), f" in {counts}"))
    for fault in found.faults:
        where = [f"thread {fault.thread_id}"] if fault.thread_id is not None else []
        where += [f"summary {fault.summary_id}"] if fault.summary_id else []
        where += [f"places {', '.join(map(str, fault.seqs))}"] if fault.seqs else []
        line = Text.assemble((fault.code, "bold red"), safe(f": {fault.detail} ({'; '.join(where)})"))
        console().print(line, soft_wrap=True)
