"""The pipeline: plan, lease, compose, commit."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from ricordo.config import Policy, Settings
from ricordo.consolidation.commit import Ledger, source_digest
from ricordo.consolidation.compose import Composer, Composition
from ricordo.consolidation.condense import Condenser
from ricordo.consolidation.lease import Lease, lease
from ricordo.consolidation.plan import Plan, Refusal, plan
from ricordo.consolidation.pruner import Pruner
from ricordo.consolidation.rebuild import Rebuilder
from ricordo.consolidation.record import numbered, record
from ricordo.consolidation.redact import Redact
from ricordo.consolidation.source import SourceMessage
from ricordo.consolidation.standing import Standing, Wish, policy_of, standing
from ricordo.consolidation.summarise import Summariser
from ricordo.database.pool import Database
from ricordo.errors import ModelError
from ricordo.messages import encode, searchable
from ricordo.stores.conversational import AsyncConversationalMemory
from ricordo.stores.summary import AsyncSummaryMemory
from ricordo.tokens import count
from ricordo.types import Condensation, Consolidation, Pruning, Reason


class Consolidator:
    """Turns live messages, or a text, into a stored summary, or says why not."""

    def __init__(
        self,
        database: Database,
        conversational: AsyncConversationalMemory,
        summaries: AsyncSummaryMemory,
        *,
        settings: Settings,
        policy: Policy,
        model: Summariser | str | None,
        redact: Redact | None,
    ) -> None:
        """Use an open database; `model` and `redact` as `Memory.open` takes them."""
        self._database = database
        self._conversational = conversational
        self._summaries = summaries
        self._settings = settings
        self._policy = policy
        self._ledger = Ledger(database, summaries)
        self._pruner = Pruner(database, self._ledger)
        self._composer = Composer(settings, model, redact=redact)
        self._rebuilder = Rebuilder(database, self._composer)
        self._condenser = Condenser(database, summaries, self._composer)

    async def close(self) -> None:
        """Close the connections to the model server."""
        await self._composer.close()

    async def policy(self, thread_id: str) -> Policy:
        """Return the policy that holds for a thread."""
        return policy_of(await self._conversational.counters(thread_id, None), self._policy)

    async def prune(self, thread_id: str) -> Pruning:
        """Shorten old tool results in the thread's window; see `Memory.prune`."""
        return await self._pruner.prune(thread_id, await self.policy(thread_id))

    async def thread(self, thread_id: str, wish: Wish) -> Consolidation:
        """Consolidate the oldest stretch of a thread; see `Memory.summarize_conversation`."""
        # Summaries that lost their text to forgetting come first: their messages are in no window until then.
        await self.rebuild(thread_id)
        stand = standing(await self._conversational.counters(thread_id, wish.model), self._policy, wish)
        decision = await self._plan(thread_id, stand)
        pruning = Pruning()
        if stand.target and not (isinstance(decision, Refusal) and decision.reason == "below_threshold"):
            pruning = await self._pruner.prune(thread_id, stand.policy)
            decision = await self._plan(thread_id, stand) if pruning.count else decision
        refused = isinstance(decision, Refusal)
        result = _nothing(decision.reason, decision.detail) if refused else await self._leased(thread_id, stand)
        return replace(result, pruned=pruning.count, freed_tokens=pruning.freed_tokens)

    async def _leased(self, thread_id: str, stand: Standing) -> Consolidation:
        async with lease(self._database, thread_id, seconds=self._settings.lease_seconds) as held:
            if held is None:
                return _nothing("busy", "another process is consolidating this thread")
            # What was seen before the lease may have been consolidated by its last holder.
            decision = await self._plan(thread_id, stand)
            if isinstance(decision, Refusal):
                return _nothing(decision.reason, decision.detail)
            result = await self._consolidate(held, decision)
            return await self._then_condense(held, result, stand.policy) if result.id else result

    async def condense(self, thread_id: str, budget: int | None) -> Condensation:
        """Put the oldest references of a thread under parents; see `Memory.condense`."""
        limit = await self._condenser.excess(thread_id, await self.policy(thread_id), budget)
        if limit is None:
            return Condensation(status="below_threshold")
        async with lease(self._database, thread_id, seconds=self._settings.lease_seconds) as held:
            return await self._condenser.condense(held, limit) if held else Condensation(status="busy")

    async def rebuild(self, thread_id: str) -> tuple[str, ...]:
        """Write the thread's stale summaries again; see `Memory.rebuild`."""
        if not await self._rebuilder.stale(thread_id):
            return ()
        async with lease(self._database, thread_id, seconds=self._settings.lease_seconds) as held:
            return tuple(await self._rebuilder.rebuild(held)) if held else ()

    async def _then_condense(self, held: Lease, result: Consolidation, policy: Policy) -> Consolidation:
        budget = await self._condenser.excess(held.thread_id, policy)
        if budget is None:
            return result
        try:
            condensed = await self._condenser.condense(held, budget)
        except ModelError as error:
            # The consolidation stands; the references are condensed after the next one.
            return replace(result, detail=f"the references could not be condensed: {error.message}")
        return replace(
            result,
            condensed=len(condensed.parents),
            model_calls=result.model_calls + condensed.model_calls,
            input_tokens=result.input_tokens + condensed.input_tokens,
        )

    async def _plan(self, thread_id: str, stand: Standing) -> Plan | Refusal:
        return plan(await self._ledger.facts(thread_id), stand.policy, target=stand.target)

    async def _consolidate(self, held: Lease, decision: Plan) -> Consolidation:
        rows = await self._ledger.sources(held.thread_id, decision)
        if len(rows) < len(decision.seqs):
            return _nothing("superseded", "messages were covered or removed while they were read")
        composition = await self._composer.compose(numbered(rows))
        outcome = _outcome(composition, decision.tokens)
        if outcome.status != "consolidated":
            return outcome
        summary = record(composition, [[row.seq] for row in rows]) | {
            "thread_id": held.thread_id,
            "kind": "thread",
            "level": 0,
            "first_seq": decision.first_seq,
            "last_seq": decision.last_seq,
            "message_count": len(rows),
            "source_tokens": decision.tokens,
            "source_digest": source_digest(rows),
            "source_text": None,
        }
        if not await self._ledger.commit(held, decision.seqs, summary):
            return replace(outcome, status="superseded", detail="the messages changed while they were summarised")
        return _stored(outcome, composition, summary)

    async def text(self, content: str) -> Consolidation:
        """Summarise a text and keep it; see `Memory.summarize_context_window`."""
        if not content.strip():
            return _nothing("nothing_to_summarize", "the text is blank")
        readable = searchable(content)
        tokens = count(readable)
        composition = await self._composer.compose(_paragraphs(readable))
        outcome = _outcome(composition, tokens)
        if outcome.status != "consolidated":
            return outcome
        encoded = encode({"text": content})
        summary = record(composition) | {
            "thread_id": None,
            "kind": "text",
            "level": 0,
            "first_seq": None,
            "last_seq": None,
            "message_count": 0,
            "source_tokens": tokens,
            "source_digest": hashlib.sha256(encoded.encode("ascii")).digest(),
            "source_text": encoded,
        }
        async with self._database.transaction() as transaction:
            await self._summaries.insert(transaction, summary)
        return _stored(outcome, composition, summary)


