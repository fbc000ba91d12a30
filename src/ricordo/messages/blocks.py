"""Reading the blocks of a content: each provider's types, and whatever else comes, into parts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, NoReturn, TypeAlias, cast

from ricordo.errors import InvalidMessageError
from ricordo.messages.parts import Call, Media, Part, Reasoning, Result, Text, Unknown
from ricordo.types import RawMessage

_Reader: TypeAlias = Callable[[RawMessage, str], Part]

_RESULT_IDS = ("tool_use_id", "call_id", "tool_call_id", "approval_request_id")


def read_content(value: Any, path: str) -> tuple[Part, ...]:
    """Read a content: null, a text, or a list of texts and blocks. Raises InvalidMessageError for anything else."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        return (Text(value),)
    if not isinstance(value, list):
        refuse(path, f"is a {type(value).__name__}", "content is a text, a list of parts, or null")
    return tuple(_read_item(item, f"{path}[{index}]") for index, item in enumerate(cast("list[Any]", value)))


def read_block(raw: RawMessage, path: str) -> Part:
    """Read one block, or one item of OpenAI Responses, by its type; an unknown type is kept as `Unknown`."""
    kind = raw.get("type")
    if not isinstance(kind, str):
        return Unknown(_optional(raw, "text"), raw)
    reader = _READERS.get(kind) or next((read for ending, read in _ENDINGS.items() if kind.endswith(ending)), None)
    return reader(raw, path) if reader else Unknown(_optional(raw, "text"), raw)


def read_call(raw: RawMessage, path: str) -> Call:
    """Read a tool call: of Chat (`function` or `custom` inside), of Responses (`call_id`), or of Anthropic."""
    body = next((inner for key in ("function", "custom") if (inner := _mapping(raw.get(key)))), raw)
    kind = str(raw.get("type", ""))
    arguments = next((body[key] for key in ("arguments", "input", "args", "action") if body.get(key) is not None), "")
    name = _string(body, "name", path) or kind.removesuffix("_call")
    id = _string(raw, "call_id", path) or _string(raw, "id", path)
    return Call(id, name, as_text(arguments), raw, hosted=kind in {"server_tool_use", "mcp_tool_use"})


