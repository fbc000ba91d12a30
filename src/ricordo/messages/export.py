"""Views of a conversation in the form that a provider's API takes; storage is never changed by them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeAlias, cast

from ricordo.messages.blocks import readable
from ricordo.messages.embedded import without_files
from ricordo.messages.exact import map_strings, searchable
from ricordo.messages.parse import ParsedMessage
from ricordo.messages.parts import Call, Media, Part, Reasoning, Result, Text, Unknown
from ricordo.messages.turns import Answer, Turn, turns

Block: TypeAlias = "dict[str, Any]"
AnyMessage: TypeAlias = ParsedMessage | Mapping[str, Any]

_ATTACHED = "Attachments of the tool results above:"
_CONTINUED = "(The conversation continues from an earlier part.)"
_TEXT_KEYS = frozenset({"type", "text", "cache_control", "citations"})
_PDF = "data:application/pdf;base64,"


def to_openai(messages: Sequence[AnyMessage]) -> list[Block]:
    """Return a valid list of messages for OpenAI Chat Completions, from messages in any form.

    Calls and results are paired as `turns` says. Reasoning is left out. Attachments in tool results, which this
    API does not take there, follow in a user message. What the form cannot hold becomes a placeholder such as
    `[file]`, as does a file written into a text as base64. NUL and lone surrogates, which no request can carry,
    become U+FFFD. Raises InvalidMessageError as `parse` does.
    """
    return map_strings([message for turn in turns(messages) for message in _openai_turn(turn)], searchable)


def to_anthropic(messages: Sequence[AnyMessage]) -> tuple[str, list[Block]]:
    """Return the system text and a valid list of messages for Anthropic's Messages API, from messages in any form.

    Calls and results are paired as `turns` says; roles alternate and begin with the user. All system and developer
    messages go into the system text, in order. Thinking blocks are byte-identical or left out whole; blocks of the
    user's own Anthropic messages stay as they are. Placeholders and errors are as in `to_openai`.
    """
    found = turns(messages)
    system = "\n\n".join(words for turn in found if turn.speaker == "system" and (words := _plain(turn.parts)))
    spoken = _merged(_anthropic_turns(turn for turn in found if turn.speaker != "system"))
    merged = _merged((role, _without_last_thoughts(blocks)) for role, blocks in spoken)
    if merged and merged[0][0] == "assistant":
        merged.insert(0, ("user", [_text_block(_CONTINUED)]))
    messages_view = [{"role": role, "content": blocks} for role, blocks in merged]
    return searchable(system), map_strings(messages_view, searchable)


def _openai_turn(turn: Turn) -> Iterator[Block]:
    calls = [_openai_call(part) for part in turn.parts if isinstance(part, Call) and not part.hosted]
    content = _plain_or_none(turn.parts) if turn.speaker != "user" else _openai_content(turn.parts)
    if content or calls:
        message: Block = {"role": _openai_role(turn), "content": content}
        yield message | ({"name": turn.name} if turn.name else {}) | ({"tool_calls": calls} if calls else {})
    yield from ({"role": "tool", "tool_call_id": each.id, "content": _plain(each.parts)} for each in turn.answers)
    attached = [part for answer in turn.answers for part in answer.parts if isinstance(part, Media) and part.url]
    if attached:
        yield {"role": "user", "content": _openai_content((Text(_ATTACHED), *attached))}


def _openai_role(turn: Turn) -> str:
    return turn.role if turn.speaker == "system" else turn.speaker


def _openai_content(parts: Iterable[Part]) -> str | list[Block] | None:
    """Return a content: one text as it is, several parts as a list."""
    blocks = [block for part in parts if (block := _openai_block(part))]
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return blocks[0]["text"]
    return blocks or None


def _openai_block(part: Part) -> Block | None:
    if isinstance(part, Media):
        return _openai_media(part)
    words = _plain((part,))
    return _text_block(words) if words else None


def _openai_media(part: Media) -> Block:
    if part.raw.get("type") in {"image_url", "input_audio", "file"} and _holds_object(part.raw):
        return dict(part.raw)
    if part.kind == "image" and part.url:
        return {"type": "image_url", "image_url": {"url": part.url}}
    if part.url.startswith(_PDF):
        return {"type": "file", "file": {"filename": part.name or "document.pdf", "file_data": part.url}}
    return _text_block(part.placeholder)


def _holds_object(raw: Mapping[str, Any]) -> bool:
    """Return whether a block keeps its attachment as Chat does: in an object under the name of its type."""
    return isinstance(raw.get(str(raw["type"])), Mapping)


def _openai_call(call: Call) -> Block:
    if call.raw.get("type") in {"custom", "custom_tool_call"}:
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.arguments}}
    function = {"name": call.name, "arguments": call.arguments or "{}"}
    return {"id": call.id, "type": "function", "function": function}


def _anthropic_turns(found: Iterable[Turn]) -> Iterator[tuple[str, list[Block]]]:
    for turn in found:
        yield turn.speaker, _anthropic_blocks(turn)
        if turn.answers:
            yield "user", [_anthropic_result(answer) for answer in turn.answers]


def _anthropic_blocks(turn: Turn) -> list[Block]:
    complete = _hosted_pairs(turn.parts)
    return [block for part in turn.parts if (block := _anthropic_block(part, complete))]


def _merged(spoken: Iterable[tuple[str, list[Block]]]) -> list[tuple[str, list[Block]]]:
    """Return messages so that roles alternate and none is empty."""
    filled = ((role, blocks) for role, blocks in spoken if blocks)
    return [
        (role, [block for _, blocks in group for block in blocks])
        for role, group in groupby(filled, lambda each: each[0])
    ]


def _without_last_thoughts(blocks: list[Block]) -> list[Block]:
    """Return blocks without the thinking at their end, which the API refuses."""
    spoken = (n for n, block in enumerate(blocks, 1) if block["type"] not in {"thinking", "redacted_thinking"})
    return blocks[: max(spoken, default=0)]


def _hosted_pairs(parts: Iterable[Part]) -> set[str]:
    """Return the ids of the provider's own tool calls that have their result in the same turn."""
    hosted = [part for part in parts if isinstance(part, Call | Result) and part.hosted]
    called = {part.id for part in hosted if isinstance(part, Call)}
    return called & {id for part in hosted if isinstance(part, Result) for id in part.ids}


