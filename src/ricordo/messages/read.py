"""Reading a message in the form of OpenAI Chat, OpenAI Responses, Anthropic or SWE-agent into parts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, cast

from ricordo.errors import InvalidMessageError
from ricordo.messages.parts import Call, Media, Part, Reasoning, Result, Text, Unknown
from ricordo.types import RawMessage

MAX_ROLE = 50
"""Characters that a role may have."""

_TOOL_ROLES = frozenset({"tool", "function"})


def read_role(raw: RawMessage) -> str:
    """Return a message's role; an item of OpenAI Responses that has none gets one by its type.

    Raises InvalidMessageError where there is neither, or where the role is empty, longer than `MAX_ROLE`
    characters, or not printable.
    """
    role, kind = raw.get("role"), raw.get("type")
    if role is None and isinstance(kind, str) and kind:
        return "tool" if kind.endswith(("_output", "_response")) else "assistant"
    if not isinstance(role, str) or not 1 <= len(role) <= MAX_ROLE or not role.isprintable():
        _refuse("role", f"is {ascii(role):.60}", f"a role is a text of 1 to {MAX_ROLE} printable characters")
    return role


def read_parts(raw: RawMessage) -> tuple[Part, ...]:
    """Return a message's parts in order. What is unknown is kept as `Unknown`; what is malformed raises InvalidMessageError."""
    if raw.get("role") is None:
        return (_block(raw, "the message"),)
    content = _content(raw.get("content"), "content")
    if raw["role"] in _TOOL_ROLES:
        return (Result(_answered(raw), content, raw),)
    return (*_top_reasoning(raw), *content, *_refusal(raw), *_calls(raw))


def _content(value: Any, path: str) -> tuple[Part, ...]:
    """Read a content: nothing, a text, or a list of texts and blocks."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        return (Text(value),)
    if not isinstance(value, list):
        _refuse(path, f"is a {type(value).__name__}", "content is a text, a list of parts, or null")
    return tuple(_item(item, f"{path}[{index}]") for index, item in enumerate(cast("list[Any]", value)))


def _item(value: Any, path: str) -> Part:
    if isinstance(value, str):
        return Text(value)
    if not isinstance(value, Mapping):
        _refuse(path, f"is a {type(value).__name__}", "a part of a content is an object or a text")
    return _block(cast("Mapping[str, Any]", value), path)


def _block(raw: RawMessage, path: str) -> Part:
    kind = raw.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is not None:
        return reader(raw, path)
    if isinstance(kind, str) and kind.endswith("_tool_result"):
        return _hosted_result(raw, path)
    if isinstance(kind, str) and kind.endswith(("_call", "_call_output", "_approval_request", "_approval_response")):
        return _item_call(raw, kind)
    text = raw.get("text")
    return Unknown(text if isinstance(text, str) else "", raw)


def _text(raw: RawMessage, path: str) -> Text:
    return Text(_string(raw, "text", path), raw)


def _refusal_block(raw: RawMessage, path: str) -> Text:
    return Text(_string(raw, "refusal", path), raw)


def _thinking(raw: RawMessage, path: str) -> Reasoning:
    return Reasoning(_string(raw, "thinking", path), raw)


def _reasoning_item(raw: RawMessage, path: str) -> Reasoning:
    """Read reasoning of OpenAI Responses: summaries, and the text itself where the server shows it."""
    parts = [*_content(raw.get("summary"), f"{path}.summary"), *_content(raw.get("content"), f"{path}.content")]
    return Reasoning("\n".join(part.text for part in parts if isinstance(part, Text | Unknown | Reasoning)), raw)


def _reasoning_text(raw: RawMessage, path: str) -> Reasoning:
    return Reasoning(_string(raw, "text", path), raw)


def _image_url(raw: RawMessage, path: str) -> Media:
    """Read `image_url` as an object with a `url` (Chat) or as the address itself (Responses)."""
    value = raw.get("image_url")
    url = cast("Mapping[str, Any]", value).get("url") if isinstance(value, Mapping) else value
    return Media("image", raw, url if isinstance(url, str) else "")


def _input_audio(raw: RawMessage, path: str) -> Media:
    return Media("audio", raw)


def _openai_file(raw: RawMessage, path: str) -> Media:
    value = raw.get("file", raw)
    source = cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else raw
    url = source.get("file_data") or source.get("file_url")
    return Media("file", raw, url if isinstance(url, str) else "", _name(source.get("filename")))


def _attachment(kind: Any) -> Callable[[RawMessage, str], Part]:
    """Return the reader of a block with a `source`: Anthropic's image and document, and MCP's image and audio."""

    def read(raw: RawMessage, path: str) -> Part:
        source = raw.get("source")
        given = cast("Mapping[str, Any]", source) if isinstance(source, Mapping) else raw
        return _plain_document(given, raw, path) or Media(kind, raw, _source_url(given), _name(raw.get("title")))

    return read


def _plain_document(source: Mapping[str, Any], raw: RawMessage, path: str) -> Part | None:
    """Read a document that carries its text or its own blocks instead of a file."""
    if source.get("type") == "text" and isinstance(source.get("data"), str):
        return Text(source["data"], raw)
    if source.get("type") == "content":
        return Text(_joined(_content(source.get("content"), f"{path}.source.content")), raw)
    return None


def _source_url(source: Mapping[str, Any]) -> str:
    if isinstance(source.get("data"), str):
        mime = source.get("media_type") or source.get("mimeType") or "application/octet-stream"
        return f"data:{mime};base64,{source['data']}"
    url = source.get("url")
    return url if isinstance(url, str) else ""
