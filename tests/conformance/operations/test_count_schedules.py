"""The number of schedules equals the number of schedules in the pages of the list."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.operations import FUNCTION, Bench
from tompion.errors import InvalidField
from tompion.operations.schedules import control, crud

FILTERS: list[dict[str, Any]] = [
    {},
    {"status": "active"},
    {"status": "paused"},
    {"status": "exhausted"},
    {"status": "closed"},
    {"label": "team=a"},
    {"label": "team=b", "status": "active"},
    {"text": "ONE"},
    {"text": "100%_"},
    {"text": "one", "status": "active"},
    {"user_id": "u-1"},
    {"user_id": "u-1", "status": "exhausted"},
    {"workflow_id": "etl"},
]


def fill(bench: Bench) -> None:
    bench.create("one", cron="0 * * * *", labels={"team": "a"}, user_id="u-1")
    bench.create("two", cron="0 * * * *", labels={"team": "b"}, description="one of two, 100%_ sure")
    bench.create("over", times=["2027-01-15T08:30:00Z"], user_id="u-1")
    bench.create("resting", cron="0 * * * *", labels={"team": "a"})
    bench.ask(control.pause, "resting")
    bench.create("gone", cron="0 * * * *")
    bench.ask(crud.delete, "gone")
    bench.ask(crud.create, "theirs", cron="0 * * * *", function=FUNCTION, namespace="other")
    bench.go("10:00")
    bench.worker().tick()


def test_the_count_equals_the_length_of_the_list(bench: Bench) -> None:
    fill(bench)
    result = {}
    for wanted in FILTERS:
        counted = bench.ask(crud.count_schedules, **wanted)
        listed = bench.ask(crud.list_schedules, **wanted).items
        assert (counted.matching, counted.total, counted.capped) == (len(listed), 4, False), wanted
        result[str(wanted)] = counted.matching
    assert list(result.values()) == [4, 2, 1, 1, 1, 2, 1, 2, 1, 2, 2, 1, 0]


def test_the_count_stops_at_its_bound(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(bench)
    monkeypatch.setattr(crud, "MAX_COUNTED", 2)
    counted = bench.ask(crud.count_schedules)
    assert (counted.matching, counted.total, counted.capped) == (2, 2, True)


def test_an_invalid_filter_is_rejected(bench: Bench) -> None:
    with pytest.raises(InvalidField, match="status"):
        bench.ask(crud.count_schedules, status="odd")
