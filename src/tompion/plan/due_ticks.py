"""Which ticks are due, and how missed ticks are caught up.

A tick that is late by at most the grace period is due. A later one is *missed*, whatever the cause: the catch-up window
and then the catch-up policy decide it. Dropped ticks are counted in a dropped range, so every tick between two cursors
is in exactly one place. The work of one pass is bounded: the remaining ticks wait for the next pass, with the cursor
before them.
"""

from __future__ import annotations

from typing import NamedTuple

from tompion.model.policy import CatchUp, OnResume
from tompion.model.run import Reason, RunSource
from tompion.model.schedule_state import ScheduleState
from tompion.plan import adaptive
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.edit import skips_of

NEVER_MS = 1 << 62
"""Later than the fire time of any tick."""


class DueLimits(NamedTuple):
    """The limits of one pass."""

    grace_ms: int
    max_catchup: int
    max_spread: int
    max_dropped_range_ticks: int
    lookahead_ms: int
    tick_ms: int = 1_000


class Due(NamedTuple):
    """A tick to decide. A ``planned`` tick waits for its fire time first."""

    nominal_s: int
    fire_ms: int
    reason: Reason | None = None
    planned: bool = False
    source: RunSource = RunSource.SCHEDULE


class Dropped(NamedTuple):
    """Ticks that are dropped together: after one instant, up to another."""

    after_s: int
    until_s: int
    ticks: int
    reason: Reason


class DueTicks(NamedTuple):
    """The result of one pass for one schedule.

    ``rest`` are the missed ticks that did not fit into the pass, as far as it looked, and ``after_rest_s`` is the tick
    after them. They need no pass of their own if none of them can start.
    """

    due: list[Due]
    dropped: list[Dropped]
    cursor_s: int
    next_nominal_s: int | None
    next_fire_ms: int | None
    catchups: int = 0
    rest: Dropped | None = None
    after_rest_s: int | None = None


def find_due_ticks(
    state: ScheduleState, compiled: CompiledSchedule, now_ms: int, limits: DueLimits, budget: int
) -> DueTicks:
    """Return the due ticks of a schedule, oldest first, and its cursor after them.

    ``budget`` is the number of missed ticks that may still start in this pass under the limits of the whole fleet.
    """
    nominal = state.next_nominal_s
    if nominal is None:
        return DueTicks([], [], state.cursor_s, None, None)
    if compiled.allowed_seconds is not None:
        return _adaptive(state, compiled, nominal, now_ms)
    if compiled.is_sequential:
        return _fixed_delay(state, compiled, nominal, now_ms)
    fire_ms = compiled.fire_ms(nominal)
    carried = state.carry_until_s is not None and nominal <= state.carry_until_s and fire_ms <= now_ms
    if carried or fire_ms < now_ms - limits.grace_ms:
        return _Pass(state, compiled, now_ms, limits, budget).run()
    return _on_time(compiled, nominal, now_ms, state.cursor_s)


def _on_time(compiled: CompiledSchedule, nominal: int, now_ms: int, cursor: int) -> DueTicks:
    """Return the ticks from ``nominal`` on that have reached their fire time."""
    due: list[Due] = []
    following: int | None = nominal
    fire = 0
    while following is not None and (fire := compiled.fire_ms(following)) <= now_ms:
        due.append(Due(following, fire))
        cursor = following
        following = compiled.next_after(following)
    return DueTicks(due, [], cursor, following, None if following is None else fire)


