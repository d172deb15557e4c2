"""What a control operation does to a dial.  Every move of a cursor comes with a span for the ticks it passes."""

from __future__ import annotations

from typing import NamedTuple

from tompion.model.policy import OnResume
from tompion.model.run import Reason
from tompion.model.schedule_state import DroppedRange, ScheduleState
from tompion.plan import adaptive
from tompion.plan.compiled_schedule import CompiledSchedule

MAX_EDIT_COUNT = 1_000_000
"""The most ticks that an edit counts when it passes them over."""


class EditResult(NamedTuple):
    """The dial to write, and what the edit passed over."""

    dial: ScheduleState
    spans: list[DroppedRange]


def created(
    rule: CompiledSchedule, now_ms: int, *, remaining: int | None = None, paused: bool = False
) -> ScheduleState:
    """Return the dial of a new schedule: its first tick is the first one not before now, or ``start_at``."""
    dial = ScheduleState(
        schedule_key=rule.schedule_key,
        version=rule.version,
        cursor_s=before(now_ms),
        next_nominal_s=None,
        next_fire_ms=None,
        paused=paused,
        pause_until_ms=None,
        closed=False,
        in_flight=0,
        waiting=0,
        remaining=remaining,
        last_start_ms=None,
        failures=0,
        carry=None,
        carry_until_s=None,
        skips=None,
        starts=0,
        successes=0,
        failed=0,
        skipped=0,
        missed=0,
    )
    return aimed(dial, rule, dial.cursor_s)


def before(now_ms: int) -> int:
    """Return the last whole second before an instant: a cursor there leaves a tick at the instant undecided."""
    return (now_ms - 1) // 1000


def aimed(dial: ScheduleState, rule: CompiledSchedule, cursor_s: int) -> ScheduleState:
    """Return the dial pointed at the first tick after a cursor."""
    if rule.gate is not None:
        dial = dial._replace(version=rule.version, cursor_s=cursor_s, next_nominal_s=None)
        return governed(dial, rule, (cursor_s + 1) * 1000)
    if rule.follows:
        start = max(cursor_s + 1, rule.start_s or 0)
        every_s = rule.spec.intervals[0].every_s  # as if a run had ended so long before: its delay is just over
        following = None if dial.in_flight or dial.waiting else rule.ticks.next_epoch(start - every_s)
    else:
        following = rule.next_after(cursor_s)
    return silenced(
        dial._replace(version=rule.version, cursor_s=cursor_s, next_nominal_s=following),
        None if following is None else rule.fire_ms(following),
    )


def governed(dial: ScheduleState, rule: CompiledSchedule, now_ms: int) -> ScheduleState:
    """Return an adaptive schedule's dial aimed anew, because something has changed; a run that goes on comes first."""
    dial = adaptive.unexpired(dial, now_ms)
    if dial.next_nominal_s is None and (dial.in_flight or dial.waiting):
        return silenced(dial, None)
    return after_run(dial, rule, now_ms)


