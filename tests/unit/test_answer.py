from __future__ import annotations

import json
import string
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.consolidation.answer import DEFAULT_DESCRIPTION, DESCRIPTION_WORDS, clean, describe, parse
from ricordo.consolidation.draft import HEADINGS, Line, render
from ricordo.errors import ModelAnswerError, ModelRefusalError
from ricordo.types import LineStatus, Section

GOOD = {
    "description": "Budget of the GPU in Uppsala and the draft's deadline",
    "items": [
        {
            "section": "technical",
            "text": "Chunks of 512 tokens work best.",
            "sources": [2, 1, 2],
            "status": "confirmed",
        },
        {"section": "actions", "text": "Send chapter 4.", "sources": [3], "status": "open"},
    ],
}
LINES = (
    Line(section="technical", text="Chunks of 512 tokens work best.", sources=(1, 2)),
    Line(section="actions", text="Send chapter 4.", sources=(3,), status="open"),
)


def item(text: str, **changes: object) -> str:
    return json.dumps(
        {"items": [{"section": "technical", "text": text, "sources": [1], "status": "confirmed"} | changes]}
    )


def test_structured_output_is_read_with_sources_sorted_and_once() -> None:
    draft = parse(json.dumps(GOOD))
    assert draft.description == GOOD["description"]
    assert draft.lines == LINES


@pytest.mark.parametrize(
    "wrapped",
    [
        "```json\n{}\n```",
        "```\n{}\n```",
        "Here you are: {} Hope it helps",
        "Here {{you}} are, in {{braces}}: {} {{done}}",
        "{},",
    ],
)
def test_p1_json_in_a_fence_or_in_prose_is_parsed(wrapped: str) -> None:
    text = wrapped.replace("{}", json.dumps(GOOD, indent=1)).replace("{{", "{").replace("}}", "}")
    assert parse(text).lines == LINES


def test_j6_a_bad_escape_and_a_raw_newline_lose_no_note() -> None:
    text = json.dumps(GOOD).replace("Chunks of 512", "\\u12 Chunks\nof 512")
    draft = parse(text)
    assert len(draft.lines) == 2
    assert "Chunks of 512 tokens work best." in draft.lines[0].text
    assert "\n" not in draft.lines[0].text


def test_headings_are_read_back_as_they_are_rendered() -> None:
    text = "Description: Budget of the GPU in Uppsala\n\n" + "\n\n".join(
        f"{heading}\n"
        + (
            "\n".join(
                f"- {line.text} {list(line.sources)}{' (open)' if line.status == 'open' else ''}"
                for line in LINES
                if line.section == section
            )
            or "- (none)"
        )
        for section, heading in HEADINGS.items()
    )
    draft = parse(text)
    assert draft.description == "Budget of the GPU in Uppsala"
    assert draft.lines == LINES


@pytest.mark.parametrize(
    "heading",
    [
        "### Technical Information",
        "**Technical Information**",
        "## 1. Technical Information:",
        "Technical information",
        "# TECHNICAL INFORMATION #",
    ],
)
def test_a_heading_is_known_in_any_dress(heading: str) -> None:
    (line,) = parse(f"{heading}\n* It takes 38 ms [4]").lines
    assert (line.section, line.text, line.sources) == ("technical", "It takes 38 ms", (4,))


@pytest.mark.parametrize(
    ("note", "text", "sources"),
    [
        ("- It takes 38 ms [4]", "It takes 38 ms", (4,)),
        ("- It takes 38 ms. [4, 5].", "It takes 38 ms.", (4, 5)),
        ("2) It takes 38 ms (messages 4-6)", "It takes 38 ms", (4, 5, 6)),
        ("• It takes 38 ms [4][7]", "It takes 38 ms", (4, 7)),
        ("- It takes 38 ms (4)", "It takes 38 ms", (4,)),
        ("- It fell to a third (33) [4]", "It fell to a third (33)", (4,)),
        ("- It takes 38 ms [messaggi 4–5]", "It takes 38 ms", (4, 5)),
        ("It takes 38 ms [4]", "It takes 38 ms", (4,)),
        ("- 10. März steht fest [4]", "10. März steht fest", (4,)),
        ("- It takes 38 ms\n  on one core [4]", "It takes 38 ms on one core", (4,)),
        ("- It takes 38 ms [9-999999999]", "It takes 38 ms", tuple(range(9, 60))),
    ],
)
def test_a_note_in_text_is_taken_apart(note: str, text: str, sources: tuple[int, ...]) -> None:
    (line,) = parse(f"### Technical Information\n{note}").lines
    assert (line.text, line.sources) == (text, sources)


@pytest.mark.parametrize("mark", ["(open)", "[open]", "(to do)", "(aperto)"])
def test_an_open_note_is_known_before_and_behind_its_citation(mark: str) -> None:
    lines = parse(f"### Action Items & Decisions\n- Send it [3] {mark}\n- Send that {mark} [4]").lines
    assert [(line.text, line.status) for line in lines] == [("Send it", "open"), ("Send that", "open")]


def test_what_is_said_around_the_notes_is_no_note() -> None:
    text = "Sure!\n### Technical Information\n- A fact [1]\n\nLet me know if you need anything else.\n"
    assert [line.text for line in parse(text).lines] == ["A fact"]


def test_a_source_may_be_a_number_a_text_or_a_range() -> None:
    for written in (3, "3", ["3"], "messages 3", ["#3"]):
        assert parse(item("A fact", sources=written)).lines[0].sources == (3,)
    assert parse(item("A fact", sources="2-4, 7")).lines[0].sources == (2, 3, 4, 7)
    assert parse(item("A fact", sources=[])).lines[0].sources == ()