def _paragraphs(text: str) -> list[SourceMessage]:
    """Return the text's paragraphs as numbered sources, so that a summary's lines can cite them."""
    parts = [part for part in text.split("\n\n") if part.strip()]
    return [
        SourceMessage(number=number, role="text", text=part, timestamp=None, tokens=count(part))
        for number, part in enumerate(parts, 1)
    ]


def _nothing(reason: Reason, detail: str) -> Consolidation:
    return Consolidation(status=reason, detail=detail)


def _outcome(composition: Composition, source_tokens: int) -> Consolidation:
    """Return what a composition comes to: it is not worth storing where it is as long as its source."""
    told = any(item.check != "dropped" for item in composition.items)
    worthwhile = told and composition.tokens < source_tokens
    detail = f"the summary would have {composition.tokens} tokens, its source has {source_tokens}"
    if not told:
        detail = "there is nothing in the messages that a summary could tell"
    return Consolidation(
        status="consolidated" if worthwhile else "not_worthwhile",
        detail="" if worthwhile else detail,
        source_tokens=source_tokens,
        model=composition.model,
        model_calls=composition.model_calls,
        input_tokens=composition.input_tokens,
        dropped_lines=sum(line.check == "dropped" for line in composition.items),
        escalations=composition.escalations,
    )


def _stored(outcome: Consolidation, composition: Composition, summary: dict[str, Any]) -> Consolidation:
    return replace(
        outcome,
        id=summary["id"],
        description=composition.description,
        summary=composition.content,
        num_messages_summarized=summary["message_count"],
        tokens=composition.tokens,
    )
