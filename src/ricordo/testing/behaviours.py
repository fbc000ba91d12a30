"""How a test's model behaves: small functions from a request to a reply, which can be put into each other.

Each function here returns a behaviour. Those that change what another one does take it as `then`, which is `well()`
where it is not given: `slow(2, fail(503))`, `in_turn(empty(), well())`. A behaviour of a test's own is any function
that takes a `Request` and returns a `Reply`, a `Failure`, or None to hang up.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count as numbers
from typing import Any, Literal, TypeAlias

from ricordo.testing.record import Recorded, notes_to_mend, recorded
from ricordo.tokens import count

_SHARE = 6
_FORM = 80
"""The characters of a note besides its text, in structured output."""

_CHARACTERS_PER_TOKEN = 2
_HEADINGS = {
    "technical": "### Technical Information",
    "emotional": "### Emotional Context",
    "entities": "### Entities & References",
    "actions": "### Action Items & Decisions",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A chat completion as it was asked for.

    `number` counts the server's completions from 1. `wait` sleeps for that many seconds, or without end for None;
    it returns False as soon as the client has hung up or the server closes.
    """

    number: int
    body: Mapping[str, Any]
    wait: Callable[[float | None], bool]

    @property
    def prompt(self) -> str:
        """The text of all messages."""
        return prompt_of(self.body)

    @property
    def structured(self) -> bool:
        """Whether structured output is asked for."""
        return "response_format" in self.body

    @property
    def max_tokens(self) -> int:
        """The most tokens that the answer may have, under either name; 0 where no limit is given."""
        return self.body.get("max_completion_tokens") or self.body.get("max_tokens") or 0


def prompt_of(body: Mapping[str, Any]) -> str:
    """Return the text of all messages of a request."""
    return "\n".join(_text(message.get("content")) for message in body["messages"])


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call that the model makes; `arguments` is JSON text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A completion, sent whole or as a stream, as the request asks."""

    text: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An answer that is not a completion: a status and a body, JSON where it is not text."""

    status: int
    body: Any


Behaviour: TypeAlias = Callable[[Request], Reply | Failure | None]
"""What the server does with one request; None hangs up without an answer."""


def answer(text: str) -> Behaviour:
    """Answer with a text, whatever is asked."""
    return lambda request: Reply(text=text)


def answer_json(value: Any) -> Behaviour:
    """Answer with a value as JSON."""
    return answer(json.dumps(value, ensure_ascii=False))


def call_tool(name: str, arguments: Mapping[str, Any] | None = None) -> Behaviour:
    """Call a tool, under a new id each time."""
    text = json.dumps(arguments or {}, ensure_ascii=False)

    def behave(request: Request) -> Reply:
        call = ToolCall(id=f"call_{request.number}", name=name, arguments=text)
        return Reply(tool_calls=(call,), finish_reason="tool_calls")

    return behave


def well() -> Behaviour:
    """Summarise as a good model does: short, cited and true, in structured output or under the four headings.

    The notes are the first sentences of messages spread evenly over the record, a sixth of its length at most. Faulty
    notes that come back are replaced by the first sentence of a message that they cite. Any other request is
    answered with "Understood."
    """

    def behave(request: Request) -> Reply:
        messages = recorded(request.prompt)
        if not messages:
            return Reply(text="Understood.")
        returned = notes_to_mend(request.prompt)
        chosen = _cited(returned, messages) if returned else _spread(messages, request.max_tokens)
        notes = [_note(message.sentence, [message.number]) for message in chosen]
        return Reply(text=_written(_description(chosen), notes, structured=request.structured))

    return behave


