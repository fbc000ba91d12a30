"""The small process that keeps one embedded PostgreSQL running while somebody uses it, and ends it afterwards.

Run as a script, it is the parent of the server. It imports the standard library alone, so that it starts in
hundredths of a second and needs neither the package nor its dependencies on its path.

Four lock files say who is there. They hold kernel locks (flock), which end with their holder however it ends:

- gate: held by whoever is starting or stopping the server, so that these never overlap;
- clients: shared by every process that uses the server, claimed inside the gate only;
- supervisor: held by the running supervisor, whose process id is the file's content;
- server: inherited by every PostgreSQL process, so it is free exactly when none of them is left.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING or os.name == "posix":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Callable

PORT = 5432
SOCKET_PATH_LIMIT = 103
"""Bytes of the shortest `sun_path` among the supported systems (macOS; Linux has 107)."""
LOG_LIMIT = 8 * 1024 * 1024
"""Bytes that the log may reach before it becomes `postgres.log.1`."""
TICK = 0.5
LOCK_POLL = 0.01
ORPHAN_PATIENCE = 30.0
QUICK_DEATH = 2.0
QUICK_DEATHS_ALLOWED = 5
STOP_SIGNALS = ((signal.SIGINT, 30.0), (getattr(signal, "SIGQUIT", signal.SIGTERM), 10.0))
"""PostgreSQL's fast and immediate shutdown, each with the seconds it may take."""
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the parts of one embedded server are; `root` is absolute and free of symbolic links."""

    root: Path

    @property
    def cluster(self) -> Path:
        """The data directory of PostgreSQL itself."""
        return self.root / "postgres"

    @property
    def new_cluster(self) -> Path:
        """A data directory that is still being made."""
        return self.root / "postgres.new"

    @property
    def log(self) -> Path:
        """The log of the server and of its supervisor."""
        return self.root / "postgres.log"

    @property
    def programs(self) -> Path:
        """The copy of PostgreSQL's programs, made only where the installed ones are out of the server's reach."""
        return self.root / "bin"

    @property
    def gate(self) -> Path:
        """The lock of whoever is starting or stopping the server."""
        return self.root / "gate.lock"

    @property
    def clients(self) -> Path:
        """The lock that every user of the server shares."""
        return self.root / "clients.lock"

    @property
    def supervisor(self) -> Path:
        """The lock of the running supervisor."""
        return self.root / "supervisor.lock"

    @property
    def server(self) -> Path:
        """The lock that all processes of the server inherit."""
        return self.root / "server.lock"

    @property
    def sockets(self) -> Path:
        """The folder of the server's socket, under /tmp where the path would be too long or holds a comma.

        Both PostgreSQL and libpq read a comma as the border between two folders.
        """
        own = self.root / "run"
        if len(os.fsencode(socket_in(own))) <= SOCKET_PATH_LIMIT and "," not in str(own):
            return own
        digest = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:16]
        return Path(f"/tmp/ricordo-{os.geteuid()}-{digest}")

    @property
    def socket(self) -> Path:
        """The server's socket."""
        return socket_in(self.sockets)


def socket_in(folder: Path) -> Path:
    """Return the path that PostgreSQL gives its socket in this folder."""
    return folder / f".s.PGSQL.{PORT}"


def open_lock(path: Path) -> int:
    """Open a lock file, made at need, and return its descriptor; raise PermissionError if it is another user's."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    if os.fstat(descriptor).st_uid == os.geteuid():
        return descriptor
    os.close(descriptor)
    raise PermissionError(f"{path} belongs to another user")


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Take the lock if it is free; return whether it was."""
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_lock(descriptor: int, seconds: float, *, shared: bool = False) -> bool:
    """Take the lock as soon as it is free; return False if it was not within that time."""
    deadline = time.monotonic() + seconds
    while not try_lock(descriptor, shared=shared):
        if time.monotonic() >= deadline:
            return False
        time.sleep(LOCK_POLL)
    return True


