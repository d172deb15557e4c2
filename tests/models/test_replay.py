"""Stories of the simulation, held against the models: if the code or a model changes alone, this fails."""

from __future__ import annotations

from functools import cache

import pytest

from models.checking import Missing, command
from models.table import HOLDS
from tests.models.recording import Recording, record
from tests.models.replaying import REPLAYS
from tests.simulation.defects import DEFECTS
from tests.simulation.planting import planted

try:
    command()
except Missing as error:
    pytest.skip(f"stories cannot be replayed: {error}", allow_module_level=True)

SEEDS = range(100, 112)
FEWEST = {"Fire": 40, "Lease": 200, "Overlap": 100}
"""How many commits are held against each model, at the least: stories that say nothing prove nothing."""
DRIFTS = {
    "coalesce_runs_the_first": "Fire",
    "spans_are_miscounted": "Fire",
    "rescue_keeps_the_attempt": "Lease",
    "nobody_starts_what_waits": "Overlap",
}
"""Mistakes of the simulation, and the model that must notice each."""


@cache
def recorded() -> list[Recording]:
    return [record(seed) for seed in SEEDS]


@pytest.mark.parametrize("model", REPLAYS)
def test_every_commit_of_a_story_is_a_step_of_the_model(model: str) -> None:
    replayed = REPLAYS[model](recorded())
    assert replayed.answer.verdict == HOLDS, replayed.answer.output
    assert replayed.steps >= FEWEST[model]


@pytest.mark.parametrize("name", DRIFTS)
def test_code_that_has_drifted_away_is_noticed(name: str) -> None:
    """The code changes, and the model does not: a commit is none of its steps."""
    chosen = next(defect for defect in DEFECTS if defect.name == name)
    with planted(chosen):
        recordings = [record(seed) for seed in SEEDS]
    replayed = REPLAYS[DRIFTS[name]](recordings)
    assert replayed.answer.verdict == "EveryCommitIsAStep", replayed.answer.output


def test_a_story_is_recorded_the_same_way_twice() -> None:
    assert record(SEEDS[0]) == recorded()[0]
