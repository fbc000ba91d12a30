"""`ricordo demo`: the demonstration's story as a guided tour, or its figures as JSON."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import typer

from ricordo.cli.options import Common

if TYPE_CHECKING:
    from ricordo.demo import Chapter


def demo(common: Common) -> None:
    """Watch a conversation condensed and given back.

    Every promise is checked on the way. Runs in a fresh namespace each time and deletes nothing.
    Exit status 1 if anything is not as it should be.
    """
    from ricordo.cli import tour_views as views  # noqa: PLC0415  (rich)
    from ricordo.demo import story  # noqa: PLC0415  (the library)

    started = time.monotonic()
    namespace = f"demo-{uuid4().hex[:8]}"
    chapters: list[Chapter] = []
    if not common.json:
        views.welcome(namespace)
    with common.memory(namespace=namespace) as memory:
        for chapter in _with_spinner(common, story(memory, common.url())):
            chapters.append(chapter)
            if not common.json:
                views.tell(chapter)
    seconds = round(time.monotonic() - started, 1)
    failed = [type(chapter).__name__ for chapter in chapters if not chapter.ok]
    common.emit(figures(chapters) | {"seconds": seconds}, lambda: views.farewell(namespace, failed, seconds))
    if failed:
        raise typer.Exit(1)


def _with_spinner(common: Common, chapters: Iterator[Chapter]) -> Iterator[Chapter]:
    """Yield the chapters, showing that something is going on while the next one happens."""
    while True:
        with common.working("at work"):
            chapter = next(chapters, None)
        if chapter is None:
            return
        yield chapter


def figures(chapters: Sequence[Chapter]) -> dict[str, Any]:
    """Return what happened, under the names of the JSON answer."""
    from ricordo import demo  # noqa: PLC0415  (the library)

    found: dict[str, Any] = {}
    for chapter in chapters:
        match chapter:
            case demo.Written():
                found["usage"] = chapter.usage
            case demo.Summarised(result=result):
                keys = ("id", "description", "summary", "num_messages_summarized", "tokens", "model")
                found["summary"] = {key: getattr(result, key) for key in keys}
            case demo.Opened():
                found["expanded_messages"] = chapter.count
            case demo.Counted():
                found["check"] = [chapter.live, chapter.covered]
            case demo.Again(result=result):
                found["second_run"] = result.status
            case demo.Proved():
                found["verified"] = chapter.ok
            case demo.Compared():
                pass
    return found
