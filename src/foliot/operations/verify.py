"""Verify: recompute every tick from the history of a schedule's versions, and find each in the ledger exactly once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from foliot.model.dial import Dial, Span
from foliot.model.rows import ScheduleRow, VersionRow
from foliot.model.run import RunRow
from foliot.model.verification import Problem, Verification
from foliot.operations.editing import find, rule_for
from foliot.operations.moments import When, epoch_s
from foliot.operations.session import Session
from foliot.operations.views import at_s
from foliot.plan.edit import MAX_EDIT_COUNT
from foliot.plan.rule import Rule
from foliot.store.base import FAR_S

PAGE = 10_000
MAX_VERSIONS = 10_000
MAX_PROBLEMS = 100


def verify(session: Session, schedule_id: str, *, start: When | None = None, end: When | None = None) -> Verification:
    """Prove that each tick of a range is in exactly one place of the ledger, or say which is not.

    The range is what the ledger still holds, unless ``start`` and ``end`` ask for less.
    """
    transaction = session.transaction
    row = find(session, schedule_id)
    dial = transaction.read_dials([row.schedule_key])[row.schedule_key]
    kept_s = (session.now_ms - session.settings.retention_ms) // 1000
    after = max(kept_s, 0 if start is None else epoch_s("start", start) - 1)
    until = dial.cursor_s if end is None else min(dial.cursor_s, epoch_s("end", end))
    check = _Check(session, row, after, until)
    for version in reversed(transaction.versions_of(row.schedule_key, MAX_VERSIONS)):
        check.version(version)
    check.counters(dial)
    return Verification(
        schedule_id, at_s(max(after, 0)), at_s(until), check.ticks, check.runs, check.dropped, tuple(check.problems)
    )


class _Check:
    """One schedule's check; lives only as long as that takes."""

    def __init__(self, session: Session, row: ScheduleRow, after: int, until: int) -> None:
        self._session = session
        self._row = row
        self._after = after
        self._until = until
        self._decided_until: int | None = None
        self.ticks = self.runs = self.dropped = 0
        self.problems: list[Problem] = []

    def version(self, version: VersionRow) -> None:
        """Check the ticks that one version decided."""
        if self._decided_until is not None and version.after_s < self._decided_until:
            self._problem("twice", version.after_s, f"version {version.version} decides what the one before it did")
        until = self._until if version.until_s is None else min(version.until_s, self._until)
        after = max(version.after_s, self._after)
        self._decided_until = max(self._decided_until or 0, version.until_s or until)
        if after >= until:
            return
        rule = rule_for(self._session, self._row, version)
        runs = {run.nominal_s: run for run in self._runs(after, until)}
        self.runs += len(runs)
        if rule.fixed_delay:
            return
        spans = self._spans(after, until)
        expected = list(rule.ticks.between_epochs(after + 1, until))
        self.ticks += len(expected)
        self._places(rule, expected, runs, spans)
        self._counts(expected, spans, after, until)

    def counters(self, dial: Dial) -> None:
        """Check that the dial agrees with the rows it counts."""
        in_flight, waiting = self._session.transaction.count_open(self._row.schedule_key)
        if (in_flight, waiting) != (dial.in_flight, dial.waiting):
            self._problem(
                "counter",
                None,
                f"the dial counts {dial.in_flight} in flight and {dial.waiting} waiting, "
                f"the ledger {in_flight} and {waiting}",
            )

    def _places(self, rule: Rule, expected: list[int], runs: dict[int, RunRow], spans: list[Span]) -> None:
        for tick in expected:
            run = runs.pop(tick, None)
            places = (run is not None) + sum(span.after_s < tick <= span.until_s for span in _near(spans, tick))
            if places == 0:
                self._problem("missing", tick, "no run and no span")
            elif places > 1:
                self._problem("twice", tick, f"it is in {places} places")
            if run is not None and run.decided_ms < rule.fire_ms(tick) and run.state != "PLANNED":
                self._problem("early", tick, f"decided {rule.fire_ms(tick) - run.decided_ms} ms before its fire time")
        for nominal in sorted(runs):
            self._problem("invented", nominal, "a run for a tick that the spec does not have")

    def _counts(self, expected: list[int], spans: list[Span], after: int, until: int) -> None:
        for span in spans:
            inside = sum(span.after_s < tick <= span.until_s for tick in expected)
            self.dropped += inside
            whole = span.after_s >= after and span.until_s <= until and span.ticks < MAX_EDIT_COUNT
            if whole and inside != span.ticks:
                self._problem("miscounted", span.until_s, f"a span says {span.ticks} ticks, there are {inside}")

    def _runs(self, after: int, until: int) -> Iterator[RunRow]:
        while True:
            page = self._session.transaction.ticks_of(self._row.schedule_key, after, until, PAGE)
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1].nominal_s

    def _spans(self, after: int, until: int) -> list[Span]:
        found = self._session.transaction.spans_of(self._row.schedule_key, after, until, FAR_S)
        return sorted(found, key=lambda span: span.until_s)

    def _problem(self, kind: str, at: int | None, text: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(kind, None if at is None else at_s(at), text))


def _near(spans: list[Span], tick: int) -> list[Span]:
    """The spans, in order of their ends, that a tick could be in."""
    first = bisect_left(spans, tick, key=lambda span: span.until_s)
    return spans[first : first + 8]
