"""The same stories through every door, on every store: the same answers, and the same errors."""

from __future__ import annotations

import pytest

from foliot.methods import SyncMethods, _Sync
from tests.conformance.api.commandline import UNSAYABLE, CommandLine
from tests.conformance.api.stories import STORIES, told


@pytest.mark.parametrize("title", STORIES)
def test_every_door_answers_alike(door: SyncMethods, direct: SyncMethods, title: str) -> None:
    story = [each for each in STORIES[title] if not (isinstance(door, CommandLine) and each in UNSAYABLE)]
    for line, here, there in zip(story, told(direct, story), told(door, story), strict=True):
        assert there == here, line


def test_the_stories_use_every_operation() -> None:
    """But for keys, which are never alike: tests/conformance/api/test_gate.py."""
    told_of = {name for story in STORIES.values() for name, _, _ in story}
    assert {name for name, member in vars(SyncMethods).items() if isinstance(member, _Sync)} <= told_of | {
        "create_key",
        "list_keys",
        "revoke_key",
    }
