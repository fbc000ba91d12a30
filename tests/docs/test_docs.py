"""What the documentation says is so: its code runs, its commands exist, and it leaves nothing out."""

from __future__ import annotations

import ast
import dataclasses
import importlib.metadata
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples
from typer import TyperException
from typer.main import get_command

from ricordo import errors, types
from ricordo.cli.app import app
from ricordo.config import Policy, Settings
from ricordo.consolidation import verify
from ricordo.database.embedded import DEFAULT_GRACE, GRACE_VARIABLE
from ricordo.demo import conversation
from ricordo.testing import ModelServer
from tests.docs.pages import PAGES, ROOT, blocks, names, table, text

_ID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")

EXAMPLES = {
    str(path.relative_to(ROOT)): found
    for path in PAGES
    if (found := [one for one in find_examples(path) if one.prefix.startswith("python")])
}

OUTSIDE = frozenset({"cd", "export", "git", "ollama", "pip", "vllm", "uv"})
"""Programs of others, which the pages name."""


def page_id(page: Path) -> str:
    """Return a page's name from the root of the repository."""
    return str(page.relative_to(ROOT))


# Code


@pytest.fixture
def surroundings(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a reader has: a database, a model server, and a file of conversations in the folder."""
    lines = [json.dumps(message) for message in conversation()]
    (tmp_path / "conversations.jsonl").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RICORDO_DATABASE_URL", database_url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-reader")
    with ModelServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        yield


def _examples() -> Iterator[Any]:
    for page, found in EXAMPLES.items():
        yield from (pytest.param(one, id=f"{page}:{one.start_line}") for one in found)


@pytest.mark.usefixtures("surroundings")
@pytest.mark.parametrize("example", [*_examples()])
def test_every_python_block_runs_and_prints_what_it_says(example: CodeExample, eval_example: EvalExample) -> None:
    eval_example.print_callback = lambda printed: _ID.sub("…", printed)
    eval_example.set_config(line_length=120)
    eval_example.run_print_check(example)


def test_the_pages_for_users_have_examples() -> None:
    for page in ("README.md", "docs/quickstart.md", "docs/concepts.md", "docs/configuration.md", "docs/errors.md"):
        assert EXAMPLES[page]


def _shell_lines() -> Iterator[Any]:
    for page in PAGES:
        for block in blocks(page, "sh"):
            joined = block.replace("\\\n", " ")
            yield from (pytest.param(line, id=f"{page_id(page)}: {line}") for line in joined.splitlines() if line)


@pytest.mark.parametrize("line", [*_shell_lines()])
def test_every_command_of_a_shell_block_exists(line: str) -> None:
    subprocess.run(["bash", "-n", "-c", line], check=True)
    words = shlex.split(line, comments=True)
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words = words[1:]
    if not words:
        return
    program, *arguments = words
    if program == "make":
        targets = set(re.findall(r"^([\w-]+):", text("Makefile"), re.MULTILINE))
        assert targets >= {word for word in arguments if "=" not in word}
    elif program == "ricordo":
        _parse(arguments)
    elif program == ".venv/bin/python":
        assert all((ROOT / word).exists() for word in arguments if word.endswith(".py"))
    else:
        assert program in OUTSIDE


def _parse(arguments: list[str]) -> None:
    """Parse a command line as the command does, without running it."""
    command: Any = get_command(app)
    rest = arguments
    while hasattr(command, "commands"):
        context = command.make_context("ricordo", rest, resilient_parsing=True)
        name, *rest = [*context._protected_args, *context.args]
        command = command.commands[name]
    try:
        command.make_context("ricordo", rest)
    except TyperException as error:
        pytest.fail(f"ricordo {' '.join(arguments)}: {error.format_message()}")


# The command


def test_every_command_is_documented_with_its_help() -> None:
    subprocess.run([sys.executable, str(ROOT / "tools/command_page.py"), "--check"], check=True)


# Settings


@cache
def _settings_page() -> dict[str, str]:
    return {names(row[0])[0]: row[1] for row in table("docs/configuration.md", "variable", "default", "meaning")}


def test_every_setting_is_documented_with_its_default() -> None:
    documented = {name: cell for name, cell in _settings_page().items() if name.startswith("RICORDO_")}
    expected = {f"RICORDO_{name.upper()}": field for name, field in Settings.model_fields.items()}
    assert documented.keys() == {*expected, GRACE_VARIABLE}
    assert names(documented[GRACE_VARIABLE]) == [DEFAULT_GRACE]
    for name, field in expected.items():
        if field.default_factory is None:
            shown = "none" if field.default is None else f"`{field.default}`"
            assert documented[name] == shown, name


def test_every_variable_that_the_code_reads_is_documented() -> None:
    read: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        read |= set(re.findall(r"\b(?:RICORDO|OPENAI)_[A-Z_]+[A-Z]\b", path.read_text(encoding="utf-8")))
    assert {"OPENAI_BASE_URL", "RICORDO_MODEL"} <= read
    assert read <= _settings_page().keys()


def test_every_field_of_the_policy_is_documented_with_its_default() -> None:
    documented = {names(row[0])[0]: names(row[1]) for row in table("docs/configuration.md", "field", "default")}
    assert documented == {field.name: [str(field.default)] for field in dataclasses.fields(Policy)}


# Errors, reasons, faults


def _errors() -> dict[str, str]:
    found = [value for value in vars(errors).values() if isinstance(value, type)]
    return {one.__name__: one.code for one in found if issubclass(one, errors.RicordoError)}


def test_every_error_is_documented_with_its_code() -> None:
    rows = table("docs/errors.md", "class", "code", "what happened", "what to do")
    assert {names(row[0])[0]: names(row[1])[0] for row in rows} == _errors()
    assert all(cell for row in rows for cell in row)


def test_codes_are_different() -> None:
    assert len(set(_errors().values())) == len(_errors())


def test_every_reason_is_documented() -> None:
    rows = table("docs/errors.md", "status", "why", "what to do")
    assert [names(row[0])[0] for row in rows] == [*get_args(types.Reason)]


def test_every_code_of_a_fault_is_documented() -> None:
    documented = [code for row in table("docs/errors.md", "code", "what is wrong") for code in names(row[0])]
    source = ast.parse(Path(verify.__file__ or "").read_text(encoding="utf-8"))
    used = {
        keyword.value.value
        for call in ast.walk(source)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Fault"
        for keyword in call.keywords
        if keyword.arg == "code" and isinstance(keyword.value, ast.Constant)
    }
    literals = {node.value for node in ast.walk(source) if isinstance(node, ast.Constant)}
    assert used <= set(documented) <= literals


# Promises


def _promises() -> dict[str, str]:
    title, *sections = re.split(r"^## ", text("docs/promises.md"), flags=re.MULTILINE)
    assert title.startswith("# Promises")
    return {section.partition("\n")[0]: section for section in sections}


@cache
def _tests_of(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(one.name for one in tree.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("promise", [*_promises()])
def test_every_promise_names_tests_that_exist(promise: str) -> None:
    named = _TEST.findall(_promises()[promise])
    assert named
    for path, name in named:
        assert name.startswith("test_")
        assert name in _tests_of(path), f"{path} has no {name}"


def test_the_promises_are_numbered_from_one_to_thirteen() -> None:
    assert [promise.partition(".")[0] for promise in _promises()] == [str(number) for number in range(1, 14)]


# Dependencies


def _requirements() -> set[str]:
    project = tomllib.loads(text("pyproject.toml"))
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    models = [line.split("#")[0].strip() for line in text("requirements/model.in").splitlines()]
    return {re.split(r"[\[<>=;\s]", one, maxsplit=1)[0] for one in [*wanted, *models] if one}


def test_every_dependency_is_listed_and_no_other() -> None:
    rows = [*table("docs/dev/dependencies.md", "package"), *table("docs/dev/dependencies.md", "tool")]
    assert {names(row[0])[0] for row in rows} == _requirements()
    assert all(cell for row in rows for cell in row)


def test_the_weights_are_near_to_what_is_installed() -> None:
    for row in table("docs/dev/dependencies.md", "package"):
        name, stated = names(row[0])[0], float(row[-1].removesuffix(" MB"))
        files = importlib.metadata.files(name) or []
        weight = sum(os.path.getsize(path) for one in files if os.path.exists(path := one.locate())) / 1e6
        assert weight == pytest.approx(stated, rel=0.5, abs=1), name


# Pages


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in _LINK.findall(page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        if path.startswith("http"):
            continue
        found = (page.parent / path) if path else page
        assert found.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", found.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def test_the_index_leads_to_every_page() -> None:
    linked = {(ROOT / "docs" / target).resolve() for target in _LINK.findall(text("docs/index.md"))}
    assert linked == {path for path in (ROOT / "docs").rglob("*.md") if path.name != "index.md"}


def test_the_rules_for_agents_are_short() -> None:
    assert len(text("AGENTS.md").splitlines()) < 100


@pytest.mark.usefixtures("surroundings")
def test_the_picture_shows_figures_of_a_real_run() -> None:
    subprocess.run([sys.executable, str(ROOT / "tools/window_picture.py"), "--check"], check=True)
