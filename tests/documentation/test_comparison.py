"""The comparison page: every figure was measured, and every claim has a source."""

from __future__ import annotations

import re

from tests.documentation.pages import ROOT

PAGE = (ROOT / "docs/explanation/comparison.md").read_text(encoding="utf-8")
PEERS = [
    *("Temporal Schedules", "Quartz", "Awa", "River", "Oban", "Procrastinate"),
    *("APScheduler 3", "APScheduler 4", "Celery beat", "Airflow", "EventBridge Scheduler"),
]


def section(heading: str) -> str:
    return PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    """Return the rows of the tables of a text, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("| |")]


def test_every_figure_comes_from_the_benchmarks() -> None:
    measured = (ROOT / "docs/reference/benchmarks.md").read_text(encoding="utf-8")
    text = section("How fast?")
    figures = [figure for row in rows(text) for figure in row[1:]]
    figures += re.findall(r"creates (\d+) a second", text) + re.findall(r"PostgreSQL, Tompion (\d+)", text)
    assert len(figures) == 18
    assert [figure for figure in figures if not re.search(rf"(?<![\d.,]){re.escape(figure)}(?![\d,])", measured)] == []


def test_every_claim_about_a_peer_has_a_source() -> None:
    for heading in ("Is a tick decided once?", "When, and what if?", "What is around it?"):
        table = rows(section(heading))
        assert [row[0] for row in table] == ["**Tompion**", *PEERS]
        bare = [(row[0], cell) for row in table[1:] for cell in row[1:] if not re.search(r"\*[mdsi?]\*", cell)]
        assert bare == []
