"""Converts rows of the store to the dataclasses of the public API."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime

from tompion.encoding.instant import datetime_ms, datetime_s, wall_datetime
from tompion.model.backfill import BackfillRow
from tompion.model.hint import CONFLICTING_HINTS, Hint, Outlook
from tompion.model.policy import OnResume
from tompion.model.rows import AuditRow, ScheduleRow, VersionRow
from tompion.model.run import OPEN, WAITING, Reason, RunRow, RunState, idempotency_key
from tompion.model.schedule import (
    Backfill,
    Change,
    Counters,
    Definition,
    DroppedTicks,
    Run,
    Schedule,
    ScheduleStatus,
    Version,
)
from tompion.model.schedule_state import DroppedRange, ScheduleState
from tompion.plan import adaptive, edit
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.stored_definition import stored_definition
from tompion.plan.upcoming import upcoming_ticks

STATES_OF_TEMPORARY_REASONS: dict[str, Collection[str]] = {
    Reason.RETRY: OPEN,
    Reason.TARGET_PAUSED: WAITING,
    Reason.TARGET_UNREACHABLE: OPEN,
}
"""Reasons that apply only while a run is in certain states. The others apply permanently."""


def _optional_datetime(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else datetime_ms(milliseconds)


def schedule_view(  # noqa: PLR0913 - what a schedule is made of
    row: ScheduleRow,
    state: ScheduleState,
    definition: Definition,
    compiled: CompiledSchedule,
    now_ms: int,
    *,
    exhausted: bool,
    warnings: tuple[str, ...] = (),
) -> Schedule:
    """Convert the rows of a schedule to its public view."""
    next_s, fire_ms = _next_run(state, compiled, now_ms)
    return Schedule(
        namespace=row.namespace,
        schedule_id=row.schedule_id,
        status=ScheduleStatus.EXHAUSTED if exhausted else ScheduleStatus(row.state),
        paused=bool(state.paused),
        note=row.pause_note,
        definition_version=row.version,
        conflict_token=row.token,
        definition=definition,
        cursor=datetime_s(state.cursor_s),
        next_run_at=None if next_s is None else datetime_s(next_s),
        next_fire_at=_optional_datetime(fire_ms),
        in_flight=state.in_flight,
        waiting=state.waiting,
        remaining_actions=state.remaining,
        consecutive_failures=state.failures,
        counters=Counters(state.starts, state.successes, state.failed, state.skipped, state.missed),
        paused_by=row.paused_by,
        paused_at=_optional_datetime(row.paused_ms),
        paused_until=_optional_datetime(state.pause_until_ms),
        created_at=datetime_ms(row.created_ms),
        updated_at=datetime_ms(row.updated_ms),
        degraded=compiled.degraded,
        warnings=warnings,
    )


def _next_run(state: ScheduleState, compiled: CompiledSchedule, now_ms: int) -> tuple[int | None, int | None]:
    """Return the next tick that will run, and its fire time. The engine also wakes up for ticks that it only skips.

    For a paused schedule it is the next tick from now on. The resume decides the ticks before it.
    """
    if state.closed or state.remaining == 0:
        return None, None
    if state.paused:
        return next(upcoming_ticks(state, compiled, now_ms), None), None
    if _drops_next_tick(state, compiled):
        tick = next(
            (tick for tick in upcoming_ticks(state, compiled, now_ms) if tick > (state.carry_until_s or 0)), None
        )
        return tick, None if tick is None else compiled.fire_ms(tick)
    tick = edit.next_unskipped(state, compiled)
    if tick == state.next_nominal_s:
        return tick, state.next_fire_ms
    if tick is None or state.next_fire_ms is None:
        return tick, None
    return tick, compiled.fire_ms(tick) if compiled.allowed_seconds is None else tick * 1000


def _drops_next_tick(state: ScheduleState, compiled: CompiledSchedule) -> bool:
    """Return whether the next tick is one of a pause that was resumed without them. The engine drops it."""
    tick, until_s = state.next_nominal_s, state.carry_until_s
    is_dropped = state.carry == OnResume.SKIP and tick is not None and until_s is not None and tick <= until_s
    return is_dropped and not compiled.is_sequential


def outlook_view(row: ScheduleRow, state: ScheduleState, compiled: CompiledSchedule, now_ms: int) -> Outlook:
    """Return the next run of an adaptive schedule, its cause, and its live hints."""
    live = adaptive.hints_of(state).live_at(now_ms)
    has_no_next_run = state.next_nominal_s is None or state.closed or state.remaining == 0
    planned = None if has_no_next_run else adaptive.pending_run(state, compiled, now_ms)
    return Outlook(
        schedule_id=row.schedule_id,
        conflict_token=row.token,
        hints=tuple(
            Hint(
                interval_ms=hint.value if hint is live.interval else None,
                at=datetime_ms(hint.value) if hint is live.once else None,
                expires_at=datetime_ms(hint.expires_ms),
                created_at=datetime_ms(hint.created_ms),
                author=hint.author,
                reason=hint.reason,
            )
            for hint in live
            if hint is not None
        ),
        next_run_at=None if planned is None else datetime_s(planned.nominal_s),
        source=None if planned is None else str(planned.source),
        bound=None if planned is None else planned.bound,
        consecutive_failures=state.failures,
        warning=CONFLICTING_HINTS if all(live) else None,
    )


def run_view(row: RunRow, schedule: ScheduleRow) -> Run:
    """Convert the row of a run to its public view."""
    names = (schedule.namespace, schedule.schedule_id)
    return Run(
        run_id=str(row.id),
        idempotency_key=idempotency_key(*names, row.source, row.nominal_s, row.origin, row.request_id),
        namespace=schedule.namespace,
        schedule_id=schedule.schedule_id,
        source=str(row.source),
        status=RunState(row.state),
        reason=_reason(row),
        run_at=datetime_s(row.nominal_s),
        local_time=None if row.local_s is None else wall_datetime(row.local_s),
        dst_adjustment=row.dst_adjustment,
        fire_at=datetime_ms(row.fire_ms),
        created_at=datetime_ms(row.decided_ms),
        updated_at=datetime_ms(max(row.decided_ms, row.started_ms or 0, row.finished_ms or 0)),
        started_at=None if _is_waiting_for_target(row) else _optional_datetime(row.started_ms),
        finished_at=_optional_datetime(row.finished_ms),
        definition_version=row.version,
        attempt=row.attempt,
        error=row.error,
        result=None if row.result is None else parse_json(row.result),
        execution_id=row.execution_id,
        progress=None if row.progress is None else parse_json(row.progress),
    )


def _reason(row: RunRow) -> str | None:
    """Return why a run is in its state. The stored reason is the last one, which may no longer apply."""
    if row.reason is None or row.state not in STATES_OF_TEMPORARY_REASONS.get(row.reason, (row.state,)):
        return None
    return str(row.reason)


def _is_waiting_for_target(row: RunRow) -> bool:
    """Return whether no launch of a run has reached its target. ``started_ms`` is then the time of the first launch."""
    return row.reason == Reason.TARGET_UNREACHABLE and row.state == RunState.ENQUEUED


def parse_json(text: str) -> object:
    """Return stored JSON, or the text itself if it is not JSON."""
    try:
        loaded: object = json.loads(text)
    except ValueError:  # the executor did not store JSON
        return text
    return loaded


def dropped_view(dropped_range: DroppedRange) -> DroppedTicks:
    """Convert a dropped range to its public view."""
    return DroppedTicks(
        datetime_s(dropped_range.after_s),
        datetime_s(dropped_range.until_s),
        dropped_range.ticks,
        dropped_range.reason,
        datetime_ms(dropped_range.decided_ms),
    )


def backfill_view(row: BackfillRow, schedule_id: str) -> Backfill:
    """Convert the row of a backfill to its public view."""
    return Backfill(
        backfill_id=row.backfill_id,
        schedule_id=schedule_id,
        start=datetime_s(row.start_s),
        end=datetime_s(row.end_s),
        overlap_policy=str(row.overlap),
        only=row.only,
        status=row.state,
        total=row.total,
        done=row.done,
        cursor=datetime_s(max(row.cursor_s, 0)),
        created_at=datetime_ms(row.created_ms),
        finished_at=_optional_datetime(row.finished_ms),
        undecided=row.undecided,
    )


def change_view(row: AuditRow) -> Change:
    """Convert an audit row to its public view."""
    return Change(
        at=datetime_ms(row.at_ms),
        actor=row.actor,
        operation=row.operation,
        schedule_id=row.schedule_id,
        conflict_token=row.token,
        definition_version=row.version,
        request_id=row.request_id,
        before=None if row.before is None else json.loads(row.before),
        after=None if row.after is None else json.loads(row.after),
    )


def version_view(row: VersionRow) -> Version:
    """Convert the row of a version to its public view."""
    return Version(
        version=row.version,
        definition=stored_definition(row),
        author=row.author,
        created_at=datetime_ms(row.created_ms),
        decides_after=datetime_s(row.after_s),
        decides_until=None if row.until_s is None else datetime_s(row.until_s),
    )
