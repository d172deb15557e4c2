"""The diagrams of a page: each is a block below a comment with its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tests.documentation.clock_changes import NIGHTS, draw_night
from tests.documentation.policy_scenarios import SCENARIOS
from tests.documentation.timelines import draw

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "policies.md"
BLOCK = re.compile(r"<!-- picture: ([\w-]+) -->\n```text\n(.*?)```\n", re.DOTALL)


def diagrams() -> dict[str, str]:
    """Return every diagram by its name."""
    return {scenario.name: draw(scenario) for scenario in SCENARIOS} | {
        night.name: draw_night(night) for night in NIGHTS
    }


def page_diagrams(text: str) -> dict[str, str]:
    """Return the diagrams in a page by name."""
    named = BLOCK.findall(text)
    assert len(named) == len({name for name, _ in named}), "a diagram is there twice"
    return {name: diagram.rstrip("\n") for name, diagram in named}


def with_diagrams(text: str, drawn: Mapping[str, str]) -> str:
    """Return the page with new diagrams."""
    return BLOCK.sub(lambda block: f"<!-- picture: {block[1]} -->\n```text\n{drawn[block[1]]}\n```\n", text)
