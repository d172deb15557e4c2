"""The page about policies: its diagrams show what the engine does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.documentation.clock_changes import NIGHTS, Night, draw_night
from tests.documentation.diagrams import PAGE, page_diagrams, with_diagrams
from tests.documentation.policy_scenarios import SCENARIOS
from tests.documentation.timelines import Scenario, draw
from tompion.model.policy import CatchUp, Keep, OnResume, Overlap

TEXT = PAGE.read_text(encoding="utf-8")
REDRAW = "draw it again: python -m tests.documentation"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_diagram_shows_what_the_engine_does(scenario: Scenario) -> None:
    assert page_diagrams(TEXT)[scenario.name] == draw(scenario), REDRAW


@pytest.mark.parametrize("night", NIGHTS, ids=lambda night: night.name)
def test_a_diagram_of_a_clock_change_matches_the_spec(night: Night) -> None:
    assert page_diagrams(TEXT)[night.name] == draw_night(night), REDRAW


def test_every_diagram_has_a_scenario_and_every_policy_a_diagram() -> None:
    assert set(page_diagrams(TEXT)) == {scenario.name for scenario in SCENARIOS} | {night.name for night in NIGHTS}
    values = [value for scenario in SCENARIOS for value in scenario.fields.values()]
    assert [policy for kind in (Overlap, CatchUp, OnResume) for policy in kind if policy not in values] == []
    assert Keep.FIRST in values


def test_diagrams_of_two_policies_differ() -> None:
    """The drawing must depend on the outcome."""
    scenario = SCENARIOS[0]
    other = replace(scenario, fields={"overlap_policy": "allow"})
    assert draw(scenario).splitlines()[5:] != draw(other).splitlines()[5:]
    stale = TEXT.replace("SKIPPED overlap", "SUCCESS", 1)
    assert stale != TEXT
    assert with_diagrams(stale, {**page_diagrams(TEXT)}) == TEXT
