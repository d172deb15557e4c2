"""What a step that takes runs has written, and what the transaction around it does about that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self, TypeAlias, TypeVar

from tompion.engine.notes import Notes
from tompion.model.run import RunId, RunRow
from tompion.plan.rule import Rule
from tompion.plan.settle import Outcome
from tompion.store.base import Transaction

Launches: TypeAlias = list[tuple[RunRow, Rule]]


class Settled(NamedTuple):
    """What settling has written: what counted, what may start or be tried again, what came too late."""

    accepted: set[RunId]
    launches: Launches
    retried: set[RunId]
    paused: list[tuple[Rule, str]]
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
