"""Durable writes beside the raw INSERT of the same columns into a table of the same shape."""

from __future__ import annotations

from psycopg import AsyncConnection
from psycopg.types.json import Json
from uuid_utils.compat import uuid7

from benchmarks.measure import Result, alternate, at_least
from benchmarks.place import TEXT
from ricordo import AsyncMemory

COLUMNS = "namespace, thread_id, seq, id, role, content, message, tokens, pinned, metadata, digest"
ONE = "(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, clock_timestamp())"


def _row(seq: int) -> list[object]:
    message = {"role": "user", "content": TEXT}
    return ["bench", "raw", seq, uuid7(), "user", TEXT, Json(message), 90, False, Json({}), b"\0" * 32]


async def run(url: str) -> list[Result]:
    """Measure single writes and batches of 500."""
    connection = await AsyncConnection.connect(url)
    await connection.execute("CREATE TABLE public.raw (LIKE ricordo.conversational_memory INCLUDING ALL)")
    await connection.commit()
    seqs = iter(range(1, 10_000_000))

    async def raw(count: int) -> None:
        rows = [_row(next(seqs)) for _ in range(count)]
        places = ", ".join([ONE] * count)
        query = f'INSERT INTO public.raw ({COLUMNS}, "timestamp") VALUES {places}'
        await connection.execute(query, [value for row in rows for value in row])  # pyright: ignore[reportArgumentType]
        await connection.commit()

    async with await AsyncMemory.open(url, namespace="bench") as memory:
        batch = [{"role": "user", "content": TEXT}] * 500
        single = await alternate(
            {"raw": lambda: raw(1), "ricordo": lambda: memory.conversational.write("w", "user", TEXT)}, rounds=1000
        )
        many = await alternate(
            {"raw": lambda: raw(500), "ricordo": lambda: memory.conversational.append("w", batch)}, rounds=20, warm=3
        )
    await connection.close()
    return [
        at_least(
            "durable write, rate beside raw INSERT",
            single["raw"].p50 / single["ricordo"].p50,
            0.7,
            f"{single['ricordo'].p50:.2f} ms against {single['raw'].p50:.2f} ms (p50)",
        ),
        at_least(
            "append of 500, rate beside raw INSERT",
            many["raw"].p50 / many["ricordo"].p50,
            0.5,
            f"{many['ricordo'].p50:.1f} ms against {many['raw'].p50:.1f} ms (p50)",
        ),
    ]
