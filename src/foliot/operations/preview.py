"""Looking at a spec before it is a schedule: what it means, when it will fire, what may not be meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from foliot.clock import Clock
from foliot.errors import LimitExceeded
from foliot.model.finding import Finding
from foliot.model.tick import Tick
from foliot.spec.compiled import compile_spec, zone_of
from foliot.spec.document import read_spec
from foliot.spec.explain import explain
from foliot.spec.lint import lint
from foliot.spec.occurrence import occurrences

MAX_PREVIEW = 1_000
"""The most ticks that one preview returns."""


@dataclass(frozen=True, slots=True)
class Preview:
    """A spec in plain English, its coming ticks, and the linter's findings."""

    explanation: str
    timezone: str
    ticks: list[Tick]
    findings: list[Finding]


def preview(
    data: Mapping[str, Any], *, clock: Clock, after: int | None = None, count: int = 20, schedule_id: str = ""
) -> Preview:
    """Return what a spec will do after an instant (now, if left out)."""
    if count > MAX_PREVIEW:
        raise LimitExceeded(f"count is {count}; at most {MAX_PREVIEW} ticks are previewed at once")
    spec = read_spec(data)
    ticks = compile_spec(spec, schedule_id=schedule_id)
    since = int(clock.now()) if after is None else after
    return Preview(
        explanation=explain(spec),
        timezone=zone_of(spec).name,
        ticks=list(islice(occurrences(spec, ticks, since, schedule_id), count)),
        findings=lint(spec, now=since, schedule_id=schedule_id),
    )
