"""The one place where errors of the driver become errors of ricordo."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import psycopg
from psycopg import errors as pg
from psycopg_pool import PoolTimeout

from ricordo.errors import DatabaseError, DatabaseUnavailableError, RicordoError

_UNAVAILABLE = (pg.AdminShutdown, pg.CrashShutdown, pg.CannotConnectNow, pg.TooManyConnections, PoolTimeout)


def translate(error: psycopg.Error) -> RicordoError:
    """Return the error that stands for a driver's error; its text never holds a password."""
    if isinstance(error, _UNAVAILABLE) or (isinstance(error, psycopg.OperationalError) and error.sqlstate is None):
        return DatabaseUnavailableError(
            f"PostgreSQL cannot be reached: {_first_line(error)}",
            hint="check that the server runs and that the URL is right; committed data is safe, so try again",
        )
    if isinstance(error, pg.InsufficientPrivilege):
        return DatabaseError(
            f"PostgreSQL denies this role what ricordo needs: {_first_line(error)}",
            hint="grant the role CREATE on the database, or let its owner open the memory once, which migrates it",
        )
    if error.sqlstate is None:
        # What libpq says of a URL that it cannot read repeats it, with the password in it.
        return DatabaseError(
            f"the database cannot be used ({type(error).__name__}); its URL may be malformed",
            hint="a URL looks like postgresql://user@host:5432/database",
        )
    state = error.sqlstate
    return DatabaseError(f"PostgreSQL refused a statement ({state}): {_first_line(error)}")


def _first_line(error: psycopg.Error) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


@contextmanager
def translated() -> Generator[None]:
    """Raise ricordo's errors in place of the driver's, which stay attached as their cause."""
    try:
        yield
    except psycopg.Error as error:
        raise translate(error) from error
