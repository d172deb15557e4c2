"""Late and missed ticks, pauses and their ends."""

from __future__ import annotations

import pytest

from tests.support.operations import Bench, when
from tompion.config.settings import Settings
from tompion.operations.runs import read
from tompion.operations.schedules import crud, history


def test_a_late_tick_within_the_grace_fires(bench: Bench) -> None:
    """The engine wakes up one millisecond after the first tick and thirty seconds after the next. Both fire."""
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
    """One millisecond before the minute no tick is due."""
    bench.create()
    worker = bench.worker()
    bench.go("08:00:59.999")
    assert worker.tick() == []
    assert bench.outcomes() == []


def test_missed_ticks_before_the_end_are_still_caught_up(bench: Bench) -> None:
    """No engine ran from before ``end_at`` until long after it. The ticks before ``end_at`` still run."""
    bench.create(end_at="2027-01-15T08:03:00Z", catchup_policy="fire_immediately", overlap_policy="allow")
    worker = bench.worker()
    bench.go("10:00")
    assert worker.tick() == ["08:01", "08:02", "08:03"]
    for _ in range(3):
        worker.settle()
    assert bench.get().status == "exhausted"


def test_a_tick_exactly_at_start_or_end_fires(bench: Bench) -> None:
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


def test_a_new_schedule_does_not_catch_up(bench: Bench) -> None:
    """No policy catches up on ticks from before the creation."""
    bench.create(catchup_policy="fire_immediately", start_at="2027-01-15T06:00:00Z")
    bench.go("08:01")
    assert bench.worker().tick() == ["08:01"]


def test_missed_ticks_overlap_the_first_under_skip(bench: Bench) -> None:
    """``fire_immediately`` with ``skip``: the first runs, the rest overlap with it, and each is recorded."""
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
    ("policy", "outcomes", "dropped_ranges"),
    [
        ("none", [], ["08:04 4 missed"]),
        ("coalesce", ["08:04 ENQUEUED coalesced"], ["08:03 3 coalesced"]),
        ("fire_immediately", [f"08:0{minute} ENQUEUED catch_up" for minute in (1, 2, 3, 4)], []),
        ("spread", ["08:01 ENQUEUED catch_up", *(f"08:0{minute} PLANNED catch_up" for minute in (2, 3, 4))], []),
    ],
)
def test_each_policy_accounts_for_every_missed_tick(
    bench: Bench, policy: str, outcomes: list[str], dropped_ranges: list[str]
) -> None:
    """Each of four missed ticks is one run or part of one dropped range."""
    bench.create(catchup_policy=policy, overlap_policy="allow")
    worker = bench.worker()
    bench.go("08:04:40")
    worker.tick()
    worker.planned()
    assert bench.outcomes() == outcomes
    assert bench.dropped_ranges() == dropped_ranges


@pytest.mark.parametrize("overlap", ["skip", "allow", "queue", "buffer_one", "cancel_other", "terminate_other"])
@pytest.mark.parametrize("paused", [False, True])
def test_coalesce_starts_one_run_for_the_latest_due_tick(bench: Bench, overlap: str, paused: bool) -> None:
    """Down or paused for ten minutes. The last tick is only late, and it runs for all of them."""
    bench.create(catchup_policy="coalesce", overlap_policy=overlap)
    if paused:
        bench.pause()
    bench.go("08:10:15")
    if paused:
        assert list(bench.ask(read.describe, "report").would_run_on_resume) == [when("08:10")]
        bench.resume()
    assert bench.worker().tick() == ["08:10"]
    assert bench.outcomes() == ["08:10 ENQUEUED coalesced"]
    assert bench.dropped_ranges() == ["08:09 9 coalesced"]


def test_spread_distributes_missed_ticks_evenly(bench: Bench) -> None:
    """Four missed ticks over one minute start fifteen seconds apart, and new ticks fire on time between them."""
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
    ("window", "outcomes", "dropped_ranges"),
    [
        (0, [], ["08:04 4 outside_window"]),
        ("2m", ["08:03 ENQUEUED catch_up", "08:04 ENQUEUED catch_up"], ["08:02 2 outside_window"]),
        (None, [f"08:0{minute} ENQUEUED catch_up" for minute in (1, 2, 3, 4)], []),
    ],
)
def test_the_catchup_window_limits_every_policy(
    bench: Bench, window: object, outcomes: list[str], dropped_ranges: list[str]
) -> None:
    """Only ticks within the window are caught up."""
    bench.create(catchup_policy="fire_immediately", overlap_policy="allow", catchup_window=window)
    worker = bench.worker()
    bench.go("08:04:40")
    worker.tick()
    assert bench.outcomes() == outcomes
    assert bench.dropped_ranges() == dropped_ranges


def test_on_time_ticks_fire_before_a_limited_catch_up(bench: Bench) -> None:
    """Ten schedules missed an hour. A pass starts at most five of their ticks, after the ticks that are on time."""
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


