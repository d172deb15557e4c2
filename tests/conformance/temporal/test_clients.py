"""Temporal's TypeScript SDK, its command line and its Python SDK, unchanged, over a real connection.

Each client creates, describes, lists, pauses, unpauses, triggers, backfills, updates and deletes a schedule in
Tompion, whose workflows a real worker executes on a real Temporal server.
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

from tests.conformance.temporal.clients import run_node_driver, run_temporal_cli, serving_app
from tests.support.app import Home
from tests.support.temporal_workflows import QUEUE, temporal_worker
from tompion.model.run import RunState
from tompion.model.schedule import Run

pytestmark = pytest.mark.server
DAY = "2026-01-05T0{}:00:00Z"


def run_scenario(cluster: str, tmp_path: Path, scenario: Callable[[Home, str], Awaitable[Any]]) -> Any:
    """Run a scenario with Tompion and the address of its Temporal API."""

    async def run() -> Any:
        async with serving_app(f"sqlite:///{tmp_path}/tompion.db", cluster) as (home, address):
            return await scenario(home, address)

    return asyncio.run(run())


async def runs_of(home: Home, schedule_id: str, count: int) -> list[Run]:
    """Wait until a number of runs of a schedule have ended, and return them, oldest first."""
    await home.wait_for_events("ended", schedule_id, count)
    return sorted((await home.runs.list(schedule_id)).items, key=lambda run: (run.created_at, run.run_at))


def expected_workflow_id(run: Run, workflow_id: str) -> str:
    """Return the id that Temporal gives to the workflow of a run."""
    return f"{workflow_id}-{run.run_at:%Y-%m-%dT%H:%M:%SZ}"


def workflow_ids(runs: list[Run]) -> list[str]:
    return [str(run.execution_id).rpartition("/")[0] for run in runs]


# --- TypeScript -----------------------------------------------------------------------------------------------------


def test_typescript_sdk_manages_a_schedule(temporal_address: str, tmp_path: Path) -> None:
    """The SDK's own worker executes the workflows."""

    async def scenario(home: Home, address: str) -> tuple[Any, list[Run]]:
        output = await run_node_driver("temporal_driver.mjs", address, temporal_address)
        return output, await runs_of(home, "typescript", 5)

    output, runs = run_scenario(temporal_address, tmp_path, scenario)
    assert [run.status for run in runs] == [RunState.SUCCESS] * 5
    assert output["again"] == "ScheduleAlreadyRunning"
    assert output["described"] == {
        "hours": [{"start": 0, "end": 23, "step": 1}],
        "timezone": "Europe/Berlin",
        "jitter": 60_000,
        "action": ["greet", "from-typescript", "typescript", ["first"], {"kept": True}],
        "policies": {"overlap": "ALLOW_ALL", "catchupWindow": 86_400_000, "pauseOnFailure": True},
        "state": {"paused": True, "note": "created"},
        "memo": {"why": "tests", "list": [1, 2]},
        "searchAttributes": {"Team": ["billing"]},
        "next": 10,
    }
    assert output["listed"] == ["typescript"]
    assert output["unpaused"] == {"paused": False, "note": "let it go"}
    assert output["paused"] == {"paused": True, "note": "hold it"}
    [triggered] = output["triggered"]
    assert triggered["workflowId"] == expected_workflow_id(runs[0], "from-typescript")
    assert triggered["result"] == {"argument": "first", "previous": None, "failed": False, "by": ["typescript"]}
    hours = sorted(action["workflowId"] for action in output["backfilled"][1:])
    assert hours == [f"from-typescript-{DAY.format(hour)}" for hour in range(3)]
    assert output["updated"] == {
        "intervals": [{"every": 7_200_000, "offset": 1_800_000}],
        "calendars": [],
        "overlap": "BUFFER_ALL",
    }
    again = {"argument": "second", "previous": "first", "failed": False, "by": ["typescript"]}
    assert output["triggered_again"] == again
    assert output["deleted"] == "ScheduleNotFoundError"


# --- the command line -----------------------------------------------------------------------------------------------


