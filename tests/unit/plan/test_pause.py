"""Pause and resume change a schedule's row and its state together."""

from __future__ import annotations

from tests.unit.plan.cases import KEY, NOON_MS, compiled_of, state_of
from tompion.model.policy import OnResume
from tompion.model.rows import ScheduleRow
from tompion.plan.pause import PAUSE_COLUMNS, pause_schedule, pause_state, resume_schedule, resume_state

LATER = NOON_MS + 3_600_000
ROW = ScheduleRow(
    schedule_key=KEY,
    namespace="default",
    schedule_id="report",
    version=3,
    token=5,
    state="active",
    workflow_id=None,
    user_id=None,
    labels="{}",
    description="",
    paused_by=None,
    pause_note=None,
    paused_ms=None,
    purge=False,
    zones="",
    created_ms=1,
    updated_ms=2,
)


def test_pause_and_resume_change_row_and_state() -> None:
    compiled = compiled_of()
    state = state_of(compiled)
    row, paused = pause_schedule(ROW, state, paused_by="ann", note="deploy", now_ms=NOON_MS, until_ms=LATER)
    assert row == ROW._replace(state="paused", paused_by="ann", pause_note="deploy", paused_ms=NOON_MS)
    assert paused == pause_state(state, LATER)
    active, resumed = resume_schedule(row, paused, compiled, on_resume=OnResume.SKIP, now_ms=LATER)
    assert active == ROW
    assert resumed == resume_state(paused, compiled, LATER, OnResume.SKIP)
    noted, _ = resume_schedule(row, paused, compiled, on_resume=OnResume.SKIP, now_ms=LATER, note="done")
    assert noted == ROW._replace(pause_note="done")


def test_pause_columns_are_those_that_change() -> None:
    row, _ = pause_schedule(ROW, state_of(compiled_of()), paused_by="ann", note="deploy", now_ms=NOON_MS)
    changed = {name for name in ROW._fields if getattr(row, name) != getattr(ROW, name)}
    assert changed == set(PAUSE_COLUMNS)
