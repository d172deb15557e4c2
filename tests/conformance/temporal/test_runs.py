"""Workflows that are started by schedules of the Temporal API, on a real server with a real worker."""

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

from tests.conformance.temporal.kit import dispatcher_for, run_scenario, running_app, schedule, sdk_client
from tests.support.app import SECONDS, Home
from tests.support.servers import free_port
from tests.support.temporal_workflows import QUEUE, temporal_worker
from tests.support.waiting import pause
from tompion.executors.options import ExecutorEnv
from tompion.executors.temporal.executor import TemporalExecutor
from tompion.model.run import RunState
from tompion.model.schedule import Run

pytestmark = pytest.mark.server
SCHEDULED_BY = SearchAttributeKey.for_keyword("TemporalScheduledById")
NEVER = ScheduleSpec()


def run_with_worker(address: str, tmp_path: Path, scenario: Callable[[Home, Client, Client], Awaitable[Any]]) -> Any:
    """Run a scenario with a client of Tompion's Temporal API, a client of the cluster, and a worker."""

    async def with_worker(home: Home, client: Client) -> Any:
        async with temporal_worker(address) as cluster:
            return await scenario(home, client, cluster)

    return run_scenario(with_worker, f"sqlite:///{tmp_path}/tompion.db", cluster=address)


def as_workflow(execution: ScheduleActionExecution) -> ScheduleActionExecutionStartWorkflow:
    assert isinstance(execution, ScheduleActionExecutionStartWorkflow)
    return execution


async def wait_for_runs(home: Home, schedule_id: str, count: int = 1) -> list[Run]:
    await home.wait_for_events("ended", schedule_id, count)
    return list(reversed((await home.runs.list(schedule_id)).items))


def test_workflow_is_started_with_every_field_of_the_action(temporal_address: str, tmp_path: Path) -> None:
    async def scenario(home: Home, client: Client, cluster: Client) -> Any:
        definition = schedule(NEVER)
        definition.action = ScheduleActionStartWorkflow(
            "add",
            args=[2, 3],
            id="sum",
            task_queue=QUEUE,
            run_timeout=timedelta(seconds=50),
            retry_policy=RetryPolicy(maximum_attempts=4),
            memo={"why": "tests"},
            static_summary="adds",
        )
        handle = await client.create_schedule("adding", definition, trigger_immediately=True)
        [run] = await wait_for_runs(home, "adding")
        [action] = (await handle.describe()).info.recent_actions
        execution = as_workflow(action.action)
        started = cluster.get_workflow_handle(execution.workflow_id, run_id=execution.first_execution_run_id)
        return run, action, await started.describe(), await (await started.describe()).memo()

    run, action, description, memo = run_with_worker(temporal_address, tmp_path, scenario)
    assert (run.status, run.result) == (RunState.SUCCESS, 5)
    assert action.action.workflow_id.startswith(f"sum-{run.run_at:%Y-%m-%dT%H:%M:%SZ}")
    assert description.status is WorkflowExecutionStatus.COMPLETED
    assert memo["why"] == "tests"
    assert description.typed_search_attributes[SCHEDULED_BY] == "adding"
    assert description.raw_description.execution_config.default_workflow_task_timeout.seconds == 10


def test_workflow_ids_of_ticks_are_those_of_temporal(temporal_address: str, tmp_path: Path) -> None:
    async def scenario(home: Home, client: Client, cluster: Client) -> Any:
        spec = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(seconds=1))])
        state = ScheduleState(limited_actions=True, remaining_actions=2)
        policy = SchedulePolicy(overlap=ScheduleOverlapPolicy.BUFFER_ALL)
        handle = await client.create_schedule("ticking", schedule(spec, "x", state=state, policy=policy))
        runs = await wait_for_runs(home, "ticking", 2)
        return runs, (await handle.describe())

    runs, description = run_with_worker(temporal_address, tmp_path, scenario)
    ids = [action.action.workflow_id for action in description.info.recent_actions]
    assert ids == [f"wf-echo-{run.run_at:%Y-%m-%dT%H:%M:%SZ}" for run in runs]
    assert (description.info.num_actions, description.schedule.state.remaining_actions) == (2, 0)
    assert description.info.next_action_times == []


