"""Traps of late and missed ticks, of pauses and their ends.  Each docstring tells the story."""

from __future__ import annotations

import pytest

from tests.support.operations import Bench, when
from tompion.config.settings import Settings
from tompion.operations.runs import read
from tompion.operations.schedules import crud, history


def test_a_tick_a_little_late_is_not_missed(bench: Bench) -> None:
    """The engine looks a millisecond after the minute, then thirty seconds after one: late, and they fire."""
    bench.create()
    worker = bench.worker()
    for late in ("08:01:00.001", "08:02:30"):
        bench.go(late)
        assert worker.tick() == [late[:5]]
        worker.settle()
    bench.go("08:03:30.001")
    assert worker.tick() == []
    assert bench.outcomes() == ["08:01 SUCCESS", "08:02 SUCCESS"]
    assert bench.dropped_ranges() == ["08:03 1 missed"]


def test_a_tick_is_never_early(bench: Bench) -> None:
    """A millisecond before the minute there is nothing to do."""
    bench.create()
    worker = bench.worker()
    bench.go("08:00:59.999")
    assert worker.tick() == []
    assert bench.outcomes() == []


def test_missed_ticks_before_the_end_are_still_caught_up(bench: Bench) -> None:
    """Everything was down from before ``end_at`` until long after it; what was due before it still runs."""
    bench.create(end_at="2027-01-15T08:03:00Z", catchup_policy="fire_immediately", overlap_policy="allow")
    worker = bench.worker()
    bench.go("10:00")
    assert worker.tick() == ["08:01", "08:02", "08:03"]
    for _ in range(3):
        worker.settle()
    assert bench.get().state == "exhausted"


def test_start_at_exactly_on_a_tick_fires(bench: Bench) -> None:
    """Both ends belong to the range."""
    bench.create(start_at="2027-01-15T08:05:00Z", end_at="2027-01-15T08:06:00Z", overlap_policy="allow")
    worker = bench.worker()
    fired = []
    for minute in range(1, 9):
        bench.go(f"08:0{minute}")
        fired += worker.tick()
    assert fired == ["08:05", "08:06"]


def test_a_schedule_created_on_a_tick_fires_it(bench: Bench) -> None:
    """The first tick is the first that is not before now."""
    bench.go("08:05")
    created = bench.create()
    assert created.next_run_at == when("08:05")
    assert bench.worker().tick() == ["08:05"]


def test_a_new_schedule_does_not_catch_up_on_the_time_before_it(bench: Bench) -> None:
    """Whatever the policy: there was nothing to miss."""
    bench.create(catchup_policy="fire_immediately", start_at="2027-01-15T06:00:00Z")
    bench.go("08:01")
    assert bench.worker().tick() == ["08:01"]


def test_all_missed_ticks_under_skip(bench: Bench) -> None:
    """``fire_immediately`` meets ``skip``: the first runs, the rest overlap with it, and every one is on record."""
    bench.create(catchup_policy="fire_immediately", overlap_policy="skip")
    worker = bench.worker()
    bench.go("08:04:40")
    assert worker.tick() == ["08:01"]
    assert bench.outcomes() == [
        "08:01 ENQUEUED catch_up",
        "08:02 SKIPPED overlap",
        "08:03 SKIPPED overlap",
        "08:04 SKIPPED overlap",
    ]
    assert bench.dropped_ranges() == []


@pytest.mark.parametrize(
    ("policy", "story", "dropped_ranges"),
    [
        ("none", [], ["08:04 4 missed"]),
        ("coalesce", ["08:04 ENQUEUED coalesced"], ["08:03 3 coalesced"]),
        ("fire_immediately", [f"08:0{minute} ENQUEUED catch_up" for minute in (1, 2, 3, 4)], []),
        ("spread", ["08:01 ENQUEUED catch_up", *(f"08:0{minute} PLANNED catch_up" for minute in (2, 3, 4))], []),
    ],
)
def test_each_policy_accounts_for_every_missed_tick(
    bench: Bench, policy: str, story: list[str], dropped_ranges: list[str]
) -> None:
    """Four ticks were missed; each is one run or part of one span."""
    bench.create(catchup_policy=policy, overlap_policy="allow")
    worker = bench.worker()
    bench.go("08:04:40")
    worker.tick()
    worker.planned()
    assert bench.outcomes() == story
    assert bench.dropped_ranges() == dropped_ranges


