"""What an edit would do to the ticks to come."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.operations import FUNCTION, Bench, shown
from tompion.errors import InvalidInput, LimitExceeded, NotFound
from tompion.operations.insight import edit_diff
from tompion.operations.schedules import control


def changes(bench: Bench, **given: Any) -> list[str]:
    found = bench.ask(edit_diff.diff, "report", function=FUNCTION, **given)
    return [f"{shown(each.at)} {each.change}" for each in found.ticks]


def test_ticks_stay_go_and_come(bench: Bench) -> None:
    bench.create(cron="0,20,40 * * * *")
    assert changes(bench, cron="*/30 * * * *", count=5) == [
        "08:20 removed", "08:30 added", "08:40 removed", "09:00 unchanged", "09:20 removed",
    ]  # fmt: skip
    found = bench.ask(edit_diff.diff, "report", cron="*/30 * * * *", function=FUNCTION, count=5)
    assert (found.unchanged, found.removed, found.added) == (1, 3, 1)
    assert found.complete_until is not None
    assert shown(found.complete_until) == "09:29:59"


def test_what_ends_is_complete(bench: Bench) -> None:
    bench.create(times=["2027-01-15T09:00:00Z"])
    found = bench.ask(edit_diff.diff, "report", times=["2027-01-15T10:00:00Z"], function=FUNCTION)
    assert [each.change for each in found.ticks] == ["removed", "added"]
    assert found.complete_until is None


def test_a_tick_that_is_to_be_skipped_does_not_go_by_the_edit(bench: Bench) -> None:
    bench.create(cron="0 * * * *")
    bench.ask(control.skip, "report")
    assert changes(bench, cron="0 * * * *", count=2) == ["10:00 unchanged", "11:00 unchanged"]


def test_nothing_is_written(bench: Bench) -> None:
    bench.create(cron="0 * * * *")
    before = bench.get()
    changes(bench, cron="* * * * *")
    assert bench.get() == before


def test_what_an_update_would_refuse_is_refused(bench: Bench) -> None:
    bench.create()
    with pytest.raises(InvalidInput):
        changes(bench, cron="61 * * * *")
    with pytest.raises(LimitExceeded):
        changes(bench, cron="* * * * *", count=501)
    with pytest.raises(NotFound):
        bench.ask(edit_diff.diff, "nobody", cron="* * * * *", function=FUNCTION)