def test_command_line_manages_a_schedule(temporal_address: str, tmp_path: Path) -> None:
    """Typed commands, with their output read as JSON."""

    async def scenario(home: Home, address: str) -> tuple[dict[str, Any], list[Run]]:
        async def schedule(verb: str, *argv: str) -> str:
            return await run_temporal_cli(address, "schedule", verb, "--schedule-id", "typed", *argv)

        async def describe() -> Any:
            return json.loads(await schedule("describe"))

        output: dict[str, Any] = {}
        action = ("--workflow-id", "by-hand", "--type", "echo", "--task-queue", QUEUE)
        await schedule("create", *action, "--cron", "0 * * * *", "--paused", "--input", '"first"', "--notes", "new")
        output["created"] = await describe()
        output["listed"] = json.loads(await run_temporal_cli(address, "schedule", "list"))
        times = ("--start-time", DAY.format(0), "--end-time", DAY.format(2))
        output["matching"] = json.loads(await schedule("list-matching-times", *times))
        await schedule("toggle", "--unpause", "--reason", "resume")
        output["unpaused"] = (await describe())["schedule"]["state"]
        await schedule("toggle", "--pause", "--reason", "wait")
        output["paused"] = (await describe())["schedule"]["state"]
        await schedule("trigger")
        await runs_of(home, "typed", 1)
        await schedule("backfill", *times, "--overlap-policy", "AllowAll")
        await runs_of(home, "typed", 4)
        await schedule("update", *action, "--interval", "2h/30m", "--input", '"second"')
        await schedule("trigger", "--overlap-policy", "BufferAll")
        runs = await runs_of(home, "typed", 5)
        output["updated"] = await describe()
        await schedule("delete")
        output["after"] = await run_temporal_cli(address, "schedule", "list")
        return output, runs

    async def with_worker(home: Home, address: str) -> Any:
        async with temporal_worker(temporal_address):
            return await scenario(home, address)

    output, runs = run_scenario(temporal_address, tmp_path, with_worker)
    assert output["created"]["schedule"]["state"] == {"notes": "new", "paused": True}
    assert [schedule["scheduleId"] for schedule in output["listed"]] == ["typed"]
    assert output["matching"] == {"startTime": [DAY.format(1), DAY.format(2)]}
    assert output["unpaused"] == {"notes": "resume"}
    assert output["paused"] == {"notes": "wait", "paused": True}
    assert [run.status for run in runs] == [RunState.SUCCESS] * 5
    assert workflow_ids(runs[:4]) == [expected_workflow_id(run, "by-hand") for run in runs[:4]]
    assert workflow_ids(runs)[4].startswith(
        expected_workflow_id(runs[4], "by-hand")
    )  # perhaps in the same second as the first
    assert [f"{run.run_at:%Y-%m-%dT%H:%M:%SZ}" for run in runs[1:4]] == [DAY.format(hour) for hour in range(3)]
    assert runs[4].result["given"] == "second"
    assert runs[4].result["last_result"]["given"] == "first"
    actions = output["updated"]["info"]["recentActions"]
    assert sorted(action["startWorkflowResult"]["workflowId"] for action in actions) == sorted(workflow_ids(runs))
    assert {action["startWorkflowStatus"] for action in actions} == {"WORKFLOW_EXECUTION_STATUS_COMPLETED"}
    assert output["updated"]["info"]["actionCount"] == "5"
    assert output["updated"]["schedule"]["spec"]["interval"] == [{"interval": "7200s", "phase": "1800s"}]
    assert "typed" not in output["after"]


# --- Python ---------------------------------------------------------------------------------------------------------


def hourly(argument: str, workflow: str = "echo") -> Schedule:
    return Schedule(
        action=ScheduleActionStartWorkflow(workflow, argument, id="by-python", task_queue=QUEUE),
        spec=ScheduleSpec(cron_expressions=["0 * * * *"]),
        policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.BUFFER_ALL),
        state=ScheduleState(paused=True, note="new"),
    )


def replace_spec_and_action(current: ScheduleUpdateInput) -> ScheduleUpdate:
    schedule = current.description.schedule
    schedule.spec = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(hours=2))])
    schedule.action = hourly("second", "fail").action
    return ScheduleUpdate(schedule)


async def state_of(handle: ScheduleHandle) -> tuple[bool, str | None]:
    state = (await handle.describe()).schedule.state
    return state.paused, state.note


def test_python_sdk_manages_a_schedule(temporal_address: str, tmp_path: Path) -> None:
    """The result of the last run, and later its failure, are passed to the next run."""

    async def scenario(home: Home, address: str) -> tuple[dict[str, Any], list[Run]]:
        client, output = await Client.connect(address), dict[str, Any]()
        handle = await client.create_schedule("python", hourly("first"))
        output["states"] = [await state_of(handle)]
        await handle.unpause(note="resume")
        output["states"].append(await state_of(handle))
        await handle.pause(note="wait")
        output["states"].append(await state_of(handle))
        output["listed"] = [schedule.id async for schedule in await client.list_schedules()]
        await handle.trigger()
        await runs_of(home, "python", 1)
        day = datetime(2026, 1, 5, tzinfo=UTC)
        await handle.backfill(ScheduleBackfill(day, day + timedelta(hours=2)))
        await runs_of(home, "python", 4)
        await handle.update(replace_spec_and_action)
        await handle.trigger()
        await runs_of(home, "python", 5)
        output["failed"] = await handle.describe()
        await handle.update(lambda _: ScheduleUpdate(hourly("third")))
        await handle.trigger()
        runs = await runs_of(home, "python", 6)
        await handle.delete()
        with pytest.raises(RPCError) as gone:
            await handle.describe()
        return {**output, "gone": gone.value.status}, runs

    async def with_worker(home: Home, address: str) -> Any:
        async with temporal_worker(temporal_address):
            return await scenario(home, address)

    output, runs = run_scenario(temporal_address, tmp_path, with_worker)
    assert output["states"] == [(True, "new"), (False, "resume"), (True, "wait")]
    assert output["listed"] == ["python"]
    assert [run.status for run in runs] == [*[RunState.SUCCESS] * 4, RunState.FAILED, RunState.SUCCESS]
    assert workflow_ids(runs[:4]) == [expected_workflow_id(run, "by-python") for run in runs[:4]]
    assert [run.run_at.hour for run in runs[1:4]] == [0, 1, 2]
    assert runs[1].result["last_result"]["given"] == "first"
    description = output["failed"]
    assert [interval.every for interval in description.schedule.spec.intervals] == [timedelta(hours=2)]
    assert description.raw_description.info.recent_actions[-1].start_workflow_status == 3  # failed
    assert "it did not work" in str(runs[4].error)
    assert runs[5].result["given"] == "third"
    assert runs[5].result["last_result"]["given"] == "first"
    assert "it did not work" in runs[5].result["last_failure"]
    assert output["gone"] is RPCStatusCode.NOT_FOUND
