"""Pause, resume, trigger, skip, backfill: what people do to schedules that exist."""

from __future__ import annotations

from contextlib import suppress
from secrets import token_hex
from typing import Any

from tompion.errors import InvalidField, LimitExceeded, display
from tompion.model.decision_writes import WriteResult
from tompion.model.policy import OVERLAP_ALIASES, OnResume, Overlap
from tompion.model.run import FINAL, RunId, RunRow, RunSource, RunState
from tompion.model.schedule import Run, Schedule
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import idempotent
from tompion.operations.instants import When, epoch_ms, epoch_s
from tompion.operations.schedules.definition import payload_of
from tompion.operations.schedules.repository import (
    UNREADABLE,
    AuditEntry,
    LoadedSchedule,
    audit,
    compile_version,
    open_schedule,
    save,
)
from tompion.operations.validation import UNSET, check_name, check_note, choice
from tompion.operations.views import at_s, datetime_ms, run_view
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
    token: int | None = None,
    request_id: str | None = None,
) -> Schedule:
    """Pause a schedule: no tick starts, its cursor stands still.  Pausing again refreshes note, author and end."""
    opened = open_schedule(context, schedule_id, token)
    until_ms = None if until is None else epoch_ms("until", until)
    if until_ms is not None and until_ms <= context.now_ms:
        raise InvalidField("until", f"{datetime_ms(until_ms).isoformat()} is over already")
    who = context.actor if paused_by is None else check_name("paused_by", paused_by, context.settings)
    row, state = pause_schedule(
        opened.row, opened.state, paused_by=who, note=check_note(note), now_ms=context.now_ms, until_ms=until_ms
    )
    after = {"state": "paused", "paused_by": who, "note": note, "until": until_ms}
    changed = opened._replace(row=row, state=state)
    return save(context, changed, AuditEntry("pause", request_id, {"state": opened.row.state}, after))


@idempotent(Schedule)
def resume(  # noqa: PLR0913 - the parts of the request
    context: OperationContext,
    schedule_id: str,
    *,
    on_resume: str | None = None,
    note: str | None = None,
    token: int | None = None,
    request_id: str | None = None,
) -> Schedule:
    """Resume a schedule; what the pause missed goes by ``on_resume``, or by the schedule's own setting."""
    opened = open_schedule(context, schedule_id, token)
    chosen = opened.compiled.policy.on_resume if on_resume is None else choice("on_resume", on_resume, OnResume)
    row, state = resume_schedule(
        opened.row, opened.state, opened.compiled, on_resume=chosen, now_ms=context.now_ms, note=check_note(note)
    )
    context.transaction.run_unhold_planned([row.schedule_key], context.now_ms)
    after = {"state": "active", "on_resume": chosen, **({} if note is None else {"note": note})}
    changed = opened._replace(row=row, state=state)
    return save(context, changed, AuditEntry("resume", request_id, {"state": opened.row.state}, after))


@idempotent(Run)
def trigger(
    context: OperationContext,
    schedule_id: str,
    *,
    overlap: str | None = None,
    payload: Any = UNSET,
    request_id: str | None = None,
) -> Run:
    """Run a schedule now, whether or not it is paused; its cursor does not move."""
    return trigger_now(context, schedule_id, overlap, payload, request_id)


def trigger_now(  # noqa: PLR0913 - the parts of the request
    context: OperationContext,
    schedule_id: str,
    overlap: str | None,
    payload: Any,
    request_id: str | None,
    nominal_s: int | None = None,
) -> Run:
    """Run a schedule now, or now for another time, whether or not the same request was answered before."""
    asked = request_id or f"t-{token_hex(8)}"
    opened = open_schedule(context, schedule_id)
    chosen = Overlap.ALLOW if overlap is None else choice("overlap", overlap, Overlap, OVERLAP_ALIASES)
    text = None if payload is UNSET else compact(payload_of(payload, context.settings))
    row = create_manual_run(context, opened, RunSource.TRIGGER, chosen, payload=text, asked=asked, nominal_s=nominal_s)
    _audit_request(context, opened, AuditEntry("trigger", request_id, None, {"run_id": str(row.id), "overlap": chosen}))
    return run_view(row, opened.row)


