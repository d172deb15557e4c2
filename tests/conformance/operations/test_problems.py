"""What somebody should look at."""

from __future__ import annotations

from tests.support.operations import FUNCTION, Bench, at
from tompion.model.insight import Problem
from tompion.model.run import RunState
from tompion.operations.insight import problems
from tompion.operations.schedules import control, crud


def concerns(bench: Bench) -> dict[str, Problem]:
    return {each.kind: each for each in bench.ask(problems.problems).problems}


def test_nothing_fires_without_an_engine(bench: Bench) -> None:
    bench.worker()  # it has no release, as workers do that come over a network
    assert list(concerns(bench)) == ["no_engine"]
    bench.write(lambda t: t.instance_insert("engine", "1.0", t.now_ms(), t.now_ms() + 1_000))
    assert concerns(bench) == {}
    bench.go("09:00:00")
    assert list(concerns(bench)) == ["no_engine"]


def test_a_failing_schedule_is_named_with_its_failures(bench: Bench) -> None:
    worker = bench.worker()
    bench.create()
    for minute in ("08:01:01", "08:02:01"):
        bench.go(minute)
        worker.tick()
        worker.settle(RunState.FAILED)
    found = concerns(bench)["failing"]
    assert (found.schedule_id, found.count, found.urgency) == ("report", 2, "high")
    assert found.text == "2 runs failed in a row"


def test_missed_ticks_are_counted_for_a_day(bench: Bench) -> None:
    worker = bench.worker()
    bench.create()
    bench.go("08:30:01")
    worker.tick()
    assert concerns(bench)["missed"].count > 20
    bench.clock.set(at("08:31:00") + 2 * 86_400)
    assert "missed" not in concerns(bench)


def test_a_pause_without_an_end_is_forgotten_after_a_week(bench: Bench) -> None:
    bench.create()
    bench.create("until")
    bench.ask(control.pause, "report", paused_by="bo")
    bench.ask(control.pause, "until", until="2027-06-01T00:00:00Z")
    assert "forgotten_pause" not in concerns(bench)
    bench.clock.set(at("09:00:00") + 8 * 86_400)
    found = concerns(bench)["forgotten_pause"]
    assert (found.schedule_id, found.text) == ("report", "paused by bo for 8 days, without an end")


def test_a_run_that_lasts_for_hours_may_be_stuck_and_what_waits_for_it_grows(bench: Bench) -> None:
    worker = bench.worker()
    bench.create(overlap_policy="queue")
    for minute in range(1, 13):
        bench.go(f"08:{minute:02}:01")
        worker.tick()
    found = concerns(bench)
    assert found["buffer"].count == 11
    assert "stuck" not in found
    bench.ask(control.pause, "report")
    bench.go("09:30:00")
    assert concerns(bench)["stuck"].count == 1


def test_another_namespace_is_none_of_their_business(bench: Bench) -> None:
    worker = bench.worker()
    bench.ask(crud.create, "theirs", cron="* * * * *", function=FUNCTION, namespace="other")
    bench.go("08:30:01")
    worker.tick()
    assert "missed" not in concerns(bench)
    assert "missed" in {each.kind for each in bench.ask(problems.problems, namespace="other").problems}


def test_the_list_says_that_there_is_more(bench: Bench) -> None:
    worker = bench.worker()
    for name in ("a", "b", "c"):
        bench.create(name)
    bench.go("08:30:01")
    worker.tick()
    found = bench.ask(problems.problems, limit=2)
    assert (len(found.problems), found.more) == (2, True)


def test_a_clock_that_was_set_back_is_told(bench: Bench) -> None:
    """Schedules were silent for as long as the step was, and nobody said a word."""
    worker = bench.worker()
    for name, given in (("started", {}), ("dropped", {"cron": "0 8 * * *"}), ("later", {"cron": "0 12 * * *"})):
        bench.create(name, **given)
    bench.clock.set(at("09:00") + 86_400)
    worker.tick()
    assert "clock_set_back" not in concerns(bench)
    bench.go("08:10")
    found = [each for each in bench.ask(problems.problems).problems if each.kind == "clock_set_back"]
    assert [(each.subject, each.count, each.urgency) for each in found] == [("clock", 3, "high"), ("test", 1, "high")]
    assert found[0].text == (
        "the store's clock was set back by at least 1 day, 0:50:00: ticks of 3 schedules were decided up to "
        "2027-01-16 09:00:00Z, and their next ticks fire after that"
    )
    assert found[1].text.startswith("its last heartbeat was at 2027-01-16 09:00:00Z, before a clock was set back")
    assert bench.ask(problems.problems, namespace="other").problems[0].kind != "clock_set_back"
    bench.clock.set(at("09:00") + 86_400)
    assert "clock_set_back" not in concerns(bench)
