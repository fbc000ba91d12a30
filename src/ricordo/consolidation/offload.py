"""Compaction of a rendered context: its conversation gives way to a reference, everything else stays."""

from __future__ import annotations

from collections.abc import Sequence

CONVERSATION = "## Conversation Memory"
SUMMARY = "## Summary Memory"
QUESTION = "# Question"

STUB = (
    f"{CONVERSATION}\n"
    "Older conversation content was summarized to reduce context size.\n"
    "Use expand_summary(id) for full detail."
)


def sections(context: str) -> list[str]:
    """Split a context into its segments: each begins with a level-two heading, what precedes the first is one too.

    Joined with newlines they are the context again. Stored text cannot forge a heading where it was rendered by
    ricordo, which escapes such lines.
    """
    found: list[list[str]] = [[]]
    for line in context.split("\n"):
        if line.startswith("## ") and found != [[]]:
            found.append([])
        found[-1].append(line)
    return ["\n".join(lines) for lines in found]


def replace_conversation(context: str, reference: str, live: Sequence[str] = ()) -> str:
    """Return the context with its conversation replaced, once and in place, and the reference listed.

    Lines of messages that are still `live` stay below the stub.

    Without a conversation segment the stub comes first. The reference joins the summary segment that is there, or
    a new one: directly after the stub where nothing else follows, at the end otherwise.
    """
    kept = [part for part in sections(context) if part.strip()]
    places = [index for index, part in enumerate(kept) if _is(part, CONVERSATION)]
    compacted = [part for part in kept if not _is(part, CONVERSATION)]
    compacted.insert(places[0] if places else 0, "\n".join([STUB, *live]))
    return _join(_with_reference(compacted, reference))


def replace_section(context: str, heading: str, reference: str) -> str:
    """Return the context with the body of one segment replaced by a reference to where it is stored."""
    parts = [part for part in sections(context) if part.strip()]
    stub = f"{heading}\nThis segment was stored to reduce context size.\nUse expand_summary(id) for full detail."
    return _join(_with_reference([stub if _is(part, heading) else part for part in parts], reference))


def largest_section(context: str) -> tuple[str, str] | None:
    """Return the heading and text of the longest segment that may give way, or None.

    Neither the question, nor the conversation, nor the references are candidates.
    """
    candidates = [part for part in sections(context) if part.startswith("## ") and not _is(part, CONVERSATION, SUMMARY)]
    if not candidates:
        return None
    largest = max(candidates, key=len)
    return largest.split("\n", 1)[0].rstrip(), largest


def _is(part: str, *headings: str) -> bool:
    return part.split("\n", 1)[0].rstrip() in headings


def _with_reference(parts: Sequence[str], reference: str) -> list[str]:
    for index in range(len(parts) - 1, -1, -1):
        if _is(parts[index], SUMMARY):
            return [*parts[:index], f"{parts[index].rstrip()}\n{reference}", *parts[index + 1 :]]
    return [*parts, f"{SUMMARY}\n{reference}"]


def _join(parts: Sequence[str]) -> str:
    return "\n\n".join(part.strip("\n") for part in parts)
