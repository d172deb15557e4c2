"""Instances with different time zone tables on one store, and time zones that disappear.

By the installed tables the schedule fires at 09:00Z. By the older ones, in which Berlin has the time of London, it
fires at 10:00Z. Scenarios begin at 08:00:30Z.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.zone_tables import OlderTables
from tests.unit.engine.harness import EngineHarness
from tompion.engine.engine import Engine
from tompion.operations.insight.problems import problems
from tompion.operations.insight.stats import store_backlog
from tompion.operations.schedules import control, crud
from tompion.operations.verify.schedule import verify
from tompion.runtime.clock import pause

HOUR = 3_600


def older_engine(harness: EngineHarness) -> Engine:
    engine = harness.engine()
    engine.context.schedules = OlderTables()
    return engine


def next_run(harness: EngineHarness) -> str:
    run_at = harness.call(crud.get, "report").next_run_at
    return "none" if run_at is None else f"{run_at:%d %H:%M}"


def create(harness: EngineHarness, **fields: Any) -> None:
    harness.create(**{"cron": "0 10 * * *", "timezone": "Europe/Berlin", **fields})


@pytest.mark.parametrize("older", [1, 3])
def test_older_instance_steps_back_in_a_rolling_restart(harness: EngineHarness, older: int) -> None:
    """Regression: an old instance fired a schedule that a new one had planned, and planned it by its own tables.

    The mark of the new tables stayed, so the schedule slept, and no restart repaired it.
    """
    create(harness)
    old = [older_engine(harness) for _ in range(older)]
    new = harness.engine()

    async def scenario() -> None:
        for engine in old:
            await engine.start()
        await pause(60)
        assert next_run(harness) == "15 10:00"  # by the older tables
        await new.start()
        await pause(60)
        assert next_run(harness) == "15 09:00"
        await pause(HOUR)
        assert next_run(harness) == "16 09:00"
        for engine in old:
            await engine.stop(0)
        await pause(2 * HOUR)
        assert next_run(harness) == "16 09:00"

    harness.run(scenario)
    assert harness.states() == ["09:00 SUCCESS"]


def test_older_instance_fires_again_once_no_newer_one_lives(harness: EngineHarness) -> None:
    """A rollback: the instances with newer tables are gone, and the older tables count."""
    create(harness)
    old, new = older_engine(harness), harness.engine()

    async def scenario() -> None:
        await new.start()
        await pause(60)
        await old.start()
        await pause(60)
        assert next_run(harness) == "15 09:00"
        await new.stop(0)
        await pause(120)
        assert next_run(harness) == "15 10:00"
        await pause(3 * HOUR)
        await old.stop(0)
        await harness.engine().start()
        await pause(60)

    harness.run(scenario)
    assert harness.states() == ["10:00 SUCCESS"]
    assert next_run(harness) == "16 09:00"


def test_fire_replans_a_schedule_of_other_tables(harness: EngineHarness) -> None:
    """A process with newer tables creates and edits schedules, and only an engine with older ones runs."""
    create(harness)
    old = older_engine(harness)

    async def scenario() -> None:
        await old.start()
        await pause(60)
        assert next_run(harness) == "15 10:00"
        harness.call(crud.patch, "report", description="the plan stays, and so does its mark")
        assert next_run(harness) == "15 10:00"
        await pause(HOUR - 60)  # 09:00:30
        harness.call(crud.patch, "report", cron="0,30 10 * * *")
        assert next_run(harness) == "15 09:30"
        await pause(HOUR + HOUR // 2)
        await old.stop(0)
        await harness.engine().start()
        await pause(60)

    harness.run(scenario)
    assert harness.states() == ["10:00 SUCCESS", "10:30 SUCCESS"]
    assert next_run(harness) == "16 09:00"


def test_resume_by_another_process_keeps_the_plan(harness: EngineHarness) -> None:
    create(harness)
    old = older_engine(harness)

    async def scenario() -> None:
        await old.start()
        await pause(60)
        harness.call(control.pause, "report")
        harness.call(control.resume, "report")
        await pause(3 * HOUR)
        await old.stop(0)
        await harness.engine().start()
        await pause(60)

    harness.run(scenario)
    assert harness.states() == ["10:00 SUCCESS"]
    assert next_run(harness) == "16 09:00"


GONE = "Mars/Olympus"


def rename_zone(harness: EngineHarness, before: str, after: str) -> None:
    """Change the stored zone by hand, as if new zone data did not have it any more, or had it again."""
    for statement in (
        f"UPDATE schedule_versions SET spec = replace(spec, '{before}', '{after}')",
        f"UPDATE schedules SET zones = replace(zones, '{before}', '{after}')",
    ):
        harness.store._writer.execute(statement)
    harness.store._writer.commit()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"cron": "CRON_TZ=Europe/Berlin 0 10 * * *", "timezone": None},
        {"cron": ["TZ=Europe/Berlin 0 10 * * *", "CRON_TZ=Asia/Tokyo 0 23 * * *"], "timezone": None},
        {"cron": [], "rrules": ["DTSTART;TZID=Europe/Berlin:20270101T100000\nRRULE:FREQ=DAILY"]},
    ],
)
def test_schedule_whose_zone_disappears_fires_in_utc_until_it_returns(
    harness: EngineHarness, fields: dict[str, Any]
) -> None:
    """Regression: the mark lost the zone, so no metric, problem or log had it, and its return repaired nothing.

    A ``CRON_TZ=`` zone was not tracked at all, and stopped its schedule.
    """
    create(harness, **fields)
    assert next_run(harness) == "15 09:00"
    rename_zone(harness, "Europe/Berlin", GONE)

    async def without_the_zone() -> None:
        await harness.engine().start()
        await pause(60)
        assert next_run(harness) == "15 10:00"

    harness.run(without_the_zone)
    schedule = harness.call(crud.get, "report")
    assert schedule.status == "active"
    assert GONE in schedule.degraded
    assert harness.call(store_backlog).degraded == 1
    assert [problem.subject for problem in harness.call(problems).problems if problem.kind == "degraded"] == ["report"]
    warnings = [event.text for event in harness.events if event.kind == "warning"]
    assert [text for text in warnings if text.startswith("report:") and GONE in text and "it fires in UTC" in text]
    assert harness.call(verify, "report").ok

    rename_zone(harness, GONE, "Europe/Berlin")
    harness.engines.clear()

    async def with_the_zone() -> None:
        await harness.engine().start()
        await pause(60)

    harness.run(with_the_zone)
    assert next_run(harness) == "15 09:00"
    assert harness.call(crud.get, "report").degraded is None
    assert harness.call(store_backlog).degraded == 0


def test_damaged_schedule_does_not_keep_the_others_from_being_replanned(harness: EngineHarness) -> None:
    """Regression: the loop replanned the zone of a damaged schedule again and again."""
    create(harness)
    harness.create("damaged", cron="0 10 * * *", timezone="Europe/Berlin")
    writer = harness.store._writer
    writer.execute("UPDATE schedule_versions SET spec = '{' WHERE schedule_key = 2")
    writer.execute("UPDATE schedules SET zones = 'Europe/Berlin:older'")
    writer.commit()

    async def scenario() -> None:
        await harness.engine().start()
        await pause(60)

    harness.run(scenario)
    zones = {row[0] for row in writer.execute("SELECT zones FROM schedules")}
    assert len(zones) == 1
    assert zones != {"Europe/Berlin:older"}
    harness.call(crud.delete, "damaged", purge=True)