def as_text(value: Any) -> str:
    """Return a text as it is, and any other JSON value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def refuse(path: str, what: str, hint: str) -> NoReturn:
    """Raise InvalidMessageError for the place `path` in a message."""
    raise InvalidMessageError(f"{path} {what}", hint=hint)


def _read_item(value: Any, path: str) -> Part:
    if isinstance(value, str):
        return Text(value)
    if not isinstance(value, Mapping):
        refuse(path, f"is a {type(value).__name__}", "a part of a content is an object or a text")
    return read_block(cast("RawMessage", value), path)


def _text(key: str) -> _Reader:
    return lambda raw, path: Text(_string(raw, key, path), raw)


def _reasoning(key: str) -> _Reader:
    return lambda raw, path: Reasoning(_string(raw, key, path), raw)


def _reasoning_item(raw: RawMessage, path: str) -> Reasoning:
    """Read reasoning of Responses: its summaries, and its text where the server shows it."""
    parts = (*read_content(raw.get("summary"), f"{path}.summary"), *read_content(raw.get("content"), f"{path}.content"))
    return Reasoning("\n".join(part.text for part in parts if isinstance(part, Text | Reasoning)), raw)


def _media(kind: Literal["image", "audio", "video", "file"]) -> _Reader:
    """Return the reader of an attachment, wherever its form keeps the address, the bytes and the name."""

    def read(raw: RawMessage, path: str) -> Part:
        inner = next((found for key in ("source", "image_url", "file") if (found := _mapping(raw.get(key)))), raw)
        words = _embedded_text(inner, path)
        if words is not None:
            return Text(words, raw)
        return Media(kind, raw, _address(inner, raw), _optional(inner, "filename") or _optional(raw, "title"))

    return read


def _embedded_text(source: RawMessage, path: str) -> str | None:
    """Return the words of an Anthropic document that holds its text, or blocks of it, instead of a file."""
    if source.get("type") == "text":
        return _string(source, "data", path)
    if source.get("type") == "content":
        return readable(read_content(source.get("content"), f"{path}.source.content"))
    return None


def _address(inner: RawMessage, raw: RawMessage) -> str:
    data, mime = inner.get("data"), inner.get("media_type") or inner.get("mimeType")
    if isinstance(data, str) and isinstance(mime, str):
        return f"data:{mime};base64,{data}"
    found = (inner.get("url"), raw.get("image_url"), inner.get("file_data"), inner.get("file_url"))
    return next((address for address in found if isinstance(address, str)), "")


def _result(raw: RawMessage, path: str) -> Result:
    kind = str(raw["type"])
    id = next((id for key in _RESULT_IDS if (id := _string(raw, key, path))), "")
    content = raw.get("content") if "tool_result" in kind else raw.get("output", raw.get("approve"))
    hosted = kind.endswith("_tool_result")
    return Result((id,), _output(content, path), raw, failed=raw.get("is_error") is True, hosted=hosted)


def _output(value: Any, path: str) -> tuple[Part, ...]:
    """Read what a tool gave: a content, one typed object, or any other JSON, which is shown as JSON."""
    if isinstance(value, Mapping) and "type" in value:
        return (read_block(cast("RawMessage", value), path),)
    if value is None or isinstance(value, str) or _are_blocks(value):
        return read_content(value, path)
    return (Text(as_text(value)),)


def _are_blocks(value: Any) -> bool:
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    return all(isinstance(item, Mapping) and "type" in item for item in items)


def _hosted_item(raw: RawMessage, path: str) -> Part:
    """Read an item `…_call`: with a `call_id` it waits for a result, without one the provider has run it already."""
    if raw.get("call_id") is not None:
        return read_call(raw, path)
    call, output = read_call(raw, path), raw.get("output")
    return Unknown(call.text if output is None else f"{call.text}\n{as_text(output)}", raw)


def readable(parts: tuple[Part, ...]) -> str:
    """Return the words of parts, one part a line: calls written out, attachments as placeholders, no reasoning."""
    return "\n".join(words for part in parts if (words := _words(part)))


def _words(part: Part) -> str:
    match part:
        case Text() | Unknown() | Call():
            return part.text
        case Media():
            return part.placeholder
        case Result():
            return readable(part.parts)
        case Reasoning():
            return ""


def _mapping(value: Any) -> RawMessage | None:
    return cast("RawMessage", value) if isinstance(value, Mapping) else None


def _string(raw: RawMessage, key: str, path: str) -> str:
    value = raw.get(key)
    if value is not None and not isinstance(value, str):
        refuse(f"{path}.{key}", f"is a {type(value).__name__}", f"{key} is a text")
    return value or ""


def _optional(raw: RawMessage, key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


_READERS: dict[str, _Reader] = {
    **dict.fromkeys(("text", "input_text", "output_text", "summary_text"), _text("text")),
    "refusal": _text("refusal"),
    "thinking": _reasoning("thinking"),
    "redacted_thinking": _reasoning("thinking"),
    "reasoning_text": _reasoning("text"),
    "reasoning": _reasoning_item,
    **dict.fromkeys(("image", "image_url", "input_image", "image_file", "computer_screenshot"), _media("image")),
    **dict.fromkeys(("audio", "input_audio", "output_audio"), _media("audio")),
    **dict.fromkeys(("video", "video_url", "input_video"), _media("video")),
    **dict.fromkeys(("document", "file", "input_file", "container_upload"), _media("file")),
    **dict.fromkeys(("tool_use", "server_tool_use", "mcp_tool_use", "function_call"), read_call),
    "mcp_approval_request": read_call,
    "tool_result": _result,
    "mcp_approval_response": _result,
}
_ENDINGS: dict[str, _Reader] = {"_call_output": _result, "_tool_result": _result, "_call": _hosted_item}
