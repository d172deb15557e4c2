"""Clock steps while schedules tick: no tick is decided twice, and ticks are dropped only by their catch-up policy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.endurance.process import SECONDS, Worker, gaps, problems, runs_of, until, worker
from tests.support.servers.faketime import SteppedClock
from tests.support.servers.postgres import CRASH_SAFE, PostgresServer
from tompion.bootstrap.store import open_migrator
from tompion.model.policy import CatchUp
from tompion.sdk.app import Tompion

pytestmark = [
    pytest.mark.slow,
    pytest.mark.server,
    pytest.mark.skipif(sys.platform != "linux", reason="libfaketime is loaded as Linux does it"),
]
HOUR_S = 3_600
OFF = "no schedule fires here"


def latest_tick(tompion: Tompion, name: str) -> int:
    """Return the last tick that the engine decided."""
    newest = tompion.runs.list(name, source="schedule", limit=1).items
    return int(newest[0].run_at.timestamp()) if newest else 0


def wait_for_tick(process: Worker, tompion: Tompion, name: str, after_s: int) -> None:
    """Wait until a tick after an instant was decided."""
    until(lambda: latest_tick(tompion, name) > after_s, process.output)


def assert_engine_runs(process: Worker, tompion: Tompion, name: str) -> None:
    """Check that an engine runs a trigger."""
    run = tompion.trigger(name)
    until(lambda: run.idempotency_key in process.notes(), process.output)


def assert_verified(store: str, clock: SteppedClock) -> None:
    """Run ``tompion verify`` with another clock."""
    done = subprocess.run(
        [sys.executable, "-m", "tompion", "verify", "--store", store],
        env={**os.environ, **clock.surroundings},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def step_clocks(process: Worker, tompion: Tompion, step: SteppedClock, server: SteppedClock | None = None) -> None:
    """Step the clock of the store forward by two hours, back by one, and forward again."""
    clocks = [step] if server is None else [server, step]
    begun = latest_tick(tompion, "skips")
    for clock in clocks:
        clock.step(2 * HOUR_S)
    wait_for_tick(process, tompion, "skips", begun + 2 * HOUR_S - 5)
    for clock in clocks:
        clock.step(HOUR_S)
    assert_engine_runs(process, tompion, "triggered")
    stopped = latest_tick(tompion, "skips")
    assert_engine_runs(process, tompion, "triggered")
    assert latest_tick(tompion, "skips") == stopped, "the clock is an hour back, and what was decided then is decided"
    for clock in clocks:
        clock.step(2 * HOUR_S + 20)
    wait_for_tick(process, tompion, "skips", stopped + 10)
    wait_for_tick(process, tompion, "once", stopped + 10)


def create_schedules(tompion: Tompion) -> list[str]:
    """Create schedules with every catch-up policy, and one that is only triggered."""
    rules = {"skips": CatchUp.NONE, "once": CatchUp.COALESCE}
    for name, rule in rules.items():
        tompion.create(name, cron="* * * * * *", function="tasks:note", overlap_policy="allow", catchup_policy=rule)
    tompion.create("all", cron="*/10 * * * *", function="tasks:note", catchup_policy="fire_immediately")
    tompion.create("triggered", cron="0 0 1 1 *", function="tasks:note", overlap_policy="allow")
    return [*rules, "all", "triggered"]


def assert_every_tick_decided(notes: list[str], tompion: Tompion, names: list[str]) -> None:
    """Check that every tick is decided once, and skipped hours by their policy."""
    assert problems(tompion, names, notes) == []
    ((before, after),) = [gap for gap in gaps(tompion, "skips") if gap[1] - gap[0] > HOUR_S]
    dropped_ranges = [
        dropped_range for dropped_range in tompion.schedules.dropped_ranges("skips") if dropped_range.ticks > HOUR_S
    ]
    assert [(dropped_range.reason, dropped_range.ticks) for dropped_range in dropped_ranges] == [
        ("missed", after - before - 1)
    ]
    caught_up = {int(run.run_at.timestamp()) for run in runs_of(tompion, "all")}
    assert caught_up >= set(range(before - before % 600 + 600, after, 600))
    assert len(caught_up) >= 11


def test_clock_steps_lose_or_repeat_no_tick_on_sqlite(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'jobs.db'}"
    with Tompion(store, engine=False) as tompion, SteppedClock() as clock:
        names = create_schedules(tompion)
        with worker(tmp_path / "worker", store, clock.surroundings) as process:
            process.launches(2)
            step_clocks(process, tompion, clock)
            process.stop()
        assert_every_tick_decided(process.notes(), tompion, names)
        assert_verified(store, clock)


def test_server_clock_steps_lose_or_repeat_no_tick_on_postgresql(tmp_path: Path) -> None:
    """The clock of the server counts. A worker with another time fires nothing and logs that until a clock is set."""
    with SteppedClock() as own, SteppedClock() as theirs, PostgresServer(CRASH_SAFE, theirs.surroundings) as server:
        url = server.create_database("jobs")
        with open_migrator(url) as migrator:
            migrator.up()
        with (
            Tompion(url, engine=False) as tompion,
            worker(tmp_path / "stepped", url, own.surroundings) as stepped,
        ):
            names = create_schedules(tompion)
            stepped.launches(2)
            own.step(2 * HOUR_S)
            stepped.wait_for_output(OFF)
            until(lambda: not any(tompion.get(name).in_flight for name in names))  # fired before that
            silent = len(stepped.notes())
            with worker(tmp_path / "right", url) as right:
                right.launches(4)
                assert len(stepped.notes()) == silent, f"a clock that is off fires: {stepped.output()}"
                own.step(0)
                right.stop()
            stepped.launches(2)
            step_clocks(stepped, tompion, own, theirs)
            stepped.stop()
            notes = stepped.notes() + right.notes()
            assert_every_tick_decided(notes, tompion, names)
            assert_verified(url, own)
