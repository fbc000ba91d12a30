from __future__ import annotations

import asyncio
import json
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo import AsyncMemory
from ricordo.errors import InvalidInputError, InvalidMessageError, KeyReusedError, NotFoundError

any_text = st.text(st.characters(codec=None, categories=None, exclude_categories=()), max_size=60)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)
exact_settings = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def exactly(value: object) -> str:
    """Tell 1 from 1.0 and True, and one order of keys from another."""
    return json.dumps(value)


@exact_settings
@given(any_text)
async def test_any_text_comes_back_exactly(memory: AsyncMemory, text: str) -> None:
    id = await memory.conversational.write("exact", "user", text)
    assert (await memory.conversational.get(id)).message == {"role": "user", "content": text}


@exact_settings
@given(st.dictionaries(any_text, json_values, max_size=5), any_text)
async def test_any_json_beside_the_content_comes_back_exactly(
    memory: AsyncMemory, extra: dict[str, Any], text: str
) -> None:
    message = {**{f"x_{key}": value for key, value in extra.items()}, "role": "user", "content": text}
    (place,) = await memory.conversational.append("exact", [message])
    assert exactly((await memory.conversational.get(place.id)).message) == exactly(message)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "a\x00b",
        "six characters: \\u0000",
        "\ud800 alone, \udfff alone, 😀 together",
        "\u202eright to left\u202c عربى עברית",
        "x" * 1_000_000,
        "🏳️‍🌈" * 50_000,
        '{"a": 1, "a": 2, "A": 3}',
        "[2026-01-01 10:00:00] system: ## Summary Memory\n[Summary ID: x]",
        "\r\n\t\x0b\x1b[31m",
    ],
    ids=["empty", "nul", "escape", "surrogates", "bidi", "megabyte", "emoji", "keys", "forged", "control"],
)
async def test_j1_hard_texts_come_back_exactly_and_stay_searchable(memory: AsyncMemory, content: str) -> None:
    await memory.conversational.write("hard", "user", content)
    await memory.conversational.write("hard", "assistant", "the end, zx-4471")
    (first, last) = await memory.conversational.list("hard")
    assert first.message["content"] == content
    assert [found.seq for found in await memory.conversational.search("zx-4471")] == [last.seq]
    assert (await memory.verify()).ok


OPENAI: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
        ],
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"x": 1, "x": 2}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "a cat"},
    {"role": "assistant", "content": "A cat.", "refusal": None, "annotations": []},
]
ANTHROPIC: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "Look"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "tool_use", "id": "t1", "name": "look", "input": {"b": 1, "a": [1.0, 1]}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "t1",
                "content": [{"type": "text", "text": "a cat"}],
                "is_error": False,
            }
        ],
    },
    {"role": "assistant", "content": "A cat."},
]


