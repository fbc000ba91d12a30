"""The command itself: its options, its groups of commands, and the boundary where errors become exit statuses."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from ricordo.cli import conversations, database, output, summaries, tour
from ricordo.cli.options import Common, with_common
from ricordo.errors import RicordoError

USAGE_STATUS = 2
INTERRUPTED_STATUS = 130

app = typer.Typer(
    name="ricordo",
    help="Lossless memory for LLM agents on PostgreSQL: consolidate, cite, expand, prove.",
    epilog="Start with `ricordo demo`.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback(invoke_without_command=True)
def _root(context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False) -> None:
    ...
