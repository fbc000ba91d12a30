"""The demonstration: its figures come from what happened, it can be run again, and a broken promise is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from ricordo import Memory
from ricordo.cli.app import main
from ricordo.cli.tour import figures
from ricordo.demo import Again, Chapter, Counted, Proved, Summarised, conversation, story
from ricordo.tokens import count

HEADINGS = (
    "### Technical Information",
    "### Emotional Context",
    "### Entities & References",
    "### Action Items & Decisions",
)


@pytest.fixture
def asked(database_url: str) -> Any:
    environment = os.environ | {"RICORDO_DATABASE_URL": database_url}
    command = [sys.executable, "-m", "ricordo", "demo", "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_sample_is_thirty_messages_of_a_natural_length() -> None:
    messages = conversation()
    assert [message["role"] for message in messages] == ["user", "assistant"] * 15
    assert 1_700 <= sum(count(str(message["content"])) for message in messages) <= 2_200


def test_the_answer_tells_the_whole_story(asked: Any) -> None:
    assert list(asked) == [
        "usage", "summary", "expanded_messages", "check", "second_run", "verified", "seconds"
    ]  # fmt: skip
    assert asked["usage"]["max"] == 256_000
    assert asked["usage"]["status"] == "ok"
    assert asked["usage"]["percent"] < 1
    assert all(heading in asked["summary"]["summary"] for heading in HEADINGS)
    assert asked["summary"]["num_messages_summarized"] == 30
    assert asked["summary"]["description"]
    assert asked["expanded_messages"] == 30
    assert asked["check"] == [0, 30]
    assert asked["second_run"] == "nothing_to_summarize"
    assert asked["verified"] is True


def test_it_runs_again_beside_what_was_there(asked: Any, database_url: str, admin_url: str) -> None:
    assert asked["verified"]
    with Memory.open(database_url, namespace="another-run") as memory:
        chapters = list(story(memory, database_url))
        assert all(chapter.ok for chapter in chapters)
        again = [chapter for chapter in story(memory, database_url) if isinstance(chapter, Summarised)]
        assert [chapter.covers_all for chapter in again] == [True]
    with psycopg.connect(admin_url) as admin:
        rows = admin.execute("SELECT namespace, count(*) FROM ricordo.conversational_memory GROUP BY 1").fetchall()
    assert sorted(number for _, number in rows) == [30, 60]


def test_the_tour_is_told_in_eighty_columns(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RICORDO_DATABASE_URL", database_url)
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as left:
        main(["demo"])
    shown = capsys.readouterr().out
    assert not left.value.code
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.count("kept  ") == 7
    assert "BROKEN" not in shown
    for words in ("Remember", "Condense", "before", "after", "Give back", "identical", "Prove", "Every promise kept"):
        assert words in shown


def test_a_broken_promise_is_told_and_fails(
    database_url: str, admin_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Memory.open(database_url, namespace="broken") as memory:
        telling = story(memory, database_url)
        chapters = [next(telling)]
        while not isinstance(chapters[-1], Summarised):
            chapters.append(next(telling))
        with psycopg.connect(admin_url) as admin:
            admin.execute("UPDATE ricordo.conversational_memory SET summary_id = NULL WHERE seq = 3")
        chapters += telling
    found = figures(chapters)
    assert found["check"] == [1, 29]
    assert found["expanded_messages"] == 29
    assert found["verified"] is False
    assert {type(chapter) for chapter in chapters if not chapter.ok} >= {Counted, Proved}
    assert [chapter.ok for chapter in chapters if isinstance(chapter, Again)]

    def replay(memory: Memory, url: str) -> Iterator[Chapter]:
        yield from chapters

    monkeypatch.setenv("RICORDO_DATABASE_URL", database_url)
    monkeypatch.setattr("ricordo.demo.story", replay)
    with pytest.raises(SystemExit) as left:
        main(["demo"])
    assert left.value.code == 1
    assert "Broken: " in capsys.readouterr().out
