"""Mistakes that the models must notice when stories are replayed, beside those of the simulation.

Most of them leave the ledger in order, so that no checker of the simulation could find them: only who knows what ought
to have been decided can.
"""

from __future__ import annotations

from typing import Any

from foliot.engine.firing import NOTHING, Firing
from foliot.model.backfill import RUNNING
from foliot.operations import control
from foliot.plan import backfill, edit
from tests.simulation.planting import Defect, Patches


def a_backfill_asks_for_no_slot(patches: Patches) -> None:
    """It hands out its ticks whatever runs and whatever waits."""
    patches.set(backfill, "_has_room", lambda *_: True)


def a_backfill_runs_what_has_run(patches: Patches) -> None:
    """Whoever asks for what is missing gets everything."""
    patches.set(backfill, "wanted", lambda *_: True)


def a_cancelled_backfill_seems_to_go_on(patches: Patches) -> None:
    """It does nothing any more, and says that it runs."""
    patches.set(control, "CANCELLED", RUNNING)


def a_resume_aims_at_nothing(patches: Patches) -> None:
    """A schedule that goes on is never looked at, as in the twin of the model of pauses."""
    resumed = edit.resumed

    def aimless(dial: Any, *rest: Any) -> Any:
        return resumed(dial, *rest)._replace(next_fire_ms=None) if dial.paused else dial

    patches.set(edit, "resumed", aimless)


def nobody_catches_up(patches: Patches) -> None:
    """What was missed stays undecided for ever."""
    patches.set(Firing, "catch_up", lambda *_, **__: NOTHING)


MISTAKES = tuple(
    Defect(plant.__name__, plant)
    for plant in (
        a_backfill_asks_for_no_slot,
        a_backfill_runs_what_has_run,
        a_cancelled_backfill_seems_to_go_on,
        a_resume_aims_at_nothing,
        nobody_catches_up,
    )
)
