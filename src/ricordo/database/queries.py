"""The loader of named SQL queries.

A `.sql` file holds blocks that begin with `-- name: some_name` and one line of description; the text up to the
next name is the query, with psycopg's `%(parameter)s` placeholders.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType
from typing import LiteralString, cast

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def load(package: str, file: str) -> Mapping[str, LiteralString]:
    """Return the queries of a file by name; raises ValueError where a name occurs twice."""
    _, *parts = _NAME.split(resources.files(package).joinpath(file).read_text(encoding="utf-8"))
    names, texts = parts[::2], parts[1::2]
    if len(set(names)) != len(names):
        raise ValueError(f"{package}/{file} names a query twice")
    # The text ships with the package and is never built from input, which is what LiteralString asserts.
    return MappingProxyType(
        {name: cast("LiteralString", text.strip()) for name, text in zip(names, texts, strict=True)}
    )