def _anthropic_block(part: Part, complete: set[str]) -> Block | None:
    match part:
        case Text():
            return _anthropic_text(part)
        case Media():
            return _anthropic_media(part)
        case Reasoning():
            signed = part.raw.get("type") == "redacted_thinking" or part.raw.get("signature")
            return cast("Block", part.raw) if signed else None
        case Call(hosted=True):
            return cast("Block", part.raw) if part.id in complete else None
        case Result():
            return cast("Block", part.raw) if complete.issuperset(part.ids) else None
        case Call():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": _arguments(part.arguments)}
        case Unknown():
            return _text_block(part.text) if part.text.strip() else None


def _anthropic_text(part: Text) -> Block | None:
    raw, words = part.raw, _plain((part,))
    if raw is not None and raw.get("type") == "document":
        return cast("Block", raw)
    if not words.strip():
        return None
    own = raw is not None and raw.get("text") == words and raw["type"] == "text" and raw.keys() <= _TEXT_KEYS
    return cast("Block", raw) if own else _text_block(words)


def _anthropic_media(part: Media) -> Block:
    if part.raw.get("type") in {"image", "document"} and isinstance(part.raw.get("source"), Mapping):
        return cast("Block", part.raw)
    kind = "image" if part.kind == "image" else "document"
    header, is_inline, data = part.url.removeprefix("data:").partition(";base64,")
    if is_inline and (kind == "image" or part.url.startswith(_PDF)):
        source = {"type": "base64", "media_type": header.partition(";")[0], "data": data}
        return {"type": kind, "source": source}
    if kind == "image" and part.url.startswith(("https://", "http://")):
        return {"type": kind, "source": {"type": "url", "url": part.url}}
    return _text_block(part.placeholder)


def _anthropic_result(answer: Answer) -> Block:
    shown = (part if isinstance(part, Text | Media) else Text(readable((part,))) for part in answer.parts)
    content = [block for part in shown if (block := _anthropic_block(part, set()))]
    result: Block = {"type": "tool_result", "tool_use_id": answer.id, "content": content}
    return result | ({"is_error": True} if answer.failed else {})


def _arguments(text: str) -> Block:
    """Return a call's arguments as the object that Anthropic asks for; text that is none goes in under "input"."""
    try:
        value: Any = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {"input": text}
    return cast("Block", value) if isinstance(value, dict) else {"input": text}


def _text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def _plain(parts: tuple[Part, ...]) -> str:
    return without_files(readable(parts))[0]


def _plain_or_none(parts: tuple[Part, ...]) -> str | None:
    return _plain(tuple(part for part in parts if not (isinstance(part, Call) and not part.hosted))) or None
