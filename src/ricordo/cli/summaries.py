"""Commands on summaries: make one, list them, open one again, prove that nothing is lost."""

from __future__ import annotations

from typing import Annotated

import typer

from ricordo.cli.conversations import ThreadArgument, find_thread
from ricordo.cli.options import Common
from ricordo.errors import NotFoundError


def consolidate(
    common: Common,
    thread: ThreadArgument,
    keep_recent: Annotated[int, typer.Option(help="Tokens of the newest messages to leave as they are.")] = 0,
    model: Annotated[
        str | None,
        typer.Option(help="The model that summarises. Also RICORDO_MODEL.", show_default="extracts without a model"),
    ] = None,
) -> None:
    """Summarise a thread and keep every original.

    Its live messages become one reference; the summary opens again with `ricordo expand`. Where there is
    nothing to do, the reason is told and nothing is changed.
    """
    from ricordo.cli import views  # noqa: PLC0415

    with common.memory(model=model) as memory:
        find_thread(memory, thread)
        with common.working("consolidating"):
            result = memory.summarize_conversation(thread, keep_recent)
        stored = memory.summary.find(result.id or "")
    common.emit(result, lambda: views.consolidation(result, stored))


def summaries(
    common: Common, thread: ThreadArgument, limit: Annotated[int, typer.Option(help="How many, the newest.")] = 100
) -> None:
    """List a thread's summaries with their ids.

    They are those that stand in its window, oldest first.
    """
    from ricordo.cli import views  # noqa: PLC0415

    with common.memory() as memory:
        find_thread(memory, thread)
        found = memory.summary.list(thread, limit=limit)
    common.emit(found, lambda: views.summaries(found))


def expand(
    common: Common,
    id: Annotated[str, typer.Argument(metavar="ID", help="A summary's id or whole reference.", show_default=False)],
    query: Annotated[str | None, typer.Option(help="Show only what matches these words, with its neighbours.")] = None,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    max_tokens: Annotated[int, typer.Option(help="Tokens of a page.")] = 8_000,
    originals: Annotated[
        bool, typer.Option("--originals", help="Of a summary of summaries, show the messages, not its children.")
    ] = False,
) -> None:
    """Open a summary again, to its originals.

    Shows its text, then its original messages in order, page by page.
    """
    from ricordo.cli import views  # noqa: PLC0415

    with common.memory() as memory:
        depth = "originals" if originals else None
        found = memory.expand_summary(id, query, max_tokens=max_tokens, cursor=cursor, depth=depth)
    if not found.found:
        raise NotFoundError(
            f"there is no summary {id[:80]!r} in the namespace {memory.namespace!r}",
            hint="`ricordo summaries THREAD` lists them with their ids",
        )
    common.emit(found, lambda: views.expansion(found))


def verify(
    common: Common,
    thread: Annotated[
        str | None, typer.Argument(metavar="THREAD", help="One thread only.", show_default="all of the namespace")
    ] = None,
) -> None:
    """Prove that nothing is lost.

    Every message must be live or under exactly one summary, and unchanged. Exit status 1 and the exact
    rows where anything is off.
    """
    from ricordo.cli import views  # noqa: PLC0415

    with common.memory() as memory, common.working("verifying") as say:
        found = memory.verify(thread, progress=lambda name: say(f"verifying {name}"))
        if thread is not None and found.ok and not found.threads:
            find_thread(memory, thread)
    common.emit({"ok": found.ok, "verification": found}, lambda: views.verification(found))
    if not found.ok:
        raise typer.Exit(1)
