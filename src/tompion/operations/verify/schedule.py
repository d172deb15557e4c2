"""Verify: recompute every tick from the history of a schedule's versions, and find each in the ledger exactly once.

Whoever has changed the database by hand may have broken anything: what cannot be read is a problem too, never an error.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from tompion.errors import InvalidField, display
from tompion.model.rows import ScheduleRow, VersionRow
from tompion.model.run import RunRow, RunSource, RunState
from tompion.model.schedule_state import DroppedRange, ScheduleState
from tompion.model.verification import Verification, Violation
from tompion.operations.context import OperationContext
from tompion.operations.instants import When, epoch_s
from tompion.operations.schedules.repository import UNREADABLE, compile_version, find, one_line
from tompion.operations.verify.state_check import misaimed, miscounted
from tompion.operations.verify.version_chain import (
    ChainFault,
    VersionPeriod,
    first_hint_ms,
    lineage,
    moment,
    retabled_s,
    shown_at,
)
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.edit import MAX_EDIT_COUNT
from tompion.plan.stored_definition import stored_definition
from tompion.store.base import FAR_S

PAGE = 10_000
MAX_PROBLEMS = 100
AHEAD_S = 86_400
"""How far a cursor may be ahead of the clock, besides jitter; what lies beyond is not recomputed."""
ALWAYS = 1 << 62
"""Later than any time that a row can hold, in seconds or milliseconds."""
_STATES, _SOURCES = frozenset(RunState), frozenset(RunSource)
_NUMBERED = frozenset({RunSource.TRIGGER, RunSource.BACKFILL, RunSource.LAUNCH})


def verify(
    context: OperationContext, schedule_id: str, *, start: When | None = None, end: When | None = None
) -> Verification:
    """Prove that each tick of a range is in exactly one place of the ledger, or say which is not.

    The range is what the ledger still holds, unless ``start`` and ``end`` ask for less.
    """
    first = 0 if start is None else epoch_s("start", start)
    last = ALWAYS if end is None else epoch_s("end", end)
    if last < first:
        raise InvalidField("end", f"{shown_at(last).isoformat()} is before start, {shown_at(first).isoformat()}")
    row = find(context, schedule_id)
    kept_s = (context.now_ms - context.settings.retention_ms) // 1000
    check = _Check(context, row, max(kept_s, first - 1, 0), last)
    state = context.transaction.state_get([row.schedule_key]).get(row.schedule_key)
    if state is None:
        check.problem("state", None, "it has no dial: it never fires, and how far it has got is not known")
    else:
        check.against(state)
    return check.answer()


class _Check:
    """One schedule's check; lives only as long as that takes."""

    def __init__(self, context: OperationContext, row: ScheduleRow, after: int, end: int) -> None:
        self._session = context
        self._row = row
        self._after = self._until = self._reached = after
        self._end = end
        self._retabled = 0
        self._decided: dict[int, int] = {}  # the schedule's own runs that no version has claimed yet, and when decided
        self._hinted: set[int] = set()
        self._ticks = self._runs = self._dropped = self._unchecked = 0
        self._problems: list[Violation] = []

    def against(self, state: ScheduleState) -> None:
        """Compare the ledger with what the versions say, up to where the dial stands."""
        self._until = max(self._after, min(state.cursor_s, self._end))
        self._retabled = self._older_tables()
        for run in self._all_runs():
            self._read(run, state.cursor_s)
        for part in lineage(self._session, self._row, state.cursor_s):
            if isinstance(part, ChainFault):
                self._fault(part)
            else:
                self._begin(part)
                self._stretch(part)
        for nominal in sorted(self._decided):
            self.problem("invented", nominal, "a run for a tick that the spec does not have")
        self._standing(state)

    def answer(self) -> Verification:
        """Return what was found."""
        return Verification(
            self._row.schedule_id,
            shown_at(self._after),
            shown_at(self._until),
            self._ticks,
            self._runs,
            self._dropped,
            tuple(self._problems),
            self._unchecked,
        )

    def problem(self, kind: str, at: int | None, text: str) -> None:
        """Note what is wrong, unless there is enough of it."""
        if len(self._problems) < MAX_PROBLEMS:
            self._problems.append(Violation(kind, None if at is None else shown_at(at), text))

    # --- what the ledger holds ------------------------------------------------------------------------------------

    def _all_runs(self) -> Iterator[RunRow]:
        """Every run of the range, whatever it comes from, the newest first."""
        before = (min(self._end + 1, ALWAYS), 0)
        while True:
            page = self._session.transaction.run_list_page(self._row.schedule_key, before, PAGE)
            yield from (run for run in page if run.nominal_s > self._after)
            if len(page) < PAGE or page[-1].nominal_s <= self._after:
                return
            before = (page[-1].nominal_s, page[-1].origin)

    def _read(self, run: RunRow, cursor_s: int) -> None:
        """Look at one run, and keep it for its version if it is one of the schedule's own ticks."""
        if run.state not in _STATES:
            self.problem("unreadable", run.nominal_s, f"a run whose state is {display(run.state)}")
        if run.source not in _SOURCES or (run.source in _NUMBERED) != (run.origin != 0):
            self.problem("unreadable", run.nominal_s, f"a run whose source is {display(run.source)}")
        if run.origin != 0:
            return
        if run.nominal_s > cursor_s:
            self.problem("beyond", run.nominal_s, f"a run beyond the cursor, which is at {moment(cursor_s)}")
            return
        self._runs += 1
        if run.source == RunSource.HINT:
            self._hinted.add(run.nominal_s)
        self._decided[run.nominal_s] = ALWAYS if run.state == RunState.PLANNED else run.decided_ms

    def _spans(self, after: int, until: int) -> list[DroppedRange]:
        found = self._session.transaction.dropped_range_list(self._row.schedule_key, after, until, FAR_S)
        return sorted(found, key=lambda dropped_range: dropped_range.until_s)

    # --- what the versions say ------------------------------------------------------------------------------------

    def _fault(self, fault: ChainFault) -> None:
        """A break in the chain of versions; runs that nobody can judge are left alone."""
        if fault.kind != "overlap":
            self._claim(fault.after_s, fault.until_s)
        meets = max(fault.after_s, self._after) < min(fault.until_s, self._until)
        if meets or fault.until_s >= FAR_S or fault.kind == "version":
            self.problem(fault.kind, None if fault.kind == "version" else fault.after_s, fault.text)

    def _begin(self, stretch: VersionPeriod) -> None:
        """Nothing was decided before the first version."""
        if stretch.version.version == 1:
            for dropped_range in self._spans(self._after, min(stretch.after_s, self._until)):
                if dropped_range.after_s < stretch.after_s:
                    text = f"a span that begins before the first version, at {moment(stretch.after_s)}"
                    self.problem("beyond", dropped_range.after_s, text)

    def _stretch(self, stretch: VersionPeriod) -> None:
        """Check the ticks that one version decided; where two overlap, those of the later one alone."""
        after = max(stretch.after_s, self._reached)
        until = min(stretch.until_s, self._until)
        self._reached = max(self._reached, until)
        compiled = self._rule(stretch.version)
        if after < min(self._retabled, until):  # the tables that these ticks were computed with are gone
            self._unchecked += 1
            self._claim(after, min(self._retabled, until))
            after = self._retabled
        if compiled is None or compiled.is_sequential:
            self._unchecked += compiled is not None
            if compiled is not None and compiled.allowed_seconds is not None:
                self._governed(after, until)
            self._claim(after, until)
        elif after < until:
            self._compare(compiled, after, self._not_ahead(compiled, until))

    def _governed(self, after: int, until: int) -> None:
        """Runs of an adaptive schedule are no ticks of its spec: each had its time, and somebody gave the hints."""
        own = {at: decided_ms for at, decided_ms in self._decided.items() if after < at <= until}
        for nominal, decided_ms in sorted(own.items()):
            if decided_ms < nominal * 1000:
                self.problem("early", nominal, f"decided {nominal * 1000 - decided_ms} ms before its time")
        hinted = sorted(self._hinted & own.keys())
        hints_ms = first_hint_ms(self._session, self._row) if hinted else 0
        for nominal in hinted:
            if own[nominal] < hints_ms:
                self.problem("invented", nominal, "a run that a hint has caused, and nobody had given one")

    def _older_tables(self) -> int:
        try:
            return retabled_s(self._session, self._row)
        except UNREADABLE as error:
            self.problem("unreadable", None, f"the audit says what cannot be read: {one_line(error)}")
            return 0

    def _rule(self, version: VersionRow) -> CompiledSchedule | None:
        """The rule of a version, or the problem that it has none."""
        try:
            stored_definition(version)
            return compile_version(self._session, self._row, version)
        except UNREADABLE as error:
            self.problem("version", None, f"version {version.version} cannot be read: {one_line(error)}")
            return None

    def _not_ahead(self, compiled: CompiledSchedule, until: int) -> int:
        """Up to where ticks can have been decided, whatever the dial says."""
        latest = self._session.now_ms // 1000 + AHEAD_S + compiled.spec.jitter_ms // 1000
        if until > latest:
            self.problem("state", None, f"its cursor is ahead of the time: {moment(until)}")
        return min(until, latest)

    def _compare(self, compiled: CompiledSchedule, after: int, until: int) -> None:
        try:
            expected = list(compiled.ticks.between_epochs(after + 1, until))
        except UNREADABLE as error:
            self.problem(
                "version", None, f"version {compiled.version} has no ticks that can be computed: {one_line(error)}"
            )
            self._claim(after, until)
            return
        dropped_ranges = self._spans(after, until)
        self._ticks += len(expected)
        self._places(compiled, expected, dropped_ranges)
        self._counts(expected, dropped_ranges, after, until)

    def _places(self, compiled: CompiledSchedule, expected: list[int], dropped_ranges: list[DroppedRange]) -> None:
        for tick in expected:
            decided_ms = self._decided.pop(tick, None)
            places = (decided_ms is not None) + sum(
                dropped_range.after_s < tick <= dropped_range.until_s for dropped_range in _near(dropped_ranges, tick)
            )
            if places == 0:
                self.problem("missing", tick, "no run and no span")
            elif places > 1:
                self.problem("twice", tick, f"it is in {places} places")
            if decided_ms is not None and decided_ms < compiled.fire_ms(tick):
                self.problem("early", tick, f"decided {compiled.fire_ms(tick) - decided_ms} ms before its fire time")

    def _counts(self, expected: list[int], dropped_ranges: list[DroppedRange], after: int, until: int) -> None:
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
                    "miscounted", dropped_range.until_s, f"a span says {dropped_range.ticks} ticks, there are {inside}"
                )

    def _claim(self, after: int, until: int) -> None:
        """Take the runs of a range out of what is to be judged."""
        if until > after:
            self._decided = {at: decided for at, decided in self._decided.items() if not after < at <= until}

    # --- where the dial stands ------------------------------------------------------------------------------------

    def _standing(self, state: ScheduleState) -> None:
        """Check that the dial agrees with the schedule, and with the rows it counts."""
        for dropped_range in self._spans(max(state.cursor_s, self._after), self._end):
            if dropped_range.until_s > state.cursor_s:
                self.problem(
                    "beyond", dropped_range.until_s, f"a span beyond the cursor, which is at {moment(state.cursor_s)}"
                )
        if state.version != self._row.version:
            text = f"the dial is at version {state.version}, the schedule at version {self._row.version}"
            self.problem("state", None, text)
        in_flight, waiting = self._session.transaction.run_count_open(self._row.schedule_key)
        if (in_flight, waiting) != (state.in_flight, state.waiting):
            self.problem(
                "counter",
                None,
                f"the dial counts {state.in_flight} in flight and {state.waiting} waiting, "
                f"the ledger {in_flight} and {waiting}",
            )
        self._aim(state)

    def _aim(self, state: ScheduleState) -> None:
        """Check what the dial says of the schedule, of its next tick, and of the runs there were."""
        try:
            for text in misaimed(self._session, self._row, state, self._in_force(state)):
                self.problem("state", None, text)
        except UNREADABLE as error:
            self.problem("state", None, f"it cannot be read: {one_line(error)}")
        if not self._problems:  # what was counted of a ledger that is damaged is no news
            for text in miscounted(self._session, self._row, state):
                self.problem("counter", None, text)

    def _in_force(self, state: ScheduleState) -> CompiledSchedule | None:
        """The rule that a dial goes by; none if it is damaged, which has been said."""
        version = self._session.transaction.version_get(self._row.schedule_key, state.version)
        try:
            return None if version is None else compile_version(self._session, self._row, version)
        except UNREADABLE:
            return None


def _near(dropped_ranges: list[DroppedRange], tick: int) -> list[DroppedRange]:
    """The spans, in order of their ends, that a tick could be in."""
    first = bisect_left(dropped_ranges, tick, key=lambda dropped_range: dropped_range.until_s)
    return dropped_ranges[first : first + 8]
