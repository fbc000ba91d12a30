from __future__ import annotations

import json
import os
import subprocess
import sys

from ricordo import Memory
from tests.support import conversation


def run(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "RICORDO_DATABASE_URL": url}
    return subprocess.run(
        [sys.executable, "-m", "ricordo", *arguments], capture_output=True, text=True, env=environment, check=False
    )


def test_forget_lists_first_and_forgets_with_yes(database_url: str) -> None:
    with Memory.open(database_url) as memory:
        memory.conversational.append("t", conversation(8))
        memory.summarize_conversation("t")
    listed = run(database_url, "forget", "--matching", "INV-2026-0447")
    assert listed.returncode == 0
    assert "would be forgotten" in listed.stdout
    assert "add --yes" in listed.stdout
    result = json.loads(run(database_url, "forget", "--matching", "INV-2026-0447", "--yes", "--json").stdout)
    assert len(result["messages"]) == 1
    assert result["rebuilt"] == result["summaries_emptied"]
    with Memory.open(database_url) as memory:
        assert memory.conversational.search("INV-2026-0447") == ()
        assert memory.verify().ok
    nothing = run(database_url, "forget", "--json")
    assert nothing.returncode == 1
    assert json.loads(nothing.stderr)["error"]["code"] == "invalid_input"
