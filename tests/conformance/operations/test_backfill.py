"""Backfills of missing and failed ticks, after earlier backfills and during a pause."""

from __future__ import annotations

import pytest

from tests.support.operations import Bench, Worker
from tompion.config.settings import Settings
from tompion.model.run import RunState
from tompion.model.schedule import Backfill
from tompion.operations.schedules import backfills


def run_backfills(worker: Worker, state: RunState = RunState.SUCCESS) -> int:
    """Run backfills until they are done and return the number of runs."""
    count = 0
    while worker.backfill().claimed:
        while worker.launched:
            worker.settle(state)
            count += 1
    return count


def newest(bench: Bench) -> Backfill:
    return bench.ask(backfills.backfills, "report")[0]


def missed(bench: Bench, **fields: str) -> Worker:
    """A schedule that ticks every hour and whose ticks from 09:00 to 12:00 were all missed."""
    bench.create(cron="0 * * * *", **fields)
    bench.go("12:30")
    worker = bench.worker()
    worker.tick()
    return worker


def test_a_backfilled_tick_is_no_longer_missing(bench: Bench) -> None:
    """Regression: a second call ran every tick again, because a backfill run did not count."""
    worker = missed(bench)
    assert bench.backfill("09:00", "12:00", only="missing").total == 4
    assert run_backfills(worker) == 4
    again = bench.backfill("09:00", "12:00", only="missing")
    assert (again.total, again.undecided) == (0, 0)
    assert run_backfills(worker) == 0
    assert (newest(bench).status, newest(bench).done) == ("DONE", 0)
    assert [run.status for run in bench.runs()] == ["SUCCESS"] * 4


def test_a_tick_of_a_concurrent_backfill_is_not_missing(bench: Bench) -> None:
    """Two concurrent backfills run each tick once. The second one has fewer runs than its total."""
    worker = missed(bench)
    first = bench.backfill("09:00", "12:00", only="missing")
    second = bench.backfill("09:00", "12:00", only="missing")
    assert (first.total, second.total) == (4, 4)
    assert run_backfills(worker) == 4
    listed = bench.ask(backfills.backfills, "report")
    assert sum(backfill.done for backfill in listed) == 4
    assert [backfill.status for backfill in listed] == ["DONE", "DONE"]


def test_a_buffered_or_running_tick_is_not_missing(bench: Bench) -> None:
    worker = missed(bench)
    bench.backfill("09:00", "10:00", overlap="buffer_one")
    worker.backfill()
    assert [run.status for run in bench.runs()] == ["ENQUEUED", "BUFFERED"]
    assert bench.backfill("09:00", "12:00", only="missing").total == 2


def test_failed_excludes_a_tick_that_succeeded_in_a_backfill(bench: Bench) -> None:
    """Regression: ``failed`` repeated a tick after a later backfill of it had succeeded."""
    bench.create()
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    worker.settle(RunState.FAILED)
    for state, total in ((RunState.TIMED_OUT, 1), (RunState.SUCCESS, 1), (RunState.SUCCESS, 0)):
        assert bench.backfill("08:01", "08:01", only="failed").total == total
        assert run_backfills(worker, state) == total
    assert bench.backfill("08:01", "08:01", only="missing").total == 0


def test_failed_includes_a_tick_that_failed_in_a_backfill(bench: Bench) -> None:
    worker = missed(bench)
    bench.backfill("09:00", "09:00", only="missing")
    run_backfills(worker, RunState.FAILED)
    assert bench.backfill("09:00", "12:00", only="missing").total == 3
    assert bench.backfill("09:00", "12:00", only="failed").total == 1


def test_a_trigger_at_the_second_of_a_tick_does_not_count(bench: Bench) -> None:
    bench.create(cron="0 * * * *")
    bench.go("09:00")
    bench.trigger()
    bench.go("09:30")
    worker = bench.worker()
    worker.tick()
    assert bench.backfill("09:00", "09:00", only="missing").total == 1


