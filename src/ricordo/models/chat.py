"""Chat with a model at any OpenAI-compatible server: one answer, or a typed error."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ricordo.errors import (
    ConfigurationError,
    ModelAnswerError,
    ModelAuthenticationError,
    ModelError,
    ModelRefusalError,
    ModelUnavailableError,
)

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

RETRIES = 2
"""How often the SDK repeats a call after a time-out, a refused connection, 429 or 5xx; it honours Retry-After."""

_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A model's answer: its text only, never its reasoning. Token counts are the server's, None where it gave none."""

    text: str
    model: str
    input_tokens: int | None
    output_tokens: int | None


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

        `timeout` is in seconds. Raises ConfigurationError where neither a server nor a key is known.
        """
        self.model = model
        self._base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        self._api_key = api_key or os.environ.get("OPENAI_API_KEY") or None
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

        Raises ModelAuthenticationError, ModelUnavailableError (after the SDK's retries), ModelRefusalError, and
        ModelAnswerError for an answer that is empty or was cut off. Cancelling it ends the request.
        """
        async with self._slots:
            response = await self._request(messages, max_tokens, schema)
        choice = response.choices[0] if getattr(response, "choices", None) else None
        if choice is None:
            raise ModelAnswerError(f"{self.model} answered without a choice")
        if choice.message.refusal or choice.finish_reason == "content_filter":
            raise ModelRefusalError(f"{self.model} declined to answer", hint="the messages stay as they are")
        text = _THINKING.sub("", _joined(choice.message.content)).strip()
        if not text:
            raise ModelAnswerError(f"{self.model} gave an empty answer")
        if choice.finish_reason == "length":
            raise ModelAnswerError(f"{self.model} was cut off after {max_tokens} tokens")
        usage = response.usage
        return Completion(
            text=text,
            model=response.model or self.model,
            input_tokens=usage.prompt_tokens if usage else None,
            output_tokens=usage.completion_tokens if usage else None,
        )

    @property
    def structured(self) -> bool:
        """Whether the server is believed to understand structured output."""
        return self._structured

    async def _request(
        self, messages: Sequence[Mapping[str, str]], max_tokens: int, schema: Mapping[str, Any] | None
    ) -> Any:
        """Send the request, again without what the server refuses; each feature is given up once."""
        while True:
            options: dict[str, Any] = {self._limit_name: max_tokens}
            if schema and self._structured:
                options["response_format"] = {
                    "type": "json_schema",
                    "json_schema": {"name": "summary", "strict": True, "schema": schema},
                }
            try:
                async with self._errors():
                    return await self._open().chat.completions.create(
                        model=self.model, messages=[dict(message) for message in messages], **options
                    )
            except _UnsupportedError as error:
                self._give_up(error, "response_format" in options)

    def _give_up(self, error: _UnsupportedError, structured: bool) -> None:
        """Leave out the feature that a refusal names; raise where it names none that was used."""
        if structured and error.names("response_format", "json_schema", "structured", "grammar"):
            self._structured = False
        elif self._limit_name == "max_completion_tokens" and error.names("max_completion_tokens"):
            self._limit_name = "max_tokens"
        else:
            raise error.answer from error

    def _open(self) -> AsyncOpenAI:
        if self._client is None:
            from openai import AsyncOpenAI  # noqa: PLC0415  (most of a second to import)

            self._client = AsyncOpenAI(
                base_url=self._base_url,
                # A local server needs no key, but the SDK does.
                api_key=self._api_key or "none",
                timeout=self._timeout,
                max_retries=RETRIES,
            )
        return self._client

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    @asynccontextmanager
    async def _errors(self) -> AsyncGenerator[None]:
        import openai  # noqa: PLC0415

        try:
            yield
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            raise ModelAuthenticationError(
                f"{self.model}: the server refuses the credentials (HTTP {error.status_code})",
                hint="check OPENAI_API_KEY and OPENAI_BASE_URL",
            ) from error
        except openai.APITimeoutError as error:
            raise ModelUnavailableError(f"{self.model} did not answer within {self._timeout:g} s") from error
        except openai.APIConnectionError as error:
            raise ModelUnavailableError(
                f"{self.model}: the server cannot be reached", hint="check OPENAI_BASE_URL and that the server runs"
            ) from error
        except openai.APIStatusError as error:
            raise self._status(error) from error
        except (openai.APIError, ValueError) as error:
            raise ModelAnswerError(f"{self.model}: the server's answer is not in the OpenAI form") from error

    def _status(self, error: APIStatusError) -> Exception:
        said = str(error.message)[:300].replace(self._api_key or "\0", "…")
        if error.status_code in (408, 409, 429) or error.status_code >= 500:
            return ModelUnavailableError(
                f"{self.model}: the server fails (HTTP {error.status_code}): {said}", hint="try again later"
            )
        answer: ModelError = ModelAnswerError(f"{self.model}: the server refuses (HTTP {error.status_code}): {said}")
        if error.status_code == 404:
            answer = ModelError(f"{self.model}: the server does not know it (HTTP 404)", hint="check RICORDO_MODEL")
        if "context" in said.lower() and "length" in said.lower():
            answer = ModelAnswerError(
                f"{self.model}: the request does not fit its window", hint="set RICORDO_MODEL_WINDOW to its real size"
            )
        return _UnsupportedError(said, answer) if error.status_code in (400, 422, 501) else answer


class _UnsupportedError(Exception):
    """The server refused a request as malformed; perhaps it does not know something optional in it."""

    def __init__(self, said: str, answer: ModelError) -> None:
        super().__init__(said)
        self.answer = answer

    def names(self, *features: str) -> bool:
        """Whether the refusal speaks of any of these, or of nothing in particular."""
        said = str(self).lower()
        return any(feature in said for feature in features)


def _joined(content: object) -> str:
    """Return an answer's text; some servers send it as a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) if isinstance(part, dict) else str(part) for part in content)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportUnknownArgumentType]
    return ""
