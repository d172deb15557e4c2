"""Mistakes that the models must notice when stories are replayed, beside those of the simulation.

Most of them leave the ledger in order, so that no checker of the simulation could find them: only who knows what ought
to have been decided can.
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
"""The origin of no run."""


def a_backfill_asks_for_no_slot(patches: Patches) -> None:
    """It hands out its ticks whatever runs and whatever waits."""
    patches.set(backfill, "_has_slot", lambda *_: True)


def a_backfill_runs_what_has_run(patches: Patches) -> None:
    """Whoever asks for what is missing gets everything."""
    patches.set(backfill, "is_wanted", lambda *_: True)


def a_cancelled_backfill_seems_to_go_on(patches: Patches) -> None:
    """It does nothing any more, and says that it runs."""
    patches.set(backfills, "CANCELLED", RUNNING)


def a_resume_aims_at_nothing(patches: Patches) -> None:
    """A schedule that goes on is never looked at, as in the twin of the model of pauses."""
    resumed = pause.resume_state

    def aimless(state: Any, *rest: Any) -> Any:
        return resumed(state, *rest)._replace(next_fire_ms=None) if state.paused else state

    patches.set(pause, "resume_state", aimless)


def a_run_is_written_and_the_cursor_stays(patches: Patches) -> None:
    """It follows with the next look, which finds the run in the ledger."""
    moved = Decision.state_after_ticks
    written: set[tuple[int, int]] = set()

    def stays(self: Decision, generated: Any) -> Any:
        new = {(run.schedule_key, run.nominal_s) for run in self.runs} - written
        written.update(new)
        return self.state_after_requests() if new else moved(self, generated)

    patches.set(fire, "decide_fast", lambda *_: None)
    patches.set(Decision, "state_after_ticks", stays)


def a_trigger_passes_for_a_tick(patches: Patches) -> None:
    """The ledger has a tick that the schedule never had."""
    request = Decision.request

    def passing(self: Decision, due: Any, origin: Any) -> None:
        request(self, due, origin._replace(source=RunSource.SCHEDULE) if origin.source == RunSource.TRIGGER else origin)

    patches.set(Decision, "request", passing)


def a_tick_is_written_twice(patches: Patches) -> None:
    """The unique key lets it pass, because it seems to come from somewhere else."""
    insert = Transaction.run_insert

    def doubled(self: Transaction, runs: Any) -> Any:
        return insert(self, [*runs, *(run._replace(origin=ELSEWHERE) for run in runs if not run.origin)])

    patches.set(Transaction, "run_insert", doubled)


def nobody_catches_up(patches: Patches) -> None:
    """What was missed stays undecided for ever."""
    patches.set(FireStep, "catch_up", lambda *_, **__: StepResult())


MISTAKES = tuple(
    Defect(plant.__name__, plant)
    for plant in (
        a_backfill_asks_for_no_slot,
        a_backfill_runs_what_has_run,
        a_cancelled_backfill_seems_to_go_on,
        a_resume_aims_at_nothing,
        a_run_is_written_and_the_cursor_stays,
        a_trigger_passes_for_a_tick,
        a_tick_is_written_twice,
        nobody_catches_up,
    )
)
