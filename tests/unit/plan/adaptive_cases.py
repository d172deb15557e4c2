"""Adaptive rules, hints and states, for the tests of the governor."""

from __future__ import annotations

from typing import Any

from tests.unit.plan.cases import NOON, NOON_MS, compiled_of, every, state_of
from tompion.model.hint import HintRow, HintRows
from tompion.model.schedule_state import ScheduleState
from tompion.model.spec import SpecDocument
from tompion.plan.compiled_schedule import CompiledSchedule

FIVE_MINUTES = SpecDocument(cron=("*/5 * * * *",))
HOUR_MS = 3_600_000


def adaptive_schedule(spec: SpecDocument | None = None, **policy: Any) -> CompiledSchedule:
    return compiled_of(every(60) if spec is None else spec, adaptive=True, **policy)


def hint(value: int, lives_ms: int = HOUR_MS) -> HintRow:
    return HintRow(value, NOON_MS + lives_ms, NOON_MS, "ann", None)


def hints(interval: int | None = None, once: int | None = None, lives_ms: int = HOUR_MS) -> str | None:
    """Hints sent at noon: an interval in seconds, a time in seconds after noon."""
    return HintRows(
        None if interval is None else hint(interval * 1000, lives_ms),
        None if once is None else hint(NOON_MS + once * 1000, lives_ms),
    ).text()


def after_run(compiled: CompiledSchedule, took_s: float = 10, **changes: Any) -> ScheduleState:
    """A state whose run started at noon and has ended."""
    ended_ms = NOON_MS + int(took_s * 1000)
    return state_of(compiled, NOON, last_start_ms=NOON_MS, last_end_ms=ended_ms, next_nominal_s=None, **changes)
