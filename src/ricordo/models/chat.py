"""Chat with a model at any OpenAI-compatible server: one answer, or a typed error."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, ValidationError

from ricordo.errors import (
    ConfigurationError,
    ModelAnswerError,
    ModelAuthenticationError,
    ModelError,
    ModelRefusalError,
    ModelUnavailableError,
)

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI, OpenAIError

RETRIES = 2
"""How often the SDK repeats a call after a time-out, a refused connection, 429 or 5xx; it honours Retry-After."""

_SAID = 300
_LEAST_SECRET = 8

_THINKING = re.compile(
    r"""\A(?:
        <(think|thinking|thought|reasoning)> .*? (?:</\1> | \Z)    # cut off while thinking, there is no answer
      | (?![{\[`\#]) .*? </think>                                  # the server's template opened the tag
    )""",
    re.DOTALL | re.IGNORECASE | re.VERBOSE,
)
_TOO_LONG = re.compile(
    r"context.{0,20}(?:length|size|window)|(?:prompt|input|request).{0,20}too (?:long|large)|n_ctx", re.I
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A model's answer: its text only, never its reasoning. Token counts are the server's, None where it gave none."""

    text: str
    model: str
    input_tokens: int | None
    output_tokens: int | None


class _Part(BaseModel):
    text: str = ""


class _Said(BaseModel):
    content: str | list[_Part] | None = None
    refusal: str | None = None

    @property
    def text(self) -> str:
        """The words of the answer; some servers send them in parts."""
        return self.content if isinstance(self.content, str) else "".join(part.text for part in self.content or ())


class _Choice(BaseModel):
    message: _Said
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = Field(default=None, ge=0)
    completion_tokens: int | None = Field(default=None, ge=0)


class _Response(BaseModel):
    """What is read of a server's answer; `error` is how some gateways fail with status 200."""

    choices: list[_Choice] = Field(default_factory=list[_Choice])
    model: str | None = None
    usage: _Usage | None = None
    error: Any = None


class ChatModel:
    """One model at one server.

    What the server does not understand (structured output, `max_completion_tokens`) is noticed at the first
    refusal and left out from then on.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 120.0,
        max_concurrency: int = 4,
    ) -> None:
        """Name the model; the server is OPENAI_BASE_URL with OPENAI_API_KEY where none is given.

        `timeout` is in seconds. Raises ConfigurationError where neither a server nor a key is known, or one of them
        is malformed.
        """
        self.model = model
        self._base_url = _checked_url(base_url or os.environ.get("OPENAI_BASE_URL"))
        self._api_key = _checked_key(api_key or os.environ.get("OPENAI_API_KEY"))
        if not self._base_url and not self._api_key:
            raise ConfigurationError(
                f"the model {model!r} has no server",
                hint="set OPENAI_API_KEY, or OPENAI_BASE_URL for Ollama, vLLM or any compatible server",
            )
        self._timeout = timeout
        self._slots = asyncio.Semaphore(max_concurrency)
        self._client: AsyncOpenAI | None = None
        self._structured = True
        self._limit_name = "max_completion_tokens"

    async def complete(
        self, messages: Sequence[Mapping[str, str]], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """Return the model's answer, of at most `max_tokens` tokens; with a JSON schema where the server knows it.

        Raises ModelAuthenticationError, ModelUnavailableError (after the SDK's retries), ModelRefusalError,
        ModelAnswerError for an answer that is empty, malformed or cut off and for a request that exceeds the model's
        window, and ModelError for any other request that the server denies. Cancelling it ends the request.
        """
        async with self._slots:
            content = await self._request(messages, max_tokens, schema)
        try:
            response = _Response.model_validate_json(content)
        except ValidationError:
            raise ModelAnswerError(f"{self.model}: the server's answer is not in the OpenAI form") from None
        choice = response.choices[0] if response.choices else None
        if choice is None:
            raise self._without_choice(response)
        if choice.message.refusal or choice.finish_reason == "content_filter":
            raise ModelRefusalError(f"{self.model} declined to answer", hint="the messages stay as they are")
        if choice.finish_reason == "length":
            raise ModelAnswerError(f"{self.model} was cut off after {max_tokens} tokens")
        text = _THINKING.sub("", choice.message.text.strip()).strip()
        if not text:
            raise ModelAnswerError(f"{self.model} gave an empty answer")
        usage = response.usage or _Usage()
        return Completion(
            text=text,
            model=response.model or self.model,
            input_tokens=usage.prompt_tokens,
            output_tokens=usage.completion_tokens,
        )

    @property
    def structured(self) -> bool:
        """Whether the server is believed to understand structured output."""
        return self._structured

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _request(
        self, messages: Sequence[Mapping[str, str]], max_tokens: int, schema: Mapping[str, Any] | None
    ) -> bytes:
        """Send the request, again without what the server refuses; each feature is given up once."""
        while True:
            body: dict[str, Any] = {
                "model": self.model,
                "messages": [dict(one) for one in messages],
                self._limit_name: max_tokens,
            }
            if schema and self._structured:
                body["response_format"] = {
                    "type": "json_schema",
                    "json_schema": {"name": "summary", "strict": True, "schema": schema},
                }
            try:
                return await self._send(body)
            except _DeniedError as denied:
                self._give_up(denied, body)

    def _give_up(self, denied: _DeniedError, sent: Mapping[str, Any]) -> None:
        """Leave out the feature that a denial names; raise where it names none that was sent."""
        if "response_format" in sent and denied.names("response_format", "json_schema", "structured", "grammar"):
            self._structured = False
        elif "max_completion_tokens" in sent and denied.names("max_completion_tokens"):
            self._limit_name = "max_tokens"
        else:
            raise denied.error from None

    async def _send(self, body: dict[str, Any]) -> bytes:
        """Return the body of the server's answer.

        The SDK limits the wait for each byte; a server that keeps the line open with blanks is given up all the same.
        Its errors are not kept as causes: they repeat what the server said, and that may be the key.
        """
        from openai import OpenAIError  # noqa: PLC0415  (most of a second to import)

        create: Any = self._open().chat.completions.with_raw_response.create
        try:
            async with asyncio.timeout(self._timeout * (RETRIES + 1)):
                raw = await create(**body)
        except TimeoutError:
            raise self._late() from None
        except OpenAIError as error:
            raise self._translated(error) from None
        return raw.http_response.content

    def _open(self) -> AsyncOpenAI:
        if self._client is None:
            from openai import AsyncOpenAI  # noqa: PLC0415

            self._client = AsyncOpenAI(
                base_url=self._base_url,
                # A local server needs no key, but the SDK does.
                api_key=self._api_key or "none",
                timeout=self._timeout,
                max_retries=RETRIES,
            )
        return self._client

    def _translated(self, error: OpenAIError) -> Exception:
        import openai  # noqa: PLC0415

        if isinstance(error, openai.APITimeoutError):
            return self._late()
        if isinstance(error, openai.APIConnectionError):
            return ModelUnavailableError(
                f"{self.model}: the server cannot be reached: {self._shown(error.__cause__ or error)}",
                hint="check OPENAI_BASE_URL and that the server runs",
            )
        if isinstance(error, openai.APIStatusError):
            return self._status(error)
        return ModelAnswerError(f"{self.model}: the server's answer is not in the OpenAI form")

    def _status(self, error: APIStatusError) -> Exception:
        status, said = error.status_code, self._shown(_reason(error))
        if status in (401, 403):
            return ModelAuthenticationError(
                f"{self.model}: the server refuses the credentials (HTTP {status})",
                hint="check OPENAI_API_KEY and OPENAI_BASE_URL",
            )
        if status in (408, 409, 429) or (status >= 500 and status != 501):
            return ModelUnavailableError(
                f"{self.model}: the server fails (HTTP {status}): {said}", hint="try again later"
            )
        if error.code == "content_filter":
            return ModelRefusalError(
                f"{self.model}: the server declined the request", hint="the messages stay as they are"
            )
        if status == 404:
            return ModelError(f"{self.model}: the server does not know it (HTTP 404)", hint="check RICORDO_MODEL")
        if status == 413 or error.code == "context_length_exceeded" or _TOO_LONG.search(said):
            return ModelAnswerError(
                f"{self.model}: the request does not fit its window", hint="set RICORDO_MODEL_WINDOW to its real size"
            )
        return _DeniedError(said, ModelError(f"{self.model}: the server denies the request (HTTP {status}): {said}"))

    def _late(self) -> ModelError:
        return ModelUnavailableError(
            f"{self.model} did not answer within {self._timeout:g} s", hint="RICORDO_MODEL_TIMEOUT sets the limit"
        )

    def _without_choice(self, response: _Response) -> ModelError:
        if response.error:
            return ModelUnavailableError(f"{self.model}: the server fails: {self._shown(response.error)}")
        return ModelAnswerError(f"{self.model} answered without a choice")

    def _shown(self, said: object) -> str:
        """Return the beginning of what a server said, without the key."""
        text = " ".join(str(said).split())
        if self._api_key and len(self._api_key) >= _LEAST_SECRET:
            text = text.replace(self._api_key, "…")
        return text if len(text) <= _SAID else f"{text[:_SAID]}…"


def _reason(error: APIStatusError) -> object:
    """Return what a server said of a failure; the SDK's own text leaves out whatever is not in OpenAI's form."""
    text = error.message.removeprefix(f"Error code: {error.status_code}").removeprefix(" - ")
    return text or error.body or error.response.text


class _DeniedError(Exception):
    """The server denied a request; perhaps it does not know something optional in it. `error` is raised otherwise."""

    def __init__(self, said: str, error: ModelError) -> None:
        super().__init__(said)
        self.error = error

    def names(self, *features: str) -> bool:
        """Whether the denial speaks of any of these."""
        said = str(self).lower()
        return any(feature in said for feature in features)


def _checked_url(url: str | None) -> str | None:
    """Return a server's address; raises ConfigurationError for one that is none, as without its scheme."""
    if not url:
        return None
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError(
            "the model server's address is not a URL", hint="OPENAI_BASE_URL looks like http://localhost:11434/v1"
        )
    return url


def _checked_key(key: str | None) -> str | None:
    """Return a key without the white space around it; raises ConfigurationError for one that no header can carry."""
    key = (key or "").strip()
    if not all("!" <= letter <= "~" for letter in key):
        raise ConfigurationError(
            "the model server's key holds a character that no key has", hint="check OPENAI_API_KEY"
        )
    return key or None
