"""The embedded PostgreSQL: one server in one folder, shared by every process that wants it, gone when none does."""

from __future__ import annotations

import math
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import psycopg

from ricordo.database import supervisor
from ricordo.database.binaries import (
    DATABASE,
    ELSEWHERE,
    ROLE,
    SUPERUSER,
    Account,
    Programs,
    check_cluster,
    create_cluster,
    environment,
    find_programs,
    make_private_folder,
    prepare_folder,
    server_account,
)
from ricordo.database.supervisor import (
    PORT,
    Layout,
    kill_server_processes,
    open_lock,
    release_lock,
    try_lock,
    wait_lock,
)
from ricordo.errors import ConfigurationError, EmbeddedServerError

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType

GRACE_VARIABLE = "RICORDO_EMBEDDED_GRACE"
DEFAULT_GRACE = "10"
GATE_PATIENCE = 120.0
START_PATIENCE = 90.0
"""Seconds: a server that was killed replays its write-ahead log first, of which TUNING allows about 256 MB."""
STOP_PATIENCE = 60.0
SHUTDOWN_PATIENCE = 20.0
CONNECT_TIMEOUT = 5
POLL = 0.01
LOG_TAIL = 2000
"""Characters of the log that an error message shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """What is known of a server without starting it; `in_use` tells whether any process holds a lease."""

    running: bool
    in_use: bool
    pid: int | None
    version: str | None
    data_dir: Path
    url: str


class Lease:
    """One claim on a running server, which stays up at least until the claim is released or its process ends.

    A forked child shares the claim of its parent. Leaving a `with` block releases it.
    """

    def __init__(self, claim: int, *, url: str, admin_url: str) -> None:
        """Hold this descriptor of the lock that all clients share."""
        self._claim: int | None = claim
        self.url = url
        self.admin_url = admin_url

    def release(self) -> None:
        """Give the claim back; again does nothing."""
        claim, self._claim = self._claim, None
        if claim is not None:
            release_lock(claim)

    def __enter__(self) -> Lease:
        """Return the lease itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release the claim."""
        self.release()


class EmbeddedServer:
    """The PostgreSQL of one data folder. Every method may be called from any thread and any process."""

    def __init__(self, data_dir: Path) -> None:
        """Name the folder, without touching it; raise EmbeddedServerError on Windows."""
        if os.name == "nt":
            raise EmbeddedServerError(
                "the embedded PostgreSQL runs on Linux and macOS only",
                hint="Set RICORDO_DATABASE_URL to a PostgreSQL server with pgvector, or use WSL.",
            )
        self._layout = Layout(Path(os.path.realpath(os.path.expanduser(data_dir))))

    @property
    def url(self) -> str:
        """The address of the application's database, as its owner, who is no superuser."""
        return self._url(ROLE, DATABASE)

    @property
    def admin_url(self) -> str:
        """The address of the database `postgres`, as superuser, whom row-level security does not hold."""
        return self._url(SUPERUSER, "postgres")

    def start(self) -> Lease:
        """Join the running server, or start it (and make it, the first time), and return a claim on it.

        Raises EmbeddedServerError where the folder, the programs or the server's data do not allow it, and
        ConfigurationError for a bad RICORDO_EMBEDDED_GRACE (seconds that the server outlives its last claim).
        """
        with _folder_errors(self._layout.root):
            account = server_account()
            prepare_folder(self._layout, account)
            with self._gate():
                lease = self._claim()
                try:
                    self._ensure_running(account)
                except BaseException:
                    lease.release()
                    raise
        return lease

    def stop(self) -> None:
        """Stop the server now, even if others use it, and return when its last process has gone."""
        with _folder_errors(self._layout.root):
            if not self._layout.gate.exists():
                return
            with self._gate():
                self._stop_supervisor()
                with _opened(self._layout.server) as lock:
                    self._end_previous_server(lock)

    def status(self) -> ServerStatus:
        """Return what can be seen from outside; never starts anything."""
        version = self._running_version()
        with _folder_errors(self._layout.root):
            return ServerStatus(
                running=version is not None,
                in_use=version is not None and not _is_free(self._layout.clients),
                pid=postmaster_pid(self._layout.socket),
                version=version,
                data_dir=self._layout.root,
                url=self.url,
            )

    def _url(self, role: str, database: str) -> str:
        folder = quote(os.fsencode(self._layout.sockets), safe="")
        return f"postgresql://{role}@/{database}?host={folder}&port={PORT}"

    @contextmanager
    def _gate(self) -> Generator[None]:
        with _opened(self._layout.gate) as lock:
            if not wait_lock(lock, GATE_PATIENCE):
                raise EmbeddedServerError(
                    f"another process has been starting or stopping the server in {self._layout.root} for too long",
                    hint=f"See {self._layout.log}.",
                )
            yield

    def _claim(self) -> Lease:
        claim = open_lock(self._layout.clients)
        if not wait_lock(claim, GATE_PATIENCE, shared=True):
            release_lock(claim)
            raise self._failure("cannot be claimed", "its supervisor does not answer")
        return Lease(claim, url=self.url, admin_url=self.admin_url)

    def _ensure_running(self, account: Account | None) -> None:
        deadline = time.monotonic() + START_PATIENCE
        launched = False
        while True:
            if _is_free(self._layout.supervisor):
                if launched:
                    raise self._failure("did not come up", "it ended while it was starting")
                self._launch(account)
                launched = True
            problem = self._connection_problem()
            # A server that has lost its supervisor answers for an instant more.
            if not problem and not _is_free(self._layout.supervisor):
                return
            if time.monotonic() > deadline:
                raise self._failure("did not come up", problem)
            time.sleep(POLL)

    def _connection_problem(self) -> str:
        """Return why no client can connect, or nothing if one can."""
        try:
            psycopg.connect(self.url, connect_timeout=CONNECT_TIMEOUT).close()
        except psycopg.OperationalError as error:
            return str(error)
        return ""

    def _running_version(self) -> str | None:
        try:
            with psycopg.connect(self.admin_url, connect_timeout=CONNECT_TIMEOUT) as connection:
                major, minor = divmod(connection.info.server_version, 10000)
        except psycopg.OperationalError:
            return None
        return f"{major}.{minor}"

    def _launch(self, account: Account | None) -> None:
        layout = self._layout
        grace = grace_seconds()
        with _opened(layout.server) as lock:
            self._end_previous_server(lock)
            programs = find_programs(layout, account)
            if not (layout.cluster / "PG_VERSION").exists():
                create_cluster(programs, layout, lock)
            check_cluster(layout, account)
            make_private_folder(layout.sockets, account)
        self._run_supervisor(programs, grace)

    def _run_supervisor(self, programs: Programs, grace: float) -> None:
        """Start the supervisor, which goes on in the background once it holds its lock."""
        account = programs.account
        command = [sys.executable, "-I", "-S", str(supervisor.__file__), str(self._layout.root), "--grace", str(grace)]
        if account:
            command += ["--account", str(account.uid), str(account.gid)]
        command += ["--command", *programs.server_command(self._layout)]
        log = os.open(self._layout.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        try:
            result = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment(),
                cwd="/",
                start_new_session=True,
                check=False,
            )
        finally:
            os.close(log)
        if result.returncode != 0:
            raise self._failure("did not come up", f"its supervisor ended with status {result.returncode}")

    def _stop_supervisor(self) -> None:
        deadline = time.monotonic() + STOP_PATIENCE
        told = False
        with _opened(self._layout.supervisor) as lock:
            while not try_lock(lock):
                pid = os.pread(lock, 32, 0)
                if pid and not told:
                    _signal(int(pid), signal.SIGTERM)
                    told = True
                if time.monotonic() > deadline:
                    raise self._failure("does not stop", f"its supervisor is process {pid.decode()}")
                time.sleep(POLL)

    def _end_previous_server(self, lock: int) -> None:
        """Take the server lock, after the end of a server whose supervisor was killed.

        On Linux such a server is shutting down already; elsewhere it is told to. The kernel, not a file, says which
        process it is.
        """
        if try_lock(lock):
            return
        pid = postmaster_pid(self._layout.socket)
        if pid is not None:
            _signal(pid, signal.SIGINT)
        if wait_lock(lock, SHUTDOWN_PATIENCE):
            return
        kill_server_processes(self._layout.server)
        if not wait_lock(lock, SHUTDOWN_PATIENCE):
            raise self._failure("does not stop", "processes of it are left")

    def _failure(self, what: str, why: str) -> EmbeddedServerError:
        log = self._layout.log
        tail = log.read_text(encoding="utf-8", errors="replace")[-LOG_TAIL:].strip() if log.exists() else ""
        message = f"the embedded PostgreSQL in {self._layout.root} {what}: {why.strip()}"
        return EmbeddedServerError(f"{message}\n{tail}".strip(), hint=f"The whole log is {log}.")


