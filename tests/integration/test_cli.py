"""The command as people and programs run it: answers, exit statuses, errors, terminals, closed pipes, interrupts."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import Memory
from ricordo.cli import bars
from ricordo.cli.app import main
from ricordo.cli.output import clean
from ricordo.demo import conversation

COMMAND = [sys.executable, "-m", "ricordo"]
NASTY = "\x1b]0;title\x07\x1b[31mred [bold]not markup[/bold] :smile: \x00 \x9b31m \u202ebackwards \ud800 \r hidden"

Run: TypeAlias = Callable[..., "Outcome"]


@dataclass(frozen=True, slots=True)
class Outcome:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        return json.loads(self.err)["error"]


@pytest.fixture
def environment(database_url: str) -> dict[str, str]:
    return os.environ | {
        "RICORDO_DATABASE_URL": database_url,
        "COLUMNS": "80",
        "PYTHONWARNINGS": "error::ResourceWarning",
    }


@pytest.fixture
def run(database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process."""
    monkeypatch.setenv("RICORDO_DATABASE_URL", database_url)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: str | Path) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Outcome(int(left.value.code or 0), out, err)

    return call


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(conversation()), encoding="utf-8")
    return path


def test_help_needs_neither_rich_nor_the_library() -> None:
    code = (
        "import sys; from ricordo.cli import app\n"
        "try: app.main(['--help'])\n"
        "except SystemExit as left: assert left.code == 0\n"
        "print([name for name in ('rich', 'psycopg', 'pydantic', 'openai', 'asyncio') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_every_command_has_help_that_fits_its_line(run: Run) -> None:
    listed = run("--help")
    assert listed.status == 0
    assert run().out == listed.out
    names = re.findall(r"^  (\w+) {2,}(.*)$", listed.out.partition("Commands:")[2], re.MULTILINE)
    assert [name for name, _ in names] == [
        *(
            "demo",
            "import",
            "threads",
            "status",
            "context",
            "consolidate",
            "summaries",
            "expand",
            "verify",
            "retention",
            "forget",
            "rebuild",
            "db",
        )
    ]
    for name, summary in names:
        assert summary.endswith("."), summary
        assert not summary.endswith("..."), summary
        assert run(name, "--help").status == 0


def test_the_whole_way_in_json(run: Run, talk: Path) -> None:
    assert run("import", talk, "--json").json == {
        "threads": ["talk"], "messages": 30, "added": 30, "skipped": 0, "bad_count": 0, "bad": []
    }  # fmt: skip
    assert [thread["thread_id"] for thread in run("threads", "--json").json] == ["talk"]
    status = run("status", "talk", "--json").json
    assert status["thread"]["live_messages"] == 30
    assert status["usage"]["status"] == "ok"
    assert sum(status["usage"]["segments"].values()) == status["usage"]["tokens"]
    window = run("context", "talk", "What is open?", "--budget", "500", "--json").json
    assert window["usage"]["tokens"] <= window["budget"] == 500
    assert {segment["kind"] for segment in window["segments"]} == {"question", "conversational", "summary"}
    made = run("consolidate", "talk", "--json").json
    assert (made["status"], made["num_messages_summarized"]) == ("consolidated", 30)
    assert [summary["id"] for summary in run("summaries", "talk", "--json").json] == [made["id"]]
    page = run("expand", made["id"], "--json").json
    assert [message["message"] for message in page["messages"]] == [*conversation()]
    assert run("verify", "--json").json["verification"]["covered"] == 30
    assert run("consolidate", "talk", "--json").json["status"] == "nothing_to_summarize"


def test_the_whole_way_for_people(run: Run, talk: Path) -> None:
    assert "30 added, 0 already there: 30 messages in 1 thread" in run("import", talk).out
    assert re.search(r"talk +30 +30 +1,\d{3} +0", run("threads").out)
    status = run("status", "talk").out
    assert "30 messages: 30 live, 0 covered by 0 summaries" in status
    assert "conversational" in status
    context = run("context", "talk", "What is open?", "--budget", "500").out
    assert "## Conversation Memory" in context
    assert "left out" in context
    assert "over budget" in context
    made = run("consolidate", "talk").out
    for heading in ("### Technical Information", "### Entities & References", "### Action Items & Decisions"):
        assert heading in made
    assert "30 messages" in made
    summaries = run("summaries", "talk").out
    id = re.search(r"\[Summary ID: ([0-9a-f-]{36})\]", summaries)
    assert id is not None
    page = run("expand", id[1], "--max-tokens", "900")
    following = re.search(r"next: ricordo expand (\S+) --cursor (\S+)", page.out)
    assert following is not None
    assert "ORIGINAL MESSAGES:" in run("expand", following[1], "--cursor", following[2]).out
    assert "verified: nothing is lost" in run("verify").out
    assert "nothing_to_summarize" in run("consolidate", "talk").out
    for outcome in (run("status", "talk"), run("threads"), run("summaries", "talk")):
        assert max(map(len, outcome.out.splitlines())) <= 80


def test_the_text_option_writes_the_window_and_nothing_else(run: Run, talk: Path) -> None:
    run("import", talk)
    assert run("context", "talk", "--text").out.startswith("## Conversation Memory\n")


def test_common_options_stand_before_or_after_the_command(run: Run, talk: Path, database_url: str) -> None:
    assert run("--namespace", "one", "import", talk).status == 0
    assert run("import", talk, "--namespace", "two", "--thread", "mine").status == 0
    assert [thread["thread_id"] for thread in run("--json", "--namespace", "one", "threads").json] == ["talk"]
    assert [
        thread["thread_id"] for thread in run("--namespace", "one", "threads", "--namespace", "two", "--json").json
    ] == ["mine"]
    assert run("threads", "--json", "--database-url", database_url).json == []


@pytest.mark.parametrize(
    "command",
    [["status"], ["context"], ["consolidate"], ["summaries"], ["verify"]],
)
def test_an_unknown_thread_is_told_with_the_way_to_the_known_ones(run: Run, command: Sequence[str]) -> None:
    told = run(*command, "nowhere")
    assert (told.status, told.out) == (1, "")
    assert "there is no thread 'nowhere' in the namespace 'default'" in told.err
    assert "ricordo threads" in told.err
    asked = run(*command, "nowhere", "--json")
    assert (asked.status, asked.out, asked.error["code"]) == (1, "", "not_found")
    assert "ricordo threads" in asked.error["hint"]


@pytest.mark.parametrize(
    "id", ["xxx", "", "[Summary ID: nonsense]", "00000000-0000-0000-0000-000000000000", "\x1b[31m"]
)
def test_f23_an_unknown_or_malformed_id_is_answered_kindly(run: Run, id: str) -> None:
    told = run("expand", id)
    assert told.status == 1
    assert "there is no summary" in told.err
    assert "\x1b" not in told.err
    assert run("expand", id, "--json").error["code"] == "not_found"


def test_a_whole_reference_is_an_id(run: Run, talk: Path) -> None:
    run("import", talk)
    made = run("consolidate", "talk", "--json").json
    assert run("expand", f"[Summary ID: {made['id']}] {made['description']}").status == 0


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["threads", "--limit", "0"], 1, "invalid_input"),
        (["threads", "--limit", "x"], 2, "usage"),
        (["nonsense"], 2, "usage"),
        (["status"], 2, "usage"),
        (["status", "a\x00b"], 1, "invalid_input"),
        (["status", "x" * 300], 1, "invalid_input"),
        (["threads", "--namespace", "a\nb"], 1, "invalid_input"),
        (["threads", "--database-url", "postgresql://nobody@127.0.0.1:1/x"], 1, "database_unavailable"),
        (["import", "/nowhere.json"], 1, "not_found"),
        (["import", "/tmp"], 1, "invalid_input"),
        (["import", "/dev/null"], 1, "invalid_input"),
        (["import", "x.json", "--format", "csv"], 2, "usage"),
        (["db", "start"], 1, "invalid_input"),
        (["db", "stop"], 1, "invalid_input"),
    ],
)
def test_bad_input_is_told_clearly(run: Run, arguments: list[str], status: int, code: str) -> None:
    told = run(*arguments)
    assert (told.status, told.out) == (status, "")
    assert told.err.startswith("error: ")
    asked = run(*arguments, "--json")
    assert (asked.status, asked.out) == (status, "")
    assert asked.error.keys() == {"code", "message", "hint"}
    assert asked.error["code"] == code


