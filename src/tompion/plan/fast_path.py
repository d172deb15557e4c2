"""The common case: one tick is due on time, and only overlap could keep it from starting.

Returns the decision of :func:`~tompion.plan.decide.decide` for a tenth of the work, or ``None`` if the caller must use
that function. A test compares both.
"""

from __future__ import annotations

from functools import lru_cache

from tompion.model.policy import Overlap
from tompion.model.run import RunRow, RunSource, RunState, StartRow
from tompion.model.schedule_state import FastAdvanceRow, StateTuple
from tompion.plan.compiled_schedule import MAX_CACHED_TICKS, CompiledSchedule, next_tick, wall_time
from tompion.plan.context import DecisionContext
from tompion.spec.ticks import Ticks

_make_row = RunRow._make


@lru_cache(maxsize=MAX_CACHED_TICKS)
def next_tick_and_wall_time(ticks: Ticks, nominal_s: int) -> tuple[int | None, int | None, str | None]:
    """Return the tick after a tick, its local time, and how DST moved it."""
    return next_tick(ticks, nominal_s), *wall_time(ticks, nominal_s)


def decide_fast(
    state: StateTuple, compiled: CompiledSchedule, context: DecisionContext
) -> tuple[RunRow, StartRow, FastAdvanceRow] | None:
    """Return the run of a tick that starts, and the narrow rows to write, or ``None`` if there is more to decide."""
    (
        key, version, _cursor, nominal, fire_ms, paused, _until, closed, in_flight, waiting, remaining, _last_start,
        _failures, _carry, carry_until, skips, starts, _successes, _failed, _skipped, _missed,
        _last_end, _hints, zone_tables,
    ) = state  # fmt: skip
    owner, now_ms = context.owner, context.now_ms
    if (
        owner is None or nominal is None or not compiled.has_fast_path or context.target_paused or paused or closed
        or waiting or remaining is not None or carry_until is not None or skips is not None
        or zone_tables != compiled.zone_tables
    ):  # fmt: skip
        return None
    policy = compiled.policy
    if in_flight >= policy.max_concurrent and policy.overlap_policy is not Overlap.ALLOW:
        return None
    if not now_ms - context.limits.grace_ms <= fire_ms <= now_ms:
        return None
    following, local_s, dst_adjustment = next_tick_and_wall_time(compiled.ticks, nominal)
    if compiled.spec.jitter_ms > 0:
        expected_ms = compiled.fire_ms(nominal)
        next_fire_ms = None if following is None else compiled.fire_ms(following)
    else:
        expected_ms = nominal * 1000
        next_fire_ms = None if following is None else following * 1000
    if dst_adjustment is not None or fire_ms != expected_ms or (next_fire_ms is not None and next_fire_ms <= now_ms):
        return None
    # Positional, because this runs once per tick: keywords cost twice as much.
    row = _make_row((
        key, nominal, 0, RunSource.SCHEDULE, RunState.ENQUEUED, None, version, 1, 0, fire_ms, None, owner, now_ms,
        local_s, None, None, None, None, None, None, False, None, None, None, None, 0, None, None,
    ))  # fmt: skip
    return (
        row,
        (key, nominal, version, fire_ms, owner, now_ms, local_s),
        (key, nominal, following, next_fire_ms, in_flight + 1, now_ms, starts + 1),
    )
