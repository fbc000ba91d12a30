"""An OpenAI-compatible model server for tests: real HTTP on this machine, and as bad as a test needs it to be."""

from __future__ import annotations

import json
import select
import socket
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from ricordo.testing.behaviours import Behaviour, Failure, Reply, Request, prompt_of, well
from ricordo.testing.wire import completion, events

_POLL = 0.02
"""Seconds between two looks at what is waited for."""


class ModelServer:
    """Serves `GET /v1/models` and `POST /v1/chat/completions` on 127.0.0.1, at a free port, until it is closed.

    Used as a context manager, with the environment's OPENAI_BASE_URL set to `base_url`:

        with ModelServer(in_turn(fail(503), well())) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
            with Memory.open(model="test-model") as memory:
                memory.summarize_conversation("thread")
            assert len(server.requests) == 2

    Requests are answered side by side, each on a thread of its own. With `stream` an answer comes as server-sent
    events. Token counts are those of `ricordo.tokens`. An exception in a behaviour is answered with HTTP 500 and
    raised by `close`.
    """

    def __init__(
        self, behaviour: Behaviour | None = None, *, models: Sequence[str] = ("test-model",), api_key: str | None = None
    ) -> None:
        """Start it. Without a behaviour it answers `well()`; an `api_key` is demanded of every request."""
        self._http = _HTTPServer(behaviour or well(), models, api_key)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(_POLL,), name="model server")
        self._thread.start()

    def __enter__(self) -> Self:
        """Return the running server."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    @property
    def base_url(self) -> str:
        """What OPENAI_BASE_URL is set to."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    @property
    def behaviour(self) -> Behaviour:
        """What is done with a request; may be replaced at any time."""
        return self._http.behaviour

    @behaviour.setter
    def behaviour(self, behaviour: Behaviour) -> None:
        self._http.behaviour = behaviour

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The bodies of all completions asked for so far, in order."""
        return list(self._http.requests)

    @property
    def prompts(self) -> list[str]:
        """The text of each of these requests."""
        return [prompt_of(body) for body in self.requests]

    @property
    def busy(self) -> int:
        """How many completions are being worked on: those of clients that hung up are not."""
        return self._http.busy

    def close(self) -> None:
        """Stop, let go of every client, and end all threads; raises what a behaviour raised."""
        self._http.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.hang_up()
        self._http.server_close()
        if self._http.errors:
            raise self._http.errors[0]


class _HTTPServer(ThreadingHTTPServer):
    # Closing joins the threads of requests, which a daemon's would survive.
    daemon_threads = False
    request_queue_size = 128

    def __init__(self, behaviour: Behaviour, models: Sequence[str], api_key: str | None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behaviour = behaviour
        self.models = models
        self.api_key = api_key
        self.requests: list[dict[str, Any]] = []
        self.errors: list[Exception] = []
        self.closing = threading.Event()
        self.busy = 0
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()

    def get_request(self) -> tuple[socket.socket, Any]:
        """Take a connection, and remember it."""
        connection, address = super().get_request()
        with self._lock:
            self._connections.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        """End a connection, and forget it."""
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End every connection, so that no thread waits for a client that sends nothing."""
        with self._lock:
            for connection in self._connections:
                # The client may have been quicker.
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that hung up while it was written to."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def behave(self, body: dict[str, Any], connection: socket.socket) -> tuple[Request, Reply | Failure | None]:
        """Record a request and return what is to be done with it."""
        with self._lock:
            self.requests.append(body)
            number = len(self.requests)
            self.busy += 1
        request = Request(number=number, body=body, wait=lambda seconds: _wait(connection, self.closing, seconds))
        try:
            return request, self.behaviour(request)
        except Exception as error:
            # A test's own code raised it, in a thread of its own; closing raises it there where the test sees it.
            self.errors.append(error)
            return request, Failure(status=500, body=f"the behaviour raised {error!r}")
        finally:
            with self._lock:
                self.busy -= 1


def _wait(connection: socket.socket, closing: threading.Event, seconds: float | None) -> bool:
    """Sleep in short steps; return False where the client has hung up or the server closes."""
    end = time.monotonic() + seconds if seconds is not None else float("inf")
    while (left := end - time.monotonic()) > 0:
        if closing.wait(min(_POLL, left)):
            return False
        readable, _, _ = select.select([connection], [], [], 0)
        if readable and not connection.recv(1, socket.MSG_PEEK):
            return False
    return True


class _Handler(BaseHTTPRequestHandler):
    server: _HTTPServer  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing: a test's output is its own."""

    def do_GET(self) -> None:
        """Answer with the list of models."""
        if self._denied():
            return
        if self.path != "/v1/models":
            self._send(404, _error(f"there is no {self.path}"))
            return
        models = [{"id": name, "object": "model", "created": 0, "owned_by": "test"} for name in self.server.models]
        self._send(200, {"object": "list", "data": models})

    def do_POST(self) -> None:
        """Answer with a completion."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self._denied():
            return
        if self.path != "/v1/chat/completions":
            self._send(404, _error(f"there is no {self.path}"))
            return
        try:
            asked = json.loads(body)
        except ValueError:
            self._send(400, _error("the body is not JSON"))
            return
        request, reply = self.server.behave(asked, self.connection)
        if isinstance(reply, Failure):
            self._send(reply.status, reply.body)
        elif reply and request.body.get("stream"):
            self._stream(events(request, reply))
        elif reply:
            self._send(200, completion(request, reply))

    def _denied(self) -> bool:
        key = self.server.api_key
        if key is None or self.headers.get("Authorization") == f"Bearer {key}":
            return False
        self._send(401, _error("Incorrect API key provided: " + self.headers.get("Authorization", "none")))
        return True

    def _send(self, status: int, body: Any) -> None:
        text = body if isinstance(body, str) else json.dumps(body)
        self.send_response(status)
        # Also for a body that is no JSON: the server that sends it does not know that it is broken.
        self.send_header("Content-Type", "application/json")
        self.send_header("Retry-After-Ms", "1")
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def _stream(self, pieces: Iterable[bytes]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for piece in pieces:
            self.wfile.write(piece)
            self.wfile.flush()


def _error(message: str) -> Mapping[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "code": None}}
