"""The rows of ``docs/explanation/differences.md``: for each documented difference a case with both answers.

The page is the only place where they are written down, so that what readers are told is what is tested. A peer that
changes its ways makes its row fail, and the difference with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.conformance.peers.comparing import ENDLESS, Answer, Peer, Question
from tests.conformance.peers.croner_peer import CRONER
from tests.conformance.peers.croniter_peer import CRONITER
from tests.conformance.peers.cronsim_peer import CRONSIM

PEERS: dict[str, Peer] = {peer.name: peer for peer in (CRONITER, CRONSIM, CRONER)}

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "differences.md"


@dataclass(frozen=True)
class Example:
    """What one peer answers, and Tompion. `name` is the code of the difference, perhaps with a letter behind it."""

    peer: str
    name: str
    expression: str
    zone: str
    asked: str
    ours: str
    theirs: str
    reason: str

    @property
    def code(self) -> str:
        """The code of the difference."""
        return self.name[:-2] if self.name[-2:-1] == "-" and self.name[-1].isalpha() else self.name

    @property
    def question(self) -> Question:
        """What is asked."""
        direction, instant = self.asked.split()
        return Question(self.expression, self.zone, read_instant(instant), direction == "before")


def read_instant(text: str) -> int:
    """An instant in UTC."""
    return int(datetime.fromisoformat(text).astimezone(UTC).timestamp())


def read_answer(text: str) -> Answer:
    """An answer as the page writes it."""
    return {"none": None, "endless loop": ENDLESS}[text] if text[0].isalpha() else read_instant(text)


def page_rows() -> list[tuple[str, list[str]]]:
    """The rows of the page's tables that begin with a name in backquotes, each with the heading it stands under."""
    heading, rows = "", []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif line.startswith("| `"):
            rows.append((heading, [cell.strip().strip("`") for cell in line.strip("|").split("|")]))
    return rows


EXAMPLES = [Example(heading, *cells) for heading, cells in page_rows() if heading in PEERS]
