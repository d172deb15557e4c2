"""Requested skips: during a pause, among missed ticks, and of a fixed delay."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.operations import Bench, at, shown, when
from tompion.config.settings import Settings
from tompion.encoding.instant import datetime_s
from tompion.errors import InvalidField
from tompion.model.schedule import Schedule
from tompion.operations.runs import read
from tompion.operations.schedules import control, crud, history

DELAY = [{"every": 300, "anchor": "completion"}]


def skip(bench: Bench, *times: str) -> Schedule:
    return bench.ask(control.skip, "report", at=[when(time) for time in times] or None)


# --- the next tick ----------------------------------------------------------------------------------------------------


def test_skip_in_a_pause_applies_to_the_next_run(bench: Bench) -> None:
    """Regression: it skipped the first tick of the pause, which the resume dropped anyway, and the next one ran."""
    bench.create(cron="0 * * * *")
    bench.pause()
    bench.go("10:30")
    assert bench.ask(read.describe, "report").next_ticks[0] == when("11:00")
    assert bench.get().next_run_at == when("11:00")
    assert skip(bench).next_run_at == when("12:00")
    description = bench.ask(read.describe, "report")
    assert [shown(tick) for tick in description.skipped_ticks] == ["11:00"]
    assert description.next_ticks[0] == when("12:00")
    bench.resume()
    worker = bench.worker()
    assert worker.tick() == []
    bench.go("11:00")
    assert worker.tick() == []
    bench.go("12:00")
    assert worker.tick() == ["12:00"]
    assert bench.outcomes() == ["11:00 SKIPPED skip_requested", "12:00 ENQUEUED"]


def test_skip_after_downtime_applies_to_the_next_run(bench: Bench) -> None:
    bench.create(cron="0 * * * *")
    bench.go("10:30")
    assert bench.ask(read.describe, "report").next_ticks[0] == when("11:00")
    skip(bench)
    assert [shown(tick) for tick in bench.ask(read.describe, "report").skipped_ticks] == ["11:00"]


def test_a_tick_of_a_pause_can_be_skipped_by_its_time(bench: Bench) -> None:
    bench.create(cron="0 * * * *", catchup_policy="all", overlap_policy="allow")
    bench.pause()
    bench.go("11:30")
    skip(bench, "10:00")
    bench.resume()
    assert bench.worker().tick() == ["09:00", "11:00"]


def test_skip_without_a_next_run_is_rejected(bench: Bench) -> None:
    bench.create(times=["2027-01-15T09:00:00Z"])
    bench.pause()
    bench.go("10:00")
    assert bench.get().next_run_at is None
    with pytest.raises(InvalidField, match="at: there is no tick left to skip"):
        skip(bench)


# --- one run for many ticks -------------------------------------------------------------------------------------------

ONE: list[tuple[dict[str, Any], str]] = [
    ({"catchup_policy": "coalesce"}, "coalesced"), ({"on_resume": "fire_once"}, "resumed")
]  # fmt: skip
HOURS = ["09:00", "10:00", "11:00", "12:00"]
SKIPPED = [f"{hour} SKIPPED skip_requested" for hour in HOURS]
LATEST = [
    (["12:00"], ["11:00 ENQUEUED {}", SKIPPED[3]], ["10:00 2 {}"]),
    (["11:00"], ["12:00 ENQUEUED {}"], ["11:00 3 {}"]),
    (HOURS[1:], ["09:00 ENQUEUED {}", *SKIPPED[1:]], []),
    (HOURS, SKIPPED, []),
]


@pytest.mark.parametrize(("fields", "reason"), ONE, ids=["coalesce", "fire_once"])
@pytest.mark.parametrize(("skips", "outcomes", "dropped_ranges"), LATEST)
@pytest.mark.parametrize("size", [1, 2, 3, 50])
def test_catch_up_runs_the_latest_tick_that_is_not_skipped(
    bench: Bench,
    fields: dict[str, Any],
    reason: str,
    skips: list[str],
    outcomes: list[str],
    dropped_ranges: list[str],
    size: int,
) -> None:
    """Regression: the latest tick was skipped, the others were dropped, and nothing ran."""
    bench.create(cron="0 * * * *", paused=True, **fields)
    skip(bench, *skips)
    bench.go("12:30")
    expected = bench.ask(read.describe, "report").would_run_on_resume
    bench.resume()
    worker = bench.worker(settings=Settings(max_dropped_range_ticks=size))
    while worker.catch_up().claimed:
        pass
    started = [shown(run.run_at) for run in bench.runs() if run.status == "ENQUEUED"]
    assert (
        started == [outcome[:5] for outcome in outcomes if "ENQUEUED" in outcome] == [shown(tick) for tick in expected]
    )
    if size == 50:
        assert bench.outcomes() == [outcome.format(reason) for outcome in outcomes]
        assert bench.dropped_ranges() == [dropped_range.format(reason) for dropped_range in dropped_ranges]


@pytest.mark.parametrize(("fields", "reason"), ONE, ids=["coalesce", "fire_once"])
@pytest.mark.parametrize(("skips", "ran"), [([], "10:00"), (["10:00"], "09:00")])
def test_catch_up_runs_the_last_tick_of_a_finished_schedule(
    bench: Bench, fields: dict[str, Any], reason: str, skips: list[str], ran: str
) -> None:
    """It does not wait for a later tick, because no tick follows."""
    bench.create(times=[f"2027-01-15T{hour}:00Z" for hour in HOURS[:2]], paused=True, **fields)
    if skips:
        skip(bench, *skips)
    bench.go("12:30")
    bench.resume()
    assert bench.worker().tick() == [ran]
    assert f"{ran} ENQUEUED {reason}" in bench.outcomes()


# --- a fixed delay ----------------------------------------------------------------------------------------------------


def test_the_next_run_of_a_fixed_delay_can_be_skipped(bench: Bench) -> None:
    """Regression: a skip at the time of the next run was rejected as no tick."""
    schedule = bench.create(intervals=DELAY)
    assert bench.ask(read.describe, "report").next_ticks == (schedule.next_run_at,)
    first = bench.ask(control.skip, "report", at=[schedule.next_run_at])
    assert first.next_run_at == when("08:05:30")
    second = bench.ask(control.skip, "report", at=[first.next_run_at])
    assert second.next_run_at == when("08:10:30")
    assert bench.ask(control.skip, "report", at=[schedule.next_run_at]).next_run_at == when("08:10:30")
    worker = bench.worker()
    for moment in ("08:00:31", "08:05:34", "08:10:32"):
        bench.go(moment)
        worker.tick()
    assert bench.outcomes() == [
        "08:00:30 SKIPPED skip_requested", "08:05:30 SKIPPED skip_requested", "08:10:30 ENQUEUED"
    ]  # fmt: skip
    assert bench.state().skips is None


def test_later_ticks_of_a_fixed_delay_cannot_be_skipped(bench: Bench) -> None:
    bench.create(intervals=DELAY)
    message = r"no tick at 2027-01-15T08:05:30\+00:00; a fixed delay has its next tick at 2027-01-15T08:00:30\+00:00"
    with pytest.raises(InvalidField, match=message):
        skip(bench, "08:05:30")
    worker = bench.worker()
    bench.go("08:00:31")
    worker.tick()
    with pytest.raises(InvalidField, match="a fixed delay has no known tick until its run ends"):
        skip(bench, "08:05:31")
    with pytest.raises(InvalidField, match="no tick left"):
        skip(bench)
    worker.settle()
    following = bench.get().next_run_at
    assert following == datetime_s(int(at("08:05:31")))
    assert bench.ask(control.skip, "report", at=[following]).next_run_at == when("08:10:31")


def test_a_late_skip_of_a_fixed_delay_keeps_its_next_run(bench: Bench) -> None:
    """Regression: the delay counted from the time of the evaluation, so a second skip matched no tick."""
    bench.create(intervals=DELAY)
    skip(bench)
    skip(bench)
    assert bench.get().next_run_at == when("08:10:30")
    bench.go("08:50")
    worker = bench.worker()
    while not worker.tick():
        pass
    assert bench.outcomes()[-1] == "08:10:30 ENQUEUED"
    assert len(bench.outcomes()) == 3


# --- unskip -----------------------------------------------------------------------------------------------------------


def unskip(bench: Bench, *times: str, **fields: Any) -> Schedule:
    return bench.ask(control.unskip, "report", at=[when(time) for time in times] or None, **fields)


def test_unskip_removes_a_skip(bench: Bench) -> None:
    bench.create(cron="0 * * * *")
    skip(bench)
    skip(bench, "11:00")
    assert unskip(bench, "09:00", note="operator present").next_run_at == when("09:00")
    assert [shown(tick) for tick in bench.ask(read.describe, "report").skipped_ticks] == ["11:00"]
    worker = bench.worker()
    bench.go("09:00")
    assert worker.tick() == ["09:00"]
    assert bench.ask(control.unskip, "report").next_run_at == when("10:00")
    assert bench.ask(read.describe, "report").skipped_ticks == ()
    newest, _, before, *_ = bench.ask(history.history, "report").items
    assert (newest.operation, newest.before) == ("unskip", {"skip": ["2027-01-15T11:00:00+00:00"]})
    assert before.operation == "skip"


def test_unskip_without_a_skip_changes_nothing(bench: Bench) -> None:
    bench.create(cron="0 * * * *")
    skip(bench, "10:00")
    assert unskip(bench, "09:00").next_run_at == when("09:00")
    assert [shown(tick) for tick in bench.ask(read.describe, "report").skipped_ticks] == ["10:00"]
    first = unskip(bench, request_id="once")
    skip(bench, "10:00")
    assert unskip(bench, request_id="once") == first, "the same request is the same answer, once"
    assert [shown(tick) for tick in bench.ask(read.describe, "report").skipped_ticks] == ["10:00"]


def test_unskip_rejects_a_past_skip_and_a_time_without_a_tick(bench: Bench) -> None:
    bench.create(cron="0 * * * *")
    skip(bench)
    bench.go("09:00")
    bench.worker().tick()
    with pytest.raises(InvalidField, match="was decided already"):
        unskip(bench, "09:00")
    with pytest.raises(InvalidField, match=r"there is no tick at .*; the next one is at"):
        unskip(bench, "10:30")
    with pytest.raises(InvalidField, match="no value for all ticks to skip"):
        bench.ask(control.unskip, "report", at=[])


def test_a_skip_of_a_removed_tick_can_be_unskipped(bench: Bench) -> None:
    bench.create(cron="0 * * * *")
    skip(bench, "10:00")
    bench.ask(crud.patch, "report", cron=["30 * * * *"])
    left = bench.ask(read.describe, "report").skipped_ticks
    unskip(bench, *[shown(tick) for tick in left])
    assert bench.ask(read.describe, "report").skipped_ticks == ()


def test_the_skip_of_a_fixed_delay_can_be_unskipped(bench: Bench) -> None:
    bench.create(intervals=DELAY)
    pending = bench.get().next_run_at
    skip(bench)
    assert bench.get().next_run_at != pending
    assert bench.ask(control.unskip, "report").next_run_at == pending
