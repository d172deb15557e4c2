"""Workflows that schedules of the door really start: on a real Temporal server, by a real worker."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import (
    Client,
    ScheduleActionExecution,
    ScheduleActionExecutionStartWorkflow,
    ScheduleActionStartWorkflow,
    ScheduleBackfill,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleState,
    WorkflowExecutionStatus,
)
from temporalio.common import RetryPolicy, SearchAttributeKey

from tests.conformance.temporal.kit import client_of, door_to, opened, schedule, told
from tests.support.app import SECONDS, Home
from tests.support.servers import free_port
from tests.support.temporal_workflows import QUEUE, working
from tests.support.waiting import pause
from tompion.executors.options import ExecutorEnv
from tompion.executors.temporal.executor import TemporalExecutor
from tompion.model.run import RunState
from tompion.model.schedule import Run

pytestmark = pytest.mark.server
SCHEDULED_BY = SearchAttributeKey.for_keyword("TemporalScheduledById")
NEVER = ScheduleSpec()


def tell(address: str, tmp_path: Path, story: Callable[[Home, Client, Client], Awaitable[Any]]) -> Any:
    """A story with the SDK in front of the door, and the same SDK in front of the cluster behind it."""

    async def with_worker(home: Home, client: Client) -> Any:
        async with working(address) as cluster:
            return await story(home, client, cluster)

    return told(with_worker, f"sqlite:///{tmp_path}/tompion.db", cluster=address)


def workflow_of(execution: ScheduleActionExecution) -> ScheduleActionExecutionStartWorkflow:
    assert isinstance(execution, ScheduleActionExecutionStartWorkflow)
    return execution


async def ended(home: Home, schedule_id: str, count: int = 1) -> list[Run]:
    await home.told("ended", schedule_id, count)
    return list(reversed((await home.runs(schedule_id)).items))


def test_a_workflow_gets_everything_that_the_action_says(temporal_address: str, tmp_path: Path) -> None:
    async def story(home: Home, client: Client, cluster: Client) -> Any:
        made = schedule(NEVER)
        made.action = ScheduleActionStartWorkflow(
            "add",
            args=[2, 3],
            id="sum",
            task_queue=QUEUE,
            run_timeout=timedelta(seconds=50),
            retry_policy=RetryPolicy(maximum_attempts=4),
            memo={"why": "tests"},
            static_summary="adds",
        )
        handle = await client.create_schedule("adding", made, trigger_immediately=True)
        [run] = await ended(home, "adding")
        [action] = (await handle.describe()).info.recent_actions
        execution = workflow_of(action.action)
        started = cluster.get_workflow_handle(execution.workflow_id, run_id=execution.first_execution_run_id)
        return run, action, await started.describe(), await (await started.describe()).memo()

    run, action, found, memo = tell(temporal_address, tmp_path, story)
    assert (run.state, run.result) == (RunState.SUCCESS, 5)
    assert action.action.workflow_id.startswith(f"sum-{run.scheduled_for:%Y-%m-%dT%H:%M:%SZ}")
    assert found.status is WorkflowExecutionStatus.COMPLETED
    assert memo["why"] == "tests"
    assert found.typed_search_attributes[SCHEDULED_BY] == "adding"
    assert found.raw_description.execution_config.default_workflow_task_timeout.seconds == 10


def test_ticks_have_the_ids_that_temporal_gives(temporal_address: str, tmp_path: Path) -> None:
    async def story(home: Home, client: Client, cluster: Client) -> Any:
        spec = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(seconds=1))])
        state = ScheduleState(limited_actions=True, remaining_actions=2)
        policy = SchedulePolicy(overlap=ScheduleOverlapPolicy.BUFFER_ALL)
        handle = await client.create_schedule("ticking", schedule(spec, "x", state=state, policy=policy))
        runs = await ended(home, "ticking", 2)
        return runs, (await handle.describe())

    runs, found = tell(temporal_address, tmp_path, story)
    ids = [action.action.workflow_id for action in found.info.recent_actions]
    assert ids == [f"wf-echo-{run.scheduled_for:%Y-%m-%dT%H:%M:%SZ}" for run in runs]
    assert (found.info.num_actions, found.schedule.state.remaining_actions) == (2, 0)
    assert found.info.next_action_times == []


def test_the_original_workflow_id_is_kept(temporal_address: str, tmp_path: Path) -> None:
    """A field that the real server stores and does not obey."""

    async def story(home: Home, client: Client, cluster: Client) -> Any:
        from temporalio.api.workflowservice.v1 import DescribeScheduleRequest, UpdateScheduleRequest

        handle = await client.create_schedule("keeping", schedule(NEVER, "x"))
        found = await client.workflow_service.describe_schedule(
            DescribeScheduleRequest(namespace="default", schedule_id="keeping")
        )
        found.schedule.policies.keep_original_workflow_id = True
        await client.workflow_service.update_schedule(
            UpdateScheduleRequest(namespace="default", schedule_id="keeping", schedule=found.schedule)
        )
        await handle.trigger()
        await ended(home, "keeping")
        return [workflow_of(each.action).workflow_id for each in (await handle.describe()).info.recent_actions]

    assert tell(temporal_address, tmp_path, story) == ["wf-echo"]


def test_what_one_run_leaves_reaches_the_next(temporal_address: str, tmp_path: Path) -> None:
    async def story(home: Home, client: Client, cluster: Client) -> Any:
        handle = await client.create_schedule("handing-on", schedule(NEVER, "x"))
        await handle.trigger()
        await ended(home, "handing-on")
        await handle.trigger()
        runs = await ended(home, "handing-on", 2)
        return [run.result["last_result"] for run in runs]

    first, second = tell(temporal_address, tmp_path, story)
    assert first is None
    assert second["given"] == "x"


def test_a_running_workflow_is_shown_and_the_rest_waits(temporal_address: str, tmp_path: Path) -> None:
    async def story(home: Home, client: Client, cluster: Client) -> Any:
        made = schedule(NEVER, 0, workflow="hold", policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.BUFFER_ONE))
        handle = await client.create_schedule("holding", made, trigger_immediately=True)
        async with asyncio.timeout(SECONDS):
            while not (running := (await handle.describe()).info.running_actions):
                await pause()
            while not (execution := workflow_of(running[0])).first_execution_run_id:
                running = (await handle.describe()).info.running_actions
        for _ in range(3):
            await handle.trigger()
        waiting = (await handle.describe()).raw_description.info.buffer_size
        held = cluster.get_workflow_handle(execution.workflow_id, run_id=execution.first_execution_run_id)
        await held.signal("release", "done")
        await home.told("ended", "holding")
        await handle.delete()
        return waiting, await held.result()

    assert tell(temporal_address, tmp_path, story) == (1, "done")


def test_pause_on_failure(temporal_address: str, tmp_path: Path) -> None:
    async def story(home: Home, client: Client, cluster: Client) -> Any:
        made = schedule(NEVER, 0, workflow="fail", policy=SchedulePolicy(pause_on_failure=True))
        handle = await client.create_schedule("failing", made, trigger_immediately=True)
        await ended(home, "failing")
        return await handle.describe()

    found = tell(temporal_address, tmp_path, story)
    assert found.schedule.state.paused
    assert found.schedule.state.note
    assert found.raw_description.info.recent_actions[0].start_workflow_status == WorkflowExecutionStatus.FAILED


def test_a_backfill_runs_each_time_once(temporal_address: str, tmp_path: Path) -> None:
    async def story(home: Home, client: Client, cluster: Client) -> Any:
        spec = ScheduleSpec(cron_expressions=["0 * * * *"])
        handle = await client.create_schedule("filling", schedule(spec, "x", state=ScheduleState(paused=True)))
        day = datetime(2026, 1, 5, tzinfo=UTC)
        await handle.backfill(ScheduleBackfill(day, day + timedelta(hours=2), overlap=ScheduleOverlapPolicy.ALLOW_ALL))
        return [run.scheduled_for.hour for run in await ended(home, "filling", 3) if run.state is RunState.SUCCESS]

    assert tell(temporal_address, tmp_path, story) == [0, 1, 2]


def test_a_namespace_has_a_cluster_of_its_own(temporal_address: str, tmp_path: Path) -> None:
    """The usual cluster is not there; that of the namespace is."""
    nowhere, own = f"127.0.0.1:{free_port()}", {"payments": {"address": temporal_address}}
    executor = TemporalExecutor({"address": nowhere, "namespaces": own}, ExecutorEnv())

    async def tell() -> Any:
        async with opened(f"sqlite:///{tmp_path}/tompion.db", {"temporal": executor}) as (home, _):
            client = client_of(door_to(home.runner, "default", "payments"), "payments")
            async with working(temporal_address):
                handle = await client.create_schedule("paying", schedule(NEVER, "x"), trigger_immediately=True)
                await home.told("ended", "paying")
                return (await handle.describe()).raw_description.info.recent_actions

    [action] = asyncio.run(tell())
    assert action.start_workflow_status == WorkflowExecutionStatus.COMPLETED
