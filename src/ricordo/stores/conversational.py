"""Conversational memory: the messages of every thread, exact and in order (episodic memory)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID, uuid5

import uuid_utils.compat

from ricordo.database.pool import Database, Params, Row, Transaction
from ricordo.database.queries import load
from ricordo.errors import InvalidInputError, KeyReusedError, NotFoundError
from ricordo.messages import decode, encode, escape_id, parse, searchable
from ricordo.stores.format import conversation, window_lines
from ricordo.tokens import MINIMUM_SAMPLE, reported_prompt_tokens, update_ratio
from ricordo.types import JSON, AppendedMessage, Message, RawMessage, Summary, Thread

_SQL = load("ricordo.stores", "conversational.sql")
_KEYED = UUID("6f0c6b2e-7a0e-5c43-9d5a-3c1f7f3f2f10")
_LAST = 2**63 - 1

LARGEST_LIMIT = 1_000_000_000
"""What a count may be at most: beyond it no answer fits any memory."""

THREAD_ID_LIMIT = 255
"""Characters of a thread's id; it is part of every key."""


class Counters(NamedTuple):
    """What the live messages and references of a thread take, what was observed of it, and the policy stored with it.

    `observed_estimate` is the estimate at the time of the observation, `ratio` how the model counts.
    """

    live_tokens: int
    summary_tokens: int
    observed_tokens: int | None = None
    observed_estimate: int | None = None
    model: str | None = None
    ratio: float | None = None
    policy: Mapping[str, Any] | None = None


class _NewMessage(NamedTuple):
    """A message ready to be inserted: every value in a form that PostgreSQL stores."""

    id: str
    role: str
    content: str
    message: str
    tokens: int
    tool_links: str | None


def check_thread_id(thread_id: str) -> str:
    """Return the thread's id, or raise InvalidInputError where it cannot be part of a key."""
    if not thread_id or len(thread_id) > THREAD_ID_LIMIT or not thread_id.isprintable():
        raise InvalidInputError(
            f"a thread id has 1 to {THREAD_ID_LIMIT} printable characters, not {thread_id[:40]!r}",
            hint="use the id that your application knows the conversation by",
        )
    return thread_id


def check_limit(limit: int, name: str = "limit") -> int:
    """Return a count that a query can have, or raise InvalidInputError."""
    if not 1 <= limit <= LARGEST_LIMIT:
        raise InvalidInputError(f"{name} must be from 1 to {LARGEST_LIMIT:,}, not {limit}", hint="read page by page")
    return limit


def check_id(id: str | UUID) -> UUID | None:
    """Return the UUID that a text names, or None where it names none."""
    try:
        return id if isinstance(id, UUID) else UUID(id)
    except (ValueError, AttributeError, TypeError):
        return None


def to_message(row: Row) -> Message:
    """Return the message of a row with the columns that the queries of this store share."""
    (id, thread_id, seq, role, content, message, count, pinned, summary_id, timestamp, metadata, window_tokens,
     preview) = row  # fmt: skip
    return Message(
        id=id,
        thread_id=thread_id,
        seq=seq,
        role=role,
        content=content,
        message=decode(message),
        tokens=count,
        pinned=pinned,
        summary_id=summary_id,
        timestamp=timestamp,
        metadata=decode(metadata),
        window_tokens=window_tokens,
        preview=preview,
    )


def _to_thread(row: Row) -> Thread:
    thread_id, total, live, live_tokens, summaries, summary_tokens, created_at, updated_at = row
    return Thread(
        thread_id=thread_id,
        messages=total,
        live_messages=live,
        live_tokens=live_tokens,
        summaries=summaries,
        summary_tokens=summary_tokens,
        created_at=created_at,
        updated_at=updated_at,
    )


def _prepare(raw: RawMessage, id: str) -> _NewMessage:
    parsed = parse(raw)
    links: dict[str, JSON] | None = None
    silent = parsed.role == "assistant" and not parsed.calls and not parsed.text.strip()
    if parsed.calls or parsed.results or silent:
        links = {
            "calls": [escape_id(call) for call in parsed.calls],
            "tools": [*parsed.tools],
            "results": [escape_id(result) for result in parsed.results],
            "question": parsed.question,
            "silent": silent,
        }
    return _NewMessage(
        id=id,
        role=parsed.role,
        content=searchable(parsed.text),
        message=encode(parsed.message),
        tokens=parsed.tokens,
        tool_links=None if links is None else json.dumps(links),
    )


