"""The options that every command has, before or after its name, and the memory that they open."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec

import typer

import ricordo
from ricordo.cli import output

if TYPE_CHECKING:
    from ricordo import Memory, Settings

P = ParamSpec("P")


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """The common options as they were given; None stands for the environment's or the default value."""

    database_url: Annotated[
        str | None,
        typer.Option(help="PostgreSQL to use; without it, an embedded one. Also RICORDO_DATABASE_URL."),
    ] = None
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of the embedded PostgreSQL. Also RICORDO_DATA_DIR.", show_default=False)
    ] = None
    namespace: Annotated[
        str | None, typer.Option(help="Whose memory; namespaces never see each other. Also RICORDO_NAMESPACE.")
    ] = None
    json: Annotated[bool, typer.Option("--json", help="Write one JSON value instead of text.")] = False

    def settings(self) -> Settings:
        """Return the settings: these options, then the environment."""
        from ricordo.config import load_settings  # noqa: PLC0415  (pydantic)

        given: dict[str, Any] = {
            "database_url": self.database_url,
            "data_dir": self.data_dir,
            "namespace": self.namespace,
        }
        return load_settings(**{name: value for name, value in given.items() if value is not None})

    def url(self) -> str:
        """Return the address of the database, the embedded one's where none is set; starts nothing."""
        from ricordo.database.embedded import EmbeddedServer  # noqa: PLC0415  (imports the driver)

        settings = self.settings()
        return settings.database_url or EmbeddedServer(settings.data_dir).url

    @contextmanager
    def memory(self, *, model: str | None = None, namespace: str | None = None) -> Generator[Memory]:
        """Open the memory for a block; the first start of an embedded PostgreSQL takes some seconds."""
        with self.working("opening the memory"):
            memory = ricordo.Memory.open(
                self.database_url, namespace=namespace or self.namespace, data_dir=self.data_dir, model=model
            )
        with memory:
            yield memory

    @contextmanager
    def working(self, what: str) -> Generator[Callable[[str], None]]:
        """Show what is being done while the block runs, on a terminal; yields a function that changes the text."""
        with output.spinner(what, enabled=not self.json) as say:
            yield say

    def emit(self, value: object, show: Callable[[], object]) -> None:
        """Write a value as JSON where that was asked for, else show it."""
        if self.json:
            output.write_json(value)
        else:
            show()

    def over(self, outer: object) -> Common:
        """Return these options, with another's for those that were not given here."""
        if not isinstance(outer, Common):
            return self
        return Common(
            **{option.name: getattr(self, option.name) or getattr(outer, option.name) for option in fields(self)}
        )


def _parameters() -> list[inspect.Parameter]:
    """Return the common options as parameters of a function."""
    return list(inspect.signature(Common, eval_str=True).parameters.values())


def with_common(function: Callable[Concatenate[Common, P], None]) -> Callable[..., None]:
    """Give a command the common options; it gets them as its first argument."""

    @functools.wraps(function)
    def command(context: typer.Context, *args: Any, **kwargs: Any) -> None:
        own = Common(**{option.name: kwargs.pop(option.name) for option in fields(Common)})
        # What stands before a command's name is left in the context for the command.
        context.obj = own.over(context.obj)
        function(context.obj, *args, **kwargs)

    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    _, *own = inspect.signature(function, eval_str=True).parameters.values()
    keyword_only = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in (*own, *_parameters())]
    signature = inspect.Signature([context, *keyword_only])
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    return command
