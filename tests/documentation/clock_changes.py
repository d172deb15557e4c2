"""Diagrams of clock changes: the ticks of each rule in wall times that are skipped or repeated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tompion import Spec

ZONE = "Europe/Berlin"
COLUMN = timedelta(minutes=5)
LABEL_EVERY = 6
LABEL = 34


@dataclass(frozen=True)
class Night:
    """A night with a clock change, and the specs in its diagram."""

    name: str
    begin: str
    columns: int
    rows: tuple[tuple[str, Mapping[str, Any]], ...]


NIGHTS = [
    Night(
        "gap",
        "2026-03-29T00:00:00Z",
        27,
        (
            ("30 2 * * *", {}),
            ("30 2 * * *", {"dst_gap": "skip"}),
            ("30 2 * * *", {"dst_gap": "shift"}),
            ("*/15 * * * *", {}),
            ("*/15 * * * *", {"dst_gap": "catch_up"}),
        ),
    ),
    Night(
        "overlap",
        "2026-10-24T23:30:00Z",
        33,
        (
            ("30 2 * * *", {}),
            ("30 2 * * *", {"dst_overlap": "second"}),
            ("30 2 * * *", {"dst_overlap": "both"}),
            ("*/15 * * * *", {}),
            ("*/15 * * * *", {"dst_overlap": "first"}),
            ("*/15 * * * *", {"dst_overlap": "second"}),
        ),
    ),
]


def draw_night(night: Night) -> str:
    """Return the diagram of a night: UTC, the local time in Berlin, and the ticks of each spec."""
    begin = datetime.fromisoformat(night.begin)
    moments = [begin + column * COLUMN for column in range(night.columns)]
    lines = [_axis("UTC", moments, [f"{moment:%H:%M}" for moment in moments])]
    lines.append(_axis(ZONE, moments, [f"{_wall(moment):%H:%M}" for moment in moments]))
    for cron, rules in night.rows:
        ticks = Spec(cron=cron, timezone=ZONE, **rules).between(begin, moments[-1])
        marks = "".join("|" if moment in ticks else " " for moment in moments)
        assert marks.count("|") == len(ticks), "a tick between the columns"
        label = " ".join([cron, *(f'{name}="{rule}"' for name, rule in rules.items())])
        lines.append(f"{label:<{LABEL}}{marks}")
    return "\n".join(line.rstrip() for line in lines)


def _wall(moment: datetime) -> datetime:
    """Return the local time of an instant."""
    tick = Spec(cron="* * * * *", timezone=ZONE).occurrences(1, after=moment - timedelta(seconds=1))[0]
    assert tick.at == moment.astimezone(UTC)
    return tick.wall


def _axis(label: str, moments: list[datetime], texts: list[str]) -> str:
    labels = texts[::LABEL_EVERY][: len(moments) // LABEL_EVERY]
    return f"{label:<{LABEL}}" + "".join(f"{text:<{LABEL_EVERY}}" for text in labels)
