"""What several test modules use: conversations that are worth a summary."""

from __future__ import annotations

from ricordo import AsyncMemory
from ricordo.types import RawMessage

TOPICS = (
    ("corpus", "We index 4,200 abstracts of the arXiv listing from 12 March 2026", "recall@10 rises to 0.81"),
    ("chunking", "Chunks of 512 tokens with 64 of overlap work best for Anna Ferrari's files", "nDCG falls by 3.5 %"),
    ("reranker", "The cross encoder ms-marco-MiniLM-L6 adds 38 ms a query", "we keep it behind the flag --rerank"),
    ("budget", "Professor Lindqvist grants $1,250 for the GPU in Uppsala", "the invoice INV-2026-0447 is open"),
    ("storage", "PostgreSQL 17 with pgvector holds 1.4 million rows in /srv/rag/data", "VACUUM takes 95 seconds"),
    ("deadline", "The draft is due on 3 April 2026 at 17:00", "I worry about chapter 4 and want to send it early"),
)


def conversation(turns: int, *, start: int = 0) -> list[RawMessage]:
    """Return a conversation of user and assistant in turns, every one with figures, names and a decision."""
    found: list[RawMessage] = []
    for turn in range(start, start + turns):
        name, fact, outcome = TOPICS[turn % len(TOPICS)]
        found.append(
            {
                "role": "user",
                "content": f"Question {turn}: what about the {name}? {fact}, and I would like to know how that "
                "compares with what the group in Delft reported last year on the same kind of collection.",
            }
        )
        found.append(
            {
                "role": "assistant",
                "content": f"On the {name} of run {turn}: {outcome}. We decided to write it down in section {turn + 2} "
                "and to repeat the measurement with another seed before the next meeting with the supervisor.",
            }
        )
    return found


async def fill_thread(memory: AsyncMemory, thread_id: str, *, turns: int, start: int = 0) -> None:
    """Append a conversation to a thread."""
    await memory.conversational.append(thread_id, conversation(turns, start=start))
