"""The command itself: its options, its commands in the order of a newcomer's way, and the boundary of errors."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, NoReturn, TextIO

import typer

from ricordo.cli import conversations, database, forgetting, output, retention, summaries, tour
from ricordo.cli.options import Common, with_common
from ricordo.errors import RicordoError

app = typer.Typer(
    name="ricordo",
    help="Lossless memory for LLM agents on PostgreSQL: consolidate, cite, expand, prove.",
    epilog="Start with `ricordo demo`. Options may stand before or after a command.",
    # Without rich's markup the help needs no rich, and is there in a tenth of a second.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415  (slow to import, rarely wanted)

        output.write(version("ricordo"))
        raise typer.Exit


@app.callback()
@with_common
def _root(
    common: Common,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and leave.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Take the common options, which stay in the context for the command."""


_COMMANDS: dict[str, Callable[..., None]] = {
    "demo": tour.demo,
    "import": conversations.import_conversations,
    "threads": conversations.threads,
    "status": conversations.status,
    "context": conversations.context,
    "consolidate": summaries.consolidate,
    "summaries": summaries.summaries,
    "expand": summaries.expand,
    "verify": summaries.verify,
    "retention": retention.retention,
    "forget": forgetting.forget,
    "rebuild": forgetting.rebuild,
}
for _name, _function in _COMMANDS.items():
    app.command(_name)(with_common(_function))
app.add_typer(database.app, name="db")


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and end the process: 0 is success, 1 an error or a fault, 2 wrong usage, 130 an interrupt."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        sys.exit(_run([*(sys.argv[1:] if arguments is None else arguments)]))


def _run(arguments: list[str]) -> int:
    as_json = "--json" in arguments
    try:
        return app(arguments or ["--help"], prog_name="ricordo", standalone_mode=False) or 0
    except RicordoError as error:
        output.write_error(error.code, error.message, error.hint, as_json=as_json)
        return 1
    except typer.TyperException as error:
        hint = "`ricordo --help` lists the commands, `ricordo COMMAND --help` a command's options"
        output.write_error("usage", error.format_message(), hint, as_json=as_json)
        return error.exit_code
    except SystemExit as left:
        # This is how typer ends when the reader of a help text has gone away.
        if isinstance(left.__context__, BrokenPipeError):
            return 0
        raise


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning to a person, who does not care where in the code it arose."""
    output.write_warning(str(message))
