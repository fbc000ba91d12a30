"""Secrets on their way through a consolidation: neither a model nor a summary gets them, and originals keep them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ricordo import AsyncMemory
from ricordo.errors import ConfigurationError
from ricordo.testing import ModelServer
from ricordo.types import RawMessage
from tests.stored import rows
from tests.support import conversation

SECRETS = (
    "sk-proj-abc123DEF456ghi789jkl012mno345",
    "AKIAIOSFODNN7EXAMPLE",
    "ya29-bearer-0123456789abcdef",
    "hunter2pw",
    "4111 1111 1111 1111",
    "letmein99",
)


def with_secrets() -> list[RawMessage]:
    """A conversation in which a person, a tool call and a tool's output hold secrets."""
    call: dict[str, Any] = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "deploy", "arguments": json.dumps({"password": SECRETS[5], "host": "brera-02"})},
    }
    return [
        *conversation(3),
        {"role": "user", "content": f"Use the key {SECRETS[0]} for project brera-02, and card {SECRETS[4]}."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {
            "role": "tool",
            "tool_call_id": "call_1",
            "content": f"AWS_ACCESS_KEY_ID={SECRETS[1]}\nAuthorization: Bearer {SECRETS[2]}\n"
            f"DATABASE_URL=postgres://app:{SECRETS[3]}@db.example.org/main\nstarted brera-02 on port 5433",
        },
        {"role": "assistant", "content": "brera-02 runs on port 5433 with the key that you gave."},
        *conversation(3, start=3),
    ]


def derived(admin_url: str) -> str:
    """Everything in the database that is derived from messages."""
    found = rows(admin_url, "SELECT description, content, items::text, recall_keys::text FROM ricordo.summary_memory")
    assert found
    return "\n".join(str(value) for row in found for value in row)


async def test_i5_neither_model_nor_summary_gets_secrets(
    database_url: str, models: ModelServer, admin_url: str
) -> None:
    async with await AsyncMemory.open(database_url, model="test-model") as memory:
        await memory.conversational.append("t", with_secrets())
        result = await memory.summarize_conversation("t")
    assert result.status == "consolidated"
    assert result.model == "test-model"
    sent = json.dumps(models.requests)
    for secret in SECRETS:
        assert secret not in sent
        assert secret not in derived(admin_url)
    assert "[redacted api key]" in sent
    assert "[redacted card number]" in sent


async def test_i5_an_extracted_summary_tells_that_a_key_was_given(memory: AsyncMemory, admin_url: str) -> None:
    await memory.conversational.append("t", with_secrets()[6:10])
    result = await memory.summarize_conversation("t")
    assert result.model == "extractive"
    assert not [secret for secret in SECRETS if secret in derived(admin_url)]
    assert "AWS_ACCESS_KEY_ID=[redacted access key]" in result.summary
    assert "password: [redacted password]" in result.summary


async def test_i5_originals_open_and_are_found_as_they_were_written(memory: AsyncMemory) -> None:
    messages = with_secrets()
    await memory.conversational.append("t", messages)
    result = await memory.summarize_conversation("t")
    assert result.id
    page = await memory.expand_summary(result.id)
    assert [message.message for message in page.messages] == messages
    assert all(secret in page.text for secret in SECRETS)
    found = await memory.expand_summary(result.id, query=SECRETS[1])
    assert SECRETS[1] in found.text
    assert (await memory.verify()).ok


async def test_i5_a_text_is_redacted_and_kept(memory: AsyncMemory, admin_url: str) -> None:
    paragraphs = [str(message["content"]) for message in with_secrets() if message["content"]]
    text = "\n\n".join(paragraphs)
    result = await memory.summarize_context_window(text)
    assert result.id
    assert not [secret for secret in SECRETS if secret in derived(admin_url)]
    assert (await memory.expand_summary(result.id)).source_text == text


async def test_i5_a_policy_of_the_developer_takes_the_place_of_the_default(
    database_url: str, models: ModelServer
) -> None:
    def without_anna(text: str) -> str:
        return text.replace("Anna Ferrari", "[redacted name]")

    async with await AsyncMemory.open(database_url, model="test-model", redact=without_anna) as memory:
        await memory.conversational.append("t", with_secrets())
        await memory.summarize_conversation("t")
    sent = json.dumps(models.requests)
    assert "Anna Ferrari" not in sent
    assert "[redacted name]" in sent
    assert SECRETS[0] in sent


async def test_without_a_policy_an_extracted_line_still_quotes_no_secret(database_url: str) -> None:
    async with await AsyncMemory.open(database_url, redact=None) as memory:
        await memory.conversational.append("t", with_secrets())
        result = await memory.summarize_conversation("t")
        assert result.id
        summary = await memory.summary.get(result.id)
    assert summary.items
    assert not [secret for secret in SECRETS if any(secret in line.text for line in summary.items)]


async def test_a_policy_that_fails_stores_nothing(database_url: str) -> None:
    async with await AsyncMemory.open(database_url, redact=lambda _: None) as memory:  # type: ignore[arg-type, return-value]
        await memory.conversational.append("t", with_secrets())
        with pytest.raises(ConfigurationError):
            await memory.summarize_conversation("t")
        thread = await memory.conversational.thread("t")
        assert thread
        assert (thread.summaries, thread.live_messages) == (0, len(with_secrets()))


async def test_a_parent_summary_holds_no_secret_either(database_url: str, admin_url: str) -> None:
    async with await AsyncMemory.open(database_url) as memory:
        for start in range(0, 24, 6):
            await memory.conversational.append("t", [*with_secrets(), *conversation(6, start=start)])
            await memory.summarize_conversation("t")
        condensed = await memory.condense("t", budget=60)
        assert condensed.parents
    assert not [secret for secret in SECRETS if secret in derived(admin_url)]
