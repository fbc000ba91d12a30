from __future__ import annotations

import json
from typing import Any

import pytest

from ricordo import AsyncMemory
from ricordo.errors import ModelAuthenticationError
from ricordo.testing import (
    Behaviour,
    Failure,
    ModelServer,
    Reply,
    Request,
    answer_json,
    cut_off,
    empty,
    fail,
    in_turn,
    planting,
    refuse,
    well,
)
from tests.stored import rows, summaries
from tests.support import conversation

TURNS = 8
"""Those of the thread that `told` holds."""


def stored_items(admin_url: str) -> list[dict[str, Any]]:
    ((items,),) = rows(admin_url, "SELECT items FROM ricordo.summary_memory")
    return json.loads(items) if isinstance(items, str) else items


async def test_a_false_figure_is_repaired_from_its_source_and_recorded(
    told: AsyncMemory, models: ModelServer, admin_url: str
) -> None:
    models.behaviour = planting("and it costs 7,319 euros")
    result = await told.summarize_conversation("t")
    assert (result.status, result.model, result.model_calls) == ("consolidated", "test-model", 2)
    assert "7,319" not in result.summary + result.description
    checks = {item["check"] for item in stored_items(admin_url)}
    assert checks == {"grounded", "repaired", "dropped"}
    (dropped,) = [item for item in stored_items(admin_url) if item["check"] == "dropped"]
    assert "7,319" in dropped["text"]
    assert any("7,319" in fault for fault in dropped["faults"])
    assert "7,319" in models.prompts[1]


async def test_a_false_figure_that_stays_is_dropped_and_recorded(
    told: AsyncMemory, models: ModelServer, admin_url: str
) -> None:
    models.behaviour = planting("and it costs 7,319 euros", mended=False)
    result = await told.summarize_conversation("t")
    assert (result.status, result.model, result.dropped_lines) == ("consolidated", "test-model", 1)
    assert "7,319" not in result.summary + result.description
    assert result.model_calls == 2
    assert {item["check"] for item in stored_items(admin_url)} == {"grounded", "dropped"}


@pytest.mark.parametrize("repair", [fail(503), refuse(), empty(), cut_off()])
async def test_without_a_repair_the_faulty_line_is_dropped_and_the_rest_stored(
    told: AsyncMemory, models: ModelServer, repair: Behaviour
) -> None:
    models.behaviour = in_turn(planting("and it costs 7,319 euros"), repair)
    result = await told.summarize_conversation("t")
    assert (result.status, result.model, result.dropped_lines) == ("consolidated", "test-model", 1)
    assert "7,319" not in result.summary


async def test_a_repair_adds_no_line_twice_and_none_unasked(told: AsyncMemory, models: ModelServer) -> None:
    def all_again(request: Request) -> Reply | Failure | None:
        return (planting("and it costs 7,319 euros") if request.number == 1 else without_notes)(request)

    def without_notes(request: Request) -> Reply | Failure | None:
        # The whole summary once more in place of the one line that was faulty.
        text = request.body["messages"][0]["content"]
        plain = text[: text.index("<notes")] + text[text.index("<record", text.index("</notes")) :]
        return well()(
            Request(number=request.number, body={**request.body, "messages": [{"content": plain}]}, wait=request.wait)
        )

    models.behaviour = all_again
    result = await told.summarize_conversation("t")
    lines = [line for line in result.summary.splitlines() if line.startswith("- ")]
    assert len(lines) == len(set(lines)) + 2  # three sections are empty
    assert "7,319" not in result.summary


async def test_a_false_figure_in_the_description_gives_way_to_a_note(told: AsyncMemory, models: ModelServer) -> None:
    def label(request: Request) -> Reply:
        reply = well()(request)
        assert isinstance(reply, Reply)
        notes = json.loads(reply.text or "")
        return Reply(
            text=json.dumps({**notes, "description": "A grant of 7,319 euros for the corpus in Uppsala by April"})
        )

    models.behaviour = label
    result = await told.summarize_conversation("t")
    assert "7,319" not in result.description
    assert result.description.startswith("Question 0: what about the corpus?")
    assert len(result.description.split()) <= 12


async def test_invented_notes_alone_give_way_to_what_the_messages_say(told: AsyncMemory, models: ModelServer) -> None:
    invented = {"section": "technical", "text": "The grant is 7,319 euros.", "sources": [1], "status": "confirmed"}
    models.behaviour = answer_json({"description": "A grant of 7,319 euros", "items": [invented]})
    result = await told.summarize_conversation("t")
    assert (result.status, result.model, result.escalations[-1]) == ("consolidated", "extractive", "extractive")
    assert "7,319" not in result.summary + result.description


async def test_a_text_is_summarised_by_the_model_and_never_by_its_failure(
    told: AsyncMemory, models: ModelServer, admin_url: str
) -> None:
    text = "\n\n".join(str(message["content"]) for message in conversation(6))
    models.behaviour = fail(401)
    with pytest.raises(ModelAuthenticationError):
        await told.summarize_context_window(text)
    assert summaries(admin_url) == 0
    models.behaviour = well()
    result = await told.summarize_context_window(text)
    assert (result.status, result.model) == ("consolidated", "test-model")
    assert (await told.summarize_context_window(" \n ")).status == "nothing_to_summarize"
    assert len(models.requests) == 2
