"""The page of policies: every picture on it is what really happens."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.documentation.clock_changes import NIGHTS, Night, draw_night
from tests.documentation.diagrams import PAGE, shown, with_pictures
from tests.documentation.policy_scenarios import STORIES
from tests.documentation.timelines import Story, draw
from tompion.model.policy import CatchUp, Keep, OnResume, Overlap

TEXT = PAGE.read_text(encoding="utf-8")
REDRAW = "draw it anew: python -m tests.documentation"


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_a_diagram_shows_what_the_engine_does(story: Story) -> None:
    assert shown(TEXT)[story.name] == draw(story), REDRAW


@pytest.mark.parametrize("night", NIGHTS, ids=lambda night: night.name)
def test_a_diagram_of_a_clock_change_matches_the_spec(night: Night) -> None:
    assert shown(TEXT)[night.name] == draw_night(night), REDRAW


def test_every_diagram_has_a_scenario_and_every_policy_a_diagram() -> None:
    assert set(shown(TEXT)) == {story.name for story in STORIES} | {night.name for night in NIGHTS}
    said = [value for story in STORIES for value in story.fields.values()]
    assert [each for kind in (Overlap, CatchUp, OnResume) for each in kind if each not in said] == []
    assert Keep.FIRST in said


def test_diagrams_of_two_policies_differ() -> None:
    """Were the drawing blind to what happens, every story would look alike."""
    story = STORIES[0]
    other = replace(story, fields={"overlap_policy": "allow"})
    assert draw(story).splitlines()[5:] != draw(other).splitlines()[5:]
    stale = TEXT.replace("SKIPPED overlap", "SUCCESS", 1)
    assert stale != TEXT
    assert with_pictures(stale, {**shown(TEXT)}) == TEXT
