from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ricordo.consolidation.offload import largest_section, replace_conversation, replace_section, sections

REFERENCE = "[Summary ID: 6c8f7a52-7d2b-4c39-9a55-0d2f8d6f1a11] Thesis on retrieval, corpus chosen, deadline in March"

CORE = f"""## Conversation Memory
Older conversation content was summarized to reduce context size.
Use expand_summary(id) for full detail.

## Summary Memory
{REFERENCE}"""


def test_the_core_form_is_the_published_one() -> None:
    assert replace_conversation("## Conversation Memory\n[2026-01-01 10:00:00] user: hi", REFERENCE) == CORE


def test_f9_only_the_conversation_gives_way_and_everything_else_stays_in_order() -> None:
    context = """# Question
What did we decide?

## Conversation Memory
### Retrieved messages
[2026-01-01 10:00:00] user: hi

## Knowledge Base Memory
[1] a passage

## Workflow Memory
1. a step

## Entity Memory
• Anna"""
    expected = context.replace(
        "## Conversation Memory\n### Retrieved messages\n[2026-01-01 10:00:00] user: hi",
        "## Conversation Memory\nOlder conversation content was summarized to reduce context size.\n"
        "Use expand_summary(id) for full detail.",
    )
    assert replace_conversation(context, REFERENCE) == f"{expected}\n\n## Summary Memory\n{REFERENCE}"


def test_f35_the_reference_joins_the_summary_segment_even_where_it_is_not_the_last() -> None:
    context = "## Conversation Memory\nhi\n\n## Summary Memory\n[Summary ID: old] old\n\n## Entity Memory\n• Anna"
    compacted = replace_conversation(context, REFERENCE)
    assert f"[Summary ID: old] old\n{REFERENCE}\n\n## Entity Memory" in compacted


def test_f35_a_mention_of_the_heading_inside_a_line_is_no_segment() -> None:
    context = 'see "## Summary Memory" there\n\n## Conversation Memory\nhi'
    assert replace_conversation(context, REFERENCE).endswith(f"\n\n## Summary Memory\n{REFERENCE}")


def test_without_a_conversation_the_stub_comes_first() -> None:
    assert replace_conversation("## Entity Memory\n• Anna", REFERENCE).startswith("## Conversation Memory\nOlder")


def test_a_second_conversation_segment_is_dropped_and_the_stub_stands_once() -> None:
    context = "## Conversation Memory\na\n\n## Entity Memory\n• Anna\n\n## Conversation Memory\nb"
    assert replace_conversation(context, REFERENCE).count("## Conversation Memory") == 1


def test_f16_the_longest_segment_beside_question_conversation_and_references_may_give_way() -> None:
    context = "# Question\n" + "q" * 99 + "\n\n## Entity Memory\n• Anna\n\n## Knowledge Base Memory\n" + "k" * 50
    found = largest_section(context)
    assert found is not None
    assert found[0] == "## Knowledge Base Memory"
    assert "k" * 50 not in replace_section(context, found[0], REFERENCE)
    assert "• Anna" in replace_section(context, found[0], REFERENCE)
    assert largest_section("# Question\nq\n\n## Conversation Memory\nhi") is None


@given(st.lists(st.sampled_from(["## A", "## Conversation Memory", "# Question", "text", "", "### x"])))
def test_sections_join_to_the_context_again(lines: list[str]) -> None:
    context = "\n".join(lines)
    assert "\n".join(sections(context)) == context
