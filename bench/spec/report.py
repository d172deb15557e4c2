"""The figures: as rows with their targets, as a table of 80 columns and as JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any, NamedTuple

from bench.spec.timing import Spread
from bench.spec.workload import ZONES, Workload
from tompion.spec.zone.tables import TZDATA_VERSION

WIDTH = 80


class Target(NamedTuple):
    """The target of a figure: ``≥`` (at least), ``>`` (more than) or ``≤`` (at most) a limit."""

    sign: str
    limit: float

    def reached_by(self, figure: float) -> bool:
        """Whether a figure is good enough."""
        if self.sign == "≤":
            return figure <= self.limit
        return figure > self.limit if self.sign == ">" else figure >= self.limit


class Row(NamedTuple):
    """One figure. Where a ratio is given, the target is about the ratio, else about the value."""

    label: str
    value: float
    unit: str
    ratio: Spread | None = None
    target: Target | None = None
    note: str = ""

    @property
    def reached(self) -> bool | None:
        """Whether the target is reached, or ``None`` without a target."""
        if self.target is None:
            return None
        return self.target.reached_by(self.value if self.ratio is None else self.ratio.middle)


class Section(NamedTuple):
    """Figures that belong together."""

    title: str
    rows: list[Row]


class Report(NamedTuple):
    """All figures of one run."""

    workload: Workload
    sections: list[Section]

    @property
    def missed(self) -> list[Row]:
        """The figures that do not reach their target."""
        return [row for section in self.sections for row in section.rows if row.reached is False]


def as_text(report: Report) -> str:
    """Return the report as a table."""
    lines = list(_heading(report.workload))
    for section in report.sections:
        compared = any(row.ratio is not None for row in section.rows)
        columns = f"{'ratio':>6}  {'quartiles':<9} target" if compared else ""
        lines += ["", f"{section.title:<53}{columns}".rstrip()]
        lines += [_line(row) for row in section.rows]
    with_target = [row for section in report.sections for row in section.rows if row.target is not None]
    lines += ["", f"{len(with_target) - len(report.missed)} of {len(with_target)} targets reached"]
    return "\n".join(lines)


def as_json(report: Report) -> dict[str, Any]:
    """Return the report as JSON-ready data."""
    work = report.workload
    return {
        "environment": environment(),
        "workload": {
            "expressions": len(work.expressions),
            "expressions_left_out": work.expressions_left_out,
            "zones": len(ZONES),
            "rounds": len(work.rounds),
            "cases": work.cases,
            "cases_left_out": work.cases_left_out,
        },
        "sections": [
            {"title": section.title, "rows": [_row_json(row) for row in section.rows]} for section in report.sections
        ],
        "targets_missed": len(report.missed),
    }


def environment() -> dict[str, str | int]:
    """Return machine, versions and load of the measurement."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "cpus": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.machine()}",
        "tzdata": TZDATA_VERSION,
        "cronsim": version("cronsim"),
        "croniter": version("croniter"),
    }


def _heading(work: Workload) -> Iterable[str]:
    facts = environment()
    yield f"Tompion's time engine · {facts['python']} · {facts['cpus']} CPUs · {facts['system']}"
    yield f"tzdata {facts['tzdata']} · cronsim {facts['cronsim']} · croniter {facts['croniter']}"
    yield (
        f"{len(work.expressions)} expressions × {len(ZONES)} zones, {work.cases:,} cases in {len(work.rounds)} rounds;"
    )
    yield f"left out, as the three differ: {work.expressions_left_out} expressions, {work.cases_left_out} single cases"


def _line(row: Row) -> str:
    line = f"  {row.label:<36}{_figure(row.value):>9} {row.unit:<5}"
    if row.ratio is not None:
        quartiles = f"{_figure(row.ratio.low)}–{_figure(row.ratio.high)}"
        line += f"{_figure(row.ratio.middle):>5}×  {quartiles:<9}"
    elif row.target is not None or row.note:
        line += f"  {row.note:<14}"
    if row.target is not None:
        unit = "×" if row.ratio is not None else f" {row.unit}"
        line += f" {row.target.sign} {row.target.limit:g}{unit} {'✓' if row.reached else '✗'}"
    return line.rstrip()


def _figure(value: float) -> str:
    """Write a number with three significant digits."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _row_json(row: Row) -> dict[str, Any]:
    data: dict[str, Any] = {"label": row.label, "value": row.value, "unit": row.unit}
    if row.ratio is not None:
        data["ratio"] = row.ratio._asdict()
    if row.target is not None:
        data["target"] = f"{row.target.sign} {row.target.limit:g}"
        data["reached"] = row.reached
    if row.note:
        data["note"] = row.note
    return data