def test_undecided_ticks_are_not_missing(bench: Bench) -> None:
    """Regression: the ticks of a pause ran in the backfill and again after the resume."""
    bench.create(cron="0 * * * *", catchup_policy="all", overlap_policy="allow")
    bench.pause()
    bench.go("11:30")
    backfill = bench.backfill("07:00", "11:00", only="missing")
    assert (backfill.total, backfill.undecided, backfill.end.hour) == (2, 3, 11)
    worker = bench.worker()
    assert run_backfills(worker) == 2
    bench.resume()
    worker.tick()
    assert bench.outcomes() == [f"{hour} ENQUEUED catch_up" for hour in ("09:00", "10:00", "11:00")]
    assert bench.outcomes(source="backfill") == ["07:00 SUCCESS", "08:00 SUCCESS"]
    assert (newest(bench).status, newest(bench).done, newest(bench).undecided) == ("DONE", 2, 3)


def test_a_backfill_excludes_ticks_that_are_decided_later(bench: Bench) -> None:
    """The pause ends and drops its ticks before the backfill reaches them. It runs no more than its total."""
    bench.create(cron="0 * * * *")
    bench.pause()
    bench.go("11:30")
    backfill = bench.backfill("07:00", "11:00", only="missing")
    bench.resume()
    worker = bench.worker()
    worker.tick()
    assert bench.dropped_ranges() == ["11:00 3 missed"]
    assert run_backfills(worker) == backfill.total == 2
    assert bench.backfill("07:00", "11:00", only="missing").total == 3


def test_undecided_ticks_have_not_failed(bench: Bench) -> None:
    bench.create(cron="0 * * * *", catchup_policy="all", overlap_policy="allow")
    bench.pause()
    bench.go("11:30")
    backfill = bench.backfill("09:00", "11:00", only="failed")
    assert (backfill.total, backfill.undecided) == (0, 3)
    bench.resume()
    worker = bench.worker()
    worker.tick()
    while worker.launched:
        worker.settle(RunState.FAILED)
    assert run_backfills(worker) == 0
    assert newest(bench).status == "DONE"


def test_all_includes_the_ticks_of_a_pause(bench: Bench) -> None:
    """A backfill of every tick of a range includes the ticks of a pause."""
    bench.create(cron="0 * * * *")
    bench.pause()
    bench.go("11:30")
    backfill = bench.backfill("09:00", "11:00")
    assert (backfill.total, backfill.undecided) == (3, 0)
    assert run_backfills(bench.worker()) == 3


def test_every_tick_after_the_last_action_is_missing(bench: Bench) -> None:
    """The cursor stops there, and no engine starts a later tick."""
    bench.create(cron="0 * * * *", remaining_actions=1)
    worker = bench.worker()
    bench.go("09:00")
    worker.tick()
    worker.settle()
    bench.go("11:30")
    backfill = bench.backfill("09:00", "11:00", only="missing")
    assert (backfill.total, backfill.undecided) == (2, 0)
    assert run_backfills(worker) == 2


@pytest.mark.parametrize("size", [1, 3, 100])
def test_many_runs_of_one_tick_do_not_hide_another_tick(bench: Bench, size: int) -> None:
    """Regression: outcomes were read up to a row limit, and backfills add more rows than ticks."""
    bench.settings = Settings(backfills_per_iteration=size)
    worker = missed(bench)
    for _ in range(5):
        bench.backfill("09:00", "11:00", overlap="allow")
    run_backfills(worker)
    assert bench.backfill("09:00", "12:00", only="missing").total == 1
    run_backfills(worker)
    assert len(bench.runs()) == 16


def test_a_dry_run_lists_the_ticks_that_would_run_and_writes_nothing(bench: Bench) -> None:
    worker = missed(bench)
    bench.backfill("10:00", "10:00")
    assert run_backfills(worker) == 1
    before = bench.dump()
    planned = bench.backfill("09:00", "12:00", only="missing", dry_run=True)
    assert bench.dump() == before
    assert (planned.backfill_id, planned.status, planned.total) == (0, "PLANNED", 3)
    assert [f"{tick:%H:%M}" for tick in planned.ticks] == ["09:00", "11:00", "12:00"]
    assert [f"{tick:%H:%M}" for tick in bench.backfill("09:00", "10:00", dry_run=True).ticks] == ["09:00", "10:00"]
    assert run_backfills(worker) == 0
