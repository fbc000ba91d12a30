"""The command that measures what summaries keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from ricordo.cli.conversations import find_thread
from ricordo.cli.options import Common
from ricordo.errors import InvalidInputError
from ricordo.types import RawMessage, Retention


def retention(
    common: Common,
    source: Annotated[
        str,
        typer.Argument(metavar="THREAD|FILE", help="A thread's id, or a file of conversations.", show_default=False),
    ],
    model: Annotated[
        str | None,
        typer.Option(help="The model that summarises a FILE. Also RICORDO_MODEL.", show_default="extracts without one"),
    ] = None,
) -> None:
    """Measure what summaries keep, without a model.

    Of the numbers, dates, names, identifiers, paths, URLs and error codes in the messages: how many stand in the
    summary, how many its recall keys name, and how many one expansion brings back. Of a THREAD its stored summaries
    are measured; a FILE is summarised for this and nothing is stored.
    """
    from ricordo.cli import retention_view  # noqa: PLC0415
    from ricordo.consolidation.retention import summed  # noqa: PLC0415

    path = Path(source)
    found = _of_file(common, path, model) if path.is_file() else _of_thread(common, source)
    whole = summed(found.values())
    common.emit({"retention": whole, "threads": found}, lambda: retention_view.show_retention(found, whole))


def _of_thread(common: Common, thread: str) -> dict[str, Retention]:
    with common.memory() as memory, common.working("measuring"):
        find_thread(memory, thread)
        return {thread: memory.retention(thread)}


def _of_file(common: Common, path: Path, model: str | None) -> dict[str, Retention]:
    from ricordo.consolidation.redact import redact_secrets  # noqa: PLC0415
    from ricordo.consolidation.retention import of_messages  # noqa: PLC0415
    from ricordo.loop import run  # noqa: PLC0415

    settings = common.settings()
    with common.working("summarising") as say:
        found: dict[str, Retention] = {}
        for name, messages in _conversations(path).items():
            say(f"summarising {name}")
            summariser = model or settings.model
            found[name] = run(of_messages(messages, settings=settings, model=summariser, redact=redact_secrets))
    return found


def _conversations(path: Path) -> Mapping[str, Sequence[RawMessage]]:
    """Return the conversations of a file by their names; raises InvalidInputError where it is not read to its end."""
    from ricordo.importers import opened  # noqa: PLC0415
    from ricordo.importers.source import read_items  # noqa: PLC0415
    from ricordo.importers.stream import FormatError  # noqa: PLC0415

    found: dict[str, list[RawMessage]] = {}
    try:
        with opened(path) as source:
            for item in read_items(source, "auto", None):
                if item.fault:
                    raise FormatError(f"item {item.number}: {item.fault}")
                found.setdefault(item.thread_id, []).append(item.message)
    except FormatError as error:
        hint = "a file is a JSON list of messages, one JSON message a line, or an object that holds such a list"
        raise InvalidInputError(f"{str(path)!r} cannot be measured: {error}", hint=hint) from error
    if not found:
        raise InvalidInputError(f"{str(path)!r} holds no messages")
    return found