def release_lock(descriptor: int) -> None:
    """Free the lock, also for a forked child that has inherited the descriptor, and close it."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def kill_server_processes(lock: Path) -> None:
    """Kill every PostgreSQL process that still holds this server lock, where the system tells which (Linux).

    For backends that outlive their postmaster: one in the middle of a long computation does not notice its end.
    """
    wanted = lock.stat()
    for descriptors in Path("/proc").glob("[0-9]*/fd"):
        # A process that ends meanwhile, or belongs to somebody else, is not one to kill.
        with suppress(OSError):
            program = Path(os.readlink(descriptors.parent / "exe")).name
            if program.startswith(("postgres", "initdb")) and _holds(descriptors, wanted):
                os.kill(int(descriptors.parent.name), signal.SIGKILL)


def _holds(descriptors: Path, wanted: os.stat_result) -> bool:
    return any(os.path.samestat(entry.stat(), wanted) for entry in descriptors.iterdir() if entry.exists())


class SignalQueue:
    """Signals that are waited for instead of handled, so that none arrives between two statements."""

    def __init__(self, *numbers: int) -> None:
        """Begin to collect these signals."""
        self._reader, writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer)
        for number in numbers:
            signal.signal(number, lambda _number, _frame: None)

    def wait(self, seconds: float) -> set[int]:
        """Return the signals that have arrived, waiting at most that long for the first."""
        readable, _, _ = select.select([self._reader], [], [], seconds)
        return set(os.read(self._reader, 4096)) if readable else set()


class Supervisor:
    """Starts the server, starts it again when it dies, and stops it when it is told to or nobody is left."""

    def __init__(self, layout: Layout, command: list[str], *, grace: float, account: tuple[int, int] | None) -> None:
        """Prepare to run `command`, as user and group `account`; stop after `grace` seconds without clients."""
        self._layout = layout
        self._command = command
        self._account = account
        self._grace = grace
        self._gate = open_lock(layout.gate)
        self._clients = open_lock(layout.clients)
        self._signals = SignalQueue(signal.SIGCHLD, signal.SIGTERM, signal.SIGINT)
        self._alone_since: float | None = None
        self._told_to_stop = False

    def run(self) -> int:
        """Serve until the server is no longer wanted, and return 0; return 1 if it cannot be kept running."""
        quick_deaths = 0
        while quick_deaths < QUICK_DEATHS_ALLOWED:
            started = time.monotonic()
            server = self._start()
            try:
                if self._watch(server):
                    return 0
            finally:
                self._stop(server)
            quick_deaths = quick_deaths + 1 if time.monotonic() - started < QUICK_DEATH else 0
            report(f"the server ended with status {server.returncode}")
        report("the server does not stay up: giving up")
        return 1

    def _start(self) -> subprocess.Popen[bytes]:
        """Start the server after the last process of the one before has gone, so that its pid file is stale."""
        lock = open_lock(self._layout.server)
        try:
            if not try_lock(lock):
                kill_server_processes(self._layout.server)
                if not wait_lock(lock, ORPHAN_PATIENCE):
                    raise TimeoutError("processes of the previous server do not end")
            reap_orphans()
            self._remove_stale_files()
            return self._spawn(lock)
        finally:
            os.close(lock)

    def _remove_stale_files(self) -> None:
        socket = self._layout.socket
        for stale in (self._layout.cluster / "postmaster.pid", socket, socket.with_name(f"{socket.name}.lock")):
            stale.unlink(missing_ok=True)

    def _spawn(self, lock: int) -> subprocess.Popen[bytes]:
        user, group = self._account or (None, None)
        return subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            pass_fds=(lock,),
            user=user,
            group=group,
            extra_groups=None if user is None else [],
            preexec_fn=die_with_parent(os.getpid()),
        )

    def _watch(self, server: subprocess.Popen[bytes]) -> bool:
        """Return True when the server is to be stopped, False when it has died."""
        tick = min(TICK, max(self._grace / 4, 0.05))
        while server.poll() is None:
            if self._signals.wait(tick) & {signal.SIGTERM, signal.SIGINT}:
                self._told_to_stop = True
                # A client at the gate then waits for the end; `stop` holds the gate itself.
                try_lock(self._gate)
            if self._told_to_stop or self._is_abandoned():
                return True
            rotate_log(self._layout.log)
        return self._told_to_stop

    def _is_abandoned(self) -> bool:
        """Return whether the grace is over; the gate is then shut, so that no client can come any more."""
        if not self._is_alone():
            self._alone_since = None
            return False
        if self._alone_since is None:
            self._alone_since = time.monotonic()
        if time.monotonic() - self._alone_since < self._grace or not try_lock(self._gate):
            return False
        if self._is_alone():
            return True
        fcntl.flock(self._gate, fcntl.LOCK_UN)
        return False

    def _is_alone(self) -> bool:
        alone = try_lock(self._clients)
        if alone:
            fcntl.flock(self._clients, fcntl.LOCK_UN)
        return alone

    def _stop(self, server: subprocess.Popen[bytes]) -> None:
        for number, patience in STOP_SIGNALS:
            server.send_signal(number)
            with suppress(subprocess.TimeoutExpired):
                server.wait(patience)
                return
        kill_server_processes(self._layout.server)
        server.wait()


def die_with_parent(parent: int) -> Callable[[], None] | None:
    """Return what a child runs before it becomes the server: have the system stop it when its parent dies (Linux)."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def ask() -> None:
        if prctl(PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0) != 0 or os.getppid() != parent:
            os._exit(1)

    return ask


def adopt_orphans() -> None:
    """Become the parent of backends whose postmaster has died, which pid 1 of a container may never reap (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_orphans() -> None:
    """Reap the children that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def rotate_log(log: Path, limit: int = LOG_LIMIT) -> None:
    """Move the log's text to `postgres.log.1` once it is over `limit` bytes; its writers append, so none notices."""
    if log.stat().st_size > limit:
        shutil.copyfile(log, f"{log}.1")
        os.truncate(log, 0)


def report(text: str) -> None:
    """Write one line to the log, which is this process's standard error."""
    sys.stderr.write(f"{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime())} UTC [{os.getpid()}] supervisor: {text}\n")
    sys.stderr.flush()


def become_daemon(own: int) -> None:
    """Go on in a child, so that the starter need not wait for this process, and write its id into the lock file."""
    os.ftruncate(own, 0)
    if os.fork():
        os._exit(0)
    os.pwrite(own, str(os.getpid()).encode(), 0)


def main() -> int:
    """Run the supervisor of one folder in the background; return 1 at once if it has one already."""
    parser = argparse.ArgumentParser(description="Supervise the embedded PostgreSQL of ricordo.")
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--grace", type=float, required=True, help="seconds without clients before the server stops")
    parser.add_argument("--account", type=int, nargs=2, metavar=("UID", "GID"), help="whom the server runs as")
    parser.add_argument("--command", nargs=argparse.REMAINDER, required=True, help="what starts the server")
    options = parser.parse_args()
    os.umask(0o077)
    layout = Layout(options.data_dir)
    own = open_lock(layout.supervisor)
    if not try_lock(own):
        report("this folder has a supervisor already")
        return 1
    become_daemon(own)
    adopt_orphans()
    account = tuple(options.account) if options.account else None
    status = Supervisor(layout, options.command, grace=options.grace, account=account).run()
    # Before the gate opens, which the end of the process does: a client that passes it must find no supervisor.
    os.close(own)
    return status


if __name__ == "__main__":
    sys.exit(main())
