"""The pictures of a page: each stands in a block of its own, below a comment that names it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tests.documentation.clock_changes import NIGHTS, draw_night
from tests.documentation.policy_scenarios import STORIES
from tests.documentation.timelines import draw

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "policies.md"
BLOCK = re.compile(r"<!-- picture: ([\w-]+) -->\n```text\n(.*?)```\n", re.DOTALL)


def pictures() -> dict[str, str]:
    """Every picture, by its name."""
    return {story.name: draw(story) for story in STORIES} | {night.name: draw_night(night) for night in NIGHTS}


def shown(text: str) -> dict[str, str]:
    """The pictures that a page shows."""
    found = BLOCK.findall(text)
    assert len(found) == len({name for name, _ in found}), "a picture is shown twice"
    return {name: picture.rstrip("\n") for name, picture in found}


def with_pictures(text: str, drawn: Mapping[str, str]) -> str:
    """The page with its pictures as they are now."""
    return BLOCK.sub(lambda block: f"<!-- picture: {block[1]} -->\n```text\n{drawn[block[1]]}\n```\n", text)