def after_run(dial: ScheduleState, rule: CompiledSchedule, now_ms: int) -> ScheduleState:
    """Return a dial whose next tick follows a run, when that run has ended, or was not to be."""
    if rule.gate is not None and not dial.closed:
        dial = adaptive.unexpired(dial, now_ms)
        found = adaptive.plan(dial, rule, now_ms)
        nominal, fire_ms = (None, None) if found is None else (found.nominal_s, found.fire_ms)
        return silenced(dial._replace(next_nominal_s=nominal), fire_ms)
    following = None if dial.closed else rule.ticks.next_epoch(max(-(-now_ms // 1000), dial.cursor_s))
    return silenced(dial._replace(next_nominal_s=following), None if following is None else following * 1000)


def fire_ms_of(dial: ScheduleState, rule: CompiledSchedule) -> int | None:
    """Return the fire time of the tick that a dial is aimed at."""
    if dial.next_nominal_s is None:
        return None
    return rule.fire_ms(dial.next_nominal_s) if rule.gate is None else adaptive.waited_for(dial, rule).fire_ms


def silenced(dial: ScheduleState, fire_ms: int | None) -> ScheduleState:
    """Return the dial with its next fire time, unless something keeps it from firing."""
    if dial.closed or (dial.remaining == 0 and not dial.paused):
        return dial._replace(next_fire_ms=None)
    if dial.paused:
        return dial._replace(next_fire_ms=dial.pause_until_ms)
    return dial._replace(next_fire_ms=fire_ms)


def woken(dial: ScheduleState, now_ms: int) -> ScheduleState:
    """Return the dial so that an engine looks at once at what waits, if anything does."""
    if dial.closed or not dial.waiting:
        return dial
    return dial._replace(next_fire_ms=now_ms if dial.next_fire_ms is None else min(dial.next_fire_ms, now_ms))


def rested(dial: ScheduleState, rule: CompiledSchedule, now_ms: int, waiting: int | None = None) -> ScheduleState:
    """Return a dial whose next tick follows a run aimed anew, if no run is left that it could follow."""
    waits = dial.waiting if waiting is None else waiting
    idle = rule.follows and dial.next_nominal_s is None and not dial.in_flight and not waits
    return after_run(dial, rule, now_ms) if idle else dial


def unqueued(dial: ScheduleState, rule: CompiledSchedule, now_ms: int, *, buffered: bool) -> ScheduleState:
    """Return the dial after a run that waited was cancelled; one that was only planned is not counted there."""
    return rested(dial._replace(waiting=dial.waiting - buffered), rule, now_ms)


def replaced(dial: ScheduleState, old: CompiledSchedule, new: CompiledSchedule, now_ms: int) -> EditResult:
    """Return the dial under a new version.

    With the same ticks the cursor stays, and what was missed stays missed.  With other ticks, those before the change
    are not replayed: the cursor moves on, and a span says so.
    """
    if new.gate is not None and _same_ticks(old, new) and not dial.closed:
        return EditResult(governed(dial._replace(version=new.version), new, now_ms), [])
    if _same_ticks(old, new) and not dial.closed:
        return EditResult(silenced(dial._replace(version=new.version), fire_ms_of(dial, new)), [])
    spans = [] if dial.closed else passed_over(dial, old, before(now_ms), Reason.EDITED, now_ms)
    cursor = max(dial.cursor_s, before(now_ms))
    hints = None if new.gate is None else dial.hints
    dial = dial._replace(carry=None, carry_until_s=None, closed=False, hints=hints)
    return EditResult(aimed(dial, new, cursor), spans)


def _same_ticks(old: CompiledSchedule, new: CompiledSchedule) -> bool:
    """Whether two rules tick and fire alike; equal specs usually share one compiled form, but not for ever."""
    if (new.gate is None) != (old.gate is None):
        return False
    if new.ticks is old.ticks:
        return _jitter_of(new) == _jitter_of(old)
    return new.spec == old.spec and not new.spec.exclude.named


def _jitter_of(rule: CompiledSchedule) -> tuple[int, str, str | None]:
    return rule.spec.jitter_ms, rule.spec.jitter_mode, rule.spec.jitter_seed


def passed_over(
    dial: ScheduleState, rule: CompiledSchedule, until_s: int, reason: Reason, now_ms: int
) -> list[DroppedRange]:
    """Return the span of the undecided ticks up to an instant; empty if there are none."""
    first = dial.next_nominal_s
    if first is None or first > until_s:
        return []
    count = 1 if rule.follows else rule.ticks_between(dial.cursor_s, until_s, MAX_EDIT_COUNT)
    return [DroppedRange(dial.schedule_key, dial.cursor_s, until_s, count, reason, rule.version, now_ms)]


def paused(dial: ScheduleState, until_ms: int | None) -> ScheduleState:
    """Return the dial paused: the cursor stands still."""
    return silenced(dial._replace(paused=True, pause_until_ms=until_ms), None)


def resumed(dial: ScheduleState, rule: CompiledSchedule, now_ms: int, on_resume: OnResume) -> ScheduleState:
    """Return the dial running again; the ticks of the pause are decided by the next pass of the engine."""
    if not dial.paused:
        return dial
    dial = dial._replace(paused=False, pause_until_ms=None)
    if on_resume != OnResume.POLICY:
        dial = dial._replace(carry=on_resume, carry_until_s=_last_due(rule, dial, now_ms))
    return woken(silenced(dial, fire_ms_of(dial, rule)), now_ms)


def _last_due(rule: CompiledSchedule, dial: ScheduleState, now_ms: int) -> int:
    """Return the last second whose ticks have all had their fire time, which jitter may have put before them."""
    now_s = now_ms // 1000
    if rule.gate is not None:
        return now_s
    ahead = None if rule.follows else rule.ticks.next_epoch(now_s)
    if ahead is not None and rule.fire_ms(ahead) <= now_ms:
        return ahead
    tick = rule.ticks.prev_epoch(now_s + 1)
    while tick is not None and tick > dial.cursor_s and rule.fire_ms(tick) > now_ms:
        now_s = tick - 1
        tick = rule.ticks.prev_epoch(tick)
    return now_s


def limited(dial: ScheduleState, rule: CompiledSchedule, remaining: int | None, now_ms: int) -> EditResult:
    """Return the dial with another number of remaining actions; a schedule that was exhausted starts afresh."""
    was_out = dial.remaining == 0
    dial = dial._replace(remaining=remaining)
    if not was_out or remaining == 0:
        return EditResult(silenced(dial, fire_ms_of(dial, rule)), [])
    spans = passed_over(dial, rule, before(now_ms), Reason.LIMIT_REACHED, now_ms)
    return EditResult(aimed(dial, rule, max(dial.cursor_s, before(now_ms))), spans)


def closed(dial: ScheduleState, rule: CompiledSchedule, now_ms: int) -> EditResult:
    """Return the dial of a deleted schedule: no more ticks; what was due and undecided is passed over."""
    spans = passed_over(dial, rule, before(now_ms), Reason.DELETED, now_ms)
    cursor = max(dial.cursor_s, before(now_ms))
    dial = dial._replace(closed=True, cursor_s=cursor, next_nominal_s=None, next_fire_ms=None, carry=None)
    return EditResult(dial._replace(carry_until_s=None, skips=None, hints=None), spans)


def skipping(dial: ScheduleState, ticks: list[int]) -> ScheduleState:
    """Return the dial with dated exceptions added."""
    known = skips_of(dial) | set(ticks)
    return dial._replace(skips=",".join(map(str, sorted(known))) or None)


def unskipping(dial: ScheduleState, ticks: set[int]) -> ScheduleState:
    """Return the dial without some of its dated exceptions."""
    left = skips_of(dial) - ticks
    return dial._replace(skips=",".join(map(str, sorted(left))) or None)


def skips_of(dial: ScheduleState) -> set[int]:
    """Return the ticks that somebody asked to skip, and that are still to come."""
    return {int(text) for text in dial.skips.split(",")} if dial.skips else set()


def next_unskipped(dial: ScheduleState, rule: CompiledSchedule) -> int | None:
    """Return the next tick that nobody asked to skip."""
    skipped, tick = skips_of(dial), dial.next_nominal_s
    while tick is not None and tick in skipped:
        dial, tick = _skipped(dial, rule, tick)
    return tick


def _skipped(dial: ScheduleState, rule: CompiledSchedule, tick: int) -> tuple[ScheduleState, int | None]:
    """The dial when a tick has been skipped at its time, and the tick after it."""
    if rule.gate is None:
        return dial, rule.next_after(tick)
    dial = adaptive.passed(dial, tick)
    found = adaptive.plan(dial, rule, tick * 1000)
    return dial, None if found is None else found.nominal_s
