"""The pictures of the guided tour: what happens in each chapter, in words that a newcomer understands."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ricordo.cli import views
from ricordo.cli.views import number, safe, show
from ricordo.demo import Again, Chapter, Compared, Counted, Opened, Proved, Summarised, Written
from ricordo.stores.format import stamp
from ricordo.types import Message

SHOWN_MESSAGES = 3
"""Messages from each end of the conversation that the tour shows."""


def welcome(namespace: str) -> None:
    """Say what is going to happen."""
    text = Text.assemble(
        "A conversation that lasts for days outgrows any context window. ricordo condenses what is old, "
        "leaves a reference in the window, and gives every original message back when it is asked for.\n",
        (f"Everything here happens in a namespace of its own, {namespace}. Nothing is deleted.", "bright_black"),
    )
    show(Panel(text, title="ricordo", title_align="left", border_style="cyan", padding=(1, 2)))


def tell(chapter: Chapter) -> None:
    """Show a chapter: its heading, its picture, and whether its promise was kept."""
    match chapter:
        case Written():
            _chapter(1, "Remember", _written(chapter), chapter.ok, "the window is measured, every turn")
        case Summarised():
            body = [views.summary_panel(chapter.summary)] if chapter.summary else [safe(chapter.result.detail)]
            _chapter(2, "Condense", body, chapter.ok, "every line names, in brackets, the messages that it rests on")
        case Compared():
            _chapter(3, "The window, before and after", _compared(chapter), chapter.ok, "the same memory in less room")
        case Opened():
            _chapter(4, "Give back", _opened(chapter), chapter.ok, "every original comes back as it was written")
        case Counted() | Again() | Proved():
            _check(chapter)


def _chapter(place: int, title: str, body: Sequence[RenderableType], ok: bool, promise: str) -> None:
    show(
        "",
        Rule(Text(f"{place}  {title}", "bold cyan"), align="left", style="bright_black"),
        *body,
        _promise(ok, promise),
    )


def _promise(ok: bool, promise: str) -> Text:
    return Text.assemble(("kept    ", "bold green") if ok else ("BROKEN  ", "bold red"), promise)


def _written(chapter: Written) -> list[RenderableType]:
    usage = chapter.usage
    first, last = chapter.messages[0], chapter.messages[-1]
    said = [_quoted(str(message["role"]), str(message["content"])) for message in (first, last)]
    figure = Text.assemble(
        (f" {usage['status']} ", f"bold reverse {views.STATUS_COLOURS[usage['status']]}"),
        f"  {number(usage['tokens'])} of {number(usage['max'])} tokens, {usage['percent']} % of the window",
    )
    between = Text(f"… {len(chapter.messages) - 2} more …", "bright_black")
    return [said[0], between, said[1], figure]


def _quoted(role: str, content: str) -> Table:
    row = Table.grid(padding=(0, 2))
    row.add_column(width=9)
    row.add_column()
    row.add_row(Text(role, "cyan" if role == "user" else "magenta"), safe(content))
    return row


def _compared(chapter: Compared) -> list[RenderableType]:
    scale = chapter.before.usage.tokens
    saved = 1 - chapter.after.usage.tokens / max(scale, 1)
    return [
        Panel(Group(*views.usage_picture(chapter.before.usage, scale=scale)), title="before", title_align="left"),
        Panel(Group(*views.usage_picture(chapter.after.usage, scale=scale)), title="after", title_align="left"),
        Text(f"{saved * 100:.0f} % of it is free again; both bars have the same scale.", "bold"),
    ]


def _opened(chapter: Opened) -> list[RenderableType]:
    messages = [message for page in chapter.pages for message in page.messages]
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(justify="right", style="bright_black", width=2)
    table.add_column(style="bright_black", width=19)
    table.add_column(width=9)
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for message in messages[:SHOWN_MESSAGES]:
        _add(table, message)
    table.add_row("…", "", "", Text(f"{len(messages) - 2 * SHOWN_MESSAGES} more", "bright_black"))
    for message in messages[-SHOWN_MESSAGES:]:
        _add(table, message)
    how = f"{len(messages)} messages on {len(chapter.pages)} pages, compared with the originals: "
    return [table, Text.assemble(how, ("identical", "bold green") if chapter.identical else ("DIFFERENT", "bold red"))]


def _add(table: Table, message: Message) -> None:
    colour = "cyan" if message.role == "user" else "magenta"
    content = safe(message.content.partition("\n")[0])
    table.add_row(str(message.seq), stamp(message.timestamp), Text(message.role, colour), content)


def _check(chapter: Counted | Again | Proved) -> None:
    match chapter:
        case Counted():
            show("", Rule(Text("5  Prove", "bold cyan"), align="left", style="bright_black"))
            counts = f"SQL counts {chapter.live} live and {chapter.covered} covered messages in the database itself"
            show(_promise(chapter.ok, counts))
        case Again():
            show(_promise(chapter.ok, f"consolidating again answers {chapter.result.status}: nothing is done twice"))
        case Proved(result=result):
            show(_promise(chapter.ok, f"verify recomputed {result.messages} messages and {result.summaries} summary"))


def farewell(namespace: str, failed: Sequence[str], seconds: float) -> None:
    """Say how it went, and what to try next."""
    option = f"ricordo --namespace {namespace}"
    lines = (
        f"{option} status thesis",
        f"{option} summaries thesis",
        f'{option} context thesis "What is still open?"',
        "ricordo import YOUR-CONVERSATIONS.json",
    )
    outcome = Text(f"Broken: {', '.join(failed)}", "bold red") if failed else Text("Every promise kept", "bold green")
    body = Text("\n").join(
        [outcome.append(f" in {seconds} seconds. Look around:"), *(Text(f"  {line}") for line in lines)]
    )
    show("", Panel(body, border_style="red" if failed else "green"))