def grace_seconds() -> float:
    """Return the seconds that a server outlives its last claim, from RICORDO_EMBEDDED_GRACE (10 where unset)."""
    text = os.environ.get(GRACE_VARIABLE, DEFAULT_GRACE)
    try:
        grace = float(text)
    except ValueError:
        grace = math.nan
    if 0 <= grace < math.inf:
        return grace
    raise ConfigurationError(f"{GRACE_VARIABLE} is {text!r}", hint="Set it to a number of seconds, 0 or more.")


def postmaster_pid(path: Path) -> int | None:
    """Return the process that listens on this socket, as the kernel tells it, or None if nobody does."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(CONNECT_TIMEOUT)
        try:
            probe.connect(os.fsencode(path))
        except OSError:
            return None
        if sys.platform == "linux":
            return struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        # macOS: SOL_LOCAL and LOCAL_PEERPID of sys/un.h, which the socket module does not name.
        return struct.unpack("i", probe.getsockopt(0, 2, 4))[0]


def _signal(pid: int, number: signal.Signals) -> None:
    # A process that has just ended by itself is what the signal is for.
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _is_free(path: Path) -> bool:
    with _opened(path) as lock:
        return try_lock(lock)


@contextmanager
def _opened(path: Path) -> Generator[int]:
    """Open a lock file; the lock, if it was taken, ends with the block."""
    lock = open_lock(path)
    try:
        yield lock
    finally:
        release_lock(lock)


@contextmanager
def _folder_errors(folder: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise EmbeddedServerError(f"the data folder {folder} cannot be used: {error}", hint=ELSEWHERE) from error
