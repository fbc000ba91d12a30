"""What the integration tests of the model side share: a model server, and a memory whose summaries it writes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from ricordo import AsyncMemory
from ricordo.testing import ModelServer
from tests.support import fill_thread


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A model server that the environment names, without a key, as Ollama and vLLM run."""
    with ModelServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("RICORDO_MODEL_WINDOW", "16000")
        yield server


@pytest.fixture
async def told(database_url: str, models: ModelServer) -> AsyncIterator[AsyncMemory]:
    """A memory whose summaries the model server writes, with a conversation of 8 turns in thread "t"."""
    async with await AsyncMemory.open(database_url, model="test-model") as opened:
        await fill_thread(opened, "t", turns=8)
        yield opened
