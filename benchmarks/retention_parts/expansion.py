"""What one expansion brings back: chosen by ricordo's own search, and by an oracle that knows where the answer stands."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.retention_parts.cases import Case, Probe
from ricordo import AsyncMemory
from ricordo.consolidation.atoms import AtomIndex
from ricordo.tokens import count

ANSWER = {"role": "assistant", "content": "One moment, please."}
"""Ends every source and stays live, because a question without an answer is never consolidated."""


FRAME = 250
"""Tokens that an expansion needs beside the summary's text and the originals, with room for its pointers."""

CONTINUED = "## Summary Context (continued)\n\n"


@dataclass(slots=True)
class Expansions:
    """The source of one case, consolidated and ready to be expanded."""

    memory: AsyncMemory
    id: str
    stated: list[AtomIndex]
    pages: dict[tuple[str, int], AtomIndex] = field(default_factory=dict[tuple[str, int], AtomIndex])

    @classmethod
    async def of(cls, memory: AsyncMemory, case: Case) -> Expansions:
        """Store and consolidate a case's source."""
        await memory.conversational.append(case.name, [*(one.message for one in case.source), ANSWER])
        stored = await memory.summarize_conversation(case.name, keep_recent_tokens=1)
        if not stored.id or stored.num_messages_summarized != len(case.source):
            raise RuntimeError(f"{case.name}: {stored.status}, {stored.num_messages_summarized} of {len(case.source)}")
        return cls(memory, stored.id, [AtomIndex([one.text]) for one in case.source])

    async def searched(self, probe: Probe, query: str, budget: int) -> tuple[bool, int]:
        """Return whether the originals that an expansion with a query shows state the probe, and the rest of its page.

        The whole expansion has twice the window's budget and a frame: half of it at most is the summary again. The
        number returned is what a page with a cursor needs to show as many tokens of originals.
        """
        whole = 2 * budget + FRAME
        page = await self.memory.expand_summary(self.id, query or probe.kind, max_tokens=whole)
        head, _, told = page.text.partition("MEMORY TYPE: ")
        return AtomIndex([_originals(told)]).contains(probe.atom), whole - count(head) + count(CONTINUED)

    async def opened(self, probe: Probe, tokens: int) -> bool:
        """Whether any page that begins with a message that states the probe shows it."""
        places = [place for place, index in enumerate(self.stated, 1) if index.contains(probe.atom)]
        return any([(await self._page(f"{place}:0", tokens)).contains(probe.atom) for place in places])

    async def _page(self, cursor: str, tokens: int) -> AtomIndex:
        if (cursor, tokens) not in self.pages:
            page = await self.memory.expand_summary(self.id, cursor=cursor, max_tokens=tokens)
            self.pages[cursor, tokens] = AtomIndex([_originals(page.text)])
        return self.pages[cursor, tokens]


def _originals(text: str) -> str:
    """Return the originals that a page shows, without what stands around them."""
    return text.partition("ORIGINAL MESSAGES:\n")[2].partition("\n(more: expand_summary(")[0]
