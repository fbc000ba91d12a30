"""A message in any provider's form, with what the memory must know of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, cast

from ricordo.messages.blocks import read_block, read_call, read_content, readable, refuse
from ricordo.messages.embedded import without_files
from ricordo.messages.exact import check
from ricordo.messages.parts import Call, Media, Part, Reasoning, Result, Text, Unknown
from ricordo.tokens import count_message
from ricordo.types import JSON, RawMessage

MAX_ROLE = 50
"""Characters that a role may have."""

_TOOL_ROLES = frozenset({"tool", "function"})


@dataclass(frozen=True, slots=True)
class ParsedMessage:
    """A checked message.

    `message` is the original, untouched. `text` is what a reader sees: words, tool calls as `name(arguments)`,
    results, and a placeholder such as `[image]` for each attachment. `reasoning` is the model's own, which is not
    text. `calls` and `results` are the ids of the tool calls that it makes and answers, in order; a call or result
    without an id has the empty one, and a legacy function call has `function:` and its name. `tools` are the names of
    the tools that the calls are for. `images` counts the attachments of any kind. `question` marks a user message
    that holds more than tool results.
    """

    _: KW_ONLY
    role: str
    message: dict[str, JSON]
    text: str
    reasoning: str
    calls: tuple[str, ...]
    tools: tuple[str, ...]
    results: tuple[str, ...]
    images: int
    question: bool

    @property
    def tokens(self) -> int:
        """The tokens that it adds to a request; counted at each access."""
        ids = (*self.calls, *self.results)
        return count_message(self.text, images=self.images, reasoning=self.reasoning, ids=ids)


def parse(raw: RawMessage) -> ParsedMessage:
    """Check a message in the form of OpenAI Chat, OpenAI Responses, Anthropic or SWE-agent and say what it holds.

    Keys and types of part that are not known are kept and never refused. Raises InvalidMessageError for what is
    not JSON (see `encode`) and for a malformed shape, such as a content that is a number.
    """
    role, parts = read(raw)
    text, files = without_files(readable(parts))
    calls = [part for part in parts if isinstance(part, Call)]
    return ParsedMessage(
        role=role,
        message=cast("dict[str, JSON]", raw if isinstance(raw, dict) else dict(raw)),
        text=text,
        reasoning="\n".join(part.text for part in parts if isinstance(part, Reasoning) and part.text),
        calls=tuple(call.id for call in calls),
        tools=tuple(call.name for call in calls),
        results=tuple(id for part in parts if isinstance(part, Result) for id in part.ids),
        images=files + sum(1 for _ in _attachments(parts)),
        question=role == "user" and any(_is_the_users(part) for part in parts),
    )


def read(raw: RawMessage) -> tuple[str, tuple[Part, ...]]:
    """Return a message's role and its parts in order; raises InvalidMessageError as `parse` does."""
    if not isinstance(raw, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  (what a caller passes is not checked)
        refuse("the message", f"is a {type(raw).__name__}", "pass a dict; for an object of an SDK, its model_dump()")
    check(raw)
    role = _role(raw)
    if _is_item(raw):
        return role, (read_block(raw, "the message"),)
    content = read_content(raw.get("content"), "content")
    if role in _TOOL_ROLES:
        return role, (Result(_answered(raw), content, raw),)
    return role, (*_reasoning(raw), *content, *_spoken(raw), *_calls(raw))


def _role(raw: RawMessage) -> str:
    """Return the role; an item of OpenAI Responses that has none gets one by its type."""
    role, kind = raw.get("role"), raw.get("type")
    if role is None and isinstance(kind, str) and kind:
        return "tool" if kind.endswith(("_output", "_response", "_result")) else "assistant"
    if not isinstance(role, str) or not 1 <= len(role) <= MAX_ROLE or not role.isprintable():
        refuse("role", f"is {role!a:.60}", f"a role is a text of 1 to {MAX_ROLE} printable characters")
    return role


def _is_item(raw: RawMessage) -> bool:
    """Return whether this is an item of OpenAI Responses other than a message; some senders give it a role."""
    kind = raw.get("type")
    return raw.get("role") is None or (isinstance(kind, str) and kind != "message" and "content" not in raw)


def _answered(raw: RawMessage) -> tuple[str, ...]:
    """Return the ids that a tool message answers: SWE-agent lists several, the legacy form names a function."""
    ids = raw.get("tool_call_ids") or [raw.get("tool_call_id")]
    if not isinstance(ids, list):
        refuse("tool_call_ids", f"is a {type(ids).__name__}", "tool_call_ids is a list of ids")
    if raw["role"] == "function" and ids == [None]:
        return (_function_id(raw.get("name")),)
    return tuple(_id(id, "tool_call_id") for id in cast("list[Any]", ids))


def _calls(raw: RawMessage) -> Iterator[Call]:
    calls = raw.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        refuse("tool_calls", f"is a {type(calls).__name__}", "tool_calls is a list, or null")
    for index, call in enumerate(cast("list[Any]", calls or [])):
        path = f"tool_calls[{index}]"
        if not isinstance(call, Mapping):
            refuse(path, f"is a {type(call).__name__}", "a tool call is an object")
        yield read_call(cast("RawMessage", call), path)
    legacy = raw.get("function_call")
    if isinstance(legacy, Mapping):
        call = read_call(cast("RawMessage", legacy), "function_call")
        yield Call(_function_id(call.name), call.name, call.arguments, call.raw)


def _reasoning(raw: RawMessage) -> tuple[Part, ...]:
    """Return reasoning beside the content: whole blocks as LiteLLM passes them, or a text as vLLM and OpenRouter do."""
    if isinstance(raw.get("thinking_blocks"), list):
        return read_content(raw["thinking_blocks"], "thinking_blocks")
    texts = (raw.get("reasoning_content"), raw.get("reasoning"))
    return tuple(Reasoning(text, raw) for text in texts if isinstance(text, str) and text)[:1]


def _spoken(raw: RawMessage) -> Iterator[Text]:
    """Yield the words that OpenAI puts beside the content: a refusal, and what was said in audio."""
    if isinstance(raw.get("refusal"), str):
        yield Text(raw["refusal"])
    audio = raw.get("audio")
    if isinstance(audio, Mapping):
        transcript = cast("RawMessage", audio).get("transcript")
        if isinstance(transcript, str):
            yield Text(transcript)


def _attachments(parts: tuple[Part, ...]) -> Iterator[Media]:
    for part in parts:
        if isinstance(part, Media):
            yield part
        elif isinstance(part, Result):
            yield from _attachments(part.parts)


def _is_the_users(part: Part) -> bool:
    return isinstance(part, Media) or (isinstance(part, Text | Unknown) and not part.text.isspace() and part.text != "")


def _id(value: Any, path: str) -> str:
    if value is not None and not isinstance(value, str):
        refuse(path, f"is a {type(value).__name__}", "an id is a text")
    return value or ""


def _function_id(name: Any) -> str:
    return f"function:{_id(name, 'name')}"
