"""The effect of each policy in Tompion and on a real server: the table of docs/reference/temporal.md.

Every case runs on both sides, through the same SDK and with the same worker, and all cases run at the same time. Each
waits until the schedule is as the table shows, or until a timeout. Two seconds later it must still be so.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.enums.v1 import ScheduleOverlapPolicy as Overlap
from temporalio.api.enums.v1 import WorkflowExecutionStatus
from temporalio.api.workflowservice.v1 import PatchScheduleRequest
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleBackfill,
    ScheduleHandle,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleState,
)

from tests.conformance.temporal.kit import running_app, schedule
from tests.support.app import SECONDS
from tests.support.temporal_workflows import temporal_worker
from tests.support.waiting import pause
from tompion.executors.options import ExecutorEnv
from tompion.executors.temporal.executor import TemporalExecutor

pytestmark = [pytest.mark.server, pytest.mark.xdist_group("temporal")]
REFERENCE_PAGE = Path(__file__).parents[3] / "docs" / "reference" / "temporal.md"
EVERY_SECOND = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(seconds=1))])
NEVER = ScheduleSpec()
DAY = datetime(2026, 1, 5, tzinfo=UTC)
CONCURRENT_CASES = 6
"""Number of cases that run on one side at the same time."""
CASE_TIMEOUT_S = SECONDS / 3
Case = Callable[[Client, str], Awaitable[ScheduleHandle]]
Sides = tuple[str, str]


def documented_outcomes() -> dict[str, Sides]:
    """Return the outcomes in the table, by case."""
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", REFERENCE_PAGE.read_text(), re.MULTILINE)
    return {title: (here, there) for title, here, there in rows}


async def wait_for_summary(handle: ScheduleHandle, is_expected: Callable[[str], bool]) -> None:
    """Wait until the summary of a schedule is as expected, or until the timeout."""
    try:
        async with asyncio.timeout(CASE_TIMEOUT_S):
            while not is_expected(await summarize(handle)):
                await pause()
    except TimeoutError:
        pass


def has_parts(*prefixes: str) -> Callable[[str], bool]:
    """Return a check that a summary has a part with each of the prefixes."""
    return lambda summary: all(any(part.startswith(prefix) for part in summary.split("; ")) for prefix in prefixes)


async def summarize(handle: ScheduleHandle) -> str:
    """Return the actions of a schedule with their times and statuses, its counters, and whether it is paused."""
    description = await handle.describe()
    info = description.raw_description.info
    parts = [
        f"{info.action_count} started: {format_actions(info)}",
        f"{info.buffer_size} waiting",
        f"{info.overlap_skipped} skipped",
        f"{info.missed_catchup_window} missed",
    ]
    paused = ["paused"] * description.schedule.state.paused
    return "; ".join([*(part for part in parts if not part.startswith("0 ")), *paused]) or "nothing"


def format_actions(info: Any) -> str:
    """Return the statuses of the actions. An action for a time that the case chose has the number of that time."""
    statuses: Counter[str] = Counter()
    numbered = []
    for action in info.recent_actions:
        name = WorkflowExecutionStatus.Name(action.start_workflow_status).rpartition("_")[2].lower()
        if not action.start_workflow_result.run_id:
            name = "queued"
        moment = action.schedule_time.ToDatetime(UTC)
        if moment.year == DAY.year and moment.month == DAY.month and moment.day in (1, DAY.day):
            numbered.append(f"no. {(moment.second or moment.hour) + 1} {name}")
        else:
            statuses[name] += 1
    return ", ".join([*sorted(numbered), *(f"{number} {name}" for name, number in sorted(statuses.items()))])


def with_workflow_id(schedule: Schedule, workflow_id: str) -> Schedule:
    """Set the workflow id of a schedule."""
    assert isinstance(schedule.action, ScheduleActionStartWorkflow)
    schedule.action.id = workflow_id
    return schedule


async def trigger(client: Client, name: str, second: int) -> None:
    """Trigger a schedule for a distinct time, so that the server gives the workflow a distinct id."""
    request = PatchScheduleRequest(namespace="default", schedule_id=name, request_id=f"{name}-{second}")
    request.patch.trigger_immediately.overlap_policy = Overlap.SCHEDULE_OVERLAP_POLICY_UNSPECIFIED
    request.patch.trigger_immediately.scheduled_time.FromDatetime(datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC))
    await client.workflow_service.patch_schedule(request)


def overlap_case(policy: ScheduleOverlapPolicy, between: str = "") -> Case:
    """Return a case that triggers two more runs while one is running.

    ``between`` is the part of the summary to wait for after the first of them, because a server may ignore a trigger
    that follows too soon.
    """

    async def case(client: Client, name: str) -> ScheduleHandle:
        definition = schedule(NEVER, 0, workflow="hold", policy=SchedulePolicy(overlap=policy))
        handle = await client.create_schedule(name, with_workflow_id(definition, name))
        await trigger(client, name, 0)
        await wait_for_summary(handle, has_parts("1 started: no. 1 running"))
        await trigger(client, name, 1)
        if between:
            await wait_for_summary(handle, has_parts(between))
        await trigger(client, name, 2)
        return handle

    return case


async def limited_case(client: Client, name: str) -> ScheduleHandle:
    state = ScheduleState(limited_actions=True, remaining_actions=2)
    policy = SchedulePolicy(overlap=ScheduleOverlapPolicy.ALLOW_ALL)
    definition = schedule(EVERY_SECOND, 0, workflow="hold", state=state, policy=policy)
    handle = await client.create_schedule(name, with_workflow_id(definition, name))
    await wait_for_summary(handle, has_parts("2 started"))
    await wait_for_ticks(client, f"{name} beside", 3)
    return handle


async def paused_case(client: Client, name: str) -> ScheduleHandle:
    """Every time of the schedule is within its pause. None is caught up, and none counts as missed."""
    over = datetime.now(UTC) + timedelta(seconds=2)
    spec = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(seconds=1))], end_at=over)
    handle = await client.create_schedule(
        name, with_workflow_id(schedule(spec, 0, state=ScheduleState(paused=True)), name)
    )
    await wait_for_ticks(client, f"{name} beside", 4)
    await handle.unpause()
    await wait_for_ticks(client, f"{name} after", 2)
    return handle


async def paused_with_waiting_ticks_case(client: Client, name: str) -> ScheduleHandle:
    """The schedule is paused while two ticks wait for a running one, which then ends."""
    soon = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=2)
    every = [ScheduleIntervalSpec(every=timedelta(seconds=1))]
    spec = ScheduleSpec(intervals=every, start_at=soon, end_at=soon + timedelta(seconds=2))
    policy = SchedulePolicy(overlap=ScheduleOverlapPolicy.BUFFER_ALL)
    handle = await client.create_schedule(
        name, with_workflow_id(schedule(spec, 0, workflow="hold", policy=policy), name)
    )
    await wait_for_summary(handle, has_parts("1 started: 1 running", "2 waiting"))
    await handle.pause()
    [running] = (await handle.describe()).raw_description.info.running_workflows
    await CLUSTER[0].get_workflow_handle(running.workflow_id).terminate()
    return handle


async def wait_for_ticks(client: Client, name: str, count: int) -> None:
    """Wait for a number of seconds, counted by another schedule."""
    definition = schedule(EVERY_SECOND, 0, policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.ALLOW_ALL))
    handle = await client.create_schedule(name, with_workflow_id(definition, name))
    async with asyncio.timeout(SECONDS / 2):
        while (await handle.describe()).info.num_actions < count:
            await pause()
    await handle.delete()


async def pause_on_failure_case(client: Client, name: str) -> ScheduleHandle:
    definition = schedule(NEVER, 0, workflow="fail", policy=SchedulePolicy(pause_on_failure=True))
    handle = await client.create_schedule(name, with_workflow_id(definition, name))
    await trigger(client, name, 0)
    return handle


async def backfill_while_paused_case(client: Client, name: str) -> ScheduleHandle:
    definition = schedule(
        ScheduleSpec(cron_expressions=["0 * * * *"]), 0, workflow="hold", state=ScheduleState(paused=True)
    )
    handle = await client.create_schedule(name, with_workflow_id(definition, name))
    await handle.backfill(ScheduleBackfill(DAY, DAY + timedelta(hours=2), overlap=ScheduleOverlapPolicy.ALLOW_ALL))
    return handle


def backfill_case(policy: ScheduleOverlapPolicy) -> Case:
    """Return a case that backfills three times under the schedule's policy, while the first keeps running."""

    async def case(client: Client, name: str) -> ScheduleHandle:
        hourly = ScheduleSpec(cron_expressions=["0 * * * *"])
        definition = schedule(hourly, 0, workflow="hold", policy=SchedulePolicy(overlap=policy))
        handle = await client.create_schedule(name, with_workflow_id(definition, name))
        await handle.backfill(ScheduleBackfill(DAY, DAY + timedelta(hours=2)))
        return handle

    return case


