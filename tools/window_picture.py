"""Draw docs/images/window.svg: a question's window before and after a consolidation, from a real run.

Run it without arguments to draw it, with `--check` to fail where the picture's figures are not those of a run now.
It uses the memory that the environment names, in a fresh namespace, and deletes nothing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4
from xml.sax.saxutils import escape

from ricordo import Memory, Window
from ricordo.demo import conversation
from ricordo.types import Expansion

TARGET = Path(__file__).resolve().parent.parent / "docs/images/window.svg"
QUESTION = "What is still open before my meeting with Prof. Marchetti?"

WIDTH, HEIGHT = 860, 392
TOP, BOTTOM = 84, 330
PANEL = 380
BAR = 12
COLUMNS = 50
COLOURS = {"question": "#0f766e", "conversational": "#7c3aed", "summary": "#d97706"}
NAMES = {"question": "question", "conversational": "conversation", "summary": "reference"}
TOLERANCE = 0.02
"""Ids and times are other ones in every run, and so are some of their tokens."""


@dataclass(frozen=True)
class Run:
    """What the picture shows: two windows, the line that took the conversation's place, and what came back."""

    before: Window
    after: Window
    reference: str
    page: Expansion

    @property
    def saved(self) -> int:
        """The share of the tokens that are free again, in percent."""
        return round(100 * (1 - self.after.usage.tokens / self.before.usage.tokens))


def run() -> Run:
    """Consolidate the sample conversation, and give it back."""
    with Memory.open(namespace=f"picture-{uuid4().hex[:8]}") as memory:
        memory.conversational.append("thesis", conversation())
        before = memory.window("thesis", QUESTION)
        done = memory.summarize_conversation("thesis")
        page = memory.expand_summary(done.id or "")
        if [message.message for message in page.messages] != [*conversation()]:
            raise SystemExit("the conversation did not come back as it was written")
        return Run(before, memory.window("thesis", QUESTION), done.reference, page)


def draw(found: Run) -> str:
    """Return the picture."""
    scale = found.before.usage.tokens
    before = _panel(20, "before", found.before, _spoken(found.before), scale=scale)
    after = _panel(WIDTH - PANEL - 20, "after", found.after, _wrapped(_short(found.reference)), scale=scale)
    caption = (
        f"{found.saved} % fewer tokens; expand_summary gives all {len(found.page.messages)} messages back, "
        "byte for byte."
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            'font-family="ui-sans-serif, system-ui, sans-serif" font-size="13">',
            f"<title>{escape(caption)}</title>",
            f'<rect width="{WIDTH}" height="{HEIGHT}" rx="12" fill="#ffffff"/>',
            *before,
            *after,
            '<path d="M412 207h28m-9 -8l9 8l-9 8" fill="none" stroke="#64748b" stroke-width="2.5"/>',
            f'<text x="{WIDTH / 2:g}" y="366" text-anchor="middle" fill="#334155">{escape(caption)}</text>',
            "</svg>",
            "",
        ]
    )


def _panel(left: int, title: str, window: Window, lines: Sequence[str], *, scale: int) -> Iterator[str]:
    """Yield a window: its figures, a bar of its segments on a scale of `scale` tokens, and some of its text."""
    tokens = f"{window.usage.tokens:,} tokens"
    yield f'<text x="{left}" y="36" font-size="17" font-weight="600" fill="#0f172a">{title}</text>'
    yield f'<text x="{left + PANEL}" y="36" text-anchor="end" fill="#334155">{tokens}</text>'
    legend = " · ".join(f"{NAMES[name]} {count:,}" for name, count in window.usage.segments.items() if count)
    yield f'<text x="{left}" y="62" fill="#64748b" data-tokens="{window.usage.tokens}">{legend}</text>'
    yield f'<rect x="{left}" y="{TOP}" width="{PANEL}" height="{BOTTOM - TOP}" fill="#f1f5f9"/>'
    top = float(TOP)
    for name, count in window.usage.segments.items():
        height = max((BOTTOM - TOP) * count / scale, 2) if count else 0
        yield f'<rect x="{left}" y="{top:.1f}" width="{BAR}" height="{height:.1f}" fill="{COLOURS[name]}"/>'
        top += height
    text_left = left + BAR + 12
    yield f'<text x="{text_left}" y="{TOP + 18}" font-size="12" fill="{COLOURS["question"]}">{escape(QUESTION)}</text>'
    colour = COLOURS["conversational" if window.usage.segments["conversational"] else "summary"]
    for place, line in enumerate(lines):
        yield (
            f'<text x="{text_left}" y="{TOP + 46 + 19 * place}" font-family="ui-monospace, monospace" '
            f'font-size="11" fill="{colour}">{escape(line)}</text>'
        )


def _spoken(window: Window) -> list[str]:
    """Return the beginnings of the first and the last messages that a window shows."""
    (said,) = (segment for segment in window.segments if segment.kind == "conversational")
    lines = [_cut(item.text.partition("] ")[2]) for item in said.included]
    return [*lines[:5], f"… {len(lines) - 9} more messages …", *lines[-4:]]


def _short(reference: str) -> str:
    """Return a reference with the middle of its id left out."""
    return re.sub(r"(ID: [0-9a-f]{8})[0-9a-f-]+", r"\1…", reference)


def _wrapped(text: str) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= COLUMNS:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _cut(text: str) -> str:
    return text if len(text) <= COLUMNS else f"{text[: COLUMNS - 1].rpartition(' ')[0]} …"


def is_current(picture: str, found: Run) -> bool:
    """Whether a picture has about the figures of a run, and exactly its share."""
    drawn = [int(tokens) for tokens in re.findall(r'data-tokens="(\d+)"', picture)]
    now = [found.before.usage.tokens, found.after.usage.tokens]
    near = len(drawn) == 2 and all(abs(a - b) <= 8 + TOLERANCE * b for a, b in zip(drawn, now, strict=True))
    return near and f">{found.saved} % fewer tokens;" in picture


def main() -> int:
    """Draw or check the picture."""
    found = run()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(draw(found), encoding="utf-8")
    elif not is_current(TARGET.read_text(encoding="utf-8"), found):
        print("docs/images/window.svg is not current: run `python tools/window_picture.py`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
