"""Replies as OpenAI's API writes them: one JSON object, or a stream of chunks."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

from ricordo.testing.behaviours import Reply, Request, ToolCall
from ricordo.tokens import count

_PIECE = 16


def completion(request: Request, reply: Reply) -> dict[str, Any]:
    """Return the body of a whole completion."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text, "refusal": reply.refusal}
    if reply.reasoning is not None:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = [_call(call) for call in reply.tool_calls]
    choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason, "logprobs": None}
    return _envelope(request, "chat.completion") | {"choices": [choice], "usage": _usage(request, reply)}


def events(request: Request, reply: Reply) -> Iterator[bytes]:
    """Yield the server-sent events of a streamed completion: a few characters each, the usage where it is asked for."""
    envelope = _envelope(request, "chat.completion.chunk")
    for delta, finish in (*((delta, None) for delta in _deltas(reply)), ({}, reply.finish_reason)):
        yield _event(envelope | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    options: Mapping[str, Any] = request.body.get("stream_options") or {}
    if options.get("include_usage"):
        yield _event(envelope | {"choices": [], "usage": _usage(request, reply)})
    yield b"data: [DONE]\n\n"


def _deltas(reply: Reply) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": None if reply.text is None else ""}
    if reply.refusal is not None:
        yield {"refusal": reply.refusal}
    for name, text in (("reasoning_content", reply.reasoning or ""), ("content", reply.text or "")):
        for start in range(0, len(text), _PIECE):
            yield {name: text[start : start + _PIECE]}
    for index, call in enumerate(reply.tool_calls):
        yield {"tool_calls": [{"index": index, **_call(call)}]}


def _event(value: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _envelope(request: Request, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{request.number}",
        "object": kind,
        "created": int(time.time()),
        "model": request.body.get("model", ""),
    }


def _usage(request: Request, reply: Reply) -> dict[str, int]:
    sent = count(request.prompt)
    made = count((reply.reasoning or "") + (reply.text or ""))
    return {"prompt_tokens": sent, "completion_tokens": made, "total_tokens": sent + made}
