"""The rows of ``docs/explanation/differences.md``: for each documented difference an example with both answers.

The document is the only source of the examples, so that the documentation is tested. The test of a row fails when the
peer changes its behaviour.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.conformance.peers.comparison import ENDLESS, Answer, Peer, Question
from tests.conformance.peers.croner_peer import CRONER
from tests.conformance.peers.croniter_peer import CRONITER
from tests.conformance.peers.cronsim_peer import CRONSIM

PEERS: dict[str, Peer] = {peer.name: peer for peer in (CRONITER, CRONSIM, CRONER)}

DOCUMENT = Path(__file__).parents[3] / "docs" / "explanation" / "differences.md"


@dataclass(frozen=True)
class Example:
    """The answers of a peer and of Tompion. `name` is the code of the difference, optionally with a letter."""

    peer: str
    name: str
    expression: str
    zone: str
    query: str
    ours: str
    theirs: str
    reason: str

    @property
    def code(self) -> str:
        """Return the code of the difference."""
        return self.name[:-2] if self.name[-2:-1] == "-" and self.name[-1].isalpha() else self.name

    @property
    def question(self) -> Question:
        """Return the query as a question."""
        direction, instant = self.query.split()
        return Question(self.expression, self.zone, read_instant(instant), direction == "before")


def read_instant(text: str) -> int:
    """Return the epoch of an instant in UTC."""
    return int(datetime.fromisoformat(text).astimezone(UTC).timestamp())


def read_answer(text: str) -> Answer:
    """Parse an answer of the document."""
    return {"none": None, "endless loop": ENDLESS}[text] if text[0].isalpha() else read_instant(text)


def table_rows() -> list[tuple[str, list[str]]]:
    """Return the table rows that begin with a name in backquotes, each with the heading above it."""
    heading, rows = "", []
    for line in DOCUMENT.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif line.startswith("| `"):
            rows.append((heading, [cell.strip().strip("`") for cell in line.strip("|").split("|")]))
    return rows


EXAMPLES = [Example(heading, *cells) for heading, cells in table_rows() if heading in PEERS]
