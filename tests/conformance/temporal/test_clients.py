"""Temporal's TypeScript SDK, its command line and its Python SDK, unchanged, over a real connection.

Each creates, describes, lists, pauses, unpauses, triggers, backfills, updates and deletes a schedule here, whose
workflows a real worker executes on a real Temporal server.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import (
    Client,
    RPCError,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleBackfill,
    ScheduleHandle,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleState,
    ScheduleUpdate,
    ScheduleUpdateInput,
)
from temporalio.service import RPCStatusCode

from tests.conformance.temporal.clients import listening, node, temporal
from tests.support.app import Home
from tests.support.temporal_workflows import QUEUE, working
from tompion.model.run import RunState
from tompion.model.schedule import Run

pytestmark = pytest.mark.server
DAY = "2026-01-05T0{}:00:00Z"


def told(cluster: str, tmp_path: Path, story: Callable[[Home, str], Awaitable[Any]]) -> Any:
    """A story in front of a Tompion that listens, and whose runs have all ended well."""

    async def tell() -> Any:
        async with listening(f"sqlite:///{tmp_path}/tompion.db", cluster) as (home, door):
            return await story(home, door)

    return asyncio.run(tell())


async def runs_of(home: Home, schedule_id: str, count: int) -> list[Run]:
    """Wait until so many runs of a schedule are over; give them, the oldest first."""
    await home.told("ended", schedule_id, count)
    return sorted((await home.runs(schedule_id)).items, key=lambda run: (run.decided_at, run.scheduled_for))


def started_for(run: Run, workflow_id: str) -> str:
    """The id that Temporal gives to the workflow of a run."""
    return f"{workflow_id}-{run.scheduled_for:%Y-%m-%dT%H:%M:%SZ}"


def workflow_ids(runs: list[Run]) -> list[str]:
    return [str(run.execution_id).rpartition("/")[0] for run in runs]


# --- TypeScript -----------------------------------------------------------------------------------------------------


def test_the_typescript_sdk(temporal_address: str, tmp_path: Path) -> None:
    """Its own worker executes what the schedule starts."""

    async def story(home: Home, door: str) -> tuple[Any, list[Run]]:
        said = await node("temporal_driver.mjs", door, temporal_address)
        return said, await runs_of(home, "typescript", 5)

    said, runs = told(temporal_address, tmp_path, story)
    assert [run.state for run in runs] == [RunState.SUCCESS] * 5
    assert said["again"] == "ScheduleAlreadyRunning"
    assert said["described"] == {
        "hours": [{"start": 0, "end": 23, "step": 1}],
        "timezone": "Europe/Berlin",
        "jitter": 60_000,
        "action": ["greet", "from-typescript", "typescript", ["first"], {"kept": True}],
        "policies": {"overlap": "ALLOW_ALL", "catchupWindow": 86_400_000, "pauseOnFailure": True},
        "state": {"paused": True, "note": "made"},
        "memo": {"why": "tests", "list": [1, 2]},
        "searchAttributes": {"Team": ["billing"]},
        "next": 10,
    }
    assert said["listed"] == ["typescript"]
    assert said["unpaused"] == {"paused": False, "note": "let it go"}
    assert said["paused"] == {"paused": True, "note": "hold it"}
    [triggered] = said["triggered"]
    assert triggered["workflowId"] == started_for(runs[0], "from-typescript")
    assert triggered["result"] == {"given": "first", "left": None, "failed": False, "by": ["typescript"]}
    hours = sorted(each["workflowId"] for each in said["backfilled"][1:])
    assert hours == [f"from-typescript-{DAY.format(hour)}" for hour in range(3)]
    assert said["updated"] == {
        "intervals": [{"every": 7_200_000, "offset": 1_800_000}],
        "calendars": [],
        "overlap": "BUFFER_ALL",
    }
    assert said["triggered_again"] == {"given": "second", "left": "first", "failed": False, "by": ["typescript"]}
    assert said["deleted"] == "ScheduleNotFoundError"


# --- the command line -----------------------------------------------------------------------------------------------


def test_the_command_line(temporal_address: str, tmp_path: Path) -> None:
    """As people type it; the answers are read as the JSON that it prints."""

    async def story(home: Home, door: str) -> tuple[dict[str, Any], list[Run]]:
        async def schedule(verb: str, *argv: str) -> str:
            return await temporal(door, "schedule", verb, "--schedule-id", "typed", *argv)

        async def described() -> Any:
            return json.loads(await schedule("describe"))

        said: dict[str, Any] = {}
        what = ("--workflow-id", "by-hand", "--type", "echo", "--task-queue", QUEUE)
        await schedule("create", *what, "--cron", "0 * * * *", "--paused", "--input", '"first"', "--notes", "new")
        said["created"] = await described()
        said["listed"] = json.loads(await temporal(door, "schedule", "list"))
        times = ("--start-time", DAY.format(0), "--end-time", DAY.format(2))
        said["matching"] = json.loads(await schedule("list-matching-times", *times))
        await schedule("toggle", "--unpause", "--reason", "go on")
        said["unpaused"] = (await described())["schedule"]["state"]
        await schedule("toggle", "--pause", "--reason", "wait")
        said["paused"] = (await described())["schedule"]["state"]
        await schedule("trigger")
        await runs_of(home, "typed", 1)
        await schedule("backfill", *times, "--overlap-policy", "AllowAll")
        await runs_of(home, "typed", 4)
        await schedule("update", *what, "--interval", "2h/30m", "--input", '"second"')
        await schedule("trigger", "--overlap-policy", "BufferAll")
        runs = await runs_of(home, "typed", 5)
        said["updated"] = await described()
        await schedule("delete")
        said["after"] = await temporal(door, "schedule", "list")
        return said, runs

    async def with_worker(home: Home, door: str) -> Any:
        async with working(temporal_address):
            return await story(home, door)

    said, runs = told(temporal_address, tmp_path, with_worker)
    assert said["created"]["schedule"]["state"] == {"notes": "new", "paused": True}
    assert [each["scheduleId"] for each in said["listed"]] == ["typed"]
    assert said["matching"] == {"startTime": [DAY.format(1), DAY.format(2)]}
    assert said["unpaused"] == {"notes": "go on"}
    assert said["paused"] == {"notes": "wait", "paused": True}
    assert [run.state for run in runs] == [RunState.SUCCESS] * 5
    assert workflow_ids(runs[:4]) == [started_for(run, "by-hand") for run in runs[:4]]
    assert workflow_ids(runs)[4].startswith(started_for(runs[4], "by-hand"))  # perhaps in the same second as the first
    assert [f"{run.scheduled_for:%Y-%m-%dT%H:%M:%SZ}" for run in runs[1:4]] == [DAY.format(hour) for hour in range(3)]
    assert runs[4].result["given"] == "second"
    assert runs[4].result["last_result"]["given"] == "first"
    shown = said["updated"]["info"]["recentActions"]
    assert sorted(each["startWorkflowResult"]["workflowId"] for each in shown) == sorted(workflow_ids(runs))
    assert {each["startWorkflowStatus"] for each in shown} == {"WORKFLOW_EXECUTION_STATUS_COMPLETED"}
    assert said["updated"]["info"]["actionCount"] == "5"
    assert said["updated"]["schedule"]["spec"]["interval"] == [{"interval": "7200s", "phase": "1800s"}]
    assert "typed" not in said["after"]


# --- Python ---------------------------------------------------------------------------------------------------------


def hourly(given: str, workflow: str = "echo") -> Schedule:
    return Schedule(
        action=ScheduleActionStartWorkflow(workflow, given, id="by-python", task_queue=QUEUE),
        spec=ScheduleSpec(cron_expressions=["0 * * * *"]),
        policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.BUFFER_ALL),
        state=ScheduleState(paused=True, note="new"),
    )


def replaced(given: ScheduleUpdateInput) -> ScheduleUpdate:
    wanted = given.description.schedule
    wanted.spec = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(hours=2))])
    wanted.action = hourly("second", "fail").action
    return ScheduleUpdate(wanted)


async def state_of(handle: ScheduleHandle) -> tuple[bool, str | None]:
    state = (await handle.describe()).schedule.state
    return state.paused, state.note


def test_the_python_sdk(temporal_address: str, tmp_path: Path) -> None:
    """And what the last run has left, its result and then its failure, reaches the next."""

    async def story(home: Home, door: str) -> tuple[dict[str, Any], list[Run]]:
        client, said = await Client.connect(door), dict[str, Any]()
        handle = await client.create_schedule("python", hourly("first"))
        said["states"] = [await state_of(handle)]
        await handle.unpause(note="go on")
        said["states"].append(await state_of(handle))
        await handle.pause(note="wait")
        said["states"].append(await state_of(handle))
        said["listed"] = [each.id async for each in await client.list_schedules()]
        await handle.trigger()
        await runs_of(home, "python", 1)
        day = datetime(2026, 1, 5, tzinfo=UTC)
        await handle.backfill(ScheduleBackfill(day, day + timedelta(hours=2)))
        await runs_of(home, "python", 4)
        await handle.update(replaced)
        await handle.trigger()
        await runs_of(home, "python", 5)
        said["failed"] = await handle.describe()
        await handle.update(lambda known: ScheduleUpdate(hourly("third")))
        await handle.trigger()
        runs = await runs_of(home, "python", 6)
        await handle.delete()
        with pytest.raises(RPCError) as gone:
            await handle.describe()
        return {**said, "gone": gone.value.status}, runs

    async def with_worker(home: Home, door: str) -> Any:
        async with working(temporal_address):
            return await story(home, door)

    said, runs = told(temporal_address, tmp_path, with_worker)
    assert said["states"] == [(True, "new"), (False, "go on"), (True, "wait")]
    assert said["listed"] == ["python"]
    assert [run.state for run in runs] == [*[RunState.SUCCESS] * 4, RunState.FAILED, RunState.SUCCESS]
    assert workflow_ids(runs[:4]) == [started_for(run, "by-python") for run in runs[:4]]
    assert [run.scheduled_for.hour for run in runs[1:4]] == [0, 1, 2]
    assert runs[1].result["last_result"]["given"] == "first"
    found = said["failed"]
    assert [interval.every for interval in found.schedule.spec.intervals] == [timedelta(hours=2)]
    assert found.raw_description.info.recent_actions[-1].start_workflow_status == 3  # failed
    assert "it did not work" in str(runs[4].error)
    assert runs[5].result["given"] == "third"
    assert runs[5].result["last_result"]["given"] == "first"
    assert "it did not work" in runs[5].result["last_failure"]
    assert said["gone"] is RPCStatusCode.NOT_FOUND