def test_spread_keeps_its_distance(bench: Bench) -> None:
    """Four missed ticks over a minute: one every fifteen seconds, and the new ones on time in between."""
    bench.create(catchup_policy="spread", overlap_policy="allow")
    worker = bench.worker()
    bench.go("08:04:40")
    started = []
    for second in ("08:04:40", "08:04:54.999", "08:04:55", "08:05", "08:05:10", "08:05:25"):
        bench.go(second)
        before = len(worker.launched)
        worker.tick()
        worker.planned()
        started.append(len(worker.launched) - before)
    assert started == [1, 0, 1, 1, 1, 1]
    assert bench.outcomes() == [f"08:0{minute} ENQUEUED catch_up" for minute in (1, 2, 3, 4)] + ["08:05 ENQUEUED"]


@pytest.mark.parametrize(
    ("window", "story", "dropped_ranges"),
    [
        (0, [], ["08:04 4 outside_window"]),
        ("2m", ["08:03 ENQUEUED catch_up", "08:04 ENQUEUED catch_up"], ["08:02 2 outside_window"]),
        (None, [f"08:0{minute} ENQUEUED catch_up" for minute in (1, 2, 3, 4)], []),
    ],
)
def test_the_window_comes_before_the_policy(
    bench: Bench, window: object, story: list[str], dropped_ranges: list[str]
) -> None:
    """Only what is young enough is caught up."""
    bench.create(catchup_policy="fire_immediately", overlap_policy="allow", catchup_window=window)
    worker = bench.worker()
    bench.go("08:04:40")
    worker.tick()
    assert bench.outcomes() == story
    assert bench.dropped_ranges() == dropped_ranges


def test_a_storm_is_limited_and_on_time_ticks_go_first(bench: Bench) -> None:
    """Ten schedules missed an hour; a pass has a budget of five, and a tick that is on time does not wait for it."""
    for number in range(10):
        bench.create(f"late-{number}", catchup_policy="fire_immediately", overlap_policy="allow")
    bench.go("09:00:30")
    bench.create("fresh")
    worker = bench.worker()
    bench.go("09:01")
    first = worker.on_time()
    assert [rule.schedule_id for _, rule in first.launches] == ["fresh"]
    caught = worker.catch_up(budget=5)
    assert (caught.catchups, len(caught.launches)) == (5, 5)
    assert worker.catch_up(budget=0).launches == []


def test_one_pass_takes_so_many_of_one_schedule(bench: Bench) -> None:
    """An hour was missed; each pass takes what the limit allows, the oldest first, and none is lost."""
    bench.settings = Settings(max_catchup_per_tick=25, max_dropped_range_ticks=7)
    bench.create(catchup_policy="fire_immediately", overlap_policy="allow")
    worker = bench.worker()
    bench.go("09:00:40")
    counts = []
    while fired := worker.catch_up().runs:
        counts.append(fired)
    assert sum(counts) == 60
    assert max(counts) <= 25
    assert len(bench.outcomes()) == 60


@pytest.mark.parametrize("policy", ["none", "coalesce", "fire_immediately"])
@pytest.mark.parametrize("on_resume", ["policy", "skip", "fire_once"])
def test_resume_after_a_long_pause(bench: Bench, policy: str, on_resume: str) -> None:
    """A pause held up ten ticks; on resume they go by ``on_resume``, and by the policy where that says so."""
    bench.create(catchup_policy=policy, overlap_policy="allow")
    bench.pause(note="release")
    worker = bench.worker()
    bench.go("08:10:40")
    assert worker.tick() == []
    assert bench.outcomes() == []
    before = bench.ask(read.describe, "report").would_run_on_resume
    bench.resume(on_resume=on_resume)
    launched = worker.tick()
    ten = [f"08:{minute:02}" for minute in range(1, 11)]
    expected = {
        "skip": ([], ["08:10 10 resumed"]),
        "fire_once": (["08:10"], ["08:09 9 resumed"]),
        "none": ([], ["08:10 10 missed"]),
        "coalesce": (["08:10"], ["08:09 9 coalesced"]),
        "fire_immediately": (ten, []),
    }[policy if on_resume == "policy" else on_resume]
    assert (launched, bench.dropped_ranges()) == expected
    if on_resume == "policy":
        assert list(before) == [when(each) for each in launched]
    bench.go("08:11")
    assert worker.tick() == ["08:11"]


def test_the_schedules_own_on_resume(bench: Bench) -> None:
    """Nobody says how to resume: the schedule's own setting counts."""
    bench.create(on_resume="fire_once", overlap_policy="allow")
    bench.pause()
    bench.go("08:05:40")
    would_run = bench.ask(read.describe, "report")
    assert list(would_run.would_run_on_resume) == [when("08:05")]
    bench.resume()
    assert bench.worker().tick() == ["08:05"]


