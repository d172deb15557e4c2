"""The Temporal executor in a real engine: results are passed on, and a later run can end an earlier one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError

from tests.support.app import SECONDS, Home
from tests.support.temporal_workflows import QUEUE, temporal_worker
from tests.support.waiting import pause
from tompion.executors.options import ExecutorEnv
from tompion.executors.temporal.executor import TemporalExecutor
from tompion.model.policy import Overlap
from tompion.model.run import RunState

pytestmark = pytest.mark.server


@pytest.fixture
def address(temporal_address: str) -> str:
    return temporal_address


def run_scenario(address: str, tmp_path: Path, scenario: Callable[[Home, Client], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        app = Home(
            f"sqlite:///{tmp_path}/tompion.db", {"temporal": TemporalExecutor({"address": address}, ExecutorEnv())}
        )
        async with temporal_worker(address) as client, asyncio.timeout(SECONDS), app as home:
            return await scenario(home, client)

    return asyncio.run(run())


async def create_schedule(home: Home, name: str, workflow: str, **fields: Any) -> None:
    options = {"workflow": workflow, "task_queue": QUEUE}
    await home.workflows.put(name, {"executor": "temporal", "options": options})
    await home.create(name, **{"cron": "0 0 1 1 *", "workflow_id": name, **fields})


def test_result_and_failure_are_passed_to_the_next_run(address: str, tmp_path: Path) -> None:
    async def scenario(home: Home, client: Client) -> Any:
        await create_schedule(home, "passed-on", "echo")
        first = await home.trigger_and_wait("passed-on")
        second = await home.trigger_and_wait("passed-on")
        await home.workflows.put(
            "passed-on", {"executor": "temporal", "options": {"workflow": "fail", "task_queue": QUEUE}}
        )
        failed = await home.trigger_and_wait("passed-on")
        await home.workflows.put(
            "passed-on", {"executor": "temporal", "options": {"workflow": "echo", "task_queue": QUEUE}}
        )
        return first, second, failed, await home.trigger_and_wait("passed-on"), await home.trigger_and_wait("passed-on")

    first, second, failed, third, fourth = run_scenario(address, tmp_path, scenario)
    assert first.result["last_result"] is None
    assert second.result["last_result"] == first.result
    assert second.result["last_failure"] is None
    assert (failed.status, failed.error) == (
        RunState.FAILED,
        "Work: it did not work, caused by Weather: no luck today",
    )
    assert third.result["last_result"] == second.result
    assert "it did not work" in third.result["last_failure"]
    assert fourth.result["last_result"] == third.result
    assert fourth.result["last_failure"] is None


def test_consecutive_ticks_have_the_ids_of_their_times(address: str, tmp_path: Path) -> None:
    """Each workflow has the id of its tick."""

    async def scenario(home: Home, client: Client) -> Any:
        await create_schedule(home, "ticking", "echo", cron="* * * * * *", overlap_policy="queue", remaining_actions=2)
        await home.wait_for_events("ended", "ticking", 2)
        return (await home.runs.list("ticking")).items

    second, first = run_scenario(address, tmp_path, scenario)
    assert second.result["last_result"] == first.result
    for run in (first, second):
        moment = run.run_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        assert run.execution_id.startswith(f"ticking-{moment}/")


@pytest.mark.parametrize(
    ("overlap", "status", "state"),
    [
        ("cancel_other", WorkflowExecutionStatus.CANCELED, RunState.CANCELLED),
        ("terminate_other", WorkflowExecutionStatus.TERMINATED, RunState.TERMINATED),
    ],
)
def test_later_run_ends_the_earlier_workflow(
    address: str, tmp_path: Path, overlap: str, status: WorkflowExecutionStatus, state: RunState
) -> None:
    async def scenario(home: Home, client: Client) -> Any:
        await create_schedule(home, overlap, "hold", overlap_policy=overlap)
        first = await home.trigger(overlap)
        await wait_for_workflows(client, overlap, 1)
        second = await home.trigger(overlap, overlap=Overlap(overlap))
        ended = await home.wait_until_final(first)
        await wait_for_workflows(client, overlap, 2)
        newest, oldest = [workflow async for workflow in client.list_workflows(f"TemporalScheduledById = '{overlap}'")]
        with pytest.raises(WorkflowFailureError):
            await client.get_workflow_handle(oldest.id).result()
        before = await client.get_workflow_handle(oldest.id).describe()
        await client.get_workflow_handle(newest.id).signal("release", "at last")
        return ended, before.status, await home.wait_until_final(second)

    ended, workflow_status, second = run_scenario(address, tmp_path, scenario)
    assert (ended.status, workflow_status) == (state, status)
    assert (second.status, second.result) == (RunState.SUCCESS, "at last")


async def wait_for_workflows(client: Client, schedule_id: str, count: int) -> None:
    """Wait until a schedule has started a number of workflows."""
    while (await client.count_workflows(f"TemporalScheduledById = '{schedule_id}'")).count < count:
        await pause()


def test_failed_workflow_is_retried(address: str, tmp_path: Path) -> None:
    async def scenario(home: Home, client: Client) -> Any:
        await create_schedule(home, "moody", "moody", max_attempts=2, retry_delay_ms=10)
        return await home.trigger_and_wait("moody")

    run = run_scenario(address, tmp_path, scenario)
    assert (run.status, run.result, run.attempt) == (RunState.SUCCESS, "well then", 2)
