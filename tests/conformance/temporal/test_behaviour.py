"""What the policies do, here and on a real server: the table of docs/reference/temporal.md.

Each case is told twice, through the same SDK, with the same worker behind it. What comes of it must be what the table
says, on either side.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import ScheduleOverlapPolicy as Overlap
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

from foliot.launch.site import Site
from foliot.launch.temporal import TemporalExecutor
from tests.conformance.executor.home import SECONDS
from tests.conformance.executor.temporal_workflows import working
from tests.conformance.temporal.kit import opened, schedule

pytestmark = [pytest.mark.server, pytest.mark.xdist_group("temporal")]
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "temporal.md"
EVERY_SECOND = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(seconds=1))])
NEVER = ScheduleSpec()
OURS = "ours"
Case = Callable[[Client, str], Awaitable[str]]


async def until(handle: ScheduleHandle, wanted: str) -> str:
    """Wait until what is described is the text; give it."""
    said = ""
    try:
        async with asyncio.timeout(SECONDS / 2):
            while (said := await summary(handle)) != wanted:
                pass
    except TimeoutError:
        pytest.fail(f"{handle.id} stays at {said!r}, not {wanted!r}")
    return said


async def summary(handle: ScheduleHandle) -> str:
    """How many were started, wait, and were skipped; and whether it is paused."""
    found = await handle.describe()
    info = found.raw_description.info
    parts = [f"{info.action_count} started", f"{info.buffer_size} waiting", f"{info.overlap_skipped} skipped"]
    said = [*(part for part in parts if not part.startswith("0 ")), *["paused"] * found.schedule.state.paused]
    return ", ".join(said) or "nothing started"


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


def overlapping(policy: ScheduleOverlapPolicy, here: str, there: str | None = None, between: str | None = None) -> Case:
    """One run goes on; two more are asked for.  What comes of it is the same on both sides, unless there is another.

    What comes of the first is waited for, where it is named: a server may overlook what comes too soon after it.
    """

    async def case(client: Client, name: str) -> str:
        made = schedule(NEVER, 0, workflow="hold", policy=SchedulePolicy(overlap=policy))
        handle = await client.create_schedule(name, named(made, name))
        await trigger(client, name, 0)
        await until(handle, "1 started")
        await trigger(client, name, 1)
        if between is not None:
            await until(handle, between)
        await trigger(client, name, 2)
        return await until(handle, here if there is None or name.startswith(OURS) else there)

    return case


async def limited(client: Client, name: str) -> str:
    state = ScheduleState(limited_actions=True, remaining_actions=2)
    policy = SchedulePolicy(overlap=ScheduleOverlapPolicy.ALLOW_ALL)
    made = schedule(EVERY_SECOND, 0, state=state, policy=policy)
    handle = await client.create_schedule(name, named(made, name))
    await until(handle, "2 started")
    await ticked(client, f"{name} beside", 3)
    return await summary(handle)


async def paused(client: Client, name: str) -> str:
    """Every time of the schedule falls into its pause; none is made up for."""
    over = datetime.now(UTC) + timedelta(seconds=2)
    spec = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(seconds=1))], end_at=over)
    handle = await client.create_schedule(name, named(schedule(spec, 0, state=ScheduleState(paused=True)), name))
    await ticked(client, f"{name} beside", 4)
    await handle.unpause()
    await ticked(client, f"{name} after", 2)
    return await summary(handle)


async def ticked(client: Client, name: str, count: int) -> None:
    """Let so many seconds pass: another schedule counts them."""
    made = schedule(EVERY_SECOND, 0, policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.ALLOW_ALL))
    handle = await client.create_schedule(name, named(made, name))
    async with asyncio.timeout(SECONDS / 2):
        while (await handle.describe()).info.num_actions < count:
            pass
    await handle.delete()


async def failing(client: Client, name: str) -> str:
    made = schedule(NEVER, 0, workflow="fail", policy=SchedulePolicy(pause_on_failure=True))
    handle = await client.create_schedule(name, named(made, name))
    await trigger(client, name, 0)
    return await until(handle, "1 started, paused")


async def backfilled(client: Client, name: str) -> str:
    made = schedule(ScheduleSpec(cron_expressions=["0 * * * *"]), 0, state=ScheduleState(paused=True))
    handle = await client.create_schedule(name, named(made, name))
    day = datetime(2026, 1, 5, tzinfo=UTC)
    await handle.backfill(ScheduleBackfill(day, day + timedelta(hours=2), overlap=ScheduleOverlapPolicy.ALLOW_ALL))
    return await until(handle, "3 started, paused")


def backfilled_at_once(policy: ScheduleOverlapPolicy, here: str, there: str | None = None) -> Case:
    """Three times of the past under the policy of the schedule; the first of them goes on."""

    async def case(client: Client, name: str) -> str:
        hourly = ScheduleSpec(cron_expressions=["0 * * * *"])
        made = schedule(hourly, 0, workflow="hold", policy=SchedulePolicy(overlap=policy))
        handle = await client.create_schedule(name, named(made, name))
        day = datetime(2026, 1, 5, tzinfo=UTC)
        await handle.backfill(ScheduleBackfill(day, day + timedelta(hours=2)))
        return await until(handle, here if there is None or name.startswith(OURS) else there)

    return case


async def triggered(client: Client, name: str) -> str:
    made = schedule(NEVER, 0, state=ScheduleState(paused=True))
    handle = await client.create_schedule(name, named(made, name))
    await trigger(client, name, 0)
    return await until(handle, "1 started, paused")


P = ScheduleOverlapPolicy
CASES: dict[str, Case] = {
    "`SKIP`": overlapping(P.SKIP, "1 started, 2 skipped"),
    "`BUFFER_ONE`": overlapping(P.BUFFER_ONE, "1 started, 1 waiting, 1 skipped"),
    "`BUFFER_ALL`": overlapping(P.BUFFER_ALL, "1 started, 2 waiting", between="1 started, 1 waiting"),
    "`CANCEL_OTHER`": overlapping(P.CANCEL_OTHER, "2 started, 1 waiting", "2 started"),
    "`TERMINATE_OTHER`": overlapping(P.TERMINATE_OTHER, "3 started", "2 started"),
    "`ALLOW_ALL`": overlapping(P.ALLOW_ALL, "3 started"),
    "limited to 2 actions, 5 seconds": limited,
    "paused until its last time is over, then unpaused": paused,
    "pause on failure": failing,
    "backfill of 3 times, both ends included, while paused": backfilled,
    "trigger while paused": triggered,
    "backfill of 3 times, `SKIP`": backfilled_at_once(P.SKIP, "1 started, 2 skipped"),
    "backfill of 3 times, `BUFFER_ONE`": backfilled_at_once(P.BUFFER_ONE, "1 started, 1 waiting, 1 skipped"),
    "backfill of 3 times, `BUFFER_ALL`": backfilled_at_once(P.BUFFER_ALL, "1 started", "1 started, 2 waiting"),
    "backfill of 3 times, `CANCEL_OTHER`": backfilled_at_once(P.CANCEL_OTHER, "1 started, 2 skipped", "1 started"),
}


@pytest.mark.parametrize("title", CASES)
def test_the_table_says_what_happens(temporal_address: str, tmp_path: Path, title: str) -> None:
    name = "".join(letter for letter in title.lower() if letter.isalnum())

    async def tell() -> tuple[str, str]:
        executor = TemporalExecutor({"address": temporal_address}, Site())
        store = f"sqlite:///{tmp_path}/foliot.db"
        home = opened(store, {"temporal": executor}, seconds=2 * SECONDS)
        async with home as (_, ours), working(temporal_address) as real:
            return await CASES[title](ours, f"{OURS}-{name}"), await CASES[title](real, f"real-{name}")

    here, there = asyncio.run(tell())
    assert f"| {title} | {here} | {there} |" in PAGE.read_text()
