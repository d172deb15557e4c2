"""The check of targets searches a missing function again after a while, and remembers one that exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.operations import BEGIN
from tompion.bootstrap import targets
from tompion.bootstrap.targets import MAX_MISSING_S, TargetChecker
from tompion.model.schedule import Action
from tompion.testing.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(BEGIN)


@pytest.fixture
def checker(clock: ManualClock) -> TargetChecker:
    return TargetChecker({}, dict, frozenset(), clock)


def test_a_missing_function_is_found_after_it_was_deployed(
    checker: TargetChecker, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = Action(function="deployed_later:run")
    assert "there is no module 'deployed_later'" in checker(action)[0]
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "deployed_later.py").write_text("def run(): ...")
    assert checker(action), "it is not searched again yet"
    clock.advance(MAX_MISSING_S)
    assert checker(action) == ()


def test_a_missing_function_is_searched_again_after_the_clock_was_set_back(
    checker: TargetChecker, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = Action(function="nowhere_at_all:run")
    assert checker(action)
    monkeypatch.setattr(targets, "_module_problem", lambda _module: None)
    clock.advance(-3600)
    assert checker(action) == ()


def test_the_number_of_remembered_functions_is_limited(checker: TargetChecker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "MAX_REMEMBERED", 3)
    for number in range(10):
        checker(Action(function=f"nowhere_{number}:run"))
    assert len(checker._missing) <= 3
