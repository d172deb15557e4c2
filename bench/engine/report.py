"""The figures: as rows with their targets, as a table of 80 columns and as JSON."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, NamedTuple

from bench.spec.report import Target

WIDTH = 80
LABEL = 35
CELL = 9

RATE, P50, P99, RATIO, SHARE = "per second", "p50 late", "p99 late", "Tompion is", "of baseline"
PERCENT = (SHARE, "of a core", "of bare")


class Goal(NamedTuple):
    """A target, and the figure that it is about."""

    target: Target
    figure: str

    def __str__(self) -> str:
        unit = {RATIO: "×", "times": "×"}.get(self.figure, " %" if self.figure in PERCENT else "")
        return f"{self.target.sign} {self.target.limit:g}{unit}"


class Row(NamedTuple):
    """Figures by column. A figure that is ``None`` or missing was not measured."""

    label: str
    figures: Mapping[str, float | None]
    goal: Goal | None = None

    @property
    def reached(self) -> bool | None:
        """Whether the target is reached, or ``None`` without a target or a figure."""
        figure = None if self.goal is None else self.figures.get(self.goal.figure)
        return None if self.goal is None or figure is None else self.goal.target.reached_by(figure)


class Section(NamedTuple):
    """Figures that belong together, with notes."""

    title: str
    columns: tuple[str, ...]
    rows: list[Row]
    notes: list[str] = []  # noqa: RUF012 - never changed


class Report(NamedTuple):
    """All figures of one run."""

    facts: Mapping[str, str | int]
    sections: list[Section]

    @property
    def judged(self) -> list[Row]:
        """The rows that have a target."""
        return [row for section in self.sections for row in section.rows if row.reached is not None]

    @property
    def missed(self) -> list[Row]:
        """The rows that do not reach it."""
        return [row for row in self.judged if row.reached is False]


def environment() -> dict[str, str | int]:
    """Return machine, versions and load of the measurement."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "cpus": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.machine()}",
        "sqlite": sqlite3.sqlite_version,
        "psycopg": version("psycopg"),
    }


def as_text(report: Report, title: str = "Tompion's engine") -> str:
    """Return the report as tables."""
    facts = report.facts
    lines = [f"{title} · {facts['python']} · {facts['cpus']} CPUs · {facts['system']}"]
    lines.append(
        " · ".join(f"{name} {facts[key]}" for key, name in _SOFTWARE.items() if key in facts)
        + f" · load {facts.get('load before', '?')} before, {facts.get('load after', '?')} after"
    )
    for section in report.sections:
        head = "".join(f"{column:>{max(CELL, len(column) + 2)}}" for column in section.columns)
        lines += ["", f"{section.title:<{LABEL}}{head}"]
        lines += [_line(section, row) for row in section.rows]
        lines += [f"  {note}" for note in section.notes]
    if report.judged:
        lines += ["", f"{len(report.judged) - len(report.missed)} of {len(report.judged)} targets reached"]
        lines += [f"  missed: {row.label.strip()} ({row.goal})" for row in report.missed]
    return "\n".join(lines)


_SOFTWARE = {"sqlite": "SQLite", "postgres": "PostgreSQL", "psycopg": "psycopg"}


def _line(section: Section, row: Row) -> str:
    line = f"  {row.label:<{LABEL - 2}}"
    for column in section.columns:
        figure = row.figures.get(column)
        line += f"{'' if figure is None else written(column, figure):>{max(CELL, len(column) + 2)}}"
    if row.reached is not None:
        line += f" {row.goal} {'✓' if row.reached else '✗'}"
    return line.rstrip()


def written(column: str, figure: float) -> str:
    """Write a number with its unit."""
    if column in (P50, P99):
        return f"{figure * 1000:,.0f} ms" if figure < 1 else f"{figure:,.1f} s"
    if column in (RATIO, "times"):
        return f"{short(figure)}×"
    if column in PERCENT:
        return f"{figure:,.0f} %" if figure >= 10 else f"{figure:.2f} %"
    return short(figure)


def short(figure: float) -> str:
    """Write a number with three significant digits."""
    if abs(figure) >= 100:
        return f"{figure:,.0f}"
    return f"{figure:.1f}" if abs(figure) >= 10 else f"{figure:.2f}"


def as_json(report: Report) -> dict[str, Any]:
    """Return the report as JSON-ready data."""
    return {
        "environment": dict(report.facts),
        "sections": [
            {
                "title": section.title,
                "rows": [
                    {
                        "label": row.label,
                        "figures": dict(row.figures),
                        **({"target": str(row.goal), "reached": row.reached} if row.goal else {}),
                    }
                    for row in section.rows
                ],
                "notes": section.notes,
            }
            for section in report.sections
        ],
        "targets_missed": len(report.missed),
    }
