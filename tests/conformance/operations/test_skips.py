"""Stories of ticks that somebody asked to skip: in a pause, among missed ones, of a fixed delay."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.operations import Bench, at, shown, when
from tompion.config.settings import Settings
from tompion.errors import InvalidField
from tompion.model.schedule import Schedule
from tompion.operations.runs import read
from tompion.operations.schedules import control, crud, history
from tompion.operations.views import at_s

DELAY = [{"every": 300, "anchor": "completion"}]


def skip(bench: Bench, *times: str) -> Schedule:
    return bench.ask(control.skip, "report", at=[when(each) for each in times] or None)


# --- the next tick is the one that is shown ---------------------------------------------------------------------------


def test_skip_in_a_pause_skips_the_next_tick_that_is_shown(bench: Bench) -> None:
    """It skipped the first tick of the pause, which the resume dropped anyway, and the next one ran."""
    bench.create(cron="0 * * * *")
    bench.pause()
    bench.go("10:30")
    assert bench.ask(read.describe, "report").next_ticks[0] == when("11:00")
    assert bench.get().next_run_at == when("11:00")
    assert skip(bench).next_run_at == when("12:00")
    found = bench.ask(read.describe, "report")
    assert [shown(tick) for tick in found.skipped_ticks] == ["11:00"]
    assert found.next_ticks[0] == when("12:00")
    bench.resume()
    worker = bench.worker()
    assert worker.tick() == []
    bench.go("11:00")
    assert worker.tick() == []
    bench.go("12:00")
    assert worker.tick() == ["12:00"]
    assert bench.outcomes() == ["11:00 SKIPPED skip_requested", "12:00 ENQUEUED"]


def test_skip_when_nobody_was_there_skips_the_next_tick_that_is_shown(bench: Bench) -> None:
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


def test_there_is_no_next_tick_to_skip_where_none_is_shown(bench: Bench) -> None:
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


@pytest.mark.parametrize(("given", "reason"), ONE, ids=["coalesce", "fire_once"])
@pytest.mark.parametrize(("skips", "story", "dropped_ranges"), LATEST)
@pytest.mark.parametrize("size", [1, 2, 3, 50])
def test_the_one_run_is_the_latest_that_nobody_asked_to_skip(
    bench: Bench,
    given: dict[str, Any],
    reason: str,
    skips: list[str],
    story: list[str],
    dropped_ranges: list[str],
    size: int,
) -> None:
    """The latest tick was skipped, the others were dropped in its favour, and nothing ran."""
    bench.create(cron="0 * * * *", paused=True, **given)
    skip(bench, *skips)
    bench.go("12:30")
    foretold = bench.ask(read.describe, "report").would_run_on_resume
    bench.resume()
    worker = bench.worker(settings=Settings(max_dropped_range_ticks=size))
    while worker.catch_up().claimed:
        pass
    started = [shown(run.scheduled_for) for run in bench.runs() if run.state == "ENQUEUED"]
    assert started == [each[:5] for each in story if "ENQUEUED" in each] == [shown(tick) for tick in foretold]
    if size == 50:
        assert bench.outcomes() == [each.format(reason) for each in story]
        assert bench.dropped_ranges() == [each.format(reason) for each in dropped_ranges]


@pytest.mark.parametrize(("given", "reason"), ONE, ids=["coalesce", "fire_once"])
@pytest.mark.parametrize(("skips", "ran"), [([], "10:00"), (["10:00"], "09:00")])
def test_the_one_run_of_a_schedule_that_has_no_more_ticks(
    bench: Bench, given: dict[str, Any], reason: str, skips: list[str], ran: str
) -> None:
    """Nothing follows the last of its times: that is no reason to wait for it."""
    bench.create(times=[f"2027-01-15T{hour}:00Z" for hour in HOURS[:2]], paused=True, **given)
    if skips:
        skip(bench, *skips)
    bench.go("12:30")
    bench.resume()
    assert bench.worker().tick() == [ran]
    assert f"{ran} ENQUEUED {reason}" in bench.outcomes()


# --- a fixed delay ----------------------------------------------------------------------------------------------------


def test_the_tick_of_a_fixed_delay_that_is_shown_can_be_skipped(bench: Bench) -> None:
    """There was said to be no tick at the very time that was shown as the next."""
    made = bench.create(intervals=DELAY)
    assert bench.ask(read.describe, "report").next_ticks == (made.next_run_at,)
    first = bench.ask(control.skip, "report", at=[made.next_run_at])
    assert first.next_run_at == when("08:05:30")
    second = bench.ask(control.skip, "report", at=[first.next_run_at])
    assert second.next_run_at == when("08:10:30")
    assert bench.ask(control.skip, "report", at=[made.next_run_at]).next_run_at == when("08:10:30")
    worker = bench.worker()
    for moment in ("08:00:31", "08:05:34", "08:10:32"):
        bench.go(moment)
        worker.tick()
    assert bench.outcomes() == [
        "08:00:30 SKIPPED skip_requested", "08:05:30 SKIPPED skip_requested", "08:10:30 ENQUEUED"
    ]  # fmt: skip
    assert bench.state().skips is None


def test_other_ticks_of_a_fixed_delay_are_not_known(bench: Bench) -> None:
    bench.create(intervals=DELAY)
    told = r"no tick at 2027-01-15T08:05:30\+00:00; a fixed delay has its next tick at 2027-01-15T08:00:30\+00:00"
    with pytest.raises(InvalidField, match=told):
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
    assert following == at_s(int(at("08:05:31")))
    assert bench.ask(control.skip, "report", at=[following]).next_run_at == when("08:10:31")


def test_a_fixed_delay_that_was_to_be_skipped_long_ago_does_what_was_shown(bench: Bench) -> None:
    """The delay counted from the moment when the skipped tick was looked at, so that a second skip met no tick."""
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


# --- a skip is taken back ---------------------------------------------------------------------------------------------


def unskip(bench: Bench, *times: str, **given: Any) -> Schedule:
    return bench.ask(control.unskip, "report", at=[when(each) for each in times] or None, **given)


def test_a_skip_that_is_taken_back_never_was(bench: Bench) -> None:
    bench.create(cron="0 * * * *")
    skip(bench)
    skip(bench, "11:00")
    assert unskip(bench, "09:00", note="somebody is there").next_run_at == when("09:00")
    assert [shown(tick) for tick in bench.ask(read.describe, "report").skipped_ticks] == ["11:00"]
    worker = bench.worker()
    bench.go("09:00")
    assert worker.tick() == ["09:00"]
    assert bench.ask(control.unskip, "report").next_run_at == when("10:00")
    assert bench.ask(read.describe, "report").skipped_ticks == ()
    newest, _, before, *_ = bench.ask(history.history, "report").items
    assert (newest.operation, newest.before) == ("unskip", {"skip": ["2027-01-15T11:00:00+00:00"]})
    assert before.operation == "skip"


def test_taking_back_what_nobody_skipped_changes_no_tick(bench: Bench) -> None:
    bench.create(cron="0 * * * *")
    skip(bench, "10:00")
    assert unskip(bench, "09:00").next_run_at == when("09:00")
    assert [shown(tick) for tick in bench.ask(read.describe, "report").skipped_ticks] == ["10:00"]
    first = unskip(bench, request_id="once")
    skip(bench, "10:00")
    assert unskip(bench, request_id="once") == first, "the same request is the same answer, once"
    assert [shown(tick) for tick in bench.ask(read.describe, "report").skipped_ticks] == ["10:00"]


def test_what_has_been_skipped_and_what_is_no_tick_cannot_be_taken_back(bench: Bench) -> None:
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


def test_a_skip_of_a_tick_that_an_edit_took_away_can_be_taken_back(bench: Bench) -> None:
    bench.create(cron="0 * * * *")
    skip(bench, "10:00")
    bench.ask(crud.patch, "report", cron=["30 * * * *"])
    left = bench.ask(read.describe, "report").skipped_ticks
    unskip(bench, *[shown(tick) for tick in left])
    assert bench.ask(read.describe, "report").skipped_ticks == ()


def test_the_skip_after_a_fixed_delay_is_taken_back(bench: Bench) -> None:
    bench.create(intervals=DELAY)
    pending = bench.get().next_run_at
    skip(bench)
    assert bench.get().next_run_at != pending
    assert bench.ask(control.unskip, "report").next_run_at == pending
