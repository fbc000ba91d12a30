"""Consolidating 1,000 messages with a model server that answers in 50 ms, and what it costs writers meanwhile."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from statistics import quantiles

from benchmarks.measure import Result, at_most
from benchmarks.place import TEXT
from ricordo import AsyncMemory
from ricordo.consolidation.chunk import chunk
from ricordo.consolidation.source import SourceMessage
from ricordo.consolidation.summarise import ModelSummariser
from ricordo.models import ChatModel
from ricordo.testing import ModelServer, slow, well
from ricordo.tokens import count
from ricordo.types import RawMessage

MESSAGES = 1_000
LATENCY = 0.05


def _talk(number: int) -> list[RawMessage]:
    return [
        {"role": "user" if index % 2 == 0 else "assistant", "content": f"Message {index}. {TEXT}"}
        for index in range(number)
    ]


async def run(url: str) -> list[Result]:
    """Measure one consolidation, then appends to a thread with and without a consolidation of it at work."""
    with ModelServer(slow(LATENCY, well())) as server:
        os.environ["OPENAI_BASE_URL"] = server.base_url
        async with await AsyncMemory.open(url, namespace="bench", model="gpt-5-mini") as memory:
            # The SDK takes most of a second to import, once a process.
            await memory.conversational.append("warm", _talk(20))
            await memory.summarize_conversation("warm")
            return [*await _cost(memory, server), *await _writers(memory)]


async def _cost(memory: AsyncMemory, server: ModelServer) -> list[Result]:
    await memory.conversational.append("t", _talk(MESSAGES))
    asked = len(server.requests)
    start = time.perf_counter()
    result = await memory.summarize_conversation("t")
    total = time.perf_counter() - start
    calls = len(server.requests) - asked
    sources = [
        SourceMessage(
            number=number, role=message.role, text=message.content, timestamp=message.timestamp, tokens=message.tokens
        )
        for number, message in enumerate(await memory.conversational.list("t", limit=MESSAGES, include_covered=True), 1)
    ]
    window = ModelSummariser(ChatModel("gpt-5-mini", base_url=server.base_url)).window
    chunks = len(chunk(sources, budget=window, count=count))
    waited = calls * LATENCY
    return [
        at_most(
            "consolidating 1,000 messages, own time beside waiting",
            (total - waited) / waited,
            0.05,
            f"{total:.2f} s in all, {waited:.2f} s for {calls} calls one after the other",
        ),
        at_most(
            "input tokens beside the source's",
            result.input_tokens / result.source_tokens,
            1.2,
            f"{result.input_tokens:,} against {result.source_tokens:,}",
        ),
        at_most("model calls beside chunks", calls / chunks, 1.0, f"{calls} against {chunks}"),
    ]


async def _writers(memory: AsyncMemory) -> list[Result]:
    await memory.conversational.append("w", _talk(MESSAGES))
    quiet = await _appends(memory, 500)
    consolidating = asyncio.create_task(_again(memory))
    busy = await _appends(memory, 500)
    consolidating.cancel()
    await asyncio.gather(consolidating, return_exceptions=True)
    p99 = [quantiles(one, n=100)[98] * 1000 for one in (quiet, busy)]
    detail = f"{p99[1]:.1f} ms against {p99[0]:.1f} ms"
    return [at_most("append p99 while the thread is consolidated", p99[1] / p99[0], 1.5, detail)]


async def _appends(memory: AsyncMemory, number: int) -> Sequence[float]:
    seconds: list[float] = []
    for _ in range(number):
        start = time.perf_counter()
        await memory.conversational.write("w", "assistant", TEXT)
        seconds.append(time.perf_counter() - start)
    return seconds


async def _again(memory: AsyncMemory) -> None:
    while True:
        await memory.summarize_conversation("w")
        await asyncio.sleep(0)
