"""Commands on threads of messages: bring them in, list them, measure them, see their window."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ricordo.cli import output
from ricordo.cli.options import Common
from ricordo.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from ricordo import Memory, Thread

ThreadArgument = Annotated[str, typer.Argument(metavar="THREAD", help="A thread's id.", show_default=False)]
ModelOption = Annotated[
    str | None, typer.Option(help="The model whose window is measured.", show_default="gpt-5-mini, or the one observed")
]


def find_thread(memory: Memory, thread_id: str) -> Thread:
    """Return a thread's counters; raise NotFoundError where nothing was ever written to it."""
    found = memory.conversational.thread(thread_id)
    if found is None:
        raise NotFoundError(
            f"there is no thread {thread_id!r} in the namespace {memory.namespace!r}",
            hint="`ricordo threads` lists the threads, `--namespace` names another namespace",
        )
    return found


def import_conversations(
    common: Common,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON or JSONL, plain or gzip.", show_default=False)],
    thread: Annotated[
        str | None, typer.Option(help="The thread's id; of several, its beginning.", show_default="the file's name")
    ] = None,
    format: Annotated[
        Literal["auto", "json", "jsonl"], typer.Option(help="One JSON document, or jsonl for one message a line.")
    ] = "auto",
) -> None:
    """Import conversations from a file, exactly.

    FILE is a list of messages, one message a line, an object with such a list under `messages`, `traj` or
    `history`, or several such objects. Importing it again adds only what is new.
    """
    from ricordo import importers  # noqa: PLC0415
    from ricordo.cli import views  # noqa: PLC0415

    with (
        importers.opened(file) as source,
        common.memory() as memory,
        output.byte_progress(file.name, source.size, enabled=not common.json) as progress,
    ):
        report = importers.import_source(memory, source, thread_id=thread, format=format, progress=progress)
    common.emit(report, lambda: views.imported(report))
    if report.bad_count:
        raise typer.Exit(1)


def threads(
    common: Common, limit: Annotated[int, typer.Option(help="How many, the latest change first.")] = 100
) -> None:
    """List the threads with their figures."""
    from ricordo.cli import views  # noqa: PLC0415

    with common.memory() as memory:
        found = memory.threads(limit=limit)
    common.emit(found, lambda: views.threads(found, memory.namespace))


def status(common: Common, thread: ThreadArgument, model: ModelOption = None) -> None:
    """Show how full the window is with a thread."""
    from ricordo.cli import views  # noqa: PLC0415

    with common.memory() as memory:
        counters = find_thread(memory, thread)
        usage = memory.monitor(thread, model=model)
    common.emit({"thread": counters, "usage": usage}, lambda: views.status(counters, usage))


def context(
    common: Common,
    thread: ThreadArgument,
    question: Annotated[str | None, typer.Argument(help="The question to answer.", show_default=False)] = None,
    budget: Annotated[int | None, typer.Option(help="Tokens at most.", show_default="the model's window")] = None,
    model: ModelOption = None,
    text: Annotated[bool, typer.Option("--text", help="Write the window's text only.")] = False,
) -> None:
    """Show what a prompt gets of a thread.

    That is the window by segment, its text, and what was left out and why.
    """
    from ricordo.cli import views  # noqa: PLC0415

    if budget is not None and budget < 1:
        raise InvalidInputError(f"a budget must be at least 1 token, not {budget}")
    with common.memory() as memory:
        counters = find_thread(memory, thread)
        window = memory.window(thread, question, budget=budget, model=model)
    if text and not common.json:
        output.write(output.clean(window.render()))
        return
    value = {
        "usage": window.usage,
        "budget": window.budget,
        "segments": [{"kind": segment.kind, "items": segment.items} for segment in window.segments],
        "text": window.render(),
    }
    common.emit(value, lambda: views.context(counters, window))