def test_pause_until(bench: Bench) -> None:
    """The pause ends by itself: a token, an audit row, and the missed ticks by the policy."""
    bench.create(catchup_policy="coalesce")
    paused = bench.pause(until=when("08:05:40"))
    assert paused.paused_until == when("08:05:40")
    worker = bench.worker()
    bench.go("08:05:39.999")
    assert worker.tick() == []
    assert bench.get().state == "paused"
    bench.go("08:05:40")
    assert worker.tick() == ["08:05"]
    found = bench.get()
    assert (found.state, found.token, found.paused_until, found.paused_by) == ("active", paused.token + 1, None, None)
    change = bench.ask(history.history, "report").items[0]
    assert (change.operation, change.actor, change.before["state"]) == ("resume", "tompion", "paused")


def test_a_pause_without_end_replaces_one_with(bench: Bench) -> None:
    """Pausing again refreshes note and end: the first end no longer counts."""
    bench.create()
    bench.pause(until=when("08:05"), note="short")
    bench.pause(note="long")
    bench.go("09:00")
    assert bench.worker().tick() == []
    found = bench.get()
    assert (found.state, found.pause_note, found.paused_until) == ("paused", "long", None)


def test_a_pause_lets_runs_in_flight_go_on(bench: Bench) -> None:
    """What runs goes on and ends; what waited behind it waits for the resume."""
    bench.create(overlap_policy="queue")
    worker = bench.worker()
    for minute in ("08:01", "08:02"):
        bench.go(minute)
        worker.tick()
    bench.pause()
    assert worker.settle().launches == []
    assert bench.outcomes() == ["08:01 SUCCESS", "08:02 BUFFERED"]
    bench.go("08:02:20")
    bench.resume()
    assert worker.tick() == ["08:02"]


def test_a_pause_holds_planned_runs(bench: Bench) -> None:
    """A spread catch-up is under way when somebody pauses: what is planned waits, and comes after the resume."""
    bench.create(catchup_policy="spread", overlap_policy="allow")
    worker = bench.worker()
    bench.go("08:03:40")
    worker.tick()
    worker.planned()
    bench.pause()
    bench.go("08:04:40")
    worker.tick()
    assert [line.split()[1] for line in bench.outcomes()] == ["ENQUEUED", "PLANNED", "PLANNED"]
    bench.resume(on_resume="skip")
    worker.tick()
    assert [line.split()[1] for line in bench.outcomes()] == ["ENQUEUED"] * 3


def test_a_pause_survives_an_upsert(bench: Bench) -> None:
    """A redeployment writes the same definition, or another: the pause stays, and so does its note."""
    bench.create()
    bench.pause(note="incident 7", until=when("09:00"))
    for cron in ("* * * * *", "*/5 * * * *"):
        found = bench.ask(crud.upsert, "report", cron=cron, function="tasks:work")
        assert (found.state, found.pause_note, found.paused_until) == ("paused", "incident 7", when("09:00"))
    bench.go("08:30")
    assert bench.worker().tick() == []
    bench.go("09:00")
    assert bench.worker().tick() == ["09:00"]


def test_a_change_of_the_spec_does_not_replay(bench: Bench) -> None:
    """Two ticks are undecided when the spec changes: they are passed over, on record, and the new spec begins now."""
    bench.create(catchup_policy="fire_immediately")
    bench.go("08:02:30")
    bench.ask(crud.patch, "report", cron="*/2 * * * *")
    worker = bench.worker()
    assert worker.tick() == []
    assert bench.dropped_ranges() == ["08:02:29 2 edited"]
    bench.go("08:04")
    assert worker.tick() == ["08:04"]


def test_a_change_of_anything_else_keeps_what_was_missed(bench: Bench) -> None:
    """The description changes while ticks are undecided: they are caught up as if nothing had happened."""
    bench.create(catchup_policy="fire_immediately", overlap_policy="allow")
    bench.go("08:02:40")
    bench.ask(crud.patch, "report", description="the same")
    assert bench.worker().tick() == ["08:01", "08:02"]


def test_a_fixed_delay_counts_from_the_end(bench: Bench) -> None:
    """A minute after the run before has ended, not after it has begun."""
    bench.create(intervals=[{"every": 60, "anchor": "completion"}])
    worker = bench.worker()
    assert len(worker.tick()) == 1
    bench.go("08:05")
    worker.settle()
    bench.go("08:05:59.999")
    assert worker.tick() == []
    bench.go("08:06")
    assert worker.tick() == ["08:06"]
