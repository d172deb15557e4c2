"""Statistics, lists across schedules, and bulk operations: their counts and limits."""

from __future__ import annotations

import pytest

from tests.support.operations import Bench, shown
from tompion.errors import InvalidField
from tompion.model.run import RunState
from tompion.operations.context import OperationContext
from tompion.operations.insight import stats, upcoming
from tompion.operations.runs import read
from tompion.operations.schedules import bulk, control, crud


def test_outcomes_are_counted_per_bucket(bench: Bench) -> None:
    bench.create(overlap_policy="skip")
    worker = bench.worker()
    bench.go("08:01:02")
    worker.tick()
    bench.go("08:02:00.5")
    worker.tick()
    worker.settle(RunState.FAILED)
    bench.go("08:10")
    worker.tick()
    statistics = bench.ask(stats.stats, seconds=600, buckets=10)
    assert [shown(bucket.start) for bucket in statistics.buckets][:2] == ["08:01", "08:02"]
    first, second, *_, last = statistics.buckets
    assert (first.failed, first.late_max_ms) == (1, None)
    assert (second.skipped, second.succeeded) == (1, 0)
    assert last.missed == 7
    assert statistics.schedules.active == 1
    assert statistics.schedules.in_flight == 1


def test_only_ticks_without_an_engine_count_as_missed(bench: Bench) -> None:
    """Regression: ticks dropped by a pause, an edit or an overlap counted as missed."""
    worker = bench.worker()
    for name, fields in {
        "none": {},
        "coalesced": {"catchup_policy": "coalesce"},
        "outside": {"catchup_policy": "all", "catchup_window": "1m"},
        "overlapping": {"catchup_policy": "all"},
    }.items():
        bench.create(name, cron="* * * * * *", **fields)
    bench.create("resumed", cron="* * * * * *", on_resume="skip")
    bench.create("edited", cron="* * * * * *")
    bench.pause("resumed")
    bench.go("08:10")
    bench.resume("resumed")
    bench.ask(crud.patch, "edited", cron="* * * * *")
    worker.tick()
    last = bench.ask(stats.stats, seconds=600, buckets=1).buckets[0]
    ledger = {name: bench.get(name).counters for name in ("none", "coalesced", "outside", "overlapping", "resumed")}
    assert [bench.dropped_ranges(name)[-1].split()[-1] for name in ledger] == [
        "missed", "coalesced", "outside_window", "overlap", "resumed"
    ]  # fmt: skip
    assert bench.dropped_ranges("edited")[-1].endswith("edited")
    assert last.missed == sum(counts.missed for counts in ledger.values()) > 0
    assert last.skipped == sum(counts.skipped for counts in ledger.values()) > 400
    assert (ledger["overlapping"].missed, ledger["resumed"].missed) == (0, 0)


def test_statistics_are_limited_to_one_namespace(bench: Bench) -> None:
    bench.create()
    bench.trigger()
    other = bench.ask(stats.stats, namespace="b")
    assert (other.schedules.active, sum(bucket.open for bucket in other.buckets)) == (0, 0)
    assert bench.ask(read.recent_runs, namespace="b").items == ()
    assert bench.ask(upcoming.upcoming, namespace="b").ticks == ()
    assert bench.ask(bulk.pause_matching, everything=True, namespace="b").schedule_ids == ()
    assert bench.get().status == "active"


