"""Pause, resume, trigger and skip: control of existing schedules."""

from __future__ import annotations

from contextlib import suppress
from secrets import token_hex
from typing import Any

from tompion.encoding.instant import When, datetime_ms, datetime_s
from tompion.errors import InvalidField, LimitExceeded, display
from tompion.model.decision_writes import WriteResult
from tompion.model.policy import OVERLAP_ALIASES, OnResume, Overlap
from tompion.model.run import FINAL, RunId, RunRow, RunSource, RunState
from tompion.model.schedule import Run, Schedule
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import idempotent
from tompion.operations.instants import epoch_ms, epoch_s
from tompion.operations.schedules.repository import (
    UNREADABLE,
    AuditEntry,
    LoadedSchedule,
    audit,
    compile_version,
    open_schedule,
    save,
)
from tompion.operations.schedules.schedule_document import payload_of
from tompion.operations.validation import UNSET, check_name, check_note, choice
from tompion.operations.views import run_view
from tompion.plan import edit
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.decide import Decision, Origin, decision_writes
from tompion.plan.due_ticks import Due
from tompion.plan.pause import pause_schedule, resume_schedule
from tompion.plan.release import older_versions, release_queues, with_versions
from tompion.plan.stored_definition import compact
from tompion.plan.upcoming import upcoming_ticks

MAX_SKIPS = 1_000


MAX_NUMBER = 1 << 62


@idempotent(Schedule)
def pause(  # noqa: PLR0913 - the parts of the request
    context: OperationContext,
    schedule_id: str,
    *,
    note: str | None = None,
    until: When | None = None,
    paused_by: str | None = None,
    conflict_token: int | None = None,
    request_id: str | None = None,
) -> Schedule:
    """Pause a schedule: no tick starts, and its cursor does not move. Pausing again updates note, author and end."""
    loaded = open_schedule(context, schedule_id, conflict_token)
    until_ms = None if until is None else epoch_ms("until", until)
    if until_ms is not None and until_ms <= context.now_ms:
        raise InvalidField("until", f"{datetime_ms(until_ms).isoformat()} is in the past; choose a later time")
    author = context.actor if paused_by is None else check_name("paused_by", paused_by, context.settings)
    row, state = pause_schedule(
        loaded.row, loaded.state, paused_by=author, note=check_note(note), now_ms=context.now_ms, until_ms=until_ms
    )
    after = {"status": "paused", "paused_by": author, "note": note, "until": until_ms}
    changed = loaded._replace(row=row, state=state)
    return save(context, changed, AuditEntry("pause", request_id, {"status": loaded.row.state}, after))


@idempotent(Schedule)
def resume(  # noqa: PLR0913 - the parts of the request
    context: OperationContext,
    schedule_id: str,
    *,
    on_resume: str | None = None,
    note: str | None = None,
    conflict_token: int | None = None,
    request_id: str | None = None,
) -> Schedule:
    """Resume a schedule. ``on_resume``, or the schedule's own setting, decides the ticks of the pause."""
    loaded = open_schedule(context, schedule_id, conflict_token)
    on_resume_policy = (
        loaded.compiled.policy.on_resume if on_resume is None else choice("on_resume", on_resume, OnResume)
    )
    row, state = resume_schedule(
        loaded.row,
        loaded.state,
        loaded.compiled,
        on_resume=on_resume_policy,
        now_ms=context.now_ms,
        note=check_note(note),
    )
    context.transaction.run_unhold_planned([row.schedule_key], context.now_ms)
    after = {"status": "active", "on_resume": on_resume_policy, **({} if note is None else {"note": note})}
    changed = loaded._replace(row=row, state=state)
    return save(context, changed, AuditEntry("resume", request_id, {"status": loaded.row.state}, after))


@idempotent(Run)
def trigger(
    context: OperationContext,
    schedule_id: str,
    *,
    overlap: str | None = None,
    payload: Any = UNSET,
    request_id: str | None = None,
) -> Run:
    """Run a schedule now, whether or not it is paused. Its cursor does not move."""
    return trigger_now(context, schedule_id, overlap, payload, request_id)


