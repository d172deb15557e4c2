"""What a step has written besides what starts: for those who count, watch and trace, once it is committed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, Self, TypeAlias, TypeVar

from tompion.model.decision_writes import WriteResult
from tompion.model.run import OPEN, RunChange, RunId, RunRow, RunState
from tompion.model.schedule_state import DroppedRange
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.decide import Decision
from tompion.plan.outcome import Outcome
from tompion.store.base import Transaction


class Notes:
    """Runs that were skipped or ended by others, ticks that were missed, schedules that started nothing."""

    __slots__ = ("dropped_ranges", "ended", "exposed", "idle", "skipped")

    def __init__(self) -> None:
        """Begin with nothing."""
        self.skipped: list[tuple[RunRow, CompiledSchedule]] = []
        self.dropped_ranges: list[tuple[DroppedRange, CompiledSchedule]] = []
        self.ended: list[tuple[RunRow, CompiledSchedule]] = []
        self.idle = 0
        self.exposed = 0

    def dropped(self, changes: Iterable[RunChange], rows: Iterable[tuple[RunRow, CompiledSchedule]]) -> None:
        """Take down runs that have left a queue without starting."""
        reasons = {change.id: change.reason for change in changes if change.state == RunState.SKIPPED}
        if reasons:
            gone = [(row, compiled) for row, compiled in rows if row.id in reasons]
            self.skipped += [
                (run._replace(state=RunState.SKIPPED, reason=reasons[run.id]), compiled) for run, compiled in gone
            ]

    def decided(
        self, decisions: Iterable[Decision], recorded: WriteResult, schedules: Mapping[int, CompiledSchedule]
    ) -> None:
        """Take down decisions that were written, and who gave way to them."""
        for decision in decisions:
            compiled = decision.compiled
            runs = [run for run in decision.runs if run.id not in recorded.duplicates]
            self.skipped += [(run, compiled) for run in runs if run.state == RunState.SKIPPED]
            self.dropped_ranges += [(dropped_range, compiled) for dropped_range in decision.dropped_ranges]
            self.idle += not any(run.state in OPEN for run in runs) and bool(decision.runs or decision.dropped_ranges)
        self.skipped += [(run, schedules[run.schedule_key]) for run in recorded.superseded]
        forced = [run for run in recorded.to_end if run.state == RunState.TERMINATED]
        self.ended += [(run, schedules[run.schedule_key]) for run in (*recorded.given_up, *forced)]


Launches: TypeAlias = list[tuple[RunRow, CompiledSchedule]]


class Settled(NamedTuple):
    """What settling has written: what counted, what may start or be tried again, what came too late."""

    accepted: set[RunId]
    launches: Launches
    retried: set[RunId]
    paused: list[tuple[CompiledSchedule, str]]
    stale: int
    now_ms: int
    carried: Sequence[Carried] = ()
    notes: Notes | None = None

    def carrying(self, launches: Launches, carried: Sequence[Carried]) -> Settled:
        """Return the same after some launches were carried out already: what is left, and what was done."""
        return self._replace(launches=launches, carried=carried)


class Carried(NamedTuple):
    """Runs that were carried out in the transaction that has taken them."""

    launches: Launches
    outcomes: list[Outcome]
    settled: Settled


class Step(Protocol):
    """What a step answers."""

    @property
    def launches(self) -> Launches:
        """What it has taken, to be launched."""

    @property
    def now_ms(self) -> int:
        """When that was."""

    def carrying(self, launches: Launches, carried: Sequence[Carried]) -> Self:
        """Return the same after some launches were carried out already: what is left, and what was done."""


StepT = TypeVar("StepT", bound=Step)


class CarryOut(Protocol):
    """Carries out, in the transaction of a step, what can be carried out there."""

    def __call__(self, transaction: Transaction, step: StepT) -> StepT:
        """Return the step without what was carried out."""
