"""Pause, resume, trigger, skip, backfill: what people do to schedules that exist."""

from __future__ import annotations

from secrets import token_hex
from typing import Any

from tompion.errors import InvalidField, LimitExceeded, NotFound, shown
from tompion.model.backfill import CANCELLED, RUNNING, BackfillRow
from tompion.model.policy import OVERLAP_ALIASES, OnResume, Overlap
from tompion.model.record import Recorded
from tompion.model.rows import ScheduleRow
from tompion.model.run import FINAL, RunId, RunRow, RunState, Source
from tompion.model.schedule import Backfill, Run, Schedule
from tompion.operations.drafting import UNSET, check_name, check_note, choice, payload_of
from tompion.operations.editing import UNREADABLE, Note, Opened, audit, find, open_schedule, rule_for, save
from tompion.operations.moments import When, epoch_ms, epoch_s
from tompion.operations.schedules import page_limit
from tompion.operations.session import Session, once
from tompion.operations.views import at_ms, at_s, backfill_view, run_view
from tompion.plan import edit
from tompion.plan.ahead import upcoming
from tompion.plan.backfill import ALL, ONLY, last_decided, wanted
from tompion.plan.decide import Decision, Origin, record_of
from tompion.plan.definition import compact
from tompion.plan.generate import Due, Limits
from tompion.plan.rule import Rule
from tompion.plan.settle import release
from tompion.plan.world import World, is_target_paused

MAX_SKIPS = 1_000
MAX_NUMBER = 1 << 62


@once(Schedule)
def pause(  # noqa: PLR0913 - the parts of the request
    session: Session,
    schedule_id: str,
    *,
    note: str | None = None,
    until: When | None = None,
    paused_by: str | None = None,
    token: int | None = None,
    request_id: str | None = None,
) -> Schedule:
    """Pause a schedule: no tick starts, its cursor stands still.  Pausing again refreshes note, author and end."""
    opened = open_schedule(session, schedule_id, token)
    until_ms = None if until is None else epoch_ms("until", until)
    if until_ms is not None and until_ms <= session.now_ms:
        raise InvalidField("until", f"{at_ms(until_ms).isoformat()} is over already")
    who = session.actor if paused_by is None else check_name("paused_by", paused_by, session.settings)
    row = opened.row._replace(state="paused", paused_by=who, pause_note=check_note(note), paused_ms=session.now_ms)
    after = {"state": "paused", "paused_by": who, "note": note, "until": until_ms}
    changed = opened._replace(row=row, dial=edit.paused(opened.dial, until_ms))
    return save(session, changed, Note("pause", request_id, {"state": opened.row.state}, after))


@once(Schedule)
def resume(  # noqa: PLR0913 - the parts of the request
    session: Session,
    schedule_id: str,
    *,
    on_resume: str | None = None,
    note: str | None = None,
    token: int | None = None,
    request_id: str | None = None,
) -> Schedule:
    """Resume a schedule; what the pause missed goes by ``on_resume``, or by the schedule's own setting."""
    opened = open_schedule(session, schedule_id, token)
    chosen = opened.rule.policy.on_resume if on_resume is None else choice("on_resume", on_resume, OnResume)
    row = opened.row._replace(state="active", paused_by=None, pause_note=check_note(note), paused_ms=None)
    dial = edit.resumed(opened.dial, opened.rule, session.now_ms, chosen)
    session.transaction.unhold_planned([row.schedule_key], session.now_ms)
    after = {"state": "active", "on_resume": chosen, **({} if note is None else {"note": note})}
    changed = opened._replace(row=row, dial=dial)
    return save(session, changed, Note("resume", request_id, {"state": opened.row.state}, after))


@once(Run)
def trigger(
    session: Session,
    schedule_id: str,
    *,
    overlap: str | None = None,
    payload: Any = UNSET,
    request_id: str | None = None,
) -> Run:
    """Run a schedule now, whether or not it is paused; its cursor does not move."""
    return triggered(session, schedule_id, overlap, payload, request_id)


def triggered(  # noqa: PLR0913 - the parts of the request
    session: Session,
    schedule_id: str,
    overlap: str | None,
    payload: Any,
    request_id: str | None,
    nominal_s: int | None = None,
) -> Run:
    """Run a schedule now, or now for another time, whether or not the same request was answered before."""
    asked = request_id or f"t-{token_hex(8)}"
    opened = open_schedule(session, schedule_id)
    chosen = Overlap.ALLOW if overlap is None else choice("overlap", overlap, Overlap, OVERLAP_ALIASES)
    text = None if payload is UNSET else compact(payload_of(payload, session.settings))
    row = requested(session, opened, Source.TRIGGER, chosen, payload=text, asked=asked, nominal_s=nominal_s)
    _audit_request(session, opened, Note("trigger", request_id, None, {"run_id": str(row.id), "overlap": chosen}))
    return run_view(row, opened.row)