def test_a_section_may_be_its_heading_and_a_status_in_capitals() -> None:
    (line,) = parse(item("A fact", section="### Entities & References", status="Open")).lines
    assert (line.section, line.status) == ("entities", "open")


def test_a_citation_repeated_in_the_text_is_left_out_and_other_numbers_stay() -> None:
    assert parse(item("A fact [1]")).lines[0].text == "A fact"
    assert parse(item("The listing of March (2026)")).lines[0].text == "The listing of March (2026)"
    assert parse(item("Send it (open)", status="open")).lines[0].text == "Send it"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{" * 50,
        '{"a":' * 5_000,
        '{"items": 5}',
        '{"items": [{"section": "other", "text": "x", "sources": [1]}]}',
        '{"description": "A label", "items": []}',
        '{"description": "A label", "items": [{"section": "technical", "text": "cut o',
        "The conversation is about a corpus.",
        "### Technical Information\n- (none)\n### Emotional Context\n- None.",
    ],
)
def test_an_answer_without_notes_is_an_error(text: str) -> None:
    with pytest.raises(ModelAnswerError):
        parse(text)


REFUSALS = [
    "I'm sorry, but I can't help with that.",
    "I’m sorry, I cannot assist with this request.",
    "I cannot summarise this conversation.",
    "I am not able to provide that.",
    "Mi dispiace, ma non posso aiutarti.",
]


@pytest.mark.parametrize("words", REFUSALS)
def test_a_refusal_is_never_a_note(words: str) -> None:
    for answer in (words, f"### Technical Information\n- {words} [1]", item(words), json.dumps({"description": words})):
        with pytest.raises(ModelRefusalError):
            parse(answer)


def test_a_refusal_that_the_conversation_reports_is_a_note() -> None:
    (line,) = parse(item("The assistant answered: I can't help with that.")).lines
    assert line.text == "The assistant answered: I can't help with that."


@pytest.mark.parametrize(
    "words", ["Please provide the conversation you want me to summarise.", "I don't see any conversation here."]
)
def test_b3_a_request_for_the_conversation_is_never_a_note(words: str) -> None:
    for answer in (words, item(words), f"### Emotional Context\n- {words} [1]"):
        with pytest.raises(ModelAnswerError):
            parse(answer)


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("## Summary Memory", "Summary Memory"),
        ("- - ### # nested", "nested"),
        ("two\nlines\r\nand\u2028more\x00", "two lines and more"),
        ("[Summary ID: 5f] Forged", "Forged"),
        ("[Summary [Summary ID: x] ID: y] Forged", "Forged"),
        ("Open [ summary id : 5f", "Open 5f"),
        ("#1234 is the ticket", "#1234 is the ticket"),
        (">= 5 GB is needed", ">= 5 GB is needed"),
        ("3. April is the day", "3. April is the day"),
        ("(none)", ""),
    ],
)
def test_a_note_is_one_line_that_passes_for_nothing_else(raw: str, cleaned: str) -> None:
    assert clean(raw) == cleaned


@given(st.text(st.sampled_from("[]# -*\n\tSumaryID:x1\x00\u2028")))
def test_clean_is_idempotent_and_leaves_no_line_break_or_reference(raw: str) -> None:
    cleaned = clean(raw)
    assert clean(cleaned) == cleaned
    assert len(cleaned.splitlines()) <= 1
    assert "[Summary ID:" not in cleaned


SECTIONS: list[Section] = list(HEADINGS)
STATUSES: list[LineStatus] = ["confirmed", "open"]


@settings(deadline=None)
@given(
    st.lists(
        st.builds(
            Line,
            section=st.sampled_from(SECTIONS),
            text=st.text(string.ascii_letters + "àß語 {}\"\\'", min_size=1).map(str.strip).filter(bool),
            sources=st.sets(st.integers(0, 10**6), min_size=1).map(lambda found: tuple(sorted(found))),
            status=st.sampled_from(STATUSES),
        ),
        min_size=1,
    )
)
def test_every_note_in_structured_output_is_read_as_it_was_written(lines: list[Line]) -> None:
    written = [
        {"section": line.section, "text": line.text, "sources": list(line.sources), "status": line.status}
        for line in lines
    ]
    read = parse(json.dumps({"description": "d", "items": written})).lines
    assert read == tuple(Line(section=o.section, text=clean(o.text), sources=o.sources, status=o.status) for o in lines)
    assert render(read).count("### ") == len(HEADINGS)


@settings(deadline=None)
@given(st.text())
def test_any_answer_is_read_or_refused(text: str) -> None:
    with suppress(ModelAnswerError, ModelRefusalError):
        assert parse(text).lines


@pytest.mark.parametrize("label", ["", "Summary", '"Conversation summary."', "## ", REFUSALS[0]])
def test_a_description_that_tells_nothing_gives_way_to_a_note(label: str) -> None:
    assert describe(label, LINES) == "Chunks of 512 tokens work best."
    assert describe(label, ()) == DEFAULT_DESCRIPTION


def test_a_description_has_at_most_twelve_words() -> None:
    assert len(describe("word, " * 40, ()).split()) == DESCRIPTION_WORDS
    assert not describe("word, " * 40, ()).endswith(",")


def test_a_label_and_a_citation_are_read_in_the_ways_that_models_write_them() -> None:
    text = (
        "**Description:** a talk about the corpus\n\n### Technical Information\n- It holds 7 files [Messages 1 and 3]\n"
    )
    draft = parse(text)
    assert draft.description.startswith("a talk")
    assert draft.lines[0].sources == (1, 3)
    assert draft.lines[0].text == "It holds 7 files"


def test_marks_without_end_are_cleaned_in_linear_time() -> None:
    assert clean("# " * 20_000 + "word") == "word"
