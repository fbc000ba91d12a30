"""Reading the recent part and monitoring, at 10,000 and at 1,000,000 messages in the thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from psycopg import AsyncConnection, sql

from benchmarks.measure import Result, Timing, alternate, at_most
from benchmarks.place import grow
from ricordo import AsyncMemory

SIZES = {"10k": 10_000, "1M": 1_000_000}
RAW = """
SELECT id, seq, role, content, message, tokens, "timestamp", metadata FROM ricordo.conversational_memory
WHERE namespace = 'bench' AND thread_id = %s AND summary_id IS NULL ORDER BY seq DESC LIMIT 50
"""


async def run(url: str) -> list[Result]:
    """Measure at both sizes, alternating between them and the raw SELECT of the same rows."""
    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        for name, size in SIZES.items():
            await grow(connection, "bench", name, size)
        async with await AsyncMemory.open(url, namespace="bench") as memory:
            timings = await alternate(_calls(connection, memory), rounds=400)
    return [*_against_raw(timings), *_flat(timings)]


def _calls(connection: AsyncConnection, memory: AsyncMemory) -> dict[str, Callable[[], Awaitable[object]]]:
    async def raw(thread: str) -> None:
        async with connection.transaction():
            await connection.execute(sql.SQL("SET LOCAL ricordo.namespace = 'bench'"))
            await (await connection.execute(RAW, [thread])).fetchall()

    async def raw_row(thread: str) -> None:
        async with connection.transaction():
            await connection.execute(sql.SQL("SET LOCAL ricordo.namespace = 'bench'"))
            query = "SELECT live_tokens FROM ricordo.thread WHERE namespace = 'bench' AND thread_id = %s"
            await (await connection.execute(query, [thread])).fetchall()

    async def window(thread: str) -> None:
        await memory.conversational.list(thread, limit=50)
        await memory.summary.list(thread)

    calls: dict[str, Callable[[], Awaitable[object]]] = {}
    for name in SIZES:
        calls[f"raw {name}"] = partial(raw, name)
        calls[f"window {name}"] = partial(window, name)
        calls[f"raw row {name}"] = partial(raw_row, name)
        calls[f"monitor {name}"] = partial(memory.monitor, name)
    return calls


def _against_raw(timings: dict[str, Timing]) -> list[Result]:
    found: list[Result] = []
    for name in SIZES:
        for ours, raw in (("window", "raw"), ("monitor", "raw row")):
            mine, other = timings[f"{ours} {name}"], timings[f"{raw} {name}"]
            detail = f"{mine.p50:.2f} ms against {other.p50:.2f} ms (p50)"
            found.append(at_most(f"{ours} at {name}, time beside raw SELECT", mine.p50 / other.p50, 2.0, detail))
    return found


def _flat(timings: dict[str, Timing]) -> list[Result]:
    return [
        at_most(
            f"{ours}, time at 1M beside 10k",
            timings[f"{ours} 1M"].p50 / timings[f"{ours} 10k"].p50,
            1.3,
            f"{timings[f'{ours} 1M'].p50:.2f} ms against {timings[f'{ours} 10k'].p50:.2f} ms (p50)",
        )
        for ours in ("window", "monitor")
    ]
