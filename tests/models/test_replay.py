"""Stories of the simulation, held against the models: if the code or a model changes alone, this fails."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

import pytest

from models.checking import Missing, command
from models.table import HOLDS
from tests.models.defects import MISTAKES
from tests.models.recorder import Recording, record
from tests.models.replay import REPLAYS
from tests.simulation.defects import DEFECTS
from tests.support.planting import planted
from tompion.model.backfill import CANCELLED, DONE, RUNNING
from tompion.plan.backfill import BACKFILL_FILTERS

try:
    command()
except Missing as error:
    pytest.skip(f"stories cannot be replayed: {error}", allow_module_level=True)

SEEDS = (3, 7, 10, 25, 53, 71, 101, 102, 103, 107, 109, 112, 2_406_996_092)
"""Stories with missed, coalesced and edited ticks, every overlap policy, runs that wait, and backfills."""
FEWEST = {"Fire": 250, "Lease": 600, "Overlap": 500, "Backfill": 80}
"""How many commits are held against each model, at the least: stories that say nothing prove nothing."""
SHARES = {"Fire": 0.5, "Lease": 1.0, "Overlap": 1.0, "Backfill": 1.0}
"""How much of what the stories did with it is held against each model, at the least."""
DRIFTS = {
    "coalesce_runs_the_first": ("Fire", 107),
    "missed_ticks_are_dropped_whatever_the_policy": ("Fire", 107),
    "a_resume_aims_at_nothing": ("Fire", 68),
    "a_run_is_written_and_the_cursor_stays": ("Fire", 107),
    "a_trigger_passes_for_a_tick": ("Fire", 102),
    "a_tick_is_written_twice": ("Fire", 107),
    "rescue_keeps_the_attempt": ("Lease", 103),
    "nobody_starts_what_waits": ("Overlap", 109),
    "skips_are_ignored": ("Overlap", 62),
    "backfill_leaves_out_its_end": ("Backfill", 21),
    "a_backfill_asks_for_no_slot": ("Backfill", 53),
    "a_backfill_runs_what_has_run": ("Backfill", 7),
    "a_cancelled_backfill_seems_to_go_on": ("Backfill", 10),
}
"""Mistakes, the model that must notice each, and a story in which it matters."""


def planted_mistake(name: str) -> AbstractContextManager[None]:
    return planted(next(each for each in (*DEFECTS, *MISTAKES) if each.name == name))


@cache
def recorded() -> list[Recording]:
    return [record(seed) for seed in SEEDS]


@pytest.mark.parametrize("model", REPLAYS)
def test_every_commit_of_a_story_is_a_step_of_the_model(model: str) -> None:
    replayed = REPLAYS[model](recorded())
    assert replayed.answer.verdict == HOLDS, replayed.answer.output
    assert replayed.steps >= FEWEST[model]
    assert replayed.steps >= SHARES[model] * replayed.of


@pytest.mark.parametrize("name", DRIFTS)
def test_code_that_has_drifted_away_is_noticed(name: str) -> None:
    """The code changes, and the model does not: a commit is none of its steps."""
    model, seed = DRIFTS[name]
    with planted_mistake(name):
        recordings = [record(seed)]
    replayed = REPLAYS[model](recordings)
    assert replayed.answer.verdict == "EveryCommitIsAStep", replayed.answer.output


def test_what_is_never_decided_is_noticed() -> None:
    """No commit is wrong, and one is missing: what was missed is undecided after minutes of rest."""
    with planted_mistake("nobody_catches_up"):
        recordings = [record(107)]
    replayed = REPLAYS["Fire"](recordings)
    assert replayed.answer.verdict == "DecidedInTheEnd", replayed.answer.output


def test_stories_of_backfills_have_all_that_can_happen_to_one() -> None:
    rows = [row for recording in recorded() for commit in recording.commits for row in commit.backfills.values()]
    assert {row.state for row in rows if row is not None} == {RUNNING, DONE, CANCELLED}
    assert {row.overlap for row in rows if row is not None} == {"queue", "allow", "skip"}
    assert {row.only for row in rows if row is not None} == set(BACKFILL_FILTERS)


def test_a_story_is_recorded_the_same_way_twice() -> None:
    assert record(SEEDS[0]) == recorded()[0]