def create_manual_run(  # noqa: PLR0913 - what a run is asked for with
    context: OperationContext,
    opened: LoadedSchedule,
    source: RunSource,
    overlap: Overlap,
    *,
    payload: str | None = None,
    asked: str,
    nominal_s: int | None = None,
) -> RunRow:
    """Decide about a run that somebody asks for now, and write it down."""
    origin = Origin(source, context.transaction.number_next(), overlap, payload, asked)
    decision = Decision(opened.state, opened.compiled, context.decision_contexts().of(opened.compiled))
    decision.request(Due(context.now_ms // 1000 if nominal_s is None else nominal_s, context.now_ms), origin)
    recorded = _record(context, decision)
    row = decision.runs[-1]
    return _released(context, opened).get(row.id, row) if recorded.given_up else row


@idempotent(Schedule)
def skip(  # noqa: PLR0913 - the parts of the request
    context: OperationContext,
    schedule_id: str,
    *,
    at: list[When] | None = None,
    note: str | None = None,
    token: int | None = None,
    request_id: str | None = None,
) -> Schedule:
    """Skip the next tick to come, or the ticks at given times; each is recorded as skipped on request."""
    opened = open_schedule(context, schedule_id, token)
    ticks = (
        [_next_tick(context, opened)]
        if at is None
        else [_tick_at(opened, when) for when in _times(at, "the next tick")]
    )
    state = edit.add_skips(opened.state, ticks)
    if len((state.skips or "").split(",")) > MAX_SKIPS:
        raise LimitExceeded(f"at: more than {MAX_SKIPS} ticks to be skipped; a blackout in the spec does that better")
    after = {"skip": [at_s(tick).isoformat() for tick in ticks], "note": check_note(note)}
    return save(context, opened._replace(state=state), AuditEntry("skip", request_id, None, after))


@idempotent(Schedule)
def unskip(  # noqa: PLR0913 - the parts of the request
    context: OperationContext,
    schedule_id: str,
    *,
    at: list[When] | None = None,
    note: str | None = None,
    token: int | None = None,
    request_id: str | None = None,
) -> Schedule:
    """Take back a skip: of every tick to come that was to be skipped, or of those at given times, which run again.

    One that nobody asked to skip stays as it is; one that has been skipped already is refused.
    """
    opened = open_schedule(context, schedule_id, token)
    known = edit.skips_of(opened.state)
    taken = known if at is None else _known_skips(opened, known, _times(at, "all that are to be skipped"))
    before = {"skip": [at_s(tick).isoformat() for tick in sorted(taken)]}
    changed = opened._replace(state=edit.remove_skips(opened.state, taken))
    return save(context, changed, AuditEntry("unskip", request_id, before, {"skip": [], "note": check_note(note)}))


# --- parts ----------------------------------------------------------------------------------------------------------


def _record(context: OperationContext, decision: Decision) -> WriteResult:
    recorded = context.transaction.write_decisions(
        decision_writes(context.now_ms, [decision], [decision.with_wake_up(decision.state_after_requests())])
    )
    for (
        row
    ) in recorded.to_end:  # whoever executes it here looks by themselves; its target elsewhere is asked by an engine
        if row.owner is None and row.execution_id is not None:
            context.transaction.run_request_end(row.id, context.now_ms)
    skipped = [run for run in (*decision.runs, *recorded.superseded) if run.state == RunState.SKIPPED]
    ended = [run for run in (*recorded.to_end, *recorded.given_up) if run.state in FINAL]
    context.counted.update([("runs_skipped", str(run.reason)) for run in skipped])
    context.counted.update([("runs_finished", str(run.state)) for run in ended])
    context.transaction.notify()
    return recorded


def _released(context: OperationContext, opened: LoadedSchedule) -> dict[RunId, RunRow]:
    """Start what waits for the slot of a run that was given up, each in its turn; return what started.

    It happens in the same transaction: otherwise whoever asks next finds the slot free, and goes first.
    """
    transaction, key = context.transaction, opened.row.schedule_key
    states, schedules = transaction.state_lock([key]), {key: opened.compiled}
    waiting = transaction.run_list_buffered([key], context.settings.max_buffer + 1)
    older = _compile_versions(context, opened, older_versions(waiting, schedules))
    runs = with_versions(waiting, schedules, older)
    released = release_queues(states, schedules, runs, context.decision_contexts())
    transaction.run_release_waiting(released.changes)
    transaction.state_update([released.states[key]])
    skipped = [change for change in released.changes if change.state == RunState.SKIPPED]
    context.counted.update([("runs_skipped", str(change.reason)) for change in skipped])
    return {row.id: row for row, _ in released.started}


def _compile_versions(
    context: OperationContext, opened: LoadedSchedule, versions: list[tuple[int, int]]
) -> dict[tuple[int, int], CompiledSchedule]:
    """Return the compiled older versions of a schedule, without those that cannot be read."""
    compiled: dict[tuple[int, int], CompiledSchedule] = {}
    for key, number in versions:
        version = context.transaction.version_get(key, number)
        with suppress(*UNREADABLE):
            if version is not None:
                compiled[key, number] = compile_version(context, opened.row, version)
    return compiled


def _audit_request(context: OperationContext, opened: LoadedSchedule, note: AuditEntry) -> None:
    """A request that leaves the definition and the token as they are is on record all the same."""
    audit(context, opened.row, note)


def _times(at: object, otherwise: str) -> list[When]:
    if not at or not isinstance(at, list | tuple):
        raise InvalidField("at", f"{display(at)}; expected a list of times, or nothing at all for {otherwise}")
    return list(at)


def _known_skips(opened: LoadedSchedule, known: set[int], times: list[When]) -> set[int]:
    """Those of some times that are to be skipped; of the others, each has to be a tick that is still to come."""
    moments = {epoch_s("at", when) for when in times}
    for moment in moments - known:
        _tick_at(opened, at_s(moment))
    return moments & known


def _tick_at(opened: LoadedSchedule, when: When) -> int:
    moment = epoch_s("at", when)
    if opened.compiled.is_sequential:
        return _pending_tick(opened, moment)
    if opened.compiled.ticks.next_epoch(moment - 1) != moment:
        following = opened.compiled.ticks.next_epoch(moment)
        hint = "there is none after it" if following is None else f"the next one is at {at_s(following).isoformat()}"
        raise InvalidField("at", f"there is no tick at {at_s(moment).isoformat()}; {hint}")
    if moment <= opened.state.cursor_s:
        raise InvalidField("at", f"the tick at {at_s(moment).isoformat()} has been decided already")
    return moment


def _pending_tick(opened: LoadedSchedule, moment: int) -> int:
    """The tick after a run that is to come, or that is to be skipped already: no other is known."""
    pending = edit.next_unskipped(opened.state, opened.compiled)
    if moment != pending and moment not in edit.skips_of(opened.state):
        hint = "none before its run has ended" if pending is None else f"the one at {at_s(pending).isoformat()}"
        kind = "a fixed delay" if opened.compiled.allowed_seconds is None else "an adaptive schedule"
        raise InvalidField("at", f"there is no tick at {at_s(moment).isoformat()}; of {kind} is known {hint}")
    return moment


def _next_tick(context: OperationContext, opened: LoadedSchedule) -> int:
    tick = next(upcoming_ticks(opened.state, opened.compiled, context.now_ms), None)
    if tick is None:
        raise InvalidField("at", "there is no tick left to skip")
    return tick
