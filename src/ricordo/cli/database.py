"""Commands on the embedded PostgreSQL: `ricordo db …`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import typer

from ricordo.cli import output
from ricordo.cli.options import Common, with_common
from ricordo.errors import InvalidInputError

if TYPE_CHECKING:
    from ricordo.database.embedded import EmbeddedServer

app = typer.Typer(help="The embedded PostgreSQL: run it, stop it, look at it.", rich_markup_mode=None)

_POLL = 0.5
"""Seconds between two looks at whether the server still runs."""


def _server(common: Common) -> EmbeddedServer:
    """Return the embedded server; raise InvalidInputError where the settings name another one."""
    from ricordo.database.embedded import EmbeddedServer  # noqa: PLC0415

    settings = common.settings()
    if settings.database_url is not None:
        raise InvalidInputError(
            "the memory is on a server of your own, which ricordo does not start or stop",
            hint="leave out --database-url and unset RICORDO_DATABASE_URL for the embedded PostgreSQL",
        )
    return EmbeddedServer(settings.data_dir)


@app.callback(invoke_without_command=True)
def _root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        output.write(context.get_help())


@app.command()
@with_common
def start(common: Common) -> None:
    """Run the server until Ctrl-C or `ricordo db stop`.

    Every other command starts it by itself and lets it go some seconds later; this one keeps it up.
    """
    server = _server(common)
    with common.working("starting the embedded PostgreSQL"):
        lease = server.start()
    with lease:
        value = {"url": lease.url, "data_dir": str(server.status().data_dir)}
        common.emit(value, lambda: output.write(f"running at {lease.url}\nCtrl-C ends it"))
        while server.status().running:
            time.sleep(_POLL)
    common.emit({"running": False}, lambda: output.write("stopped"))


@app.command()
@with_common
def stop(common: Common) -> None:
    """Stop the server now, even if others use it.

    Committed data is safe.
    """
    server = _server(common)
    was_running = server.status().running
    server.stop()
    text = "stopped" if was_running else "it was not running"
    common.emit({"stopped": was_running}, lambda: output.write(text))


@app.command()
@with_common
def status(common: Common) -> None:
    """Tell whether the server runs, without starting it."""
    found = _server(common).status()
    state = "running" if found.running else "not running"
    use = ", in use" if found.in_use else ""
    lines = [f"{state}{use}", f"data    {found.data_dir}", f"url     {found.url}"]
    lines += [f"version PostgreSQL {found.version}, process {found.pid}"] if found.running else []
    common.emit(found, lambda: output.write(output.clean("\n".join(lines))))


@app.command()
@with_common
def url(common: Common) -> None:
    """Write the database's address, for psql and others."""
    address = common.url()
    common.emit({"url": address}, lambda: output.write(output.clean(address)))