class AsyncConversationalMemory:
    """Threads of messages: appended in order under the thread's lock, read newest first, never changed."""

    def __init__(self, database: Database) -> None:
        """Use an open database."""
        self._database = database

    def _params(self, **values: object) -> Params:
        return {"namespace": self._database.namespace, **values}

    async def write(
        self,
        thread_id: str,
        role: str,
        content: JSON,
        metadata: Mapping[str, JSON] | None = None,
        *,
        pinned: bool = False,
    ) -> str:
        """Append one message and return its id (a UUID); durable when the call returns.

        `content` is a text or a provider's list of content parts. A pinned message is never consolidated.
        Raises InvalidMessageError and InvalidInputError before anything is stored.
        """
        appended = await self.append(thread_id, [{"role": role, "content": content}], metadata=metadata, pinned=pinned)
        return appended[0].id

    async def append(
        self,
        thread_id: str,
        messages: Sequence[RawMessage],
        *,
        key: str | Sequence[str] | None = None,
        metadata: Mapping[str, JSON] | None = None,
        pinned: bool = False,
    ) -> tuple[AppendedMessage, ...]:
        """Append messages in any provider's form, in one transaction, and return their places in order.

        Places (`seq`) are taken under the thread's row lock, so two writers never share or invert one. With a
        `key` (one for the batch, or one a message) the call can be repeated: messages that are already there are
        returned, not doubled; KeyReusedError where a key comes back with another message. `metadata` is kept with
        each message. Raises InvalidMessageError and InvalidInputError before anything is stored.
        """
        check_thread_id(thread_id)
        keys = self._keys(thread_id, len(messages), key)
        new = [_prepare(raw, id) for raw, id in zip(messages, keys or _fresh_ids(len(messages)), strict=True)]
        if not new:
            return ()
        extra = _encode_metadata(metadata)
        if keys is not None:
            rows = await self._append_keyed(thread_id, new, pinned=pinned, metadata=extra)
        elif len(new) == 1:
            params = self._params(**new[0]._asdict(), thread_id=thread_id, pinned=pinned, metadata=extra)
            rows = await self._database.fetch(_SQL["append_one"], params)
        else:
            params = self._append_params(thread_id, new, pinned=pinned, metadata=extra)
            rows = await self._database.fetch(_SQL["append"], params)
        places = {id: AppendedMessage(id=id, seq=seq, timestamp=timestamp) for id, seq, timestamp in rows}
        return tuple(places[message.id] for message in new)

    def _keys(self, thread_id: str, count: int, key: str | Sequence[str] | None) -> Sequence[str] | None:
        if key is None:
            return None
        parts = [f"{key}\n{position}" for position in range(count)] if isinstance(key, str) else [*key]
        if len(parts) != count or len(set(parts)) != count:
            raise InvalidInputError(f"{count} messages need {count} different keys, not {len(parts)}")
        scope = [self._database.namespace, thread_id]
        return [str(uuid5(_KEYED, json.dumps([*scope, part]))) for part in parts]

    def _append_params(self, thread_id: str, new: Sequence[_NewMessage], *, pinned: bool, metadata: str) -> Params:
        return self._params(
            thread_id=thread_id,
            count=len(new),
            total=sum(message.tokens for message in new),
            ids=[message.id for message in new],
            roles=[message.role for message in new],
            contents=[message.content for message in new],
            messages=[message.message for message in new],
            tokens=[message.tokens for message in new],
            pinned=[pinned] * len(new),
            tool_links=[message.tool_links for message in new],
            metadata=[metadata] * len(new),
        )

    async def _append_keyed(
        self, thread_id: str, new: Sequence[_NewMessage], *, pinned: bool, metadata: str
    ) -> Sequence[Row]:
        async with self._database.transaction() as transaction:
            await transaction.fetch(_SQL["lock_thread"], self._params(thread_id=thread_id))
            known = await self._known(transaction, thread_id, new)
            missing = [message for message in new if message.id not in known]
            rows: Sequence[Row] = ()
            if missing:
                params = self._append_params(thread_id, missing, pinned=pinned, metadata=metadata)
                rows = await transaction.fetch(_SQL["append"], params)
            return [*known.values(), *rows]

    async def _known(self, transaction: Transaction, thread_id: str, new: Sequence[_NewMessage]) -> dict[str, Row]:
        ids = [message.id for message in new]
        rows = await transaction.fetch(_SQL["find_ids"], self._params(ids=ids))
        texts = {message.id: message.message for message in new}
        for id, _, seq, _, text in rows:
            if text != texts[id]:
                raise KeyReusedError(
                    f"an idempotency key of thread {thread_id!r} already belongs to another message (place {seq})",
                    hint="use a new key for new content",
                )
        return {id: (id, seq, timestamp) for id, _, seq, timestamp, _ in rows}

    async def read(self, thread_id: str, limit: int = 20) -> str:
        """Return the newest live messages, oldest first, in the published text form for a prompt.

        Where older live messages do not fit the limit, a line says how many there are.
        """
        shown = await self.list(thread_id, limit=limit)
        thread = await self.thread(thread_id)
        older = max(thread.live_messages - len(shown), 0) if thread else 0
        return conversation(window_lines(shown), older=older)

    async def list(
        self, thread_id: str, *, limit: int = 50, before: int | None = None, include_covered: bool = False
    ) -> tuple[Message, ...]:
        """Return the newest messages before the place `before`, oldest first; covered ones only on request.

        To page backwards, pass the first result's `seq` as the next `before`.
        """
        check_thread_id(thread_id)
        query = _SQL["newest" if include_covered else "newest_live"]
        params = self._params(thread_id=thread_id, limit=check_limit(limit), before=_LAST if before is None else before)
        rows = await self._database.fetch(query, params)
        return tuple(to_message(row) for row in reversed(rows))

    async def get(self, id: str) -> Message:
        """Return the message of this id; raises NotFoundError."""
        uuid = check_id(id)
        row = uuid and await self._database.fetch_one(_SQL["get"], self._params(id=str(uuid)))
        if not row:
            raise NotFoundError(f"there is no message {str(id)[:60]!r}")
        return to_message(row)

    async def search(self, query: str, k: int = 10, *, thread_id: str | None = None) -> tuple[Message, ...]:
        """Return up to k messages, live or covered, that hold words of the query, the best match first.

        The first 100,000 characters of a message are searched. A query without words finds nothing.
        """
        text = searchable(query)
        thread = None if thread_id is None else check_thread_id(thread_id)
        params = self._params(query=text, limit=check_limit(k, "k"), thread_id=thread)
        return tuple(to_message(row) for row in await self._database.fetch(_SQL["search"], params))

    async def thread(self, thread_id: str) -> Thread | None:
        """Return the thread's counters, or None where nothing was ever written to it."""
        row = await self._database.fetch_one(_SQL["thread"], self._params(thread_id=check_thread_id(thread_id)))
        return None if row is None else _to_thread(row)

    async def threads(self, *, limit: int = 100) -> tuple[Thread, ...]:
        """Return the namespace's threads, the latest change first."""
        rows = await self._database.fetch(_SQL["threads"], self._params(limit=check_limit(limit)))
        return tuple(_to_thread(row) for row in rows)

    async def observe_usage(
        self, thread_id: str, usage: Mapping[str, object], *, model: str, estimated_tokens: int | None = None
    ) -> int:
        """Keep the usage that a provider reported for a prompt of this thread; return its prompt tokens.

        `usage` is the provider's own object as a mapping (OpenAI Chat, OpenAI Responses or Anthropic form).
        From then on the monitor counts from this figure. With `estimated_tokens`, the estimate of the same
        prompt, the model's calibration is updated. Raises NotFoundError for an unknown thread.
        """
        reported = reported_prompt_tokens(usage)
        params = self._params(thread_id=check_thread_id(thread_id), reported=reported, model=model)
        async with self._database.transaction() as transaction:
            if await transaction.fetch_one(_SQL["observe"], params) is None:
                raise NotFoundError(f"there is no thread {thread_id!r}", hint="write to it first")
            if estimated_tokens:
                await self._calibrate(transaction, model, estimated_tokens, reported)
        return reported

    async def _calibrate(self, transaction: Transaction, model: str, estimated: int, reported: int) -> None:
        if min(estimated, reported) < MINIMUM_SAMPLE:
            return
        row = await transaction.fetch_one(_SQL["profile"], self._params(model=model))
        ratio, observations = row or (None, 0)
        ratio = update_ratio(ratio, observations, estimated, reported)
        await transaction.execute(_SQL["save_profile"], self._params(model=model, ratio=ratio))

    async def counters(self, thread_id: str, model: str | None) -> Counters:
        """Return what the monitor and a consolidation's target rest on: one row."""
        params = self._params(thread_id=check_thread_id(thread_id), model=model)
        row = await self._database.fetch_one(_SQL["monitor"], params)
        return Counters(row[0] or 0, row[1] or 0, *row[2:]) if row else Counters(0, 0)

    async def set_policy(self, thread_id: str, policy: Mapping[str, JSON] | None) -> None:
        """Keep the fields of a thread's own policy, or none."""
        stored = None if policy is None else json.dumps(policy)
        params = self._params(thread_id=check_thread_id(thread_id), policy=stored)
        await self._database.fetch(_SQL["set_policy"], params)

    async def covered(self, summary: Summary, *, from_seq: int = 0, limit: int = 1000) -> tuple[Message, ...]:
        """Return the messages under a summary of any level in order, from a place on.

        A summary covers every marked message of its range, since the ranges of a level are disjoint.
        """
        first = max(from_seq, summary.first_seq or 0)
        params = self._params(thread_id=summary.thread_id, from_seq=first, last_seq=summary.last_seq, limit=limit)
        return tuple(to_message(row) for row in await self._database.fetch(_SQL["covered"], params))


def _fresh_ids(count: int) -> Iterable[str]:
    return [str(uuid_utils.compat.uuid7()) for _ in range(count)]


def _encode_metadata(metadata: Mapping[str, JSON] | None) -> str:
    return encode(metadata) if metadata else "{}"