async def trigger_while_paused_case(client: Client, name: str) -> ScheduleHandle:
    handle = await client.create_schedule(
        name, with_workflow_id(schedule(NEVER, 0, state=ScheduleState(paused=True)), name)
    )
    await trigger(client, name, 0)
    return handle


P = ScheduleOverlapPolicy
CASES: dict[str, Case] = {
    "`SKIP`": overlap_case(P.SKIP, "1 skipped"),
    "`BUFFER_ONE`": overlap_case(P.BUFFER_ONE, "1 waiting"),
    "`BUFFER_ALL`": overlap_case(P.BUFFER_ALL, "1 waiting"),
    "`CANCEL_OTHER`": overlap_case(P.CANCEL_OTHER),
    "`TERMINATE_OTHER`": overlap_case(P.TERMINATE_OTHER, "2 started: no. 1 terminated, no. 2 running"),
    "`ALLOW_ALL`": overlap_case(P.ALLOW_ALL, "2 started"),
    "limited to 2 actions, 5 seconds": limited_case,
    "paused until its last time is over, then unpaused": paused_case,
    "paused while 2 times wait under `BUFFER_ALL`": paused_with_waiting_ticks_case,
    "pause on failure": pause_on_failure_case,
    "backfill of 3 times, both ends included, while paused": backfill_while_paused_case,
    "trigger while paused": trigger_while_paused_case,
    "backfill of 3 times, `SKIP`": backfill_case(P.SKIP),
    "backfill of 3 times, `BUFFER_ONE`": backfill_case(P.BUFFER_ONE),
    "backfill of 3 times, `BUFFER_ALL`": backfill_case(P.BUFFER_ALL),
    "backfill of 3 times, `CANCEL_OTHER`": backfill_case(P.CANCEL_OTHER),
}
CLUSTER: list[Client] = []
"""The client of the server that executes the workflows of both sides."""


