"""Scenarios of the simulation, compared with the models. A change of the code or of a model alone fails here."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

import pytest

from models.checking import Missing, command
from models.table import HOLDS
from tests.models.defects import MODEL_DEFECTS
from tests.models.recorder import Recording, record
from tests.models.replay import REPLAYS
from tests.simulation.defects import DEFECTS
from tests.support.planting import planted
from tompion.model.backfill import CANCELLED, DONE, RUNNING
from tompion.plan.backfill import BACKFILL_FILTERS

try:
    command()
except Missing as error:
    pytest.skip(f"traces cannot be replayed: {error}", allow_module_level=True)

SEEDS = (3, 7, 10, 21, 25, 53, 71, 101, 102, 103, 107, 109, 112, 777_000_139, 900_000_130, 900_000_991, 2_406_996_092)
"""Scenarios with missed, coalesced and edited ticks, every overlap policy, waiting runs and backfills."""
FEWEST = {"Fire": 250, "Lease": 600, "Overlap": 500, "Backfill": 80}
"""The minimum number of commits compared with each model."""
SHARES = {"Fire": 0.5, "Lease": 1.0, "Overlap": 1.0, "Backfill": 1.0}
"""The minimum share of the relevant commits that is compared with each model."""
DRIFTS = {
    "coalesce_runs_the_first": ("Fire", 107),
    "coalesce_leaves_late_ticks_alone": ("Fire", 20),
    "missed_ticks_are_dropped_whatever_the_policy": ("Fire", 107),
    "resume_leaves_no_next_fire": ("Fire", 68),
    "cursor_stays_after_a_run": ("Fire", 107),
    "trigger_is_recorded_as_a_tick": ("Fire", 102),
    "tick_is_written_twice": ("Fire", 107),
    "rescue_keeps_the_attempt": ("Lease", 103),
    "waiting_runs_are_never_started": ("Overlap", 109),
    "skips_are_ignored": ("Overlap", 62),
    "backfill_leaves_out_its_end": ("Backfill", 21),
    "backfill_ignores_slots": ("Backfill", 53),
    "backfill_runs_ticks_that_ran": ("Backfill", 7),
    "cancelled_backfill_stays_running": ("Backfill", 10),
}
"""Defects, the model that must detect each, and a seed in which it matters."""


def planted_defect(name: str) -> AbstractContextManager[None]:
    return planted(next(candidate for candidate in (*DEFECTS, *MODEL_DEFECTS) if candidate.name == name))


@cache
def recorded() -> list[Recording]:
    return [record(seed) for seed in SEEDS]


@pytest.mark.parametrize("model", REPLAYS)
def test_every_commit_of_a_scenario_is_a_step_of_the_model(model: str) -> None:
    replayed = REPLAYS[model](recorded())
    assert replayed.report.verdict == HOLDS, replayed.report.output
    assert replayed.steps >= FEWEST[model]
    assert replayed.steps >= SHARES[model] * replayed.of


@pytest.mark.parametrize("name", DRIFTS)
def test_drift_of_the_code_is_detected(name: str) -> None:
    """The code changes and the model does not, so a commit is not one of its steps."""
    model, seed = DRIFTS[name]
    with planted_defect(name):
        recordings = [record(seed)]
    replayed = REPLAYS[model](recordings)
    assert replayed.report.verdict == "EveryCommitIsAStep", replayed.report.output


def test_undecided_ticks_are_detected() -> None:
    """No commit is wrong, and one is missing: missed ticks stay undecided for minutes."""
    with planted_defect("missed_ticks_are_never_caught_up"):
        recordings = [record(107)]
    replayed = REPLAYS["Fire"](recordings)
    assert replayed.report.verdict == "DecidedInTheEnd", replayed.report.output


def test_scenarios_cover_every_state_of_a_backfill() -> None:
    rows = [row for recording in recorded() for commit in recording.commits for row in commit.backfills.values()]
    assert {row.state for row in rows if row is not None} == {RUNNING, DONE, CANCELLED}
    assert {row.overlap for row in rows if row is not None} == {"queue", "allow", "skip"}
    assert {row.only for row in rows if row is not None} == set(BACKFILL_FILTERS)


def test_scenario_is_recorded_the_same_way_twice() -> None:
    assert record(SEEDS[0]) == recorded()[0]