def _spread(messages: Sequence[Recorded], max_tokens: int) -> Sequence[Recorded]:
    said = [message for message in messages if message.sentence]
    room = sum(len(message.text) for message in said) // _SHARE
    if max_tokens:
        room = min(room, max_tokens * _CHARACTERS_PER_TOKEN)
    step = -(-sum(len(message.sentence) + _FORM for message in said) // max(room, 1))
    return said[:: max(step, 1)]


def _cited(returned: Sequence[tuple[str, Sequence[int]]], messages: Sequence[Recorded]) -> Sequence[Recorded]:
    by_number = {message.number: message for message in messages}
    first = [next((by_number[number] for number in cited if number in by_number), None) for _, cited in returned]
    return [message for message in first if message and message.sentence]


def _description(messages: Sequence[Recorded]) -> str:
    words = " ".join(message.sentence for message in messages).split()
    return " ".join(words[:10])


def _note(text: str, sources: Sequence[int], section: str = "technical") -> dict[str, Any]:
    return {"section": section, "text": text, "sources": list(sources), "status": "confirmed"}


def _written(description: str, notes: Sequence[Mapping[str, Any]], *, structured: bool) -> str:
    if structured:
        return json.dumps({"description": description, "items": list(notes)}, ensure_ascii=False)
    parts = [f"Description: {description}"]
    for section, heading in _HEADINGS.items():
        lines = [f"- {note['text']} {note['sources']}" for note in notes if note["section"] == section]
        parts.append("\n".join([heading, *(lines or ["- (none)"])]))
    return "\n\n".join(parts)


def empty() -> Behaviour:
    """Answer with an empty text, as overloaded servers do."""
    return answer("")


def fail(status: int, body: Any = None) -> Behaviour:
    """Fail with an HTTP status, by default in OpenAI's form of an error.

    The client is told to come back at once, so that a test does not wait between its attempts.
    """
    given = {"error": {"message": f"the test's server fails with {status}", "type": "error"}} if body is None else body
    return lambda request: Failure(status=status, body=given)


def reasoning(
    thought: str = "Let me think about what matters here.",
    *,
    field: bool = True,
    tags: bool = True,
    closed: bool = True,
    then: Behaviour | None = None,
) -> Behaviour:
    """Think before the answer, in `reasoning_content` and in <think> tags; not `closed`, the answer never comes."""
    text = (f"<think>\n{thought}\n</think>\n" if closed else f"<think>\n{thought}\n") if tags else ""

    def change(reply: Reply) -> Reply:
        return replace(reply, reasoning=thought if field else None, text=text + (reply.text or "") if closed else text)

    return _changed(change, then)


def refuse(words: str = "I'm sorry, but I can't help with that.") -> Behaviour:
    """Decline in the `refusal` field."""
    return lambda request: Reply(refusal=words)


def refuse_in_text(words: str = "I'm sorry, but I can't help with that request.") -> Behaviour:
    """Decline in the text, as models without that field do."""
    return answer(words)


def too_long() -> Behaviour:
    """Summarise at greater length than the record itself, with right citations."""

    def behave(request: Request) -> Reply:
        messages = recorded(request.prompt)
        notes = [_note(" ".join(message.text.split()), [message.number]) for message in messages]
        return Reply(text=_written(_description(messages), [*notes, *notes], structured=request.structured))

    return behave


def slow(seconds: float, then: Behaviour | None = None) -> Behaviour:
    """Wait, then go on; a client that hangs up meanwhile is let go."""
    return lambda request: (then or well())(request) if request.wait(seconds) else None


def hang() -> Behaviour:
    """Never answer: until the client hangs up or the server closes."""

    def behave(request: Request) -> None:
        request.wait(None)

    return behave


def until(event: threading.Event, then: Behaviour | None = None) -> Behaviour:
    """Hold the answer back until a test sets the event."""

    def behave(request: Request) -> Reply | Failure | None:
        while not event.is_set():
            if not request.wait(0.02):
                return None
        return (then or well())(request)

    return behave


def meanwhile(action: Callable[[], object], then: Behaviour | None = None) -> Behaviour:
    """Do something while the client waits, on the server's thread; then go on."""

    def behave(request: Request) -> Reply | Failure | None:
        action()
        return (then or well())(request)

    return behave


def malformed(
    how: Literal["fenced", "in prose", "bad escape", "raw newline"], then: Behaviour | None = None
) -> Behaviour:
    """Spoil the JSON of an answer in one of the ways in which models do."""
    spoil: Mapping[str, Callable[[str], str]] = {
        "fenced": lambda text: f"```json\n{text}\n```",
        "in prose": lambda text: f"Here you {{are}}: {text} Hope it helps!",
        "bad escape": lambda text: text.replace('"text": "', '"text": "\\u12 '),
        "raw newline": lambda text: text.replace('"text": "', '"text": "\n'),
    }
    return _changed(lambda reply: replace(reply, text=spoil[how](reply.text or "")), then)


def cut_off(then: Behaviour | None = None) -> Behaviour:
    """Stop in the middle, with finish reason "length"."""
    return _changed(
        lambda reply: replace(reply, text=(reply.text or "")[: len(reply.text or "") // 2], finish_reason="length"),
        then,
    )


def drop_connection() -> Behaviour:
    """Hang up without an answer."""
    return lambda request: None


def without_structured_output(then: Behaviour | None = None) -> Behaviour:
    """Refuse `response_format`, as older servers do."""
    return _without("response_format", then)


def without_max_completion_tokens(then: Behaviour | None = None) -> Behaviour:
    """Refuse `max_completion_tokens`, as servers do that know only `max_tokens`."""
    return _without("max_completion_tokens", then)


def _without(name: str, then: Behaviour | None) -> Behaviour:
    refused = fail(400, {"error": {"message": f"Unrecognized request argument supplied: {name}", "type": "error"}})
    return lambda request: (refused if name in request.body else then or well())(request)


def limited(window: int, then: Behaviour | None = None) -> Behaviour:
    """Refuse a request that with its answer may exceed a window of that many tokens, as vLLM does."""

    def behave(request: Request) -> Reply | Failure | None:
        asked = count(request.prompt) + request.max_tokens
        if asked <= window:
            return (then or well())(request)
        message = f"This model's maximum context length is {window} tokens. However, you requested {asked} tokens."
        return Failure(status=400, body={"error": {"message": message, "code": "context_length_exceeded"}})

    return behave


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """Behave in each way for one request, and in the last way from then on."""
    turn = numbers()
    return lambda request: behaviours[min(next(turn), len(behaviours) - 1)](request)


def planting(words: str, *, mended: bool = True, then: Behaviour | None = None) -> Behaviour:
    """Put false words, such as a figure, at the end of the first note; again when it comes back, unless `mended`."""

    def behave(request: Request) -> Reply | Failure | None:
        reply = (then or well())(request)
        if not isinstance(reply, Reply) or (mended and notes_to_mend(request.prompt)):
            return reply
        notes = json.loads(reply.text or "")
        notes["items"][0]["text"] = f"{notes['items'][0]['text'].rstrip('.')}, {words}."
        return replace(reply, text=json.dumps(notes, ensure_ascii=False))

    return behave


def _changed(change: Callable[[Reply], Reply], then: Behaviour | None) -> Behaviour:
    def behave(request: Request) -> Reply | Failure | None:
        reply = (then or well())(request)
        return change(reply) if isinstance(reply, Reply) else reply

    return behave
