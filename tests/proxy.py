"""A wire between a client and PostgreSQL that knows the messages on it, and is cut before the one that a test names."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from psycopg.conninfo import conninfo_to_dict, make_conninfo


@dataclass(frozen=True, slots=True)
class WireMessage:
    """A message of PostgreSQL's protocol; the first of a connection, which has no kind, has an empty one."""

    sender: Literal["client", "server"]
    kind: str
    body: bytes


Rule: TypeAlias = Callable[[WireMessage], bool]
"""Whether to cut the wire instead of letting this message pass."""


def commits(message: WireMessage) -> bool:
    """Whether the client asks to commit, in either form of the protocol."""
    return message.sender == "client" and message.kind in "QP" and b"COMMIT" in message.body.upper()


def confirms_commit(message: WireMessage) -> bool:
    """Whether the server says that it has committed."""
    return message.sender == "server" and message.kind == "C" and message.body == b"COMMIT\0"


class Proxy:
    """Listens on a local port and passes on to the server what comes, message by message."""

    def __init__(self, url: str) -> None:
        """Stand before the server of this URL."""
        self.port = 0
        self._target = url
        self._rule: Rule | None = None
        self._passed = 0

    @property
    def url(self) -> str:
        """The same database through the proxy."""
        return make_conninfo(self._target, host="127.0.0.1", port=self.port, sslmode="disable", gssencmode="disable")

    def cut_before(self, rule: Rule | int) -> None:
        """Cut the connection, once, before the next message of the rule, or after a number of further messages."""
        self._passed = 0
        self._rule = rule if callable(rule) else lambda _: self._passed >= rule

    def disarm(self) -> bool:
        """Let everything pass from now on; return whether the connection was cut."""
        was_cut = self._rule is None
        self._rule = None
        return was_cut

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Pass messages on in both directions until either side is gone or the rule applies."""
        server_reader, server_writer = await self._connect()
        ways = [
            asyncio.create_task(self._pass_on("client", reader, server_writer)),
            asyncio.create_task(self._pass_on("server", server_reader, writer)),
        ]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        for end in (writer, server_writer):
            end.transport.abort()

    async def _connect(self) -> tuple[StreamReader, StreamWriter]:
        target = conninfo_to_dict(self._target)
        host, port = str(target.get("host", "localhost")), int(target.get("port") or 5432)
        if host.startswith("/"):
            return await asyncio.open_unix_connection(Path(host) / f".s.PGSQL.{port}")
        return await asyncio.open_connection(host, port)

    async def _pass_on(self, sender: Literal["client", "server"], source: StreamReader, target: StreamWriter) -> None:
        kind = await source.readexactly(1) if sender == "server" else b""
        while True:
            length = await source.readexactly(4)
            body = await source.readexactly(int.from_bytes(length) - 4)
            if self._cuts(WireMessage(sender, kind.decode("ascii"), body)):
                return
            target.write(kind + length + body)
            await target.drain()
            kind = await source.readexactly(1)

    def _cuts(self, message: WireMessage) -> bool:
        if self._rule and self._rule(message):
            self._rule = None
            return True
        self._passed += 1
        return False


@asynccontextmanager
async def proxy(url: str) -> AsyncGenerator[Proxy]:
    """Run a proxy before the server of this URL."""
    standing = Proxy(url)
    server = await asyncio.start_server(standing.serve, "127.0.0.1", 0)
    standing.port = server.sockets[0].getsockname()[1]
    async with server:
        yield standing