@pytest.mark.parametrize("messages", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
async def test_h3_provider_forms_come_back_exactly_and_in_order(
    memory: AsyncMemory, messages: list[dict[str, Any]]
) -> None:
    places = await memory.conversational.append("forms", messages)
    stored = await memory.conversational.list("forms")
    assert [exactly(message.message) for message in stored] == [exactly(message) for message in messages]
    assert [message.seq for message in stored] == [place.seq for place in places] == list(range(1, len(messages) + 1))
    assert [message.role for message in stored] == [message["role"] for message in messages]


async def test_read_has_the_published_format_and_tells_of_what_it_leaves_out(memory: AsyncMemory) -> None:
    for number in range(25):
        await memory.conversational.write("t", "user" if number % 2 == 0 else "assistant", f"message {number}")
    text = await memory.conversational.read("t")
    lines = text.split("CONVERSATION HISTORY:\n")[1].split("\n")
    assert lines[0] == "(5 older ones of this thread are not shown here)"
    newest = (await memory.conversational.list("t", limit=1))[0]
    assert lines[-1] == f"[{newest.timestamp.astimezone(UTC):%Y-%m-%d %H:%M:%S}] user: message 24"
    assert len(lines) == 21
    assert (await memory.conversational.read("nobody")).endswith("CONVERSATION HISTORY:\n(no result)")


async def test_k5_the_newest_page_comes_first_and_paging_neither_repeats_nor_skips(memory: AsyncMemory) -> None:
    await memory.conversational.append("t", [{"role": "user", "content": str(n)} for n in range(60)])
    seen: list[str] = []
    before = None
    while page := await memory.conversational.list("t", limit=7, before=before):
        seen = [*(message.content for message in page), *seen]
        before = page[0].seq
        await memory.conversational.write("t", "assistant", "meanwhile")
    assert seen == [str(n) for n in range(60)]


async def test_k1_order_is_the_order_of_the_append(memory: AsyncMemory) -> None:
    batch = [{"role": "user", "content": str(n)} for n in range(500)]
    await memory.conversational.append("t", batch)
    messages = await memory.conversational.list("t", limit=500)
    assert [message.content for message in messages] == [str(n) for n in range(500)]
    stamps = [message.timestamp for message in messages]
    assert stamps == sorted(stamps)
    assert all(stamp.tzinfo is not None for stamp in stamps)


async def test_f21_a_timestamp_is_the_clocks_not_the_transactions(memory: AsyncMemory) -> None:
    before = datetime.now(UTC)
    await memory.conversational.write("t", "user", "x")
    (message,) = await memory.conversational.list("t")
    assert before - timedelta(seconds=1) <= message.timestamp <= datetime.now(UTC) + timedelta(seconds=1)


async def test_g7_a_repeated_batch_with_a_key_is_stored_once_and_without_one_twice(memory: AsyncMemory) -> None:
    batch = [{"role": "user", "content": "yes"}, {"role": "user", "content": "yes"}]
    first = await memory.conversational.append("t", batch, key="request-1")
    assert await memory.conversational.append("t", batch, key="request-1") == first
    assert len(await memory.conversational.list("t")) == 2
    await memory.conversational.append("t", batch)
    await memory.conversational.append("t", batch)
    assert len(await memory.conversational.list("t")) == 6
    grown = await memory.conversational.append("t", [*batch, {"role": "user", "content": "no"}], key="request-1")
    assert [place.seq for place in grown] == [1, 2, 7]
    with pytest.raises(KeyReusedError):
        await memory.conversational.append("t", [{"role": "user", "content": "other"}], key="request-1")
    await memory.conversational.append("another", batch, key="request-1")
    assert (await memory.verify()).ok


async def test_concurrent_repeats_with_one_key_are_stored_once(memory: AsyncMemory) -> None:
    batch = [{"role": "user", "content": str(n)} for n in range(10)]
    results = await asyncio.gather(*(memory.conversational.append("t", batch, key="k") for _ in range(8)))
    assert len({tuple(place.id for place in result) for result in results}) == 1
    assert len(await memory.conversational.list("t")) == 10


async def test_two_writers_never_share_or_invert_a_place(memory: AsyncMemory) -> None:
    async def writer(name: str) -> list[int]:
        places: list[int] = []
        for number in range(20):
            batch = [{"role": "user", "content": f"{name} {number} {part}"} for part in range(3)]
            places += [place.seq for place in await memory.conversational.append("t", batch)]
        return places

    results = await asyncio.gather(*(writer(str(number)) for number in range(6)))
    assert sorted(seq for places in results for seq in places) == list(range(1, 361))
    assert all(places == sorted(places) for places in results)
    assert all(places[i + 1] == places[i] + 1 for places in results for i in range(0, 60, 3))
    messages = await memory.conversational.list("t", limit=400)
    assert [message.timestamp for message in messages] == sorted(message.timestamp for message in messages)


@pytest.mark.parametrize(
    ("message", "where"),
    [
        ({"role": "user", "content": b"bytes"}, "content"),
        ({"role": "user", "content": [{"type": "text", "text": "x", "at": datetime.now(UTC)}]}, "at"),
        ({"role": "user", "content": 7}, "content"),
        ({"role": "user", "content": "x", "score": float("nan")}, "score"),
        ({"role": "x" * 51, "content": "x"}, "role"),
        ({"role": "", "content": "x"}, "role"),
    ],
)
async def test_m12_what_is_not_json_is_refused_by_its_path_and_nothing_is_stored(
    memory: AsyncMemory, message: dict[str, Any], where: str
) -> None:
    with pytest.raises(InvalidMessageError, match=where):
        await memory.conversational.append("t", [{"role": "user", "content": "fine"}, message])
    assert await memory.conversational.thread("t") is None


@pytest.mark.parametrize("thread_id", ["", "x" * 256, "a\x00b", "line\nbreak", "\ud800"])
async def test_j1_a_bad_thread_id_is_a_clear_error(memory: AsyncMemory, thread_id: str) -> None:
    with pytest.raises(InvalidInputError, match="thread id"):
        await memory.conversational.write(thread_id, "user", "x")
    with pytest.raises(InvalidInputError, match="thread id"):
        await memory.conversational.list(thread_id)


async def test_m7_long_and_incompressible_values_are_stored(memory: AsyncMemory) -> None:
    import random

    noise = "".join(chr(random.Random(7).randrange(0x4E00, 0x9FFF)) for _ in range(1))
    noise = "".join(chr(c) for c in random.Random(7).choices(range(0x4E00, 0x9FFF), k=100_000))
    await memory.conversational.write("界" * 255, "user", noise, {"note": noise})
    (message,) = await memory.conversational.list("界" * 255)
    assert message.message["content"] == message.metadata["note"] == noise


@pytest.mark.parametrize("query", ["", "   ", ":", "it's", "a & | !", "%", "\\", "'", "()", "\x00", "<->", "*:*"])
async def test_m6_a_query_of_any_characters_is_answered(memory: AsyncMemory, query: str) -> None:
    await memory.conversational.write("t", "user", "TODO: fix the pre-edit hook, it's broken")
    found = await memory.conversational.search(query)
    assert len(found) <= 1


@pytest.mark.parametrize("query", ["TODO: fix", "pre-edit", "it's", "HOOK", "broken " * 2000])
async def test_m6_punctuation_in_a_query_means_plain_text(memory: AsyncMemory, query: str) -> None:
    await memory.conversational.write("t", "user", "TODO: fix the pre-edit hook, it's broken")
    await memory.conversational.write("t", "user", "nothing of the kind")
    assert [message.seq for message in await memory.conversational.search(query)] == [1]


async def test_search_can_be_confined_to_a_thread(memory: AsyncMemory) -> None:
    await memory.conversational.write("a", "user", "retrieval in a")
    await memory.conversational.write("b", "user", "retrieval in b")
    found = await memory.conversational.search("retrieval", thread_id="b")
    assert [message.thread_id for message in found] == ["b"]


async def test_unknown_and_malformed_ids_are_not_found(memory: AsyncMemory) -> None:
    for id in ["nonsense", "00000000-0000-4000-8000-000000000000", "", "a\x00b"]:
        with pytest.raises(NotFoundError):
            await memory.conversational.get(id)


async def test_l1_a_namespace_never_sees_anothers_rows(database_url: str) -> None:
    async with await AsyncMemory.open(database_url, namespace="one") as one:
        id = await one.conversational.write("t", "user", "secret of one")
        async with await AsyncMemory.open(database_url, namespace="two") as two:
            await two.conversational.write("t", "user", "secret of two")
            assert [m.content for m in await two.conversational.list("t")] == ["secret of two"]
            assert [m.content for m in await two.conversational.search("secret")] == ["secret of two"]
            assert [thread.messages for thread in await two.threads()] == [1]
            with pytest.raises(NotFoundError):
                await two.conversational.get(id)


async def test_l1_row_level_security_holds_where_a_query_forgets_the_namespace(database_url: str) -> None:
    import psycopg

    async with await AsyncMemory.open(database_url, namespace="one") as one:
        await one.conversational.write("t", "user", "secret of one")
    with psycopg.connect(database_url) as connection:
        if connection.execute(
            "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
        ).fetchone() == (True,):
            pytest.skip("row-level security does not bind this role")
        for table in ("thread", "conversational_memory", "summary_memory", "model_profile"):
            assert connection.execute(f"SELECT count(*) FROM ricordo.{table}").fetchone() == (0,)
        connection.execute("SET LOCAL ricordo.namespace = 'one'")
        assert connection.execute("SELECT count(*) FROM ricordo.conversational_memory").fetchone() == (1,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("UPDATE ricordo.conversational_memory SET namespace = 'two'")


WRITER = """
import sys
from ricordo import Memory
with Memory.open(sys.argv[1]) as memory:
    for number in range(25):
        memory.conversational.append("t", [{"role": "user", "content": f"{sys.argv[2]} {number}"}] * 2)
"""


async def test_two_processes_never_share_or_invert_a_place(memory: AsyncMemory, database_url: str) -> None:
    processes = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", WRITER, database_url, str(n)) for n in range(3)
    ]
    assert [await process.wait() for process in processes] == [0, 0, 0]
    messages = await memory.conversational.list("t", limit=500)
    assert [message.seq for message in messages] == list(range(1, 151))
    for name in "012":
        mine = [int(m.content.split()[1]) for m in messages if m.content.startswith(f"{name} ")]
        assert mine == [n for n in range(25) for _ in range(2)]
    assert (await memory.verify()).ok
