"""The diff of an edit: how it would change the upcoming ticks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.operations import FUNCTION, Bench, shown
from tompion.errors import InvalidInput, LimitExceeded, NotFound
from tompion.operations.insight import edit_diff
from tompion.operations.schedules import control


def changes(bench: Bench, **fields: Any) -> list[str]:
    diff = bench.ask(edit_diff.diff, "report", function=FUNCTION, **fields)
    return [f"{shown(tick.at)} {tick.change}" for tick in diff.ticks]


def test_the_diff_lists_kept_removed_and_added_ticks(bench: Bench) -> None:
    bench.create(cron="0,20,40 * * * *")
    assert changes(bench, cron="*/30 * * * *", count=5) == [
        "08:20 removed", "08:30 added", "08:40 removed", "09:00 unchanged", "09:20 removed",
    ]  # fmt: skip
    diff = bench.ask(edit_diff.diff, "report", cron="*/30 * * * *", function=FUNCTION, count=5)
    assert (diff.unchanged, diff.removed, diff.added) == (1, 3, 1)
    assert diff.complete_until is not None
    assert shown(diff.complete_until) == "09:29:59"


def test_the_diff_is_complete_where_the_schedule_ends(bench: Bench) -> None:
    bench.create(times=["2027-01-15T09:00:00Z"])
    diff = bench.ask(edit_diff.diff, "report", times=["2027-01-15T10:00:00Z"], function=FUNCTION)
    assert [tick.change for tick in diff.ticks] == ["removed", "added"]
    assert diff.complete_until is None


def test_the_diff_omits_skipped_ticks(bench: Bench) -> None:
    bench.create(cron="0 * * * *")
    bench.ask(control.skip, "report")
    assert changes(bench, cron="0 * * * *", count=2) == ["10:00 unchanged", "11:00 unchanged"]


def test_the_diff_writes_nothing(bench: Bench) -> None:
    bench.create(cron="0 * * * *")
    before = bench.get()
    changes(bench, cron="* * * * *")
    assert bench.get() == before


def test_the_diff_rejects_what_an_update_rejects(bench: Bench) -> None:
    bench.create()
    with pytest.raises(InvalidInput):
        changes(bench, cron="61 * * * *")
    with pytest.raises(LimitExceeded):
        changes(bench, cron="* * * * *", count=501)
    with pytest.raises(NotFound):
        bench.ask(edit_diff.diff, "missing", cron="* * * * *", function=FUNCTION)