def test_a_truncated_count_is_marked(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.create(overlap_policy="allow")
    worker = bench.worker()
    for minute in range(1, 6):
        bench.go(f"08:0{minute}")
        worker.tick()
    whole = bench.ask(stats.stats, seconds=600, buckets=10)
    assert shown(whole.complete_since) == "07:56"
    monkeypatch.setattr(stats, "MAX_RUNS", 2)
    few = bench.ask(stats.stats, seconds=600, buckets=10)
    assert sum(bucket.open for bucket in few.buckets) == 2
    assert few.complete_since.isoformat() == "2027-01-15T08:03:00.001000+00:00"
    monkeypatch.setattr(stats, "MAX_RUNS", 100)
    monkeypatch.setattr(stats, "MAX_RUNS_READ", 1)
    assert shown(bench.ask(stats.stats, seconds=600, buckets=10).complete_since) == "08:04"
    monkeypatch.setattr(stats, "MAX_SCHEDULES", 0)
    assert bench.ask(stats.stats).schedules.capped


def test_a_page_of_runs_may_be_empty_and_have_a_successor(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.create()
    bench.ask(crud.create, "theirs", cron="* * * * *", function="tasks:work", namespace="b")
    bench.trigger(request_id="first")
    for number in range(4):
        bench.ask(trigger_theirs, number, namespace="b")
    monkeypatch.setattr(read, "MAX_RUNS_READ", 2)
    pages, before = [], None
    while True:
        page = bench.ask(read.recent_runs, before=before)
        pages.append([run.schedule_id for run in page.items])
        before = page.next_page
        if before is None:
            break
    assert pages == [[], [], ["report"]]


def trigger_theirs(session: OperationContext, number: int) -> None:
    control.trigger_now(session, "theirs", None, {"n": number}, f"r{number}")


def test_upcoming_names_the_time_until_which_it_is_complete(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for minute in (10, 20, 30):
        bench.create(f"at-{minute}", cron=f"{minute} * * * *")
    monkeypatch.setattr(upcoming, "MAX_SCHEDULES", 2)
    answer = bench.ask(upcoming.upcoming, seconds=7_200)
    assert [tick.schedule_id for tick in answer.ticks] == ["at-10", "at-20"]
    assert answer.complete_until.isoformat() == "2027-01-15T08:29:59.999000+00:00"


def test_a_bulk_operation_continues_after_a_failure(bench: Bench) -> None:
    for name in ("a", "b", "c"):
        bench.create(name)
    bench.execute("UPDATE schedule_versions SET spec = 'nonsense' WHERE schedule_key = 2")
    touched = bench.ask(bulk.pause_matching, everything=True)
    assert touched.schedule_ids == ("a", "c")
    assert [(failure.schedule_id, failure.code) for failure in touched.refused] == [("b", "store_error")]
    assert [bench.get(name).status for name in ("a", "c")] == ["paused", "paused"]


def test_a_dry_run_lists_the_changes_and_writes_nothing(bench: Bench) -> None:
    bench.create("a")
    bench.create("b")
    bench.pause("b")
    before = bench.dump()
    would = bench.ask(bulk.pause_matching, everything=True, dry_run=True)
    assert (would.schedule_ids, would.unchanged, would.dry_run) == (("a",), 1, True)
    assert bench.ask(bulk.trigger_matching, everything=True, dry_run=True).schedule_ids == ("a", "b")
    assert bench.dump() == before


def test_a_bulk_operation_requires_a_selection(bench: Bench) -> None:
    bench.create()
    for change in (bulk.pause_matching, bulk.resume_matching, bulk.trigger_matching):
        with pytest.raises(InvalidField, match="everything"):
            bench.ask(change)
    assert (bench.get().status, bench.runs()) == ("active", [])


def test_a_bulk_trigger_returns_the_ids_of_its_runs(bench: Bench) -> None:
    bench.create("a")
    bench.create("b")
    assert bench.ask(bulk.trigger_matching, everything=True, dry_run=True).run_ids == ()
    result = bench.ask(bulk.trigger_matching, everything=True)
    assert result.schedule_ids == ("a", "b")
    assert result.run_ids == tuple(run.run_id for name in ("a", "b") for run in bench.runs(name, "trigger"))
    assert bench.ask(bulk.pause_matching, everything=True).run_ids == ()


def test_a_bulk_trigger_has_one_key_per_schedule(bench: Bench) -> None:
    """The same request sent twice starts each schedule once. Another request starts each again."""
    bench.create("a")
    bench.create("b")
    for request in ("r1", "r1", "r2"):
        bench.ask(bulk.trigger_matching, everything=True, request_id=request)
    assert [len(bench.runs(name, "trigger")) for name in ("a", "b")] == [2, 2]
    assert len({run.idempotency_key for name in ("a", "b") for run in bench.runs(name, "trigger")}) == 4