def _fixed_delay(state: ScheduleState, compiled: CompiledSchedule, nominal: int, now_ms: int) -> DueTicks:
    """Return the one pending tick of a fixed delay. It is never missed, and the next tick follows its run."""
    carried = state.carry_until_s is not None and nominal <= state.carry_until_s and nominal * 1000 <= now_ms
    if carried and state.carry == OnResume.SKIP:
        following = compiled.ticks.next_epoch(now_ms // 1000)
        dropped = [Dropped(state.cursor_s, nominal, 1, Reason.RESUMED)]
        return DueTicks([], dropped, nominal, following, None if following is None else following * 1000)
    if nominal * 1000 > now_ms:
        return DueTicks([], [], state.cursor_s, nominal, nominal * 1000)
    return DueTicks([Due(nominal, nominal * 1000)], [], nominal, None, None)


def _adaptive(state: ScheduleState, compiled: CompiledSchedule, nominal: int, now_ms: int) -> DueTicks:
    """Return the one pending tick of an adaptive schedule. It may have changed if a hint has expired."""
    planned = adaptive.planned_run(state, compiled)
    if planned.fire_ms > now_ms:
        return _nothing_due(planned, state.cursor_s, [])
    if state.carry == OnResume.SKIP and state.carry_until_s is not None and nominal <= state.carry_until_s:
        until = max(nominal, now_ms // 1000)
        dropped = [Dropped(state.cursor_s, until, 1, Reason.RESUMED)]
        return _nothing_due(
            adaptive.plan_next_run(adaptive.with_run_decided(state, until), compiled, now_ms), until, dropped
        )
    pending = adaptive.pending_run(state, compiled, now_ms)
    if pending is None or pending.fire_ms > now_ms:
        return _nothing_due(pending, state.cursor_s, [])
    return DueTicks([Due(pending.nominal_s, pending.fire_ms, source=pending.source)], [], pending.nominal_s, None, None)


def _nothing_due(planned: adaptive.AdaptivePlan | None, cursor: int, dropped: list[Dropped]) -> DueTicks:
    """Return that no tick is due, and the next run."""
    if planned is None:
        return DueTicks([], dropped, cursor, None, None)
    return DueTicks([], dropped, cursor, planned.nominal_s, planned.fire_ms)


class _Pass:
    """One bounded walk over missed ticks."""

    def __init__(
        self, state: ScheduleState, compiled: CompiledSchedule, now_ms: int, limits: DueLimits, budget: int
    ) -> None:
        self.state = state
        self.compiled = compiled
        self.now_ms = now_ms
        self.limits = limits
        self.budget = budget
        self.skips = skips_of(state)
        self.cursor = state.cursor_s
        self.following = state.next_nominal_s
        self.due: list[Due] = []
        self.dropped: list[Dropped] = []
        self.catchups = 0

    def run(self) -> DueTicks:
        missed, complete = self._missed()
        self._carry([tick for tick in missed if self._is_carried(tick)])
        rest = [tick for tick in missed if not self._is_carried(tick)]
        if self.cursor == self.state.cursor_s and len(rest) < len(
            missed
        ):  # the budget did not suffice for the ticks of the pause
            return self._stopped(missed[0])
        oldest_ms = self._oldest_ms()
        outside = [tick for tick in rest if oldest_ms is not None and self._counts_from_ms(tick) <= oldest_ms]
        self._drop(outside, Reason.OUTSIDE_WINDOW)
        young = rest[len(outside) :]
        next_pass = self._catch_up(young)
        if next_pass is not None:
            return self._with_rest(self._stopped(*next_pass), young)
        if not complete:
            return self._stopped(self.following)
        return self._with_on_time()

    def _missed(self) -> tuple[list[int], bool]:
        """Return the missed ticks of this pass, and whether they are all missed ticks."""
        missed: list[int] = []
        while self.following is not None and (self._is_carried(self.following) or self._is_late(self.following)):
            if len(missed) == self.limits.max_dropped_range_ticks:
                return missed, False
            missed.append(self.following)
            self.following = self.compiled.ticks.next_epoch(self.following)
        return missed, True

    def _is_late(self, tick: int) -> bool:
        return self.compiled.fire_ms(tick) < self.now_ms - self.limits.grace_ms

    def _walked_all_missed(self) -> bool:
        return self.following is None or not self._is_late(self.following)

    def _is_due(self, tick: int) -> bool:
        return self.compiled.fire_ms(tick) <= self.now_ms

    def _is_carried(self, tick: int) -> bool:
        """Return whether a tick fell into a pause. A tick before its fire time did not, whatever the clock was then."""
        until = self.state.carry_until_s
        return until is not None and tick <= until and self._is_due(tick)

    def _oldest_ms(self) -> int | None:
        """Return the instant after which a missed tick is inside the catch-up window. A window of zero allows none."""
        window = self.compiled.policy.catchup_window_s
        if window is None:
            return None
        return self.now_ms - window * 1000 if window else NEVER_MS

    def _counts_from_ms(self, tick: int) -> int:
        """Return the instant from which a tick's age counts.

        Temporal counts from the fire time, which keeps the order.
        """
        return self.compiled.fire_ms(tick) if self.compiled.spec.jitter_mode == "temporal" else tick * 1000

    def _carry(self, ticks: list[int]) -> None:
        """Decide the ticks of a pause under ``skip`` or ``fire_once``."""
        later = self._later()
        if self.state.carry == OnResume.FIRE_ONCE and (later is None or not self._is_carried(later)):
            self._one_of(ticks, Reason.RESUMED)
        else:
            self._drop(ticks, Reason.RESUMED)

    def _catch_up(self, ticks: list[int]) -> tuple[int, int | None] | None:
        """Apply the catch-up policy. If the pass stops early, return the first tick of the next pass and its time."""
        policy = self.compiled.policy.catchup_policy
        if not ticks:
            return None
        if policy == CatchUp.NONE:
            self._drop(ticks, Reason.MISSED)
        elif policy == CatchUp.COALESCE:
            return self._coalesce(ticks)
        elif policy == CatchUp.SPREAD:
            return self._spread(ticks)
        else:
            return self._fire(ticks)
        return None

    def _coalesce(self, ticks: list[int]) -> tuple[int, int | None] | None:
        """Start one run for everything that is overdue: the missed ticks, and the ticks that are only late.

        If more missed ticks follow than one pass may drop, a later pass starts the run.
        """
        later = self._later()
        if later is not None and self._is_due(later) and not self._walked_all_missed():
            self._drop(ticks, Reason.COALESCED)
            return None
        overdue = list(ticks)
        while self._walked_all_missed() and self.following is not None and self._is_due(self.following):
            overdue.append(self.following)
            self.following = self.compiled.ticks.next_epoch(self.following)
        return None if self._one_of(overdue, Reason.COALESCED) else (ticks[0], None)

    def _one_of(self, ticks: list[int], reason: Reason) -> bool:
        """Start one run for the latest tick without a requested skip, and drop the ticks before it."""
        places = reversed(range(len(ticks)))
        place = next((place for place in places if ticks[place] not in self.skips), -1)
        if place >= 0:
            fire_ms = self.compiled.fire_ms(ticks[place])
            on_time = fire_ms >= self.now_ms - self.limits.grace_ms  # a tick of a pause may be, and needs no budget
            if self.budget < 1 and not on_time:
                return False
            self._drop(ticks[:place], reason)
            self._start(ticks[place], fire_ms, reason, cost=0 if on_time else 1)
        for tick in ticks[place + 1 :]:
            self._start(tick, self.compiled.fire_ms(tick), reason, cost=0)
        return True

    def _later(self) -> int | None:
        """Return the first tick after this pass without a requested skip."""
        tick = self.following
        while tick is not None and tick in self.skips:
            tick = self.compiled.ticks.next_epoch(tick)
        return tick

    def _fire(self, ticks: list[int]) -> tuple[int, int | None] | None:
        taken = min(len(ticks), self.limits.max_catchup, self.budget)
        for tick in ticks[:taken]:
            self._start(tick, self.compiled.fire_ms(tick), Reason.CATCH_UP)
        if taken == len(ticks):
            return None
        # The limit is per tick of the engine. Without a budget the schedule is due at once, and the rate decides.
        return ticks[taken], self.now_ms + self.limits.tick_ms if taken == self.limits.max_catchup else None

    def _spread(self, ticks: list[int]) -> tuple[int, int | None] | None:
        taken = min(len(ticks), self.limits.max_spread)
        for index, tick in enumerate(ticks[:taken]):
            fire = self.now_ms + index * self.limits.lookahead_ms // taken
            self.due.append(Due(tick, fire, Reason.CATCH_UP, planned=True))
            self.cursor = tick
        return None if taken == len(ticks) else (ticks[taken], self.now_ms + self.limits.lookahead_ms)

    def _start(self, tick: int, fire_ms: int, reason: Reason, cost: int = 1) -> None:
        self.due.append(Due(tick, fire_ms, reason))
        self.cursor = tick
        self.catchups += cost
        self.budget -= cost

    def _drop(self, ticks: list[int], reason: Reason) -> None:
        if ticks:
            self.dropped.append(Dropped(self.cursor, ticks[-1], len(ticks), reason))
            self.cursor = ticks[-1]

    def _stopped(self, tick: int | None, fire_ms: int | None = None) -> DueTicks:
        if tick is not None and fire_ms is None:
            fire_ms = self.compiled.fire_ms(tick)
        return DueTicks(self.due, self.dropped, self.cursor, tick, fire_ms, self.catchups)

    def _with_rest(self, stopped: DueTicks, ticks: list[int]) -> DueTicks:
        """Add the ticks that the policy would start at once and that did not fit into the pass."""
        later = [tick for tick in ticks if tick > self.cursor]
        if (
            self.compiled.policy.catchup_policy != CatchUp.FIRE_IMMEDIATELY
            or not self.due
            or not self.skips.isdisjoint(later)
        ):
            return stopped
        rest = Dropped(self.cursor, later[-1], len(later), Reason.OVERLAP)
        return stopped._replace(rest=rest, after_rest_s=self.following)

    def _with_on_time(self) -> DueTicks:
        if self.following is None:
            return self._stopped(None)
        later = _on_time(self.compiled, self.following, self.now_ms, self.cursor)
        due = self.due + later.due
        return later._replace(due=due, dropped=self.dropped, catchups=self.catchups)