def test_one_pass_is_limited_per_schedule(bench: Bench) -> None:
    """An hour was missed. Each pass takes the oldest ticks up to the limit, and none is lost."""
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
def test_on_resume_decides_the_ticks_of_a_pause(bench: Bench, policy: str, on_resume: str) -> None:
    """A pause held ten ticks. ``on_resume`` decides them, and the catch-up policy where it is the default."""
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
        assert list(before) == [when(time) for time in launched]
    bench.go("08:11")
    assert worker.tick() == ["08:11"]


def test_resume_uses_the_on_resume_of_the_schedule(bench: Bench) -> None:
    """The request has no ``on_resume``, so the schedule's own setting counts."""
    bench.create(on_resume="fire_once", overlap_policy="allow")
    bench.pause()
    bench.go("08:05:40")
    would_run = bench.ask(read.describe, "report")
    assert list(would_run.would_run_on_resume) == [when("08:05")]
    bench.resume()
    assert bench.worker().tick() == ["08:05"]


def test_a_pause_ends_at_its_time(bench: Bench) -> None:
    """The pause ends by itself, with a new token, an audit row, and the missed ticks decided by the policy."""
    bench.create(catchup_policy="coalesce")
    paused = bench.pause(until=when("08:05:40"))
    assert paused.paused_until == when("08:05:40")
    worker = bench.worker()
    bench.go("08:05:39.999")
    assert worker.tick() == []
    assert bench.get().status == "paused"
    bench.go("08:05:40")
    assert worker.tick() == ["08:05"]
    schedule = bench.get()
    assert (schedule.status, schedule.conflict_token, schedule.paused_until, schedule.paused_by) == (
        "active",
        paused.conflict_token + 1,
        None,
        None,
    )
    change = bench.ask(history.history, "report").items[0]
    assert (change.operation, change.actor, change.before["status"]) == ("resume", "tompion", "paused")


def test_a_second_pause_replaces_note_and_end(bench: Bench) -> None:
    """Pausing again replaces note and end. The first end no longer counts."""
    bench.create()
    bench.pause(until=when("08:05"), note="short")
    bench.pause(note="long")
    bench.go("09:00")
    assert bench.worker().tick() == []
    schedule = bench.get()
    assert (schedule.status, schedule.note, schedule.paused_until) == ("paused", "long", None)


def test_a_pause_lets_runs_in_flight_finish(bench: Bench) -> None:
    """A running run finishes. The run buffered behind it waits for the resume."""
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
    """A pause during a spread catch-up holds the planned runs until the resume."""
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
    """An upsert of the same definition, or of another, keeps the pause and its note."""
    bench.create()
    bench.pause(note="incident 7", until=when("09:00"))
    for cron in ("* * * * *", "*/5 * * * *"):
        schedule = bench.ask(crud.upsert, "report", cron=cron, function="tasks:work")
        assert (schedule.status, schedule.note, schedule.paused_until) == ("paused", "incident 7", when("09:00"))
    bench.go("08:30")
    assert bench.worker().tick() == []
    bench.go("09:00")
    assert bench.worker().tick() == ["09:00"]


def test_a_change_of_the_spec_drops_undecided_ticks(bench: Bench) -> None:
    """Two undecided ticks are recorded as dropped, and the new spec begins now."""
    bench.create(catchup_policy="fire_immediately")
    bench.go("08:02:30")
    bench.ask(crud.patch, "report", cron="*/2 * * * *")
    worker = bench.worker()
    assert worker.tick() == []
    assert bench.dropped_ranges() == ["08:02:29 2 edited"]
    bench.go("08:04")
    assert worker.tick() == ["08:04"]


def test_an_edit_of_the_description_keeps_missed_ticks(bench: Bench) -> None:
    """Undecided ticks are caught up as without the edit."""
    bench.create(catchup_policy="fire_immediately", overlap_policy="allow")
    bench.go("08:02:40")
    bench.ask(crud.patch, "report", description="the same")
    assert bench.worker().tick() == ["08:01", "08:02"]


def test_a_fixed_delay_counts_from_the_end_of_the_run(bench: Bench) -> None:
    """The next run starts one minute after the end of the previous run, not after its start."""
    bench.create(intervals=[{"every": 60, "anchor": "completion"}])
    worker = bench.worker()
    assert len(worker.tick()) == 1
    bench.go("08:05")
    worker.settle()
    bench.go("08:05:59.999")
    assert worker.tick() == []
    bench.go("08:06")
    assert worker.tick() == ["08:06"]


def test_next_run_after_a_resume_that_skips_is_not_in_the_past(bench: Bench) -> None:
    """Regression: the answer named a tick of the pause, which the engine drops."""
    bench.create()
    bench.pause()
    bench.go("08:05:30")
    resumed = bench.resume(on_resume="skip")
    assert f"{resumed.next_run_at:%H:%M:%S} {resumed.next_fire_at:%H:%M:%S}" == "08:06:00 08:06:00"
