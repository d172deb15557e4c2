"""Verification of one schedule: recompute every tick from its versions, and find each exactly once in the ledger.

A database that was changed by hand can have anything in it. A row that cannot be read is a problem to report, never an
error.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from tompion.encoding.instant import When
from tompion.errors import InvalidField, display
from tompion.model.rows import ScheduleRow, VersionRow
from tompion.model.run import RunRow, RunSource, RunState
from tompion.model.schedule_state import DroppedRange, ScheduleState
from tompion.model.verification import Verification, Violation
from tompion.operations.context import OperationContext
from tompion.operations.instants import epoch_s
from tompion.operations.schedules.repository import UNREADABLE, compile_version, find, one_line
from tompion.operations.verify.state_check import counter_problems, state_problems
from tompion.operations.verify.version_chain import (
    ChainFault,
    VersionPeriod,
    displayable,
    first_hint_ms,
    last_zone_change_s,
    time_text,
    version_periods,
)
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.edit import MAX_EDIT_COUNT
from tompion.plan.stored_definition import stored_definition
from tompion.store.base import FAR_S

PAGE = 10_000
MAX_PROBLEMS = 100
AHEAD_S = 86_400
"""How far a cursor may be ahead of the clock, besides jitter. Ticks beyond it are not recomputed."""
ALWAYS = 1 << 62
"""Later than any time that a row can hold, in seconds or milliseconds."""
_STATES, _SOURCES = frozenset(RunState), frozenset(RunSource)
_NUMBERED = frozenset({RunSource.TRIGGER, RunSource.BACKFILL, RunSource.LAUNCH})


def verify(
    context: OperationContext, schedule_id: str, *, start: When | None = None, end: When | None = None
) -> Verification:
    """Prove that each tick of a range is in exactly one place of the ledger, or return the problems.

    The range is everything that the ledger still holds, unless ``start`` and ``end`` narrow it.
    """
    first = 0 if start is None else epoch_s("start", start)
    last = ALWAYS if end is None else epoch_s("end", end)
    if last < first:
        raise InvalidField("end", f"{displayable(last).isoformat()} is before start, {displayable(first).isoformat()}")
    row = find(context, schedule_id)
    kept_s = (context.now_ms - context.settings.retention_ms) // 1000
    check = _Check(context, row, max(kept_s, first - 1, 0), last)
    state = context.transaction.state_get([row.schedule_key]).get(row.schedule_key)
    if state is None:
        check.problem("state", None, "it has no state row: it never fires, and its cursor is unknown")
    else:
        check.compare(state)
    return check.result()


class _Check:
    """The verification of one schedule."""

    def __init__(self, context: OperationContext, row: ScheduleRow, after: int, end: int) -> None:
        self._context = context
        self._row = row
        self._after = self._until = self._reached = after
        self._end = end
        self._zones_changed_s = 0
        self._decided: dict[int, int] = {}  # decision times of the schedule's own runs that no version has claimed yet
        self._hinted: set[int] = set()
        self._ticks = self._runs = self._dropped = self._unchecked = 0
        self._problems: list[Violation] = []

    def compare(self, state: ScheduleState) -> None:
        """Compare the ledger with the versions, up to the cursor of the state."""
        self._until = max(self._after, min(state.cursor_s, self._end))
        self._zones_changed_s = self._last_zone_change()
        for run in self._all_runs():
            self._read(run, state.cursor_s)
        for part in version_periods(self._context, self._row, state.cursor_s):
            if isinstance(part, ChainFault):
                self._report_fault(part)
            else:
                self._check_first(part)
                self._check_period(part)
        for nominal in sorted(self._decided):
            self.problem("invented", nominal, "a run for a time that is not a tick of the spec")
        self._check_state(state)

    def result(self) -> Verification:
        """Return the result."""
        return Verification(
            self._row.schedule_id,
            displayable(self._after),
            displayable(self._until),
            self._ticks,
            self._runs,
            self._dropped,
            tuple(self._problems),
            self._unchecked,
        )

    def problem(self, kind: str, at: int | None, text: str) -> None:
        """Add a problem, unless there are enough."""
        if len(self._problems) < MAX_PROBLEMS:
            self._problems.append(Violation(kind, None if at is None else displayable(at), text))

    # --- what the ledger holds ------------------------------------------------------------------------------------

    def _all_runs(self) -> Iterator[RunRow]:
        """Yield every run of the range, of any source, the newest first."""
        before = (min(self._end + 1, ALWAYS), 0)
        while True:
            page = self._context.transaction.run_list_page(self._row.schedule_key, before, PAGE)
            yield from (run for run in page if run.nominal_s > self._after)
            if len(page) < PAGE or page[-1].nominal_s <= self._after:
                return
            before = (page[-1].nominal_s, page[-1].origin)

    def _read(self, run: RunRow, cursor_s: int) -> None:
        """Check one run, and keep it for its version if it is one of the schedule's own ticks."""
        if run.state not in _STATES:
            self.problem("unreadable", run.nominal_s, f"a run whose state is {display(run.state)}")
        if run.source not in _SOURCES or (run.source in _NUMBERED) != (run.origin != 0):
            self.problem("unreadable", run.nominal_s, f"a run whose source is {display(run.source)}")
        if run.origin != 0:
            return
        if run.nominal_s > cursor_s:
            self.problem("beyond", run.nominal_s, f"a run after the cursor, which is at {time_text(cursor_s)}")
            return
        self._runs += 1
        if run.source == RunSource.HINT:
            self._hinted.add(run.nominal_s)
        self._decided[run.nominal_s] = ALWAYS if run.state == RunState.PLANNED else run.decided_ms

    def _dropped_ranges(self, after: int, until: int) -> list[DroppedRange]:
        rows = self._context.transaction.dropped_range_list(self._row.schedule_key, after, until, FAR_S)
        return sorted(rows, key=lambda dropped_range: dropped_range.until_s)

    # --- what the versions decided ------------------------------------------------------------------------------------

    def _report_fault(self, fault: ChainFault) -> None:
        """Report a break in the chain of versions. Runs that cannot be judged are skipped."""
        if fault.kind != "overlap":
            self._ignore(fault.after_s, fault.until_s)
        meets = max(fault.after_s, self._after) < min(fault.until_s, self._until)
        if meets or fault.until_s >= FAR_S or fault.kind == "version":
            self.problem(fault.kind, None if fault.kind == "version" else fault.after_s, fault.text)

    def _check_first(self, period: VersionPeriod) -> None:
        """Check that no tick was decided before the first version."""
        if period.version.version == 1:
            for dropped_range in self._dropped_ranges(self._after, min(period.after_s, self._until)):
                if dropped_range.after_s < period.after_s:
                    text = f"a dropped range that begins before the first version, at {time_text(period.after_s)}"
                    self.problem("beyond", dropped_range.after_s, text)

    def _check_period(self, period: VersionPeriod) -> None:
        """Check the ticks that one version decided. Where two versions overlap, the later one counts."""
        after = max(period.after_s, self._reached)
        until = min(period.until_s, self._until)
        self._reached = max(self._reached, until)
        compiled = self._compile(period.version)
        if after < min(self._zones_changed_s, until):  # these ticks were computed with older zone tables
            self._unchecked += 1
            self._ignore(after, min(self._zones_changed_s, until))
            after = self._zones_changed_s
        if compiled is None or compiled.is_sequential:
            self._unchecked += compiled is not None
            if compiled is not None and compiled.allowed_seconds is not None:
                self._check_adaptive(after, until)
            self._ignore(after, until)
        elif after < until:
            self._compare(compiled, after, self._not_ahead(compiled, until))

    def _check_adaptive(self, after: int, until: int) -> None:
        """Check the runs of an adaptive schedule, which are not ticks of its spec: their times and their hints."""
        own = {at: decided_ms for at, decided_ms in self._decided.items() if after < at <= until}
        for nominal, decided_ms in sorted(own.items()):
            if decided_ms < nominal * 1000:
                self.problem("early", nominal, f"decided {nominal * 1000 - decided_ms} ms before its time")
        hinted = sorted(self._hinted & own.keys())
        hints_ms = first_hint_ms(self._context, self._row) if hinted else 0
        for nominal in hinted:
            if own[nominal] < hints_ms:
                self.problem("invented", nominal, "a run that a hint has caused, but the schedule had no hint then")

    def _last_zone_change(self) -> int:
        try:
            return last_zone_change_s(self._context, self._row)
        except UNREADABLE as error:
            self.problem("unreadable", None, f"an audit row cannot be read: {one_line(error)}")
            return 0

    def _compile(self, version: VersionRow) -> CompiledSchedule | None:
        """Return a version compiled, or report why it cannot be."""
        try:
            stored_definition(version)
            return compile_version(self._context, self._row, version)
        except UNREADABLE as error:
            self.problem("version", None, f"version {version.version} cannot be read: {one_line(error)}")
            return None

    def _not_ahead(self, compiled: CompiledSchedule, until: int) -> int:
        """Return the last second up to which ticks can have been decided, whatever the state has."""
        latest = self._context.now_ms // 1000 + AHEAD_S + compiled.spec.jitter_ms // 1000
        if until > latest:
            self.problem("state", None, f"its cursor is in the future: {time_text(until)}")
        return min(until, latest)

    def _compare(self, compiled: CompiledSchedule, after: int, until: int) -> None:
        try:
            expected = list(compiled.ticks.between_epochs(after + 1, until))
        except UNREADABLE as error:
            self.problem("version", None, f"version {compiled.version} cannot be computed: {one_line(error)}")
            self._ignore(after, until)
            return
        dropped_ranges = self._dropped_ranges(after, until)
        self._ticks += len(expected)
        self._check_places(compiled, expected, dropped_ranges)
        self._check_counts(expected, dropped_ranges, after, until)

    def _check_places(
        self, compiled: CompiledSchedule, expected: list[int], dropped_ranges: list[DroppedRange]
    ) -> None:
        """Report ticks that are missing, recorded twice or decided early."""
        for tick in expected:
            decided_ms = self._decided.pop(tick, None)
            places = (decided_ms is not None) + sum(
                dropped_range.after_s < tick <= dropped_range.until_s for dropped_range in _near(dropped_ranges, tick)
            )
            if places == 0:
                self.problem("missing", tick, "no run and no dropped range")
            elif places > 1:
                self.problem("twice", tick, f"it is in {places} places")
            if decided_ms is not None and decided_ms < compiled.fire_ms(tick):
                self.problem("early", tick, f"decided {compiled.fire_ms(tick) - decided_ms} ms before its fire time")

    def _check_counts(self, expected: list[int], dropped_ranges: list[DroppedRange], after: int, until: int) -> None:
        """Report dropped ranges that have another number of ticks than they count."""
        for dropped_range in dropped_ranges:
            inside = bisect_right(expected, dropped_range.until_s) - bisect_right(expected, dropped_range.after_s)
            self._dropped += max(inside, 0)
            whole = (
                dropped_range.after_s >= after
                and dropped_range.until_s <= until
                and dropped_range.ticks < MAX_EDIT_COUNT
            )
            if whole and inside != dropped_range.ticks:
                self.problem(
                    "miscounted",
                    dropped_range.until_s,
                    f"a dropped range counts {dropped_range.ticks} ticks, there are {inside}",
                )

    def _ignore(self, after: int, until: int) -> None:
        """Remove the runs of a range from those to judge."""
        if until > after:
            self._decided = {at: decided for at, decided in self._decided.items() if not after < at <= until}

    # --- the state row ------------------------------------------------------------------------------------

    def _check_state(self, state: ScheduleState) -> None:
        """Check that the state agrees with the schedule and with the rows that it counts."""
        for dropped_range in self._dropped_ranges(max(state.cursor_s, self._after), self._end):
            if dropped_range.until_s > state.cursor_s:
                self.problem(
                    "beyond",
                    dropped_range.until_s,
                    f"a dropped range after the cursor, which is at {time_text(state.cursor_s)}",
                )
        if state.version != self._row.version:
            text = f"the state is at version {state.version}, the schedule at version {self._row.version}"
            self.problem("state", None, text)
        in_flight, waiting = self._context.transaction.run_count_open(self._row.schedule_key)
        if (in_flight, waiting) != (state.in_flight, state.waiting):
            self.problem(
                "counter",
                None,
                f"the state counts {state.in_flight} in flight and {state.waiting} waiting, "
                f"the ledger {in_flight} and {waiting}",
            )
        self._check_next_tick(state)

    def _check_next_tick(self, state: ScheduleState) -> None:
        """Check the state's next tick and its counters of past runs."""
        try:
            for text in state_problems(self._context, self._row, state, self._compiled_in_force(state)):
                self.problem("state", None, text)
        except UNREADABLE as error:
            self.problem("state", None, f"it cannot be read: {one_line(error)}")
        if not self._problems:  # a damaged ledger cannot agree with its counters
            for text in counter_problems(self._context, self._row, state):
                self.problem("counter", None, text)

    def _compiled_in_force(self, state: ScheduleState) -> CompiledSchedule | None:
        """Return the version of a state compiled, or ``None`` if it is damaged, which is reported elsewhere."""
        version = self._context.transaction.version_get(self._row.schedule_key, state.version)
        try:
            return None if version is None else compile_version(self._context, self._row, version)
        except UNREADABLE:
            return None


def _near(dropped_ranges: list[DroppedRange], tick: int) -> list[DroppedRange]:
    """Return the dropped ranges, in the order of their ends, that a tick could be in."""
    first = bisect_left(dropped_ranges, tick, key=lambda dropped_range: dropped_range.until_s)
    return dropped_ranges[first : first + 8]
