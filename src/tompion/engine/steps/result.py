"""The result of an engine step: what a transaction wrote, and what must follow its commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from tompion.model.decision_writes import WriteResult
from tompion.model.run import OPEN, RunChange, RunId, RunRow, RunState
from tompion.model.schedule_state import DroppedRange
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.decide import Decision
from tompion.plan.outcome import Outcome

Launches: TypeAlias = list[tuple[RunRow, CompiledSchedule]]
"""Runs, each with the version of its schedule that decided it."""


class Replanned(NamedTuple):
    """A schedule that was replanned with other time zone tables, with its next tick before and after."""

    schedule_id: str
    before_s: int | None
    after_s: int | None
    degraded: str | None = None


@dataclass(slots=True)
class StepResult:
    """The writes of one committed step. ``Engine.apply`` acts on it.

    A step fills the fields that concern it and leaves the others empty.
    """

    now_ms: int = 0
    claimed: int = 0
    """Number of rows that the step claimed. 0 means that nothing was due."""
    launches: Launches = field(default_factory=list)
    """Runs that this instance owns and has to start."""
    discarded: Launches = field(default_factory=list)
    """Claimed runs that must not start: cancelled, or of a deleted schedule."""
    to_end: Sequence[RunRow] = ()
    """Runs that have to be cancelled or terminated."""
    catchups: int = 0
    """Number of missed ticks that count against the catch-up rate."""
    runs: int = 0
    """Number of runs that the step created."""
    outcomes: Sequence[Outcome] = ()
    accepted: set[RunId] = field(default_factory=set)
    """Runs whose outcome was written."""
    retried: set[RunId] = field(default_factory=set)
    """Accepted runs that will have another attempt."""
    stale: int = 0
    """Number of outcomes that a later attempt or a final state made void."""
    paused: list[tuple[CompiledSchedule, str]] = field(default_factory=list)
    """Schedules that a failure paused, with the note."""
    skipped: Launches = field(default_factory=list)
    dropped_ranges: list[tuple[DroppedRange, CompiledSchedule]] = field(default_factory=list)
    ended: Launches = field(default_factory=list)
    """Runs that another run terminated, or that were given up while no instance owned them."""
    idle_schedules: int = 0
    """Number of claimed schedules that started nothing."""
    expired_leases: int = 0
    """Number of runs that became claimable because the lease of their owner expired."""
    failed_launches: int = 0
    """Number of transactional runs that could not be launched."""
    replanned: list[Replanned] = field(default_factory=list)
    """Schedules whose next tick was planned with other time zone tables."""
    inline: list[StepResult] = field(default_factory=list)
    """Results of transactional runs, which were executed in the same transaction."""

    def add_skipped(self, changes: Iterable[RunChange], rows: Iterable[tuple[RunRow, CompiledSchedule]]) -> None:
        """Add the runs that left a queue without starting."""
        reasons = {change.id: change.reason for change in changes if change.state == RunState.SKIPPED}
        if reasons:
            self.skipped += [
                (run._replace(state=RunState.SKIPPED, reason=reasons[run.id]), compiled)
                for run, compiled in rows
                if run.id in reasons
            ]

    def add_decisions(
        self, decisions: Iterable[Decision], written: WriteResult, schedules: Mapping[int, CompiledSchedule]
    ) -> None:
        """Add decisions that were written, and the runs that they superseded or ended."""
        for decision in decisions:
            compiled = decision.compiled
            runs = [run for run in decision.runs if run.id not in written.duplicates]
            self.skipped += [(run, compiled) for run in runs if run.state == RunState.SKIPPED]
            self.dropped_ranges += [(dropped_range, compiled) for dropped_range in decision.dropped_ranges]
            decided = bool(decision.runs or decision.dropped_ranges)
            self.idle_schedules += decided and not any(run.state in OPEN for run in runs)
        self.skipped += [(run, schedules[run.schedule_key]) for run in written.superseded]
        terminated = [run for run in written.to_end if run.state == RunState.TERMINATED]
        self.ended += [(run, schedules[run.schedule_key]) for run in (*written.given_up, *terminated)]
