"""Retention: what is kept, what is named, what comes back; and what no model is needed for."""

from __future__ import annotations

import pytest

from ricordo.config import Settings
from ricordo.consolidation.recall import recall_line
from ricordo.consolidation.redact import redact_secrets
from ricordo.consolidation.retention import measure, of_messages, summed, together
from ricordo.consolidation.source import SourceMessage
from ricordo.tokens import count
from ricordo.types import Kept, RawMessage
from tests.support import conversation


def source(*texts: str) -> list[SourceMessage]:
    return [
        SourceMessage(number=number, role="user", text=text, timestamp=None, tokens=count(text))
        for number, text in enumerate(texts, 1)
    ]


def test_each_atom_is_kept_named_or_only_in_the_originals() -> None:
    sources = source("Invoice INV-77 of 12 March 2026 over $1,250.", "Ask zx-9911 and qq-1200 in /srv/rag/data.")
    keys = ("zx-9911",)
    content = f"### Technical Information\n- INV-77 is of 2026-03-12\n\n{recall_line(keys)}"
    found = measure(sources, content, keys, [one.text for one in sources])
    assert found["identifier"] == Kept(atoms=3, kept=1, keyed=1, reachable=3)
    assert found["date"] == Kept(atoms=1, kept=1, keyed=0, reachable=1)
    assert found["number"] == Kept(atoms=1, kept=0, keyed=0, reachable=1)
    assert found["path"] == Kept(atoms=1, kept=0, keyed=0, reachable=1)


def test_what_no_original_shows_is_not_reachable() -> None:
    found = measure(source("INV-77 and INV-78"), "", (), ["INV-78 alone"])
    assert found["identifier"] == Kept(atoms=2, kept=0, keyed=0, reachable=1)


def test_a_key_within_the_lines_is_not_mistaken_for_the_closing_line() -> None:
    found = measure(source("INV-77"), "- Expand for: INV-77\n\nExpand for: INV-77", ("INV-77",), [])
    assert found["identifier"] == Kept(atoms=1, kept=1, keyed=0, reachable=0)


def test_summaries_add_up() -> None:
    one = {"date": Kept(atoms=2, kept=1, reachable=2)}
    other = {"date": Kept(atoms=3, keyed=2, reachable=3), "url": Kept(atoms=1, kept=1, reachable=1)}
    both = together([one, other], messages=9)
    assert both.kinds == {
        "date": Kept(atoms=5, kept=1, keyed=2, reachable=5),
        "url": Kept(atoms=1, kept=1, reachable=1),
    }
    assert both.total == Kept(atoms=6, kept=2, keyed=2, reachable=6)
    assert (both.summaries, both.messages) == (2, 9)
    assert summed([together([one], messages=4), together([other], messages=5)]) == both
    assert summed([]).total == Kept()


async def of(messages: list[RawMessage]) -> Kept:
    found = await of_messages(messages, settings=Settings(), model=None, redact=redact_secrets)
    return found.total


async def test_a_conversation_is_measured_without_a_database_or_a_model() -> None:
    total = await of(conversation(12))
    assert total.atoms > 20
    assert 0 < total.kept < total.atoms
    assert total.kept + total.keyed <= total.atoms
    assert total.reachable == total.atoms


async def test_the_systems_messages_and_secrets_are_not_counted() -> None:
    secret: RawMessage = {"role": "user", "content": "The key is sk-abcdefghijklmnop1234567890"}
    system: RawMessage = {"role": "system", "content": "You are agent INV-99 of 2026-01-01"}
    assert await of([system, secret]) == Kept()


@pytest.mark.parametrize("messages", [[], [{"role": "user", "content": "  "}]])
async def test_nothing_to_summarise_is_nothing_to_measure(messages: list[RawMessage]) -> None:
    found = await of_messages(messages, settings=Settings(), model=None, redact=None)
    assert (found.summaries, found.total) == (0, Kept())
