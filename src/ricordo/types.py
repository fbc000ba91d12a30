"""The values that ricordo takes and returns: frozen, typed, free of I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

JSON: TypeAlias = "str | int | float | bool | list[JSON] | dict[str, JSON] | None"
"""What a message is made of. Tuples, bytes, dates and other Python objects are refused, not converted."""

RawMessage: TypeAlias = Mapping[str, Any]
"""A message in a provider's own form, before it is checked."""

Section: TypeAlias = Literal["technical", "emotional", "entities", "actions"]
"""The four parts of a summary, in their published order."""

LineStatus: TypeAlias = Literal["confirmed", "open"]
"""Whether a line states something settled or something still to be decided or done."""

LineCheck: TypeAlias = Literal["grounded", "repaired", "dropped"]
"""What grounding decided about a line."""

UsageStatus: TypeAlias = Literal["ok", "warning", "critical"]
"""How full a window is, by the thread's policy: below warn, below critical, at or above it."""

ToolStatus: TypeAlias = Literal["success", "error", "timeout"]
"""How the execution of a tool ended."""

Reason: TypeAlias = Literal[
    "nothing_to_summarize",
    "below_threshold",
    "open_tool_call",
    "not_worthwhile",
    "floor_above_target",
    "busy",
    "superseded",
]
"""Why a consolidation stored nothing. Each leaves every row as it was."""


@dataclass(frozen=True, slots=True)
class Message:
    """One row of a thread.

    `message` is the exact original. `content` is its searchable text, in which characters that PostgreSQL
    cannot store as text are replaced by U+FFFD. `tokens` counts the message as a model would be charged for it.
    `summary_id` is None while the message is live. `preview` is what a window shows of a long tool result in place of
    its content, and `window_tokens` counts what a window shows.
    """

    _: KW_ONLY
    id: str
    thread_id: str
    seq: int
    role: str
    content: str
    message: dict[str, JSON]
    tokens: int
    pinned: bool
    summary_id: str | None
    timestamp: datetime
    metadata: dict[str, JSON]
    window_tokens: int
    preview: str | None = None


@dataclass(frozen=True, slots=True)
class AppendedMessage:
    """Where an appended message now stands; `timestamp` is the database's clock at the insert."""

    _: KW_ONLY
    id: str
    seq: int
    timestamp: datetime


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """One line of a summary and the messages that it rests on.

    `sources` are the `seq` numbers of the cited messages (paragraph numbers from 1 for free text), ascending.
    `faults` say what grounding found wrong; a line with check "dropped" is kept here as a record and is not part
    of the summary's content.
    """

    _: KW_ONLY
    section: Section
    text: str
    sources: tuple[int, ...]
    status: LineStatus = "confirmed"
    check: LineCheck = "grounded"
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """A stored summary: of a stretch of a thread (kind "thread") or of a text (kind "text").

    `content` is the text under the four headings. `first_seq` and `last_seq` enclose the covered messages;
    system and pinned messages between them are not covered. Token counts are in tokens of `ricordo.tokens`.
    """

    _: KW_ONLY
    id: str
    thread_id: str | None
    kind: Literal["thread", "text"]
    level: int
    parent_id: str | None
    first_seq: int | None
    last_seq: int | None
    message_count: int
    description: str
    content: str
    items: tuple[SummaryLine, ...]
    recall_keys: tuple[str, ...]
    source_tokens: int
    tokens: int
    reference_tokens: int
    model: str
    prompt_version: str
    created_at: datetime

    @property
    def reference(self) -> str:
        """The line that stands for the covered messages in a window."""
        return f"[Summary ID: {self.id}] {self.description}"


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread's counters, kept in the transaction of every change; reading them costs one row."""

    _: KW_ONLY
    thread_id: str
    messages: int
    live_messages: int
    live_tokens: int
    summaries: int
    summary_tokens: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Usage:
    """How full a window is: `percent` is rounded to one decimal place, and `status` is decided on it.

    `segments` accounts for every token: they sum to `tokens`.
    """

    _: KW_ONLY
    tokens: int
    max: int
    percent: float
    status: UsageStatus
    segments: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class Consolidation:
    """The outcome of a consolidation.

    With status "consolidated" the summary is stored and `num_messages_summarized` messages carry its id; with any
    other status nothing was changed and `detail` says why in a sentence. `model_calls` and `input_tokens` tell what
    was spent. `condensed` counts the parent summaries that this added above older ones. `pruned` counts the tool
    results that were shortened in the window first, whatever the status, and `freed_tokens` what that gained.
    """

    _: KW_ONLY
    status: Literal["consolidated"] | Reason
    id: str | None = None
    description: str = ""
    summary: str = ""
    num_messages_summarized: int = 0
    source_tokens: int = 0
    tokens: int = 0
    model: str = ""
    model_calls: int = 0
    input_tokens: int = 0
    dropped_lines: int = 0
    escalations: tuple[str, ...] = ()
    condensed: int = 0
    pruned: int = 0
    freed_tokens: int = 0
    detail: str = ""

    @property
    def reference(self) -> str:
        """The line that now stands for the covered messages, or an empty string."""
        return f"[Summary ID: {self.id}] {self.description}" if self.id else ""


