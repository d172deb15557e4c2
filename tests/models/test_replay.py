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

SEEDS = (10, 25, 100, 101, 102, 103, 107, 109, 112, 116)
"""Stories with missed, coalesced and edited ticks, with every overlap policy, and with runs that wait."""
FEWEST = {"Fire": 80, "Lease": 150, "Overlap": 150}
"""How many commits are held against each model, at the least: stories that say nothing prove nothing."""
DRIFTS = {
    "coalesce_runs_the_first": ("Fire", 107),
    "missed_ticks_are_dropped_whatever_the_policy": ("Fire", 107),
    "rescue_keeps_the_attempt": ("Lease", 103),
    "nobody_starts_what_waits": ("Overlap", 109),
}
"""Mistakes of the simulation, the model that must notice each, and a story in which it matters."""


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
    model, seed = DRIFTS[name]
    with planted(next(defect for defect in DEFECTS if defect.name == name)):
        recordings = [record(seed)]
    replayed = REPLAYS[model](recordings)
    assert replayed.answer.verdict == "EveryCommitIsAStep", replayed.answer.output


def test_a_story_is_recorded_the_same_way_twice() -> None:
    assert record(SEEDS[0]) == recorded()[0]
