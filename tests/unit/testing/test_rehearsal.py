"""Rehearsals of schedules: a real engine, a store in memory, and virtual time."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from tompion import AsyncTompion, Tompion
from tompion.errors import InvalidField, TompionError
from tompion.executors.base import Completed, RunContext
from tompion.testing import Rehearsal
from tompion.testing.executor import RecordingExecutor

FRIDAY = "2026-03-27T00:00:00Z"


def test_a_week_across_a_clock_change_runs_at_local_times() -> None:
    app = Tompion("sqlite:///never-opened.db")
    seen: list[str] = []

    @app.schedule("0 9 * * MON-FRI", timezone="Europe/Berlin", schedule_id="report")
    def report(run: RunContext) -> None:
        seen.append(run.run_at.isoformat())

    with Rehearsal(app, at=FRIDAY) as rehearsal:
        rehearsal.advance("7d")
        assert seen == [
            "2026-03-27T08:00:00+00:00",
            "2026-03-30T07:00:00+00:00",
            "2026-03-31T07:00:00+00:00",
            "2026-04-01T07:00:00+00:00",
            "2026-04-02T07:00:00+00:00",
        ]
        assert [run.status for run in rehearsal.all_runs("report")] == ["SUCCESS"] * 5
        assert not rehearsal.schedules.verify("report").problems
        assert rehearsal.now == datetime(2026, 4, 3, tzinfo=UTC)


def test_sleeping_functions_take_virtual_time() -> None:
    app = AsyncTompion("sqlite:///never-opened.db", queues=["mine"])

    @app.schedule("0 * * * *", schedule_id="slow", overlap="skip")
    async def slow() -> str:
        await asyncio.sleep(5_400)
        return "done"

    with Rehearsal(app, at=FRIDAY) as rehearsal:
        rehearsal.advance(timedelta(hours=3))
        assert [(run.status, run.reason, run.result) for run in rehearsal.all_runs("slow")] == [
            ("SUCCESS", None, "done"),
            ("SKIPPED", "overlap", None),
            ("STARTED", None, None),
            ("SKIPPED", "overlap", None),
        ]


def test_operator_actions_can_be_rehearsed() -> None:
    app = Tompion("sqlite:///never-opened.db")
    fails = True

    @app.schedule("0 * * * *", schedule_id="report", catchup="coalesce", max_attempts=2, retry_delay_ms=60_000)
    def report() -> None:
        if fails:
            raise ValueError("no luck")

    with Rehearsal(app, at=FRIDAY) as rehearsal:
        rehearsal.advance_to("2026-03-27T00:30:00Z")
        (run,) = rehearsal.all_runs("report")
        assert (run.status, run.attempt) == ("FAILED", 2)
        assert run.error is not None
        assert run.error.startswith("ValueError: no luck")
        fails = False
        rehearsal.pause("report", note="repair")
        rehearsal.advance("5h")
        rehearsal.resume("report")
        rehearsal.advance(1)
        assert [f"{run.run_at:%H}" for run in rehearsal.all_runs("report")] == ["00", "05"]
        assert rehearsal.trigger("report").source == "trigger"
        rehearsal.advance(1)
        assert [event.kind for event in rehearsal.events][-2:] == ["launched", "ended"]


def test_an_outage_passes_time_without_an_engine() -> None:
    with Rehearsal(at="2026-03-27T00:01:00Z") as rehearsal:
        rehearsal.create("report", cron="*/10 * * * *", function="builtins:dict", catchup_policy="coalesce")
        rehearsal.outage("35m")
        assert rehearsal.now == datetime(2026, 3, 27, 0, 36, tzinfo=UTC)
        assert rehearsal.all_runs("report") == [], "no engine was running"
        rehearsal.advance(1)
        (run,) = rehearsal.all_runs("report")
        assert (f"{run.run_at:%H:%M}", run.reason) == ("00:30", "coalesced")
        (span,) = rehearsal.schedules.dropped_ranges("report")
        assert (span.ticks, span.reason) == (2, "coalesced")
        with pytest.raises(InvalidField, match="cannot go back"):
            rehearsal.outage(-1)


def test_executors_can_be_replaced() -> None:
    target = RecordingExecutor(lambda: 0.0, lambda _: (0.0, Completed(result="1")))
    with Rehearsal(at=FRIDAY, executors={"http": target}) as rehearsal:
        rehearsal.workflows.put("flow", {"executor": "http", "dag": 1, "triggers": [{"cron": "@hourly"}]})
        rehearsal.advance("2h")
        assert len(target.executions) == 3


def test_misuse_of_a_rehearsal_raises() -> None:
    rehearsal = Rehearsal(at=FRIDAY)
    with pytest.raises(TompionError, match="has not started"):
        rehearsal.schedules.list()
    with rehearsal:
        with pytest.raises(InvalidField, match="cannot go back"):
            rehearsal.advance(-1)
        with pytest.raises(TompionError, match="already started"), rehearsal:
            pass
    with pytest.raises(TompionError, match="has not started"):
        rehearsal.advance(1)


def test_a_fixed_delay_runs_after_each_end() -> None:
    """Regression: a rehearsal polls once a day, so a fixed delay ran once and had its next run in the past."""
    with Rehearsal(at=FRIDAY) as rehearsal:
        rehearsal.create("poll", intervals=[{"every": "1m", "anchor": "completion"}], function="builtins:str")
        rehearsal.advance("5m30s")
        runs = rehearsal.all_runs("poll")
        assert [(f"{run.run_at:%H:%M}", run.status) for run in runs] == [
            (f"00:0{minute}", "SUCCESS") for minute in range(6)
        ]
        next_run_at = rehearsal.get("poll").next_run_at
        assert next_run_at is not None
        assert next_run_at > rehearsal.now