@dataclass(frozen=True, slots=True)
class Condensation:
    """The outcome of condensing a thread's references: the ids of the new parents, and what was spent on them."""

    _: KW_ONLY
    status: Literal["condensed"] | Reason
    parents: tuple[str, ...] = ()
    model_calls: int = 0
    input_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Pruning:
    """What was shortened in a thread's window: tool results, the tokens that this freed, and the ids of their logs."""

    _: KW_ONLY
    count: int = 0
    freed_tokens: int = 0
    log_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolExecution:
    """One execution of a tool.

    `tool_output` is exact. It is None where a message is the output: then `message_id` names it. `preview` is what a
    prompt shows of a long output. `duration_ms` is in milliseconds.
    """

    _: KW_ONLY
    id: str
    thread_id: str
    call_id: str | None
    tool_name: str
    tool_input: JSON
    tool_output: JSON
    message_id: str | None
    status: ToolStatus
    error_message: str | None
    duration_ms: int | None
    preview: str | None
    timestamp: datetime
    metadata: dict[str, JSON]


@dataclass(frozen=True, slots=True)
class ToolLogPage:
    """A tool's output opened again: `str()` is the text for a prompt, `output` the part of the output in it.

    `cursor` continues where the page ends, None at the end. `found` is False for a malformed or unknown id; the text
    then says so kindly.
    """

    _: KW_ONLY
    found: bool
    text: str
    log: ToolExecution | None = None
    output: str = ""
    cursor: str | None = None
    tokens: int = 0

    def __str__(self) -> str:
        """Return the text for a prompt."""
        return self.text


@dataclass(frozen=True, slots=True)
class Expansion:
    """A summary opened again: `str()` is the published text, `messages` are the originals of this page in order.

    `cursor` continues where the page ends, None at the end. `source_text` is the original of a free text's page,
    `children` are the summaries right below a parent. `found` is False for a malformed or unknown id; the text then
    says so kindly.
    """

    _: KW_ONLY
    found: bool
    text: str
    summary: Summary | None = None
    messages: tuple[Message, ...] = ()
    children: tuple[Summary, ...] = ()
    source_text: str | None = None
    cursor: str | None = None
    tokens: int = 0

    def __str__(self) -> str:
        """Return the published text."""
        return self.text


@dataclass(frozen=True, slots=True, order=True)
class ForgottenMessage:
    """A message that is forgotten: its thread, its place and its id."""

    _: KW_ONLY
    thread_id: str
    seq: int
    id: str


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What was forgotten, or with `dry_run` would be.

    `summaries_emptied` covered some of the messages: they lost their text at once and are withdrawn from windows;
    `rebuilt` of them were written again from what remains, `pending` wait for `Memory.rebuild`.
    `summaries_removed` covered nothing else, or are free texts. `tool_logs` are entries that held a text themselves;
    those of forgotten messages go with them.
    """

    _: KW_ONLY
    dry_run: bool
    messages: tuple[ForgottenMessage, ...] = ()
    threads: tuple[str, ...] = ()
    summaries_emptied: tuple[str, ...] = ()
    summaries_removed: tuple[str, ...] = ()
    tool_logs: tuple[str, ...] = ()
    rebuilt: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that `verify` found wrong: a stable code, where it is, and the exact rows."""

    _: KW_ONLY
    code: str
    detail: str
    thread_id: str | None = None
    summary_id: str | None = None
    seqs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Verification:
    """The proof of losslessness, or the list of what stands against it.

    `withdrawn` counts summaries that lost their text to forgetting and wait to be written again.
    """

    _: KW_ONLY
    threads: int
    messages: int
    live: int
    covered: int
    summaries: int
    withdrawn: int = 0
    faults: tuple[Fault, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing was found wrong."""
        return not self.faults


@dataclass(frozen=True, slots=True)
class Kept:
    """How many distinct atoms of a source a summary keeps.

    Of `atoms`, `kept` stand in the summary's lines, `keyed` only in its recall keys, and `reachable` in what an
    expansion brings back.
    """

    _: KW_ONLY
    atoms: int = 0
    kept: int = 0
    keyed: int = 0
    reachable: int = 0

    def __add__(self, other: Kept) -> Kept:
        """Return the counts of two sources together."""
        return Kept(
            atoms=self.atoms + other.atoms,
            kept=self.kept + other.kept,
            keyed=self.keyed + other.keyed,
            reachable=self.reachable + other.reachable,
        )


@dataclass(frozen=True, slots=True)
class Retention:
    """What summaries keep of the messages under them, in all and by kind of atom.

    The kinds are "identifier", "name", "number", "date", "path", "url" and "error"; those that do not occur are left
    out. An atom under two summaries counts twice.
    """

    _: KW_ONLY
    summaries: int
    messages: int
    total: Kept
    kinds: Mapping[str, Kept] = field(default_factory=dict[str, Kept])
