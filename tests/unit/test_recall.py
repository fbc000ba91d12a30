"""Recall keys: what tells most and is not said, within a budget, and unable to pass for anything else."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.consolidation.atoms import AtomIndex
from ricordo.consolidation.recall import (
    PREFIX,
    SEPARATOR,
    inventory,
    recall_keys,
    recall_line,
    share_kept,
    telling,
)
from ricordo.consolidation.source import SourceMessage
from ricordo.tokens import count


def source(*turns: tuple[str, str]) -> list[SourceMessage]:
    return [
        SourceMessage(number=number, role=role, text=text, timestamp=None, tokens=count(text))
        for number, (role, text) in enumerate(turns, 1)
    ]


TALK = source(
    ("user", "Please move the invoice INV-2026-0447 of 12 March 2026 over $1,250 to project brera-02."),
    ("assistant", 'move_invoice({"invoice_id": "INV-2026-0447", "project": "brera-02"})'),
    ("tool", '{"invoice_id": "INV-2026-0447", "owner": "zx-9911", "seen_by": "qq-1200", "rows": 3, "status": "moved"}'),
    ("assistant", "INV-2026-0447 now belongs to brera-02; 2 of 3 rows were new."),
)


def told(text: str) -> list[str]:
    return [atom.text for atom in telling(text)]


def test_what_tells_nothing_by_itself_is_left_out() -> None:
    assert told("We have 2 of 12 seats, 4,200 abstracts and 95 seconds.") == ["4,200", "95 seconds"]
    assert told('{"payment_methods": {"gift_card_8190333": {"source": "x"}}}') == ["gift_card_8190333"]
    assert told("get_user_details({})") == []
    assert told('He said "nothing at all" to INV-77') == ["INV-77"]
    assert told("Never touch the BIG RED BUTTON at JFK") == ["JFK"]


def test_keys_are_what_the_content_does_not_carry() -> None:
    keys = recall_keys(TALK, "- The invoice INV-2026-0447 was moved on 2026-03-12.", budget=60)
    assert {"brera-02", "$1,250", "zx-9911"} <= set(keys)
    assert not {"INV-2026-0447", "12 March 2026"} & set(keys)


def test_what_people_use_often_comes_before_what_a_tool_printed() -> None:
    keys = recall_keys(TALK, "", budget=60)
    assert set(keys[:2]) == {"brera-02", "INV-2026-0447"}
    assert keys.index("brera-02") < keys.index("zx-9911")


def test_what_is_common_in_the_namespace_tells_less() -> None:
    plain = recall_keys(TALK, "", budget=60)
    common = recall_keys(TALK, "", budget=60, frequency={"brera-02": 1000})
    assert plain[0] == "brera-02"
    assert common[0] == "INV-2026-0447"


def test_redaction_marks_are_never_keys() -> None:
    messages = source(("user", "My key is [redacted api key] and my card [redacted card number], for brera-02."))
    assert recall_keys(messages, "", budget=60) == ("brera-02",)


def test_a_key_cannot_forge_a_reference_a_line_or_another_key() -> None:
    messages = source(
        ("user", "See https://x.org/a[Summary_ID:1] and https://x.org/`b` and /srv/a, /srv/b\n## Summary Memory x-11")
    )
    line = recall_line(recall_keys(messages, "", budget=200))
    assert line.splitlines() == [line]
    assert not set("[]`") & set(line)
    assert "x-11" in line


def test_no_keys_make_no_line() -> None:
    assert recall_line(()) == ""
    assert recall_keys(TALK, "", budget=0) == ()
    assert recall_keys((), "", budget=100) == ()


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), st.text(max_size=60)), max_size=6),
    st.lists(
        st.sampled_from(["INV-77", "$1,250", "12 March 2026", "https://x.org/a", "/srv/rag", "漢字-12"]), max_size=6
    ),
    st.integers(-3, 80),
)
def test_the_line_keeps_its_budget_and_names_only_what_the_source_states(
    turns: list[tuple[str, str]], facts: list[str], budget: int
) -> None:
    messages = source(*turns, *(("user", f"Remember {fact} please.") for fact in facts))
    keys = recall_keys(messages, "", budget=budget)
    line = recall_line(keys)
    assert count(line) <= max(budget, 0)
    assert line == (PREFIX + SEPARATOR.join(keys) if keys else "")
    assert len(set(keys)) == len(keys)
    told_text = " ".join(" ".join(one.text.split()) for one in messages)
    assert all(key in told_text for key in keys)


def test_an_inventory_counts_messages_and_knows_who_used_an_atom() -> None:
    found = {mention.atom.text: mention for mention in inventory(TALK)}
    invoice = found["INV-2026-0447"]
    assert (invoice.messages, invoice.role, invoice.first, invoice.last) == (4, "user", 1, 4)
    assert found["zx-9911"].role == "tool"


def test_the_share_kept_is_of_distinct_atoms() -> None:
    mentions = inventory(source(("user", "INV-77, INV-78, INV-77")))
    assert share_kept(mentions, AtomIndex(["about INV-77"])) == 0.5
    assert share_kept((), AtomIndex([])) == 1.0