@pytest.mark.parametrize("command", [["threads"], ["db", "url"]])
def test_a_bad_setting_is_told_by_the_name_of_its_variable(
    run: Run, command: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_POOL_SIZE", "many")
    asked = run(*command, "--json")
    assert (asked.status, asked.error["code"]) == (1, "configuration")
    assert "RICORDO_POOL_SIZE" in asked.error["hint"]


def test_importing_again_adds_nothing_and_a_grown_file_adds_what_is_new(
    run: Run, talk: Path, database_url: str
) -> None:
    run("import", talk)
    again = run("import", talk, "--json").json
    assert (again["messages"], again["added"], again["skipped"]) == (30, 0, 30)
    run("consolidate", "talk")
    more = [*conversation(), {"role": "user", "content": "One more."}]
    talk.write_text(json.dumps(more), encoding="utf-8")
    grown = run("import", talk, "--json").json
    assert (grown["messages"], grown["added"], grown["skipped"]) == (31, 1, 30)
    with Memory.open(database_url) as memory:
        stored = memory.conversational.list("talk", limit=100, include_covered=True)
    assert [message.message for message in stored] == more


def test_equal_messages_of_one_file_are_all_kept(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "same.json"
    path.write_text(json.dumps([{"role": "user", "content": "yes"}] * 600), encoding="utf-8")
    assert run("import", path, "--json").json["added"] == 600
    assert run("import", path, "--json").json["skipped"] == 600


def test_bad_messages_are_reported_and_the_others_kept(run: Run, tmp_path: Path, database_url: str) -> None:
    good = [{"role": "user", "content": f"{number}"} for number in range(700)]
    bad = [
        "a text",
        {"content": "no role"},
        {"role": "user", "content": 1},
        {"role": "user", "content": "x", "n": float("nan")},
    ]
    mixed: list[Any] = [*good[:300], *bad, *good[300:]]
    path = tmp_path / "mixed.json"
    path.write_text(json.dumps(mixed), encoding="utf-8")
    asked = run("import", path, "--json")
    assert asked.status == 1
    assert (asked.json["added"], asked.json["bad_count"]) == (700, 4)
    assert [item["number"] for item in asked.json["bad"]] == [301, 302, 303, 304]
    told = run("import", path)
    assert told.status == 1
    assert told.out.count("not imported: mixed, 30") == 4
    with Memory.open(database_url) as memory:
        stored = memory.conversational.list("mixed", limit=1000)
    assert [message.message for message in stored] == good


def test_a_broken_end_keeps_what_came_before(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    path.write_text(json.dumps(conversation())[:-20], encoding="utf-8")
    asked = run("import", path, "--json")
    assert (asked.status, asked.json["added"], asked.json["bad_count"]) == (1, 29, 1)
    assert asked.json["bad"][0]["number"] == 30


def test_e1_an_import_is_equal_to_json_load_to_the_last_byte(run: Run, tmp_path: Path, database_url: str) -> None:
    text = (
        r'[{"role": "user", "content": "\ud800 \ude00\ud83d \u0000 \\u0000 \ud83d\ude00 \u2028 <|endoftext|>"},'
        r'{"role": "user", "content": "x", "z": 12345678901234567890123, "": {},'
        r'"a": [0.1, 1e300, -0.0, 1E-7, true, null]}]'
    )
    path = tmp_path / "exact.json"
    path.write_text(text, encoding="utf-8")
    assert run("import", path).status == 0
    with Memory.open(database_url) as memory:
        stored = memory.conversational.list("exact")
    assert repr([message.message for message in stored]) == repr(json.loads(text))


def test_stored_text_reaches_neither_the_terminal_nor_the_markup(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "nasty.json"
    path.write_text(
        json.dumps([{"role": "user", "content": f"{NASTY} {number}"} for number in range(40)]), encoding="utf-8"
    )
    run("import", path)
    shown = [run("context", "nasty"), run("context", "nasty", NASTY, "--text"), run("consolidate", "nasty")]
    summaries = run("summaries", "nasty")
    shown += [summaries, run("context", "nasty", "--budget", "400"), run("status", NASTY), run("expand", NASTY)]
    if found := re.search(r"ID: (\S+)\]", summaries.out):
        shown.append(run("expand", found[1]))
    for outcome in shown:
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", outcome.out + outcome.err)
    assert "[bold]not markup[/bold] :smile:" in shown[0].out
    assert json.loads(run("context", "nasty", "--json").out)["text"].isprintable() is False


def test_verify_names_the_exact_rows_that_are_off(run: Run, talk: Path, admin_url: str) -> None:
    run("import", talk)
    run("consolidate", "talk")
    with psycopg.connect(admin_url) as admin:
        admin.execute('UPDATE ricordo.conversational_memory SET message = \'{"role":"user"}\' WHERE seq = 7')
    asked = run("verify", "talk", "--json")
    assert (asked.status, asked.json["ok"]) == (1, False)
    assert [7] in [fault["seqs"] for fault in asked.json["verification"]["faults"]]
    told = run("verify")
    assert told.status == 1
    assert re.search(r"changed: .*thread talk; places 7\)", told.out)


def test_an_unknown_model_is_a_warning_in_a_line(environment: dict[str, str], talk: Path) -> None:
    subprocess.run([*COMMAND, "import", talk], env=environment, check=True, capture_output=True)
    done = subprocess.run(
        [*COMMAND, "status", "talk", "--model", "no-such"], env=environment, capture_output=True, text=True, check=True
    )
    assert re.fullmatch(r"warning: the window of model 'no-such' is not known: .*\n", done.stderr)


def test_a_reader_that_goes_away_is_no_error(environment: dict[str, str], talk: Path, admin_url: str) -> None:
    subprocess.run([*COMMAND, "import", talk], env=environment, check=True, capture_output=True)
    for arguments in (
        ["threads"],
        ["threads", "--json"],
        ["context", "talk"],
        ["context", "talk", "--text"],
        ["--help"],
    ):
        assert _run_into_closed_pipe(arguments, environment) == (0, b"")
    with psycopg.connect(admin_url) as admin:
        admin.execute("UPDATE ricordo.thread SET live_messages = 1")
    assert _run_into_closed_pipe(["verify"], environment) == (1, b"")


def _run_into_closed_pipe(arguments: Sequence[str], environment: dict[str, str]) -> tuple[int, bytes]:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer) as pipe:
        done = subprocess.run([*COMMAND, *arguments], env=environment, stdout=pipe, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stderr


def test_a_terminal_without_unicode_is_served_in_ascii(environment: dict[str, str], talk: Path) -> None:
    subprocess.run([*COMMAND, "import", talk], env=environment, check=True, capture_output=True)
    ascii_only = environment | {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    for arguments in (["status", "talk"], ["context", "talk"], ["threads"], ["demo"]):
        done = subprocess.run([*COMMAND, *arguments], env=ascii_only, capture_output=True, check=True)
        assert done.stdout.isascii()


def test_a_terminal_gets_colours_unless_it_asks_for_none(environment: dict[str, str], talk: Path) -> None:
    subprocess.run([*COMMAND, "import", talk], env=environment, check=True, capture_output=True)
    coloured = _on_a_terminal(["status", "talk"], environment | {"TERM": "xterm-256color"})
    assert "\x1b[" in coloured
    assert "█" in coloured
    plain = _on_a_terminal(["status", "talk"], environment | {"TERM": "xterm-256color", "NO_COLOR": "1"})
    assert "\x1b[3" not in plain


def _on_a_terminal(arguments: Sequence[str], environment: dict[str, str]) -> str:
    master, slave = pty.openpty()
    with subprocess.Popen([*COMMAND, *arguments], env=environment, stdout=slave, stderr=subprocess.DEVNULL) as process:
        os.close(slave)
        shown = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:
                break
            if not part:
                break
            shown += part
        assert process.wait() == 0
    os.close(master)
    return shown.decode()


def test_ctrl_c_ends_cleanly_with_130(environment: dict[str, str], tmp_path: Path) -> None:
    fifo = tmp_path / "endless.jsonl"
    os.mkfifo(fifo)
    command = [*COMMAND, "import", fifo]
    with (
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process,
        fifo.open("wb", buffering=0) as pipe,
    ):
        for number in range(300):
            pipe.write(json.dumps({"role": "user", "content": f"{number}"}).encode() + b"\n")
        _wait_for_messages(environment["RICORDO_DATABASE_URL"], 256, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err


def _wait_for_messages(url: str, count: int, writer: subprocess.Popen[bytes]) -> None:
    with Memory.open(url) as memory:
        while writer.poll() is None:
            thread = memory.conversational.thread("endless")
            if thread and thread.messages >= count:
                return


def test_db_runs_the_embedded_server_until_it_is_told_to_stop(open_folder: Path) -> None:
    folder = open_folder / "own"
    environment = {key: value for key, value in os.environ.items() if key != "RICORDO_DATABASE_URL"}
    environment |= {"RICORDO_DATA_DIR": str(folder), "RICORDO_EMBEDDED_GRACE": "0"}

    def ask(*arguments: str) -> Any:
        done = subprocess.run([*COMMAND, *arguments, "--json"], env=environment, capture_output=True, check=True)
        return json.loads(done.stdout)

    assert ask("db", "status")["running"] is False
    command = [*COMMAND, "db", "start", "--json"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        assert ask("db", "url") == {"url": url}
        assert ask("db", "status")["in_use"] is True
        assert ask("threads") == []
        assert ask("db", "stop") == {"stopped": True}
        assert json.loads(process.stdout.readline()) == {"running": False}
        assert process.wait(timeout=60) == 0
    assert ask("db", "status")["running"] is False
    assert ask("db", "stop") == {"stopped": False}
    shutil.rmtree(folder)


@given(st.text(st.characters()))
def test_clean_text_holds_nothing_that_a_terminal_acts_on(text: str) -> None:
    cleaned = clean(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", cleaned)
    assert clean(cleaned) == cleaned


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=5), st.integers(0, 10**9), st.integers(5, 200))
def test_a_bar_never_leaves_its_line_and_shows_whatever_is_there(parts: list[int], whole: int, width: int) -> None:
    given_cells = bars.cells(parts, whole, width)
    assert sum(given_cells) <= width
    assert [count > 0 for count in given_cells] == [part > 0 for part in parts]
