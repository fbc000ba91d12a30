"""Methods that run in an environment of their own, as processes that answer line by line."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ricordo.messages import ParsedMessage

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-bench/bin/python"
"""Made by `make bench` from `requirements/bench.lock`."""


class Peer:
    """One method in its process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        """Use a running process."""
        self._process = process

    def windows(self, messages: Sequence[ParsedMessage], budget: int) -> list[str]:
        """Return the windows that the method makes of the messages, one for each way to set it up."""
        assert self._process.stdin and self._process.stdout  # noqa: PT018  (both are pipes)
        said = [(one.role, one.text, bool(one.calls)) for one in messages]
        self._process.stdin.write(f"{json.dumps({'messages': said, 'budget': budget})}\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@contextmanager
def langmem() -> Generator[Peer | None]:
    """Start langmem, or yield None where its environment is not installed."""
    if not PYTHON.exists():
        yield None
        return
    command = [str(PYTHON), "-m", "benchmarks.retention_parts.langmem"]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", env=environment
    ) as process:
        yield Peer(process)
        assert process.stdin
        process.stdin.close()
