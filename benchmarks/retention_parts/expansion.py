"""What one expansion brings back: by ricordo's own search, and by oracles that know where the answer stands."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from benchmarks.retention_parts.cases import Case, Probe
from ricordo import AsyncMemory, Expansion
from ricordo.consolidation.atoms import AtomIndex
from ricordo.tokens import count

ANSWER = {"role": "assistant", "content": "One moment, please."}
"""Ends every source and stays live, because a question without an answer is never consolidated."""


CONTINUED = "## Summary Context (continued)\n\n"
NOWHERE = "qqqqzzzz"
_MARK = "MEMORY TYPE: "
_TIME = re.compile(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] ", re.MULTILINE)
_POINTERS = re.compile(r"\n\((?:more: expand_summary\(|\d+ more match:).*")


@dataclass(slots=True)
class Expansions:
    """The source of one case, consolidated and ready to be expanded.

    Every page shows as many tokens of originals as the window has; what stands around them comes on top.
    """

    memory: AsyncMemory
    id: str
    stated: list[AtomIndex]
    sizes: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    pages: dict[tuple[str, int], AtomIndex] = field(default_factory=dict[tuple[str, int], AtomIndex])

    @classmethod
    async def of(cls, memory: AsyncMemory, case: Case) -> Expansions:
        """Store and consolidate a case's source."""
        await memory.conversational.append(case.name, [*(one.message for one in case.source), ANSWER])
        stored = await memory.summarize_conversation(case.name, keep_recent_tokens=1)
        if not stored.id or stored.num_messages_summarized != len(case.source):
            raise RuntimeError(f"{case.name}: {stored.status}, {stored.num_messages_summarized} of {len(case.source)}")
        return cls(memory, stored.id, [AtomIndex([one.text]) for one in case.source])

    async def searched(self, probe: Probe, query: str, budget: int) -> bool:
        """Whether the originals that an expansion with a query shows state the probe."""
        whole, _ = await self._size(budget)
        page = await self.memory.expand_summary(self.id, query or probe.kind, max_tokens=whole)
        return AtomIndex([_originals(page.text)]).contains(probe.atom)

    async def opened(self, probe: Probe, budget: int) -> bool:
        """Whether any page that begins with a message that states the probe shows it."""
        _, continued = await self._size(budget)
        places = [place for place, index in enumerate(self.stated, 1) if index.contains(probe.atom)]
        return any([(await self._page(f"{place}:0", continued)).contains(probe.atom) for place in places])

    async def whole(self, probe: Probe, query: str) -> bool:
        """Whether an expansion of the default size states the probe."""
        page = await self.memory.expand_summary(self.id, query or probe.kind)
        return AtomIndex([_originals(page.text)]).contains(probe.atom)

    async def _size(self, budget: int) -> tuple[int, int]:
        """Return the sizes of a page with a query and of one with a cursor that show `budget` tokens of originals.

        A page with a query begins with the summary's text, cut to half of the page at most, so its size is found by
        trying.
        """
        if budget not in self.sizes:
            pointer = count(f'\n(more: expand_summary("{self.id}", cursor="{10**9}:{10**9}"))')
            frame = count((await self._nowhere(0)).text.partition(_MARK)[2]) + pointer
            whole, tried = 2 * budget + frame, dict[int, int]()
            while whole not in tried:
                head = count((await self._nowhere(whole)).text.partition(_MARK)[0])
                tried[whole] = head
                whole += (budget - (whole - head - frame)) // 2
            whole = min(tried, key=lambda size: abs(size - tried[size] - frame - budget))
            self.sizes[budget] = whole, whole - tried[whole] + count(CONTINUED)
        return self.sizes[budget]

    async def _nowhere(self, tokens: int) -> Expansion:
        return await self.memory.expand_summary(self.id, NOWHERE, max_tokens=max(tokens, 1))

    async def _page(self, cursor: str, tokens: int) -> AtomIndex:
        if (cursor, tokens) not in self.pages:
            page = await self.memory.expand_summary(self.id, cursor=cursor, max_tokens=tokens)
            self.pages[cursor, tokens] = AtomIndex([_originals(page.text)])
        return self.pages[cursor, tokens]


def _originals(text: str) -> str:
    """Return the originals that a page shows, without their times and without what stands around them."""
    lines = text.partition("ORIGINAL MESSAGES:\n")[2]
    return _TIME.sub("", _POINTERS.sub("", lines))