def trigger_now(  # noqa: PLR0913 - the parts of the request
    context: OperationContext,
    schedule_id: str,
    overlap: str | None,
    payload: Any,
    request_id: str | None,
    nominal_s: int | None = None,
) -> Run:
    """Run a schedule now, optionally for another nominal time, without a check of the request id."""
    request_key = request_id or f"t-{token_hex(8)}"
    loaded = open_schedule(context, schedule_id)
    overlap_policy = Overlap.ALLOW if overlap is None else choice("overlap", overlap, Overlap, OVERLAP_ALIASES)
    text = None if payload is UNSET else compact(payload_of(payload, context.settings))
    row = create_manual_run(
        context, loaded, RunSource.TRIGGER, overlap_policy, payload=text, request_key=request_key, nominal_s=nominal_s
    )
    _audit_request(
        context, loaded, AuditEntry("trigger", request_id, None, {"run_id": str(row.id), "overlap": overlap_policy})
    )
    return run_view(row, loaded.row)


def create_manual_run(  # noqa: PLR0913 - the parts of the request
    context: OperationContext,
    loaded: LoadedSchedule,
    source: RunSource,
    overlap: Overlap,
    *,
    payload: str | None = None,
    request_key: str,
    nominal_s: int | None = None,
) -> RunRow:
    """Decide and write a run that a caller requests now."""
    origin = Origin(source, context.transaction.number_next(), overlap, payload, request_key)
    decision = Decision(loaded.state, loaded.compiled, context.decision_contexts().of(loaded.compiled))
    decision.decide_request(Due(context.now_ms // 1000 if nominal_s is None else nominal_s, context.now_ms), origin)
    recorded = _write(context, decision)
    row = decision.runs[-1]
    return _release_waiting(context, loaded).get(row.id, row) if recorded.given_up else row


@idempotent(Schedule)
def skip(  # noqa: PLR0913 - the parts of the request
    context: OperationContext,
    schedule_id: str,
    *,
    at: list[When] | None = None,
    note: str | None = None,
    conflict_token: int | None = None,
    request_id: str | None = None,
) -> Schedule:
    """Skip the next tick, or the ticks at given times. Each is recorded as skipped on request."""
    loaded = open_schedule(context, schedule_id, conflict_token)
    ticks = (
        [_next_tick(context, loaded)]
        if at is None
        else [_undecided_tick_at(loaded, when) for when in _check_times(at, "the next tick")]
    )
    state = edit.add_skips(loaded.state, ticks)
    if len((state.skips or "").split(",")) > MAX_SKIPS:
        raise LimitExceeded(f"at: more than {MAX_SKIPS} ticks to skip; exclude them in the spec instead")
    after = {"skip": [datetime_s(tick).isoformat() for tick in ticks], "note": check_note(note)}
    return save(context, loaded._replace(state=state), AuditEntry("skip", request_id, None, after))


@idempotent(Schedule)
def unskip(  # noqa: PLR0913 - the parts of the request
    context: OperationContext,
    schedule_id: str,
    *,
    at: list[When] | None = None,
    note: str | None = None,
    conflict_token: int | None = None,
    request_id: str | None = None,
) -> Schedule:
    """Remove the skip of every upcoming tick, or of the ticks at given times, so that they run.

    A tick without a skip stays as it is. A tick that was skipped already is rejected.
    """
    loaded = open_schedule(context, schedule_id, conflict_token)
    skips = edit.skips_of(loaded.state)
    removed = skips if at is None else _skips_at(loaded, skips, _check_times(at, "all ticks to skip"))
    before = {"skip": [datetime_s(tick).isoformat() for tick in sorted(removed)]}
    changed = loaded._replace(state=edit.remove_skips(loaded.state, removed))
    return save(context, changed, AuditEntry("unskip", request_id, before, {"skip": [], "note": check_note(note)}))


# --- helpers --------------------------------------------------------------------------------------------------------


def _write(context: OperationContext, decision: Decision) -> WriteResult:
    """Write a decision, and count the runs that it skips or ends."""
    recorded = context.transaction.write_decisions(
        decision_writes(context.now_ms, [decision], [decision.with_wake_up(decision.state_after_requests())])
    )
    for row in recorded.to_end:
        # An instance looks for cancelled runs that it executes. An engine has to stop other targets.
        if row.owner is None and row.execution_id is not None:
            context.transaction.run_request_end(row.id, context.now_ms)
    skipped = [run for run in (*decision.runs, *recorded.superseded) if run.state == RunState.SKIPPED]
    ended = [run for run in (*recorded.to_end, *recorded.given_up) if run.state in FINAL]
    context.counted.update([("runs_skipped", str(run.reason)) for run in skipped])
    context.counted.update([("runs_finished", str(run.state)) for run in ended])
    context.transaction.notify()
    return recorded


def _release_waiting(context: OperationContext, loaded: LoadedSchedule) -> dict[RunId, RunRow]:
    """Start the runs that wait for the slot of a cancelled run, in their order, and return those that started.

    It happens in the same transaction. Otherwise the next request would find the slot free and overtake them.
    """
    transaction, key = context.transaction, loaded.row.schedule_key
    states, schedules = transaction.state_lock([key]), {key: loaded.compiled}
    waiting = transaction.run_list_buffered([key], context.settings.max_buffer + 1)
    older = _compile_versions(context, loaded, older_versions(waiting, schedules))
    runs = with_versions(waiting, schedules, older)
    released = release_queues(states, schedules, runs, context.decision_contexts())
    transaction.run_release_waiting(released.changes)
    transaction.state_update([released.states[key]])
    skipped = [change for change in released.changes if change.state == RunState.SKIPPED]
    context.counted.update([("runs_skipped", str(change.reason)) for change in skipped])
    return {row.id: row for row, _ in released.started}


def _compile_versions(
    context: OperationContext, loaded: LoadedSchedule, versions: list[tuple[int, int]]
) -> dict[tuple[int, int], CompiledSchedule]:
    """Return the compiled older versions of a schedule, without those that cannot be read."""
    compiled: dict[tuple[int, int], CompiledSchedule] = {}
    for key, number in versions:
        version = context.transaction.version_get(key, number)
        with suppress(*UNREADABLE):
            if version is not None:
                compiled[key, number] = compile_version(context, loaded.row, version)
    return compiled


def _audit_request(context: OperationContext, loaded: LoadedSchedule, note: AuditEntry) -> None:
    """Audit a request that changes neither the definition nor the token."""
    audit(context, loaded.row, note)


def _check_times(at: object, default: str) -> list[When]:
    if not at or not isinstance(at, list | tuple):
        raise InvalidField("at", f"{display(at)}; expected a list of times, or no value for {default}")
    return list(at)


def _skips_at(loaded: LoadedSchedule, skips: set[int], times: list[When]) -> set[int]:
    """Return those of some times that have a skip. Each of the others must be an upcoming tick."""
    moments = {epoch_s("at", when) for when in times}
    for moment in moments - skips:
        _undecided_tick_at(loaded, datetime_s(moment))
    return moments & skips


def _undecided_tick_at(loaded: LoadedSchedule, when: When) -> int:
    moment = epoch_s("at", when)
    if loaded.compiled.is_sequential:
        return _pending_tick(loaded, moment)
    if loaded.compiled.ticks.next_epoch(moment - 1) != moment:
        following = loaded.compiled.ticks.next_epoch(moment)
        hint = "no tick follows it" if following is None else f"the next one is at {datetime_s(following).isoformat()}"
        raise InvalidField("at", f"there is no tick at {datetime_s(moment).isoformat()}; {hint}")
    if moment <= loaded.state.cursor_s:
        raise InvalidField("at", f"the tick at {datetime_s(moment).isoformat()} was decided already")
    return moment


def _pending_tick(loaded: LoadedSchedule, moment: int) -> int:
    """Return the one known tick of a sequential schedule, or a tick that has a skip already."""
    pending = edit.next_unskipped(loaded.state, loaded.compiled)
    if moment != pending and moment not in edit.skips_of(loaded.state):
        hint = (
            "has no known tick until its run ends"
            if pending is None
            else f"has its next tick at {datetime_s(pending).isoformat()}"
        )
        kind = "a fixed delay" if loaded.compiled.allowed_seconds is None else "an adaptive schedule"
        raise InvalidField("at", f"there is no tick at {datetime_s(moment).isoformat()}; {kind} {hint}")
    return moment


def _next_tick(context: OperationContext, loaded: LoadedSchedule) -> int:
    tick = next(upcoming_ticks(loaded.state, loaded.compiled, context.now_ms), None)
    if tick is None:
        raise InvalidField("at", "there is no tick left to skip")
    return tick