def test_original_workflow_id_is_used_if_requested(temporal_address: str, tmp_path: Path) -> None:
    """The real server stores the field and ignores it."""

    async def scenario(home: Home, client: Client, cluster: Client) -> Any:
        from temporalio.api.workflowservice.v1 import DescribeScheduleRequest, UpdateScheduleRequest

        handle = await client.create_schedule("original-id", schedule(NEVER, "x"))
        response = await client.workflow_service.describe_schedule(
            DescribeScheduleRequest(namespace="default", schedule_id="original-id")
        )
        response.schedule.policies.keep_original_workflow_id = True
        await client.workflow_service.update_schedule(
            UpdateScheduleRequest(namespace="default", schedule_id="original-id", schedule=response.schedule)
        )
        await handle.trigger()
        await wait_for_runs(home, "original-id")
        return [as_workflow(action.action).workflow_id for action in (await handle.describe()).info.recent_actions]

    assert run_with_worker(temporal_address, tmp_path, scenario) == ["wf-echo"]


def test_result_of_a_run_is_passed_to_the_next(temporal_address: str, tmp_path: Path) -> None:
    async def scenario(home: Home, client: Client, cluster: Client) -> Any:
        handle = await client.create_schedule("passing-results", schedule(NEVER, "x"))
        await handle.trigger()
        await wait_for_runs(home, "passing-results")
        await handle.trigger()
        runs = await wait_for_runs(home, "passing-results", 2)
        return [run.result["last_result"] for run in runs]

    first, second = run_with_worker(temporal_address, tmp_path, scenario)
    assert first is None
    assert second["given"] == "x"


def test_running_workflow_is_listed_and_others_wait(temporal_address: str, tmp_path: Path) -> None:
    async def scenario(home: Home, client: Client, cluster: Client) -> Any:
        definition = schedule(
            NEVER, 0, workflow="hold", policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.BUFFER_ONE)
        )
        handle = await client.create_schedule("holding", definition, trigger_immediately=True)
        async with asyncio.timeout(SECONDS):
            while not (running := (await handle.describe()).info.running_actions):
                await pause()
            while not (execution := as_workflow(running[0])).first_execution_run_id:
                running = (await handle.describe()).info.running_actions
        for _ in range(3):
            await handle.trigger()
        waiting = (await handle.describe()).raw_description.info.buffer_size
        held = cluster.get_workflow_handle(execution.workflow_id, run_id=execution.first_execution_run_id)
        await held.signal("release", "done")
        await home.wait_for_events("ended", "holding")
        await handle.delete()
        return waiting, await held.result()

    assert run_with_worker(temporal_address, tmp_path, scenario) == (1, "done")


def test_failed_workflow_pauses_the_schedule(temporal_address: str, tmp_path: Path) -> None:
    async def scenario(home: Home, client: Client, cluster: Client) -> Any:
        definition = schedule(NEVER, 0, workflow="fail", policy=SchedulePolicy(pause_on_failure=True))
        handle = await client.create_schedule("failing", definition, trigger_immediately=True)
        await wait_for_runs(home, "failing")
        return await handle.describe()

    description = run_with_worker(temporal_address, tmp_path, scenario)
    assert description.schedule.state.paused
    assert description.schedule.state.note
    assert description.raw_description.info.recent_actions[0].start_workflow_status == WorkflowExecutionStatus.FAILED


def test_backfill_runs_each_time_once(temporal_address: str, tmp_path: Path) -> None:
    async def scenario(home: Home, client: Client, cluster: Client) -> Any:
        spec = ScheduleSpec(cron_expressions=["0 * * * *"])
        handle = await client.create_schedule("backfilled", schedule(spec, "x", state=ScheduleState(paused=True)))
        day = datetime(2026, 1, 5, tzinfo=UTC)
        await handle.backfill(ScheduleBackfill(day, day + timedelta(hours=2), overlap=ScheduleOverlapPolicy.ALLOW_ALL))
        return [run.run_at.hour for run in await wait_for_runs(home, "backfilled", 3) if run.status is RunState.SUCCESS]

    assert run_with_worker(temporal_address, tmp_path, scenario) == [0, 1, 2]


def test_namespace_can_have_its_own_cluster(temporal_address: str, tmp_path: Path) -> None:
    """The default cluster is unreachable, and the cluster of the namespace runs."""
    unreachable, clusters = f"127.0.0.1:{free_port()}", {"payments": {"address": temporal_address}}
    executor = TemporalExecutor({"address": unreachable, "namespaces": clusters}, ExecutorEnv())

    async def run() -> Any:
        async with running_app(f"sqlite:///{tmp_path}/tompion.db", {"temporal": executor}) as (home, _):
            client = sdk_client(dispatcher_for(home._runner, "default", "payments"), "payments")
            async with temporal_worker(temporal_address):
                handle = await client.create_schedule("paying", schedule(NEVER, "x"), trigger_immediately=True)
                await home.wait_for_events("ended", "paying")
                return (await handle.describe()).raw_description.info.recent_actions

    [action] = asyncio.run(run())
    assert action.start_workflow_status == WorkflowExecutionStatus.COMPLETED
