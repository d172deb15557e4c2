"""What the policies do, here and on a real server: the table of docs/reference/temporal.md.

Each case is told twice, through the same SDK, with the same worker behind it; all of them at once, on one server. When
all have come to what the table says, or should have, two more seconds pass, and what is shown then must stand there.
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

from tests.conformance.temporal.kit import opened, schedule
from tests.support.app import SECONDS
from tests.support.temporal_workflows import working
from tests.support.waiting import pause
from tompion.executors.options import ExecutorEnv
from tompion.executors.temporal.executor import TemporalExecutor

pytestmark = [pytest.mark.server, pytest.mark.xdist_group("temporal")]
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "temporal.md"
EVERY_SECOND = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(seconds=1))])
NEVER = ScheduleSpec()
DAY = datetime(2026, 1, 5, tzinfo=UTC)
AT_ONCE = 6
"""How many questions are asked of one side at a time."""
PATIENCE_S = SECONDS / 3
Case = Callable[[Client, str], Awaitable[ScheduleHandle]]
Sides = tuple[str, str]


def rows() -> dict[str, Sides]:
    """What the table says of each case, here and there."""
    found = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", PAGE.read_text(), re.MULTILINE)
    return {title: (here, there) for title, here, there in found}


async def until(handle: ScheduleHandle, reached: Callable[[str], bool]) -> str:
    """Wait until what is described is as it should be, or until it is clear that it will not be."""
    said = ""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not reached(said := await summary(handle)):
                await pause()
    except TimeoutError:
        pass
    return said


def begins(*beginnings: str) -> Callable[[str], bool]:
    """Whether the parts of a summary begin so, each of them."""
    return lambda said: all(any(part.startswith(each) for part in said.split("; ")) for each in beginnings)


async def summary(handle: ScheduleHandle) -> str:
    """What was started, for which time and with what end; what waits, was skipped or missed; whether it is paused."""
    found = await handle.describe()
    info = found.raw_description.info
    parts = [
        f"{info.action_count} started: {actions(info)}",
        f"{info.buffer_size} waiting",
        f"{info.overlap_skipped} skipped",
        f"{info.missed_catchup_window} missed",
    ]
    said = [*(part for part in parts if not part.startswith("0 ")), *["paused"] * found.schedule.state.paused]
    return "; ".join(said) or "nothing"


def actions(info: Any) -> str:
    """The actions by their ends, each with the number of its time where that is known: hours of a day, or seconds."""
    ends: Counter[str] = Counter()
    numbered = []
    for action in info.recent_actions:
        name = WorkflowExecutionStatus.Name(action.start_workflow_status).rpartition("_")[2].lower()
        if not action.start_workflow_result.run_id:
            name = "queued"
        moment = action.schedule_time.ToDatetime(UTC)
        if moment.year == DAY.year and moment.month == DAY.month and moment.day in (1, DAY.day):
            numbered.append(f"no. {(moment.second or moment.hour) + 1} {name}")
        else:
            ends[name] += 1
    return ", ".join([*sorted(numbered), *(f"{number} {name}" for name, number in sorted(ends.items()))])


def named(made: Schedule, name: str) -> Schedule:
    """A schedule whose workflows are called as it is."""
    assert isinstance(made.action, ScheduleActionStartWorkflow)
    made.action.id = name
    return made


async def trigger(client: Client, name: str, second: int) -> None:
    """Trigger for a time of its own, so that the server gives it an id of its own."""
    request = PatchScheduleRequest(namespace="default", schedule_id=name, request_id=f"{name}-{second}")
    request.patch.trigger_immediately.overlap_policy = Overlap.SCHEDULE_OVERLAP_POLICY_UNSPECIFIED
    request.patch.trigger_immediately.scheduled_time.FromDatetime(datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC))
    await client.workflow_service.patch_schedule(request)


def overlapping(policy: ScheduleOverlapPolicy, between: str = "") -> Case:
    """One run goes on; two more are asked for.

    What comes of the first is waited for, where it is named: a server may overlook what comes too soon after it.
    """

    async def case(client: Client, name: str) -> ScheduleHandle:
        made = schedule(NEVER, 0, workflow="hold", policy=SchedulePolicy(overlap=policy))
        handle = await client.create_schedule(name, named(made, name))
        await trigger(client, name, 0)
        await until(handle, begins("1 started: no. 1 running"))
        await trigger(client, name, 1)
        if between:
            await until(handle, begins(between))
        await trigger(client, name, 2)
        return handle

    return case


async def limited(client: Client, name: str) -> ScheduleHandle:
    state = ScheduleState(limited_actions=True, remaining_actions=2)
    policy = SchedulePolicy(overlap=ScheduleOverlapPolicy.ALLOW_ALL)
    made = schedule(EVERY_SECOND, 0, workflow="hold", state=state, policy=policy)
    handle = await client.create_schedule(name, named(made, name))
    await until(handle, begins("2 started"))
    await ticked(client, f"{name} beside", 3)
    return handle


async def paused(client: Client, name: str) -> ScheduleHandle:
    """Every time of the schedule falls into its pause; none is made up for, and none was missed."""
    over = datetime.now(UTC) + timedelta(seconds=2)
    spec = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(seconds=1))], end_at=over)
    handle = await client.create_schedule(name, named(schedule(spec, 0, state=ScheduleState(paused=True)), name))
    await ticked(client, f"{name} beside", 4)
    await handle.unpause()
    await ticked(client, f"{name} after", 2)
    return handle


async def waiting_in_a_pause(client: Client, name: str) -> ScheduleHandle:
    """Two ticks wait for a third when the schedule is paused, and then that ends."""
    soon = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=2)
    every = [ScheduleIntervalSpec(every=timedelta(seconds=1))]
    spec = ScheduleSpec(intervals=every, start_at=soon, end_at=soon + timedelta(seconds=2))
    policy = SchedulePolicy(overlap=ScheduleOverlapPolicy.BUFFER_ALL)
    handle = await client.create_schedule(name, named(schedule(spec, 0, workflow="hold", policy=policy), name))
    await until(handle, begins("1 started: 1 running", "2 waiting"))
    await handle.pause()
    [running] = (await handle.describe()).raw_description.info.running_workflows
    await CLUSTER[0].get_workflow_handle(running.workflow_id).terminate()
    return handle


async def ticked(client: Client, name: str, count: int) -> None:
    """Let so many seconds pass: another schedule counts them."""
    made = schedule(EVERY_SECOND, 0, policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.ALLOW_ALL))
    handle = await client.create_schedule(name, named(made, name))
    async with asyncio.timeout(SECONDS / 2):
        while (await handle.describe()).info.num_actions < count:
            await pause()
    await handle.delete()


async def failing(client: Client, name: str) -> ScheduleHandle:
    made = schedule(NEVER, 0, workflow="fail", policy=SchedulePolicy(pause_on_failure=True))
    handle = await client.create_schedule(name, named(made, name))
    await trigger(client, name, 0)
    return handle


async def backfilled(client: Client, name: str) -> ScheduleHandle:
    made = schedule(ScheduleSpec(cron_expressions=["0 * * * *"]), 0, workflow="hold", state=ScheduleState(paused=True))
    handle = await client.create_schedule(name, named(made, name))
    await handle.backfill(ScheduleBackfill(DAY, DAY + timedelta(hours=2), overlap=ScheduleOverlapPolicy.ALLOW_ALL))
    return handle


def backfilled_at_once(policy: ScheduleOverlapPolicy) -> Case:
    """Three times of the past under the policy of the schedule; the first of them goes on."""

    async def case(client: Client, name: str) -> ScheduleHandle:
        hourly = ScheduleSpec(cron_expressions=["0 * * * *"])
        made = schedule(hourly, 0, workflow="hold", policy=SchedulePolicy(overlap=policy))
        handle = await client.create_schedule(name, named(made, name))
        await handle.backfill(ScheduleBackfill(DAY, DAY + timedelta(hours=2)))
        return handle

    return case


async def triggered(client: Client, name: str) -> ScheduleHandle:
    handle = await client.create_schedule(name, named(schedule(NEVER, 0, state=ScheduleState(paused=True)), name))
    await trigger(client, name, 0)
    return handle


P = ScheduleOverlapPolicy
CASES: dict[str, Case] = {
    "`SKIP`": overlapping(P.SKIP, "1 skipped"),
    "`BUFFER_ONE`": overlapping(P.BUFFER_ONE, "1 waiting"),
    "`BUFFER_ALL`": overlapping(P.BUFFER_ALL, "1 waiting"),
    "`CANCEL_OTHER`": overlapping(P.CANCEL_OTHER),
    "`TERMINATE_OTHER`": overlapping(P.TERMINATE_OTHER, "2 started: no. 1 terminated, no. 2 running"),
    "`ALLOW_ALL`": overlapping(P.ALLOW_ALL, "2 started"),
    "limited to 2 actions, 5 seconds": limited,
    "paused until its last time is over, then unpaused": paused,
    "paused while 2 times wait under `BUFFER_ALL`": waiting_in_a_pause,
    "pause on failure": failing,
    "backfill of 3 times, both ends included, while paused": backfilled,
    "trigger while paused": triggered,
    "backfill of 3 times, `SKIP`": backfilled_at_once(P.SKIP),
    "backfill of 3 times, `BUFFER_ONE`": backfilled_at_once(P.BUFFER_ONE),
    "backfill of 3 times, `BUFFER_ALL`": backfilled_at_once(P.BUFFER_ALL),
    "backfill of 3 times, `CANCEL_OTHER`": backfilled_at_once(P.CANCEL_OTHER),
}
CLUSTER: list[Client] = []
"""The server on which workflows of both sides are executed."""


async def side(client: Client, prefix: str, place: int) -> dict[str, str]:
    """What comes of all cases on one side, when nothing happens any more."""
    turn, wanted = asyncio.Semaphore(AT_ONCE), rows()

    async def one(title: str) -> ScheduleHandle:
        name = f"{prefix}-" + "".join(letter for letter in title.lower() if letter.isalnum())
        async with turn:
            handle = await CASES[title](client, name)
            await until(handle, lambda said: said == wanted.get(title, ("", ""))[place])
        return handle

    handles = await asyncio.gather(*map(one, CASES))
    await ticked(client, f"{prefix} settled", 2)
    return {title: await summary(handle) for title, handle in zip(CASES, handles, strict=True)}


@pytest.fixture(scope="module")
def told(temporal_address: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sides]:
    """What comes of each case, here and there."""

    async def tell() -> dict[str, Sides]:
        executor = TemporalExecutor({"address": temporal_address}, ExecutorEnv())
        store = f"sqlite:///{tmp_path_factory.mktemp('behaviour')}/tompion.db"
        home = opened(store, {"temporal": executor}, seconds=3 * SECONDS)
        async with home as (_, ours), working(temporal_address) as real:
            CLUSTER[:] = [real]
            here, there = await asyncio.gather(side(ours, "ours", 0), side(real, "real", 1))
        return {title: (here[title], there[title]) for title in CASES}

    return asyncio.run(tell())


@pytest.mark.slow
@pytest.mark.parametrize("title", CASES)
def test_the_table_says_what_happens(told: dict[str, Sides], title: str) -> None:
    assert rows().get(title) == told[title]
