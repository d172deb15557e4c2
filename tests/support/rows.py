"""Sample rows with default values. A test sets only the columns that it is about."""

from __future__ import annotations

from typing import Any

from tompion.model.backfill import BackfillRow
from tompion.model.rows import AuditRow, CalendarRow, HeldRun, ScheduleRow, VersionRow, WorkflowRow
from tompion.model.run import WAITING, RunChange, RunRow
from tompion.model.schedule_state import DroppedRange, ScheduleState

NOW_MS = 1_800_000_000_000
"""Current time of a store under test."""


def state(key: int, next_fire_ms: int | None = None, **other: Any) -> ScheduleState:
    """Return the state of a schedule without runs."""
    row = ScheduleState(
        schedule_key=key, version=1, cursor_s=0, next_nominal_s=None, next_fire_ms=next_fire_ms, paused=False,
        pause_until_ms=None, closed=False, in_flight=0, waiting=0, remaining=None, last_start_ms=None, failures=0,
        carry=None, carry_until_s=None, skips=None, starts=0, successes=0, failed=0, skipped=0, missed=0,
    )  # fmt: skip
    return row._replace(**other)


def run(key: int, nominal_s: int = 60, origin: int = 0, **other: Any) -> RunRow:
    """Return a run that waits for a worker."""
    row = RunRow(
        schedule_key=key, nominal_s=nominal_s, origin=origin, source="schedule", state="ENQUEUED", reason=None,
        version=1, attempt=0, failures=0, fire_ms=nominal_s * 1000, due_ms=nominal_s * 1000, owner=None,
        decided_ms=NOW_MS, local_s=None, dst_adjustment=None, overlap=None, payload=None, request_id=None,
        started_ms=None,
        finished_ms=None, cancel_requested=False, error=None, result=None, execution_id=None,
    )  # fmt: skip
    if other.get("state") in WAITING:
        row = row._replace(queued_ms=NOW_MS)
    return row._replace(**other)


def change(of: RunRow, **other: Any) -> RunChange:
    """Return the change of a run to its next state, by default SUCCESS."""
    row = RunChange(
        schedule_key=of.schedule_key, nominal_s=of.nominal_s, origin=of.origin, fence=of.attempt, state="SUCCESS",
        reason=None, attempt=of.attempt, failures=0, due_ms=None, owner=None, started_ms=None, finished_ms=NOW_MS,
        error=None, result=None, execution_id=None,
    )  # fmt: skip
    return row._replace(**other)


def held(of: RunRow, fence: int | None = None) -> HeldRun:
    """Return the key and the fence of a run."""
    return (of.schedule_key, of.nominal_s, of.origin, of.attempt if fence is None else fence)


def schedule(schedule_id: str, **other: Any) -> ScheduleRow:
    """Return an active schedule. The store sets its key."""
    row = ScheduleRow(
        schedule_key=0, namespace="default", schedule_id=schedule_id, version=1, token=1, state="active",
        workflow_id=None, user_id=None, labels="{}", description="", paused_by=None, pause_note=None, paused_ms=None,
        purge=False, zones="", created_ms=NOW_MS, updated_ms=NOW_MS,
    )  # fmt: skip
    return row._replace(**other)


def version(key: int, number: int = 1, **other: Any) -> VersionRow:
    """Return a version without an end."""
    row = VersionRow(
        schedule_key=key, version=number, spec='{"cron":"* * * * *"}', policy="{}", action='{"queue":"default"}',
        payload=None, about="{}", calendars="[]", after_s=0, until_s=None, author="me", created_ms=NOW_MS,
    )  # fmt: skip
    return row._replace(**other)


def dropped_range(key: int, after_s: int, until_s: int) -> DroppedRange:
    """Return a range of missed ticks."""
    return DroppedRange(key, after_s, until_s, (until_s - after_s) // 60, "missed", 1, NOW_MS)


def backfill(number: int, key: int, **other: Any) -> BackfillRow:
    """Return a running backfill that is due now."""
    row = BackfillRow(
        backfill_id=number, schedule_key=key, start_s=0, end_s=600, cursor_s=0, overlap="allow_all", only="all",
        version=1, state="RUNNING", total=10, done=0, next_ms=NOW_MS, created_ms=NOW_MS, finished_ms=None,
        last_s=600, undecided=0,
    )  # fmt: skip
    return row._replace(**other)


def calendar(name: str, number: int = 1) -> CalendarRow:
    """Return a calendar."""
    return CalendarRow("default", name, number, f'["{number}"]', NOW_MS)


def workflow(name: str, number: int = 1) -> WorkflowRow:
    """Return a workflow document."""
    return WorkflowRow("default", name, number, f'{{"v":{number}}}', NOW_MS)


def audit(schedule_id: str, operation: str, **other: Any) -> AuditRow:
    """Return an audit row. The store sets its number."""
    row = AuditRow(0, NOW_MS, "default", schedule_id, "me", operation, 1, 1, None, None, None)
    return row._replace(**other)
