"""Write src/ricordo/sync.py: the synchronous face, from the signatures and docstrings of the asynchronous classes.

Run it without arguments to write the file, with `--check` to fail where the file is not current.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src/ricordo/sync.py"

HEADER = '''\
"""The synchronous face of ricordo, written by tools/sync_face.py from the asynchronous classes: do not edit."""

from __future__ import annotations

'''


@dataclass(frozen=True)
class Source:
    """An asynchronous class and what its synchronous twin leaves out."""

    path: str
    name: str
    skip: frozenset[str] = frozenset()


SOURCES = (
    Source("stores/conversational.py", "AsyncConversationalMemory", frozenset({"counters", "covered", "set_policy"})),
    Source("stores/summary.py", "AsyncSummaryMemory", frozenset({"insert"})),
    Source("stores/tool_log.py", "AsyncToolLog", frozenset({"find"})),
    Source("memory.py", "AsyncMemory"),
)


def render() -> str:
    """Return the module's text."""
    classes: list[str] = []
    imports: set[str] = set()
    for source in SOURCES:
        tree = ast.parse((ROOT / "src/ricordo" / source.path).read_text(encoding="utf-8"))
        found = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == source.name)
        body, used = _class(found, source)
        classes.append(body)
        imports |= _imports(tree, used)
        imports.add(f"from ricordo.{source.path.removesuffix('.py').replace('/', '.')} import {source.name}")
    lines = sorted(imports | {"from ricordo.loop import run"})
    return _formatted(HEADER + "\n".join(lines) + "\n\n\n" + "\n\n\n".join(classes) + "\n")


def _class(node: ast.ClassDef, source: Source) -> tuple[str, set[str]]:
    name = source.name.removeprefix("Async")
    parts = [_class_doc(node)]
    used: set[str] = set()
    stores = [n for n in node.body if isinstance(n, ast.AnnAssign) and ast.unparse(n.annotation).startswith("Async")]
    parts += [f"{ast.unparse(n.target)}: {ast.unparse(n.annotation).removeprefix('Async')}" for n in stores]
    parts.append(_init(source.name, stores))
    for method in node.body:
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
            text = _method(method, source)
            if text:
                parts.append(text)
                used |= _names(method)
    body = "\n\n".join(parts)
    return f"class {name}:\n" + "\n".join(f"    {line}" if line else "" for line in body.split("\n")), used


def _class_doc(node: ast.ClassDef) -> str:
    doc = ast.get_docstring(node) or ""
    doc = doc.replace("await AsyncMemory.open()", "Memory.open()").replace("an asynchronous context", "a context")
    doc = doc.replace("tasks of one event loop", "threads")
    return _quoted(doc)


def _init(name: str, stores: list[ast.AnnAssign]) -> str:
    lines = [
        f"def __init__(self, source: {name}) -> None:",
        '    """Wrap an asynchronous twin."""',
        "    self._async = source",
    ]
    for store in stores:
        target, kind = ast.unparse(store.target), ast.unparse(store.annotation).removeprefix("Async")
        lines.append(f"    self.{target} = {kind}(source.{target})")
    return "\n".join(lines)


def _method(node: ast.FunctionDef | ast.AsyncFunctionDef, source: Source) -> str | None:
    name = {"__aenter__": "__enter__", "__aexit__": "__exit__"}.get(node.name, node.name)
    if node.name in source.skip or (node.name.startswith("_") and name == node.name):
        return None
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    head = "".join(f"@{decorator}\n" for decorator in decorators)
    signature = f"def {name}({ast.unparse(node.args)}) -> {ast.unparse(node.returns) if node.returns else 'None'}:"
    doc = _quoted(ast.get_docstring(node) or "")
    return (
        head
        + signature
        + "\n"
        + "\n".join(
            f"    {line}" if line else "" for line in f"{doc}\n{_call(node, name, decorators, source)}".split("\n")
        )
    )


def _call(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str, decorators: list[str], source: Source) -> str:
    if name == "__enter__":
        return "return self"
    if name == "__exit__":
        return "self.close()"
    if "property" in decorators:
        return f"return self._async.{name}"
    positional = [argument.arg for argument in node.args.args[1:]]
    keyword = [f"{argument.arg}={argument.arg}" for argument in node.args.kwonlyargs]
    arguments = ", ".join([*positional, *keyword])
    if "classmethod" in decorators:
        return f"return cls(run({source.name}.{name}({arguments})))"
    call = f"self._async.{name}({arguments})"
    return f"return run({call})" if isinstance(node, ast.AsyncFunctionDef) else f"return {call}"


def _quoted(doc: str) -> str:
    return f'"""{doc}\n"""' if "\n" in doc else f'"""{doc}"""'


def _names(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    outer = [node.args, *([node.returns] if node.returns else [])]
    return {name.id for part in outer for name in ast.walk(part) if isinstance(name, ast.Name)}


def _imports(tree: ast.Module, used: set[str]) -> set[str]:
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            found |= {f"from {node.module} import {alias.name}" for alias in node.names if alias.name in used}
    return found


def _formatted(text: str) -> str:
    ruff = [sys.executable, "-m", "ruff"]
    for arguments in (["check", "--fix", "--select", "I", "-q", "-"], ["format", "-q", "-"]):
        command = [*ruff, *arguments, "--stdin-filename", str(TARGET)]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return text


def main() -> int:
    """Write the file, or compare it."""
    text = render()
    if "--check" in sys.argv:
        if TARGET.read_text(encoding="utf-8") == text:
            return 0
        print("src/ricordo/sync.py is not current: run `make sync`", file=sys.stderr)
        return 1
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
