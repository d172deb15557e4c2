"""The same schedules on Tompion and on a real Temporal server: the same times, to the millisecond, and the same spec.

Where the real server does not keep its own rules, its answers are pinned beside Tompion's: these are the exceptions of
docs/reference/temporal.md.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from temporalio.api.schedule.v1 import Schedule, ScheduleSpec, ScheduleState
from temporalio.api.workflowservice.v1 import (
    CreateScheduleRequest,
    DescribeNamespaceRequest,
    DescribeScheduleRequest,
    ListScheduleMatchingTimesRequest,
)
from temporalio.client import Client

from tests.conformance.temporal.drawing import Drawn, draw
from tests.conformance.temporal.kit import opened
from tests.support.seeds import suite_seed
from tests.support.temporal_schedules import ACTION

pytestmark = [pytest.mark.server, pytest.mark.xdist_group("temporal")]

SCHEDULES = 320
AT_ONCE = 8
SECONDS = 300


@asynccontextmanager
async def both(address: str, path: Path) -> AsyncIterator[tuple[Client, Client]]:
    """The door and the server, with a namespace of the same id."""
    real = await Client.connect(address)
    described = await real.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace="default"))
    namespace, store = f"default={described.namespace_info.id}", f"sqlite:///{path}/tompion.db"
    async with opened(store, {}, namespace, seconds=SECONDS) as (_, ours):
        yield ours, real


async def times(client: Client, schedule_id: str, drawn: Drawn) -> list[float]:
    """When a schedule would start in its window, in seconds."""
    schedule = Schedule(spec=drawn.spec, action=ACTION, state=ScheduleState(paused=True))
    create = CreateScheduleRequest(
        namespace="default", schedule_id=schedule_id, request_id=schedule_id, schedule=schedule
    )
    await client.workflow_service.create_schedule(create, retry=True)
    request = ListScheduleMatchingTimesRequest(namespace="default", schedule_id=schedule_id)
    request.start_time.FromSeconds(drawn.first)
    request.end_time.FromSeconds(drawn.last)
    answer = await client.workflow_service.list_schedule_matching_times(request, retry=True)
    return [moment.ToMilliseconds() / 1000 for moment in answer.start_time]


async def shown_spec(client: Client, schedule_id: str) -> ScheduleSpec:
    """The spec as it is described."""
    request = DescribeScheduleRequest(namespace="default", schedule_id=schedule_id)
    return (await client.workflow_service.describe_schedule(request, retry=True)).schedule.spec


@pytest.mark.slow
def test_the_same_times(temporal_address: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    seed = suite_seed()
    rng = random.Random(f"side by side {seed}")
    drawn = [draw(rng) for _ in range(SCHEDULES)]
    turn = asyncio.Semaphore(AT_ONCE)

    async def compare(ours: Client, real: Client, number: int, each: Drawn) -> int:
        async with turn:
            name = f"drawn-{seed}-{number}"
            here, there = await times(ours, name, each), await times(real, name, each)
        only = sorted(set(here) ^ set(there))[:4]
        assert here == there, f"seed {seed}, number {number}: {only} are times of only one of the two: {each}"
        return len(here)

    async def tell() -> int:
        async with both(temporal_address, tmp_path) as (ours, real):
            return sum(await asyncio.gather(*(compare(ours, real, *each) for each in enumerate(drawn))))

    total = asyncio.run(tell())
    with capfd.disabled():  # the seed is to be seen even when all is well
        sys.stderr.write(f"\nside by side: TOMPION_TEST_SEED={seed}, {SCHEDULES} schedules, {total} times\n")
    assert total > 1_000
