"""The event loop behind the synchronous face: one background thread for the whole process."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_NAME = "ricordo-loop"

_lock = threading.Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}


def _loop() -> asyncio.AbstractEventLoop:
    """Return this process's loop, started at the first use; a forked child gets one of its own."""
    with _lock:
        loop = _loops.get(os.getpid())
        if loop is None:
            # psycopg does not run on the proactor loop, which is the default on Windows.
            loop = _loops[os.getpid()] = asyncio.SelectorEventLoop()
            threading.Thread(target=loop.run_forever, name=_NAME, daemon=True).start()
        return loop


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the background loop and return its result; an interrupt cancels it.

    Raises RuntimeError on the loop's own thread, such as in a callback of this library, where it would wait for itself.
    """
    loop = _loop()
    if threading.current_thread().name == _NAME:
        coroutine.close()
        raise RuntimeError("a synchronous Memory cannot be used inside a callback of ricordo; use AsyncMemory there")
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
