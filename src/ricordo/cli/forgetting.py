"""The command that forgets: what is named, and everything that was derived from it."""

from __future__ import annotations

from typing import Annotated

import typer

from ricordo.cli.conversations import ThreadArgument, find_thread
from ricordo.cli.options import Common


def forget(
    common: Common,
    message: Annotated[list[str] | None, typer.Option(help="A message's id; may be given again.")] = None,
    thread: Annotated[str | None, typer.Option(help="A whole thread.")] = None,
    summary: Annotated[str | None, typer.Option(help="All that a summary covers, or a free text.")] = None,
    matching: Annotated[str | None, typer.Option(help="Whatever holds this text, in any case.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Forget it; without this it is only listed.")] = False,
) -> None:
    """Forget messages and everything derived from them.

    Lists what would go. With --yes it goes for good: rows, tool logs and texts are deleted, and every summary
    above them is written again from what remains.
    """
    from ricordo.cli import views  # noqa: PLC0415

    with common.memory() as memory, common.working("forgetting"):
        found = memory.forget(
            messages=message or (), thread_id=thread, summary_id=summary, matching=matching, dry_run=not yes
        )
    common.emit(found, lambda: views.forgetting(found))


def rebuild(common: Common, thread: ThreadArgument) -> None:
    """Write a thread's withdrawn summaries again.

    Forgetting empties the summaries above what it deletes. They are written again at once, or, where the model
    failed, by this command or by the next consolidation.
    """
    from ricordo.cli import views  # noqa: PLC0415

    with common.memory() as memory, common.working("rebuilding"):
        find_thread(memory, thread)
        found = memory.rebuild(thread)
    common.emit({"rebuilt": found}, lambda: views.rebuilt(found))
