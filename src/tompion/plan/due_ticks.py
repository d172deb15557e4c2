"""Which ticks are due, and what catch-up makes of the ones that were missed.

A tick that is at most the grace late is due.  A later one is *missed*, whatever the cause, and goes through the window
and then the catch-up policy.  Whatever is dropped is counted in a span, so that every tick between two cursors is in
exactly one place.  The work of one pass is bounded: what does not fit waits for the next pass, with the cursor where
it got to.
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
    """The bounds of one pass."""

    grace_ms: int
    max_catchup: int
    max_spread: int
    max_dropped_range_ticks: int
    lookahead_ms: int


class Due(NamedTuple):
    """A tick to be admitted; one with ``planned`` waits for its fire time first."""

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
    """What one pass found for one schedule.

    ``left`` are the missed ticks that it had no room for, as far as it has looked, and ``left_next_s`` is the tick
    after them: if nothing of them can start anyway, they need no pass of their own.
    """

    due: list[Due]
    dropped: list[Dropped]
    cursor_s: int
    next_nominal_s: int | None
    next_fire_ms: int | None
    catchups: int = 0
    left: Dropped | None = None
    left_next_s: int | None = None


def generate(state: ScheduleState, compiled: CompiledSchedule, now_ms: int, limits: DueLimits, budget: int) -> DueTicks:
    """Return the ticks of a schedule that are due, oldest first, and where its cursor then stands.

    ``budget`` is how many missed ticks may still start in this pass, fleet-wide limits considered.
    """
    nominal = state.next_nominal_s
    if nominal is None:
        return DueTicks([], [], state.cursor_s, None, None)
    if compiled.gate is not None:
        return _governed(state, compiled, nominal, now_ms)
    if compiled.follows:
        return _fixed_delay(state, compiled, nominal, now_ms)
    fire_ms = compiled.fire_ms(nominal)
    carried = state.carry_until_s is not None and nominal <= state.carry_until_s and fire_ms <= now_ms
    if carried or fire_ms < now_ms - limits.grace_ms:
        return _Pass(state, compiled, now_ms, limits, budget).run()
    return _on_time(compiled, nominal, now_ms, state.cursor_s)


def _on_time(compiled: CompiledSchedule, nominal: int, now_ms: int, cursor: int) -> DueTicks:
    """Every tick from ``nominal`` on whose time has come."""
    due: list[Due] = []
    following: int | None = nominal
    fire = 0
    while following is not None and (fire := compiled.fire_ms(following)) <= now_ms:
        due.append(Due(following, fire))
        cursor = following
        following = compiled.next_after(following)
    return DueTicks(due, [], cursor, following, None if following is None else fire)


def _fixed_delay(state: ScheduleState, compiled: CompiledSchedule, nominal: int, now_ms: int) -> DueTicks:
    """A delay has one pending tick, which is never missed: it has only waited.  The next one follows its run."""
    carried = state.carry_until_s is not None and nominal <= state.carry_until_s and nominal * 1000 <= now_ms
    if carried and state.carry == OnResume.SKIP:
        following = compiled.ticks.next_epoch(now_ms // 1000)
        dropped = [Dropped(state.cursor_s, nominal, 1, Reason.RESUMED)]
        return DueTicks([], dropped, nominal, following, None if following is None else following * 1000)
    if nominal * 1000 > now_ms:
        return DueTicks([], [], state.cursor_s, nominal, nominal * 1000)
    return DueTicks([Due(nominal, nominal * 1000)], [], nominal, None, None)


def _governed(state: ScheduleState, compiled: CompiledSchedule, nominal: int, now_ms: int) -> DueTicks:
    """An adaptive schedule has one pending tick, too; it may be another by now, if a hint has expired."""
    waited_for = adaptive.waited_for(state, compiled)
    if waited_for.fire_ms > now_ms:
        return _rested(waited_for, state.cursor_s, [])
    if state.carry == OnResume.SKIP and state.carry_until_s is not None and nominal <= state.carry_until_s:
        until = max(nominal, now_ms // 1000)
        dropped = [Dropped(state.cursor_s, until, 1, Reason.RESUMED)]
        return _rested(adaptive.plan(adaptive.passed(state, until), compiled, now_ms), until, dropped)
    found = adaptive.pending(state, compiled, now_ms)
    if found is None or found.fire_ms > now_ms:
        return _rested(found, state.cursor_s, [])
    return DueTicks([Due(found.nominal_s, found.fire_ms, source=found.source)], [], found.nominal_s, None, None)


def _rested(found: adaptive.AdaptivePlan | None, cursor: int, dropped: list[Dropped]) -> DueTicks:
    """Nothing is due; what comes next, comes later."""
    if found is None:
        return DueTicks([], dropped, cursor, None, None)
    return DueTicks([], dropped, cursor, found.nominal_s, found.fire_ms)


class _Pass:
    """One bounded walk over missed ticks; lives only as long as that takes."""

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
        if self.cursor == self.state.cursor_s and len(rest) < len(missed):  # the budget did not last for the carried
            return self._stopped(missed[0])
        oldest_ms = self._oldest_ms()
        outside = [tick for tick in rest if oldest_ms is not None and self._born_ms(tick) <= oldest_ms]
        self._drop(outside, Reason.OUTSIDE_WINDOW)
        young = rest[len(outside) :]
        left = self._catch_up(young)
        if left is not None:
            return self._with_left(self._stopped(*left), young)
        if not complete:
            return self._stopped(self.following)
        return self._with_on_time()

    def _missed(self) -> tuple[list[int], bool]:
        """The missed ticks of this pass, and whether they are all there are."""
        missed: list[int] = []
        while self.following is not None and (self._is_carried(self.following) or self._is_late(self.following)):
            if len(missed) == self.limits.max_dropped_range_ticks:
                return missed, False
            missed.append(self.following)
            self.following = self.compiled.ticks.next_epoch(self.following)
        return missed, True

    def _is_late(self, tick: int) -> bool:
        return self.compiled.fire_ms(tick) < self.now_ms - self.limits.grace_ms

    def _is_carried(self, tick: int) -> bool:
        """Whether a tick fell into a pause; one whose time has not come did not, whatever the clock said then."""
        until = self.state.carry_until_s
        return until is not None and tick <= until and self.compiled.fire_ms(tick) <= self.now_ms

    def _oldest_ms(self) -> int | None:
        """The instant after which a tick is young enough; with no window at all, that is never."""
        window = self.compiled.policy.catchup_window_s
        if window is None:
            return None
        return self.now_ms - window * 1000 if window else NEVER_MS

    def _born_ms(self, tick: int) -> int:
        """The instant from which a tick's age is counted: Temporal counts from its fire time, which keeps the order."""
        return self.compiled.fire_ms(tick) if self.compiled.spec.jitter_mode == "temporal" else tick * 1000

    def _carry(self, ticks: list[int]) -> None:
        """Ticks of a pause, under ``skip`` or ``fire_once``."""
        later = self._later()
        if self.state.carry == OnResume.FIRE_ONCE and (later is None or not self._is_carried(later)):
            self._one_of(ticks, Reason.RESUMED)
        else:
            self._drop(ticks, Reason.RESUMED)

    def _catch_up(self, ticks: list[int]) -> tuple[int, int | None] | None:
        """Apply the policy; return the tick that the next pass begins with, and when, if this one stops early."""
        policy = self.compiled.policy.catchup_policy
        if not ticks:
            return None
        if policy == CatchUp.NONE:
            self._drop(ticks, Reason.MISSED)
        elif policy == CatchUp.COALESCE:
            later = self._later()
            if later is not None and self._is_late(later):
                self._drop(ticks, Reason.COALESCED)
            elif not self._one_of(ticks, Reason.COALESCED):
                return ticks[0], None
        elif policy == CatchUp.SPREAD:
            return self._spread(ticks)
        else:
            return self._fire(ticks)
        return None

    def _one_of(self, ticks: list[int], reason: Reason) -> bool:
        """One run for the latest tick that nobody asked to skip; the ones before it are dropped."""
        places = reversed(range(len(ticks)))
        place = next((place for place in places if ticks[place] not in self.skips), -1)
        if place >= 0:
            fire_ms = self.compiled.fire_ms(ticks[place])
            late = fire_ms >= self.now_ms - self.limits.grace_ms  # as a tick of a pause may be: it costs nothing
            if self.budget < 1 and not late:
                return False
            self._drop(ticks[:place], reason)
            self._start(ticks[place], fire_ms, reason, cost=0 if late else 1)
        for tick in ticks[place + 1 :]:
            self._start(tick, self.compiled.fire_ms(tick), reason, cost=0)
        return True

    def _later(self) -> int | None:
        """The first tick after those of this pass that nobody asked to skip."""
        tick = self.following
        while tick is not None and tick in self.skips:
            tick = self.compiled.ticks.next_epoch(tick)
        return tick

    def _fire(self, ticks: list[int]) -> tuple[int, int | None] | None:
        taken = min(len(ticks), self.limits.max_catchup, self.budget)
        for tick in ticks[:taken]:
            self._start(tick, self.compiled.fire_ms(tick), Reason.CATCH_UP)
        return None if taken == len(ticks) else (ticks[taken], None)

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

    def _with_left(self, stopped: DueTicks, ticks: list[int]) -> DueTicks:
        """What was found, and what is left of the ticks that all were to be started at once."""
        later = [tick for tick in ticks if tick > self.cursor]
        if (
            self.compiled.policy.catchup_policy != CatchUp.FIRE_IMMEDIATELY
            or not self.due
            or not self.skips.isdisjoint(later)
        ):
            return stopped
        left = Dropped(self.cursor, later[-1], len(later), Reason.OVERLAP)
        return stopped._replace(left=left, left_next_s=self.following)

    def _with_on_time(self) -> DueTicks:
        if self.following is None:
            return self._stopped(None)
        later = _on_time(self.compiled, self.following, self.now_ms, self.cursor)
        due = self.due + later.due
        return later._replace(due=due, dropped=self.dropped, catchups=self.catchups)
