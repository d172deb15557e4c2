"""Runs that another worker starts or takes over."""

from __future__ import annotations

from tests.support.operations import Bench
from tompion.operations.schedules import crud


def test_a_rescued_run_uses_its_own_version(bench: Bench) -> None:
    """Runs of two versions of one schedule are rescued together. Each is launched with its own version."""
    bench.create(overlap_policy="allow", payload={"version": 1})
    dead, other = bench.worker(), bench.worker()
    bench.go("08:01")
    dead.tick()
    bench.ask(crud.patch, "report", payload={"version": 2})
    bench.go("08:02")
    dead.tick()
    bench.go("08:04:30")
    other.rescue()
    launched = sorted((other.launch(index) for index in (0, 1)), key=lambda launch: launch.run_at)
    assert [launch.payload for launch in launched] == [{"version": 1}, {"version": 2}]


def test_a_buffered_run_uses_its_own_version(bench: Bench) -> None:
    bench.create(overlap_policy="queue", payload={"version": 1})
    worker = bench.worker()
    for minute in ("08:01", "08:02"):
        bench.go(minute)
        worker.tick()
    bench.ask(crud.patch, "report", payload={"version": 2})
    worker.settle()
    assert worker.launch().payload == {"version": 1}
    assert bench.runs()[0].definition_version == 1


def test_a_run_with_an_unreadable_version_is_postponed(bench: Bench) -> None:
    """No worker claims it, the log names it, and it runs after the version is repaired."""
    bench.create()
    dead, other = bench.worker(), bench.worker()
    bench.go("08:01")
    dead.tick()
    bench.execute("UPDATE schedule_versions SET spec = '[' || spec")
    bench.go("08:03:30")
    assert (other.rescue().claimed, other.launched) == (1, [])
    assert other.rescue().claimed == 0
    bench.execute("UPDATE schedule_versions SET spec = substr(spec, 2)")
    bench.go("08:08:29")
    assert other.rescue().claimed == 0
    bench.go("08:08:30")
    other.rescue()
    assert [row.attempt for row, _ in other.launched] == [3]
