"""Stories of backfills: what is missing or failed, after earlier backfills and in a pause."""

from __future__ import annotations

import pytest

from tests.support.operations import Bench, Worker
from tompion.config.settings import Settings
from tompion.model.run import RunState
from tompion.model.schedule import Backfill
from tompion.operations.schedules import backfills


def work_off(worker: Worker, state: RunState = RunState.SUCCESS) -> int:
    """Let backfills go on until they are over; return how many runs they have made."""
    count = 0
    while worker.backfill().claimed:
        while worker.launched:
            worker.settle(state)
            count += 1
    return count


def newest(bench: Bench) -> Backfill:
    return bench.ask(backfills.backfills, "report")[0]


def missed(bench: Bench, **given: str) -> Worker:
    """A schedule that ticks every hour and whose ticks from 09:00 to 12:00 were all missed."""
    bench.create(cron="0 * * * *", **given)
    bench.go("12:30")
    worker = bench.worker()
    worker.tick()
    return worker


def test_what_is_missing_is_missing_once(bench: Bench) -> None:
    """The same call twice ran every tick twice: what a backfill had run counted as missing all the same."""
    worker = missed(bench)
    assert bench.backfill("09:00", "12:00", only="missing").total == 4
    assert work_off(worker) == 4
    again = bench.backfill("09:00", "12:00", only="missing")
    assert (again.total, again.undecided) == (0, 0)
    assert work_off(worker) == 0
    assert (newest(bench).state, newest(bench).done) == ("DONE", 0)
    assert [run.state for run in bench.runs()] == ["SUCCESS"] * 4


def test_what_another_backfill_runs_meanwhile_is_not_missing(bench: Bench) -> None:
    """Two people ask at the same time: each tick runs once, and whoever comes second has done less than was counted."""
    worker = missed(bench)
    first = bench.backfill("09:00", "12:00", only="missing")
    second = bench.backfill("09:00", "12:00", only="missing")
    assert (first.total, second.total) == (4, 4)
    assert work_off(worker) == 4
    found = bench.ask(backfills.backfills, "report")
    assert sum(each.done for each in found) == 4
    assert [each.state for each in found] == ["DONE", "DONE"]


def test_a_run_that_waits_or_goes_on_is_not_missing(bench: Bench) -> None:
    worker = missed(bench)
    bench.backfill("09:00", "10:00", overlap="buffer_one")
    worker.backfill()
    assert [run.state for run in bench.runs()] == ["ENQUEUED", "BUFFERED"]
    assert bench.backfill("09:00", "12:00", only="missing").total == 2


def test_what_failed_and_succeeded_in_a_backfill_is_over(bench: Bench) -> None:
    """``failed`` repeated a tick for ever, whatever became of it in the meantime."""
    bench.create()
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    worker.settle(RunState.FAILED)
    for state, total in ((RunState.TIMED_OUT, 1), (RunState.SUCCESS, 1), (RunState.SUCCESS, 0)):
        assert bench.backfill("08:01", "08:01", only="failed").total == total
        assert work_off(worker, state) == total
    assert bench.backfill("08:01", "08:01", only="missing").total == 0


def test_what_failed_in_a_backfill_only_has_failed(bench: Bench) -> None:
    worker = missed(bench)
    bench.backfill("09:00", "09:00", only="missing")
    work_off(worker, RunState.FAILED)
    assert bench.backfill("09:00", "12:00", only="missing").total == 3
    assert bench.backfill("09:00", "12:00", only="failed").total == 1


def test_a_trigger_at_the_second_of_a_tick_is_no_run_of_the_tick(bench: Bench) -> None:
    bench.create(cron="0 * * * *")
    bench.go("09:00")
    bench.trigger()
    bench.go("09:30")
    worker = bench.worker()
    worker.tick()
    assert bench.backfill("09:00", "09:00", only="missing").total == 1


def test_ticks_that_are_still_to_be_decided_are_not_missing(bench: Bench) -> None:
    """In a pause everything counted as missing, ran in the backfill, and ran again when the schedule was resumed."""
    bench.create(cron="0 * * * *", catchup_policy="all", overlap_policy="allow")
    bench.pause()
    bench.go("11:30")
    made = bench.backfill("07:00", "11:00", only="missing")
    assert (made.total, made.undecided, made.end.hour) == (2, 3, 11)
    worker = bench.worker()
    assert work_off(worker) == 2
    bench.resume()
    worker.tick()
    assert bench.outcomes() == [f"{hour} ENQUEUED catch_up" for hour in ("09:00", "10:00", "11:00")]
    assert bench.outcomes(source="backfill") == ["07:00 SUCCESS", "08:00 SUCCESS"]
    assert (newest(bench).state, newest(bench).done, newest(bench).undecided) == ("DONE", 2, 3)


def test_what_is_decided_while_a_backfill_goes_on_was_not_asked_for(bench: Bench) -> None:
    """The pause ends and drops its ticks before the backfill gets there: it does no more than was counted."""
    bench.create(cron="0 * * * *")
    bench.pause()
    bench.go("11:30")
    made = bench.backfill("07:00", "11:00", only="missing")
    bench.resume()
    worker = bench.worker()
    worker.tick()
    assert bench.dropped_ranges() == ["11:00 3 missed"]
    assert work_off(worker) == made.total == 2
    assert bench.backfill("07:00", "11:00", only="missing").total == 3


def test_nothing_that_is_still_to_be_decided_has_failed(bench: Bench) -> None:
    bench.create(cron="0 * * * *", catchup_policy="all", overlap_policy="allow")
    bench.pause()
    bench.go("11:30")
    made = bench.backfill("09:00", "11:00", only="failed")
    assert (made.total, made.undecided) == (0, 3)
    bench.resume()
    worker = bench.worker()
    worker.tick()
    while worker.launched:
        worker.settle(RunState.FAILED)
    assert work_off(worker) == 0
    assert newest(bench).state == "DONE"


def test_all_is_all(bench: Bench) -> None:
    """Whoever asks for every tick of a range gets those of a pause, too."""
    bench.create(cron="0 * * * *")
    bench.pause()
    bench.go("11:30")
    made = bench.backfill("09:00", "11:00")
    assert (made.total, made.undecided) == (3, 0)
    assert work_off(bench.worker()) == 3


def test_beyond_the_last_action_everything_is_missing(bench: Bench) -> None:
    """The cursor stands still there, but nobody will ever start what comes after it."""
    bench.create(cron="0 * * * *", remaining_actions=1)
    worker = bench.worker()
    bench.go("09:00")
    worker.tick()
    worker.settle()
    bench.go("11:30")
    made = bench.backfill("09:00", "11:00", only="missing")
    assert (made.total, made.undecided) == (2, 0)
    assert work_off(worker) == 2


@pytest.mark.parametrize("size", [1, 3, 100])
def test_many_runs_of_one_tick_hide_no_other(bench: Bench, size: int) -> None:
    """What became of ticks was read up to a number of rows, which are more than ticks after some backfills."""
    bench.settings = Settings(backfills_per_iteration=size)
    worker = missed(bench)
    for _ in range(5):
        bench.backfill("09:00", "11:00", overlap="allow")
    work_off(worker)
    assert bench.backfill("09:00", "12:00", only="missing").total == 1
    work_off(worker)
    assert len(bench.runs()) == 16