def requested(  # noqa: PLR0913 - what a run is asked for with
    session: Session,
    opened: Opened,
    source: Source,
    overlap: Overlap,
    *,
    payload: str | None = None,
    asked: str,
    nominal_s: int | None = None,
) -> RunRow:
    """Decide about a run that somebody asks for now, and write it down."""
    origin = Origin(source, session.transaction.next_number(), overlap, payload, asked)
    decision = Decision(opened.dial, opened.rule, _world(session, opened.rule))
    decision.request(Due(session.now_ms // 1000 if nominal_s is None else nominal_s, session.now_ms), origin)
    recorded = _record(session, decision)
    row = decision.runs[-1]
    return _released(session, opened).get(row.id, row) if recorded.given_up else row


@once(Schedule)
def skip(  # noqa: PLR0913 - the parts of the request
    session: Session,
    schedule_id: str,
    *,
    at: list[When] | None = None,
    note: str | None = None,
    token: int | None = None,
    request_id: str | None = None,
) -> Schedule:
    """Skip the next tick to come, or the ticks at given times; each is recorded as skipped on request."""
    opened = open_schedule(session, schedule_id, token)
    ticks = (
        [_next_tick(session, opened)]
        if at is None
        else [_tick_at(opened, when) for when in _times(at, "the next tick")]
    )
    dial = edit.skipping(opened.dial, ticks)
    if len((dial.skips or "").split(",")) > MAX_SKIPS:
        raise LimitExceeded(f"at: more than {MAX_SKIPS} ticks to be skipped; a blackout in the spec does that better")
    after = {"skip": [at_s(tick).isoformat() for tick in ticks], "note": check_note(note)}
    return save(session, opened._replace(dial=dial), Note("skip", request_id, None, after))


@once(Schedule)
def unskip(  # noqa: PLR0913 - the parts of the request
    session: Session,
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
    opened = open_schedule(session, schedule_id, token)
    known = edit.skips_of(opened.dial)
    taken = known if at is None else _known_skips(opened, known, _times(at, "all that are to be skipped"))
    before = {"skip": [at_s(tick).isoformat() for tick in sorted(taken)]}
    changed = opened._replace(dial=edit.unskipping(opened.dial, taken))
    return save(session, changed, Note("unskip", request_id, before, {"skip": [], "note": check_note(note)}))


@once(tuple[Backfill, ...])
def backfill(  # noqa: PLR0913 - the parts of the request
    session: Session,
    schedule_id: str,
    start: When | None = None,
    end: When | None = None,
    *,
    ranges: list[tuple[When, When]] | None = None,
    overlap: str = Overlap.QUEUE,
    only: str = ALL,
    request_id: str | None = None,
) -> tuple[Backfill, ...]:
    """Run the ticks of the past again: from ``start`` to ``end``, both included, or of several ranges."""
    opened = open_schedule(session, schedule_id)
    chosen = choice("overlap", overlap, Overlap, OVERLAP_ALIASES)
    if only not in ONLY:
        raise InvalidField("only", f"{shown(only)}; expected one of {', '.join(ONLY)}")
    asked = [(start, end)] if ranges is None else _pairs(ranges)
    rows = [_backfill_row(session, opened, first, last, chosen, only) for first, last in asked]
    _check_backfills(session, opened, rows)
    for row in rows:
        session.transaction.insert_backfill(row)
    views = tuple(backfill_view(row, schedule_id) for row in rows)
    after = {"backfills": [row.backfill_id for row in rows], "ticks": sum(row.total for row in rows)}
    after["undecided"] = sum(row.undecided for row in rows)
    _audit_request(session, opened, Note("backfill", request_id, None, after))
    session.transaction.notify()
    return views


@once(Backfill)
def cancel_backfill(session: Session, backfill_id: int, *, request_id: str | None = None) -> Backfill:
    """Stop a backfill where it is; what it has started goes on."""
    row, schedule = _found_backfill(session, backfill_id)
    opened = open_schedule(session, schedule.schedule_id, closed=True)
    row, _ = _found_backfill(session, backfill_id)  # once more, now that nobody else changes it
    if row.state == RUNNING:
        row = row._replace(state=CANCELLED, next_ms=None, finished_ms=session.now_ms)
        session.transaction.save_backfill(row)
        _audit_request(session, opened, Note("cancel_backfill", request_id, None, {"backfill_id": backfill_id}))
    return backfill_view(row, schedule.schedule_id)


def get_backfill(session: Session, backfill_id: int) -> Backfill:
    """Return one backfill, and how far it is."""
    row, schedule = _found_backfill(session, backfill_id)
    return backfill_view(row, schedule.schedule_id)


def _found_backfill(session: Session, backfill_id: int) -> tuple[BackfillRow, ScheduleRow]:
    """Return a backfill of this namespace, and its schedule; raises :class:`~tompion.errors.NotFound`."""
    known = type(backfill_id) is int and 0 < backfill_id < MAX_NUMBER
    row = session.transaction.backfill_by_id(backfill_id) if known else None
    schedule = None if row is None else session.transaction.schedules_by_key([row.schedule_key]).get(row.schedule_key)
    if row is None or schedule is None or schedule.namespace != session.namespace:
        raise NotFound(f"there is no backfill {shown(backfill_id)}")
    return row, schedule


def backfills(session: Session, schedule_id: str, *, limit: int = 50) -> tuple[Backfill, ...]:
    """Return the backfills of a schedule and how far they are, the newest first."""
    row = find(session, schedule_id)
    found = session.transaction.backfills_of(row.schedule_key, page_limit(session, limit))
    return tuple(backfill_view(each, schedule_id) for each in found)


# --- parts ----------------------------------------------------------------------------------------------------------


def _world(session: Session, rule: Rule) -> World:
    settings, now_ms = session.settings, session.now_ms
    limits = Limits(0, 0, 0, 0, 0)
    is_paused = is_target_paused(rule, session.transaction.paused_targets())
    return World(now_ms, None, limits, settings.max_buffer, is_paused)


def _record(session: Session, decision: Decision) -> Recorded:
    recorded = session.transaction.record(record_of(session.now_ms, [decision], [decision.awake(decision.standing())]))
    for (
        row
    ) in recorded.to_end:  # whoever executes it here looks by themselves; its target elsewhere is asked by an engine
        if row.owner is None and row.execution_id is not None:
            session.transaction.have_ended(row.id, session.now_ms)
    skipped = [run for run in (*decision.runs, *recorded.superseded) if run.state == RunState.SKIPPED]
    ended = [run for run in (*recorded.to_end, *recorded.given_up) if run.state in FINAL]
    session.counted.update([("runs_skipped", str(run.reason)) for run in skipped])
    session.counted.update([("runs_finished", str(run.state)) for run in ended])
    session.transaction.notify()
    return recorded


def _released(session: Session, opened: Opened) -> dict[RunId, RunRow]:
    """Start what waits for the slot of a run that was given up, each in its turn; return what started.

    It happens in the same transaction: otherwise whoever asks next finds the slot free, and goes first.
    """
    transaction, key = session.transaction, opened.row.schedule_key
    dial = transaction.lock_dials([key])[key]
    waiting = transaction.waiting_of([key], session.settings.max_buffer + 1)
    versions = {row.version for row in waiting}
    worlds = {number: _world(session, _as_decided(session, opened, number)) for number in versions}
    released = release(dial, opened.rule, [(row, worlds[row.version]) for row in waiting])
    transaction.release_runs(released.changes)
    transaction.save_dials([released.dial])
    skipped = [change for change in released.changes if change.state == RunState.SKIPPED]
    session.counted.update([("runs_skipped", str(change.reason)) for change in skipped])
    return {row.id: row for row in released.started}


def _as_decided(session: Session, opened: Opened, number: int) -> Rule:
    """The rule of the version that decided a run; that of now, if nobody can read it any more."""
    if number == opened.rule.version:
        return opened.rule
    version = session.transaction.version_by_number(opened.row.schedule_key, number)
    try:
        return opened.rule if version is None else rule_for(session, opened.row, version)
    except UNREADABLE:
        return opened.rule


def _audit_request(session: Session, opened: Opened, note: Note) -> None:
    """A request that leaves the definition and the token as they are is on record all the same."""
    audit(session, opened.row, note)


def _times(at: object, otherwise: str) -> list[When]:
    if not at or not isinstance(at, list | tuple):
        raise InvalidField("at", f"{shown(at)}; expected a list of times, or nothing at all for {otherwise}")
    return list(at)


def _known_skips(opened: Opened, known: set[int], times: list[When]) -> set[int]:
    """Those of some times that are to be skipped; of the others, each has to be a tick that is still to come."""
    moments = {epoch_s("at", when) for when in times}
    for moment in moments - known:
        _tick_at(opened, at_s(moment))
    return moments & known


def _tick_at(opened: Opened, when: When) -> int:
    moment = epoch_s("at", when)
    if opened.rule.follows:
        return _pending_tick(opened, moment)
    if opened.rule.ticks.next_epoch(moment - 1) != moment:
        following = opened.rule.ticks.next_epoch(moment)
        hint = "there is none after it" if following is None else f"the next one is at {at_s(following).isoformat()}"
        raise InvalidField("at", f"there is no tick at {at_s(moment).isoformat()}; {hint}")
    if moment <= opened.dial.cursor_s:
        raise InvalidField("at", f"the tick at {at_s(moment).isoformat()} has been decided already")
    return moment


def _pending_tick(opened: Opened, moment: int) -> int:
    """The tick after a run that is to come, or that is to be skipped already: no other is known."""
    pending = edit.next_unskipped(opened.dial, opened.rule)
    if moment != pending and moment not in edit.skips_of(opened.dial):
        hint = "none before its run has ended" if pending is None else f"the one at {at_s(pending).isoformat()}"
        kind = "a fixed delay" if opened.rule.gate is None else "an adaptive schedule"
        raise InvalidField("at", f"there is no tick at {at_s(moment).isoformat()}; of {kind} is known {hint}")
    return moment


def _next_tick(session: Session, opened: Opened) -> int:
    tick = next(upcoming(opened.dial, opened.rule, session.now_ms), None)
    if tick is None:
        raise InvalidField("at", "there is no tick left to skip")
    return tick


def _pairs(ranges: object) -> list[tuple[When | None, When | None]]:
    if not isinstance(ranges, list | tuple) or not all(
        isinstance(each, list | tuple) and len(each) == 2 for each in ranges
    ):
        raise InvalidField("ranges", f"{shown(ranges)}; expected a list of pairs: start and end")
    return [(first, last) for first, last in ranges]


def _backfill_row(  # noqa: PLR0913 - the parts of the row
    session: Session, opened: Opened, start: When | None, end: When | None, overlap: Overlap, only: str
) -> BackfillRow:
    if start is None or end is None:
        raise InvalidField("start" if start is None else "end", "a backfill needs both ends of its range")
    first, last = -(-epoch_ms("start", start) // 1000), epoch_s("end", end)
    if last < first:
        raise InvalidField("end", f"{at_s(last).isoformat()} is before start {at_s(first).isoformat()}")
    if last * 1000 > session.now_ms:
        raise InvalidField("end", f"{at_s(last).isoformat()} is still to come; a backfill is about the past")
    if opened.rule.follows:
        kind = "a fixed delay" if opened.rule.gate is None else "an adaptive schedule"
        raise InvalidField("start", f"{kind} has no ticks in the past; trigger it instead")
    most = session.settings.max_backfill_ticks
    ticks = opened.rule.ticks_between(first - 1, last, most + 1)
    if ticks > most:
        raise LimitExceeded(f"end: more than max_backfill_ticks ({most}) ticks in that range; ask for a shorter one")
    known = last_decided(opened.dial, only, last)
    undecided = opened.rule.ticks_between(max(known, first - 1), last, most)
    if only != ALL:
        ticks = _count_wanted(session, opened, first, known, only)
    now_ms = session.now_ms
    return BackfillRow(
        session.transaction.next_number(), opened.row.schedule_key, first, last, first - 1, overlap, only,
        opened.row.version, RUNNING, ticks, 0, now_ms, now_ms, None, known, undecided,
    )  # fmt: skip


def _count_wanted(session: Session, opened: Opened, first: int, last: int, only: str) -> int:
    ticks = list(opened.rule.ticks.between_epochs(first, last))
    states = session.transaction.tick_states(opened.row.schedule_key, ticks)
    return sum(wanted(only, states.get(tick, ())) for tick in ticks)


def _check_backfills(session: Session, opened: Opened, rows: list[BackfillRow]) -> None:
    if not rows:
        raise InvalidField("ranges", "give at least one range")
    most = session.settings.max_backfills
    running = len(session.transaction.backfills_of(opened.row.schedule_key, most + 1, unfinished=True))
    if running + len(rows) > most:
        raise LimitExceeded(f"ranges: more than max_backfills ({most}) at a time; wait for some to end")
    if sum(row.total for row in rows) > session.settings.max_backfill_ticks:
        raise LimitExceeded(f"ranges: more than max_backfill_ticks ({session.settings.max_backfill_ticks}) ticks")
