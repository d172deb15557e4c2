"""Problems: conditions that an operator should look at."""

from __future__ import annotations

from tests.support.operations import FUNCTION, Bench, at
from tompion.model.insight import Problem
from tompion.model.run import RunState
from tompion.operations.insight import problems
from tompion.operations.schedules import control, crud


def problem_kinds(bench: Bench) -> dict[str, Problem]:
    return {problem.kind: problem for problem in bench.ask(problems.problems).problems}


def test_a_missing_engine_is_a_problem(bench: Bench) -> None:
    bench.worker()  # it has no release, as remote workers have
    assert list(problem_kinds(bench)) == ["no_engine"]
    bench.write(lambda t: t.instance_insert("engine", "1.0", t.now_ms(), t.now_ms() + 1_000))
    assert problem_kinds(bench) == {}
    bench.go("09:00:00")
    assert list(problem_kinds(bench)) == ["no_engine"]


def test_a_failing_schedule_is_listed_with_its_failures(bench: Bench) -> None:
    worker = bench.worker()
    bench.create()
    for minute in ("08:01:01", "08:02:01"):
        bench.go(minute)
        worker.tick()
        worker.settle(RunState.FAILED)
    problem = problem_kinds(bench)["failing"]
    assert (problem.schedule_id, problem.count, problem.urgency) == ("report", 2, "high")
    assert problem.text == "2 runs failed in a row"


def test_missed_ticks_are_counted_for_a_day(bench: Bench) -> None:
    worker = bench.worker()
    bench.create()
    bench.go("08:30:01")
    worker.tick()
    assert problem_kinds(bench)["missed"].count > 20
    bench.clock.set(at("08:31:00") + 2 * 86_400)
    assert "missed" not in problem_kinds(bench)


def test_a_pause_of_more_than_a_week_is_a_problem(bench: Bench) -> None:
    bench.create()
    bench.create("until")
    bench.ask(control.pause, "report", paused_by="bo")
    bench.ask(control.pause, "until", until="2027-06-01T00:00:00Z")
    assert "forgotten_pause" not in problem_kinds(bench)
    bench.clock.set(at("09:00:00") + 8 * 86_400)
    problem = problem_kinds(bench)["forgotten_pause"]
    assert (problem.schedule_id, problem.text) == ("report", "paused by bo for 8 days, without an end")


def test_a_run_of_several_hours_and_its_buffer_are_problems(bench: Bench) -> None:
    worker = bench.worker()
    bench.create(overlap_policy="queue")
    for minute in range(1, 13):
        bench.go(f"08:{minute:02}:01")
        worker.tick()
    kinds = problem_kinds(bench)
    assert kinds["buffer"].count == 11
    assert "stuck" not in kinds
    bench.ask(control.pause, "report")
    bench.go("09:30:00")
    assert problem_kinds(bench)["stuck"].count == 1


def test_problems_are_limited_to_one_namespace(bench: Bench) -> None:
    worker = bench.worker()
    bench.ask(crud.create, "theirs", cron="* * * * *", function=FUNCTION, namespace="other")
    bench.go("08:30:01")
    worker.tick()
    assert "missed" not in problem_kinds(bench)
    assert "missed" in {problem.kind for problem in bench.ask(problems.problems, namespace="other").problems}


def test_the_list_marks_that_there_are_more(bench: Bench) -> None:
    worker = bench.worker()
    for name in ("a", "b", "c"):
        bench.create(name)
    bench.go("08:30:01")
    worker.tick()
    page = bench.ask(problems.problems, limit=2)
    assert (len(page.problems), page.more) == (2, True)


def test_a_clock_that_was_set_back_is_a_problem(bench: Bench) -> None:
    """Regression: schedules did not fire for the length of the step, and nothing reported it."""
    worker = bench.worker()
    for name, fields in (("started", {}), ("dropped", {"cron": "0 8 * * *"}), ("later", {"cron": "0 12 * * *"})):
        bench.create(name, **fields)
    bench.clock.set(at("09:00") + 86_400)
    worker.tick()
    assert "clock_set_back" not in problem_kinds(bench)
    bench.go("08:10")
    set_back = [problem for problem in bench.ask(problems.problems).problems if problem.kind == "clock_set_back"]
    assert [(problem.subject, problem.count, problem.urgency) for problem in set_back] == [
        ("clock", 3, "high"),
        ("test", 1, "high"),
    ]
    assert set_back[0].text == (
        "the store's clock was set back by at least 1 day, 0:50:00: ticks of 3 schedules were decided up to "
        "2027-01-16 09:00:00Z, and their next ticks fire after that"
    )
    assert set_back[1].text.startswith("its last heartbeat was at 2027-01-16 09:00:00Z, before a clock was set back")
    assert bench.ask(problems.problems, namespace="other").problems[0].kind != "clock_set_back"
    bench.clock.set(at("09:00") + 86_400)
    assert "clock_set_back" not in problem_kinds(bench)


def test_an_overloaded_engine_is_a_problem(bench: Bench) -> None:
    bench.create()
    bench.go("08:02:00")
    bench.write(lambda t: t.instance_insert("engine", "1.0", t.now_ms(), t.now_ms() + 900_000))
    assert "overloaded" not in problem_kinds(bench)
    bench.go("08:03:00")
    problem = problem_kinds(bench)["overloaded"]
    assert problem.text == "1 schedule overdue for more than 90 s; add instances, or spread the ticks"
    assert f"{problem.since:%H:%M}" == "08:01"


def test_a_failing_schedule_has_the_time_of_its_last_failure(bench: Bench) -> None:
    """Regression: ``since`` was null for every schedule that is not adaptive."""
    worker = bench.worker()
    bench.create()
    bench.go("08:01:01")
    worker.tick()
    worker.settle(RunState.FAILED)
    assert f"{problem_kinds(bench)['failing'].since:%H:%M:%S}" == "08:01:01"