async def run_cases(client: Client, prefix: str, place: int) -> dict[str, str]:
    """Run all cases on one side, and return their final summaries."""
    slots, documented = asyncio.Semaphore(CONCURRENT_CASES), documented_outcomes()

    async def run_case(title: str) -> ScheduleHandle:
        name = f"{prefix}-" + "".join(letter for letter in title.lower() if letter.isalnum())
        async with slots:
            handle = await CASES[title](client, name)
            await wait_for_summary(handle, lambda text: text == documented.get(title, ("", ""))[place])
        return handle

    handles = await asyncio.gather(*map(run_case, CASES))
    await wait_for_ticks(client, f"{prefix} settled", 2)
    return {title: await summarize(handle) for title, handle in zip(CASES, handles, strict=True)}


@pytest.fixture(scope="module")
def outcomes(temporal_address: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sides]:
    """Run all cases on both sides, and return the outcomes by case."""

    async def run() -> dict[str, Sides]:
        executor = TemporalExecutor({"address": temporal_address}, ExecutorEnv())
        store = f"sqlite:///{tmp_path_factory.mktemp('behaviour')}/tompion.db"
        home = running_app(store, {"temporal": executor}, seconds=3 * SECONDS)
        async with home as (_, ours), temporal_worker(temporal_address) as real:
            CLUSTER[:] = [real]
            here, there = await asyncio.gather(run_cases(ours, "ours", 0), run_cases(real, "real", 1))
        return {title: (here[title], there[title]) for title in CASES}

    return asyncio.run(run())


@pytest.mark.slow
@pytest.mark.parametrize("title", CASES)
def test_outcome_of_each_case_is_as_documented(outcomes: dict[str, Sides], title: str) -> None:
    assert documented_outcomes().get(title) == outcomes[title]
