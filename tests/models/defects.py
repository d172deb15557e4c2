"""Defects that the models must detect in replayed scenarios, besides those of the simulation.

Most of them leave the ledger consistent, so no checker of the simulation can find them. Only a model knows what should
have been decided.
"""

from __future__ import annotations

from typing import Any

from tests.support.planting import Defect, Patches
from tompion.engine.steps import fire
from tompion.engine.steps.fire import FireStep
from tompion.engine.steps.result import StepResult
from tompion.model.backfill import RUNNING
from tompion.model.run import RunSource
from tompion.operations.schedules import backfills
from tompion.plan import backfill, pause
from tompion.plan.decide import Decision
from tompion.store.base import Transaction

ELSEWHERE = 1 << 40
"""An origin that no run has."""


def backfill_ignores_slots(patches: Patches) -> None:
    """It starts its ticks regardless of running and buffered runs."""
    patches.set(backfill, "_has_slot", lambda *_: True)


def backfill_runs_ticks_that_ran(patches: Patches) -> None:
    """A backfill of missing ticks runs all of them."""
    patches.set(backfill, "is_wanted", lambda *_: True)


def cancelled_backfill_stays_running(patches: Patches) -> None:
    """It starts nothing more, and its state stays RUNNING."""
    patches.set(backfills, "CANCELLED", RUNNING)


def resume_leaves_no_next_fire(patches: Patches) -> None:
    """A resumed schedule never fires, as in the broken variant of the model of pauses."""
    resumed = pause.resume_state

    def aimless(state: Any, *rest: Any) -> Any:
        return resumed(state, *rest)._replace(next_fire_ms=None) if state.paused else state

    patches.set(pause, "resume_state", aimless)


def cursor_stays_after_a_run(patches: Patches) -> None:
    """The cursor follows only with the next pass, which reads the run from the ledger."""
    moved = Decision.state_after_ticks
    written: set[tuple[int, int]] = set()

    def stays(self: Decision, generated: Any) -> Any:
        new = {(run.schedule_key, run.nominal_s) for run in self.runs} - written
        written.update(new)
        return self.state_after_requests() if new else moved(self, generated)

    patches.set(fire, "decide_fast", lambda *_: None)
    patches.set(Decision, "state_after_ticks", stays)


def trigger_is_recorded_as_a_tick(patches: Patches) -> None:
    """The ledger has a tick that the schedule never had."""
    request = Decision.decide_request

    def passing(self: Decision, due: Any, origin: Any) -> None:
        request(self, due, origin._replace(source=RunSource.SCHEDULE) if origin.source == RunSource.TRIGGER else origin)

    patches.set(Decision, "decide_request", passing)


def tick_is_written_twice(patches: Patches) -> None:
    """The unique key accepts it, because it has another origin."""
    insert = Transaction.run_insert

    def doubled(self: Transaction, runs: Any) -> Any:
        return insert(self, [*runs, *(run._replace(origin=ELSEWHERE) for run in runs if not run.origin)])

    patches.set(Transaction, "run_insert", doubled)


def missed_ticks_are_never_caught_up(patches: Patches) -> None:
    """Missed ticks stay undecided."""
    patches.set(FireStep, "catch_up", lambda *_, **__: StepResult())


MODEL_DEFECTS = tuple(
    Defect(plant.__name__, plant)
    for plant in (
        backfill_ignores_slots,
        backfill_runs_ticks_that_ran,
        cancelled_backfill_stays_running,
        resume_leaves_no_next_fire,
        cursor_stays_after_a_run,
        trigger_is_recorded_as_a_tick,
        tick_is_written_twice,
        missed_ticks_are_never_caught_up,
    )
)
