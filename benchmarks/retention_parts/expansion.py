"""What one expansion brings back: chosen by ricordo's own search, and by an oracle that knows where the answer stands."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.retention_parts.cases import Case, Probe
from ricordo import AsyncMemory
from ricordo.consolidation.atoms import AtomIndex


ANSWER = {"role": "assistant", "content": "One moment, please."}
"""Ends every source and stays live, because a question without an answer is never consolidated."""


@dataclass(slots=True)
class Expansions:
    """The source of one case, consolidated, with its pages by where they begin and how long they are."""

    memory: AsyncMemory
    id: str
    overhead: int
    stated: list[AtomIndex]
    pages: dict[tuple[str, int], AtomIndex] = field(default_factory=dict[tuple[str, int], AtomIndex])

    @classmethod
    async def of(cls, memory: AsyncMemory, case: Case) -> Expansions:
        """Store and consolidate a case's source."""
        await memory.conversational.append(case.name, [*(one.message for one in case.source), ANSWER])
        stored = await memory.summarize_conversation(case.name, keep_recent_tokens=1)
        if not stored.id or stored.num_messages_summarized != len(case.source):
            raise RuntimeError(f"{case.name}: {stored.status}, {stored.num_messages_summarized} of {len(case.source)}")
        nothing = await memory.expand_summary(stored.id, "(nothing)", cursor="0:0")
        return cls(memory, stored.id, nothing.tokens, [AtomIndex([one.text]) for one in case.source])

    async def searched(self, probe: Probe, tokens: int) -> bool:
        """Whether the page that a search for the probe's context brings back states it; a page has `tokens` at most."""
        page = await self.memory.expand_summary(
            self.id, probe.query or probe.kind, cursor="0:0", max_tokens=tokens + self.overhead
        )
        return AtomIndex([_told(page.text)]).contains(probe.atom)

    async def known(self, probe: Probe, tokens: int) -> bool:
        """Whether any page that begins with a message that states the probe shows it."""
        places = [place for place, index in enumerate(self.stated, 1) if index.contains(probe.atom)]
        return any([(await self._page(place, tokens)).contains(probe.atom) for place in places])

    async def _page(self, seq: int, tokens: int) -> AtomIndex:
        key = (str(seq), tokens)
        if key not in self.pages:
            page = await self.memory.expand_summary(
                self.id, cursor=f"{seq}:0", depth="originals", max_tokens=tokens + self.overhead
            )
            self.pages[key] = AtomIndex([_told(page.text)])
        return self.pages[key]


def _told(text: str) -> str:
    """Return the originals that a page shows, without what stands around them."""
    return text.partition("ORIGINAL MESSAGES:\n")[2].partition("\n(more: expand_summary(")[0]
