"""The same schedules in Tompion and on a real Temporal server have the same times, to the millisecond.

The server breaks its own rules in some cases. docs/reference/temporal.md lists them as exceptions, and
``test_exceptions.py`` checks them.
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

from tests.conformance.temporal.drawing import DrawnSpec, draw
from tests.conformance.temporal.kit import running_app
from tests.support.seeds import suite_seed
from tests.support.temporal_schedules import ACTION

pytestmark = [pytest.mark.server, pytest.mark.xdist_group("temporal")]

SCHEDULES = 320
CONCURRENT_CALLS = 8
SECONDS = 300


@asynccontextmanager
async def both(address: str, path: Path) -> AsyncIterator[tuple[Client, Client]]:
    """Yield a client of Tompion and a client of the server, with a namespace of the same id."""
    real = await Client.connect(address)
    described = await real.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace="default"))
    namespace, store = f"default={described.namespace_info.id}", f"sqlite:///{path}/tompion.db"
    async with running_app(store, {}, namespace, seconds=SECONDS) as (_, ours):
        yield ours, real


async def times(client: Client, schedule_id: str, drawn: DrawnSpec) -> list[float]:
    """Create a schedule, and return its times in the window, in seconds."""
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


async def described_spec(client: Client, schedule_id: str) -> ScheduleSpec:
    """Return the spec in the description of a schedule."""
    request = DescribeScheduleRequest(namespace="default", schedule_id=schedule_id)
    return (await client.workflow_service.describe_schedule(request, retry=True)).schedule.spec


@pytest.mark.slow
def test_random_schedules_have_the_same_times(
    temporal_address: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    seed = suite_seed()
    rng = random.Random(f"side by side {seed}")
    specs = [draw(rng) for _ in range(SCHEDULES)]
    slots = asyncio.Semaphore(CONCURRENT_CALLS)

    async def compare(ours: Client, real: Client, number: int, drawn: DrawnSpec) -> int:
        async with slots:
            name = f"drawn-{seed}-{number}"
            here, there = await times(ours, name, drawn), await times(real, name, drawn)
        only = sorted(set(here) ^ set(there))[:4]
        assert here == there, f"seed {seed}, number {number}: {only} are times of only one side: {drawn}"
        return len(here)

    async def run() -> int:
        async with both(temporal_address, tmp_path) as (ours, real):
            return sum(
                await asyncio.gather(*(compare(ours, real, number, drawn) for number, drawn in enumerate(specs)))
            )

    total = asyncio.run(run())
    with capfd.disabled():  # the seed is printed even if the test passes
        sys.stderr.write(f"\nside by side: TOMPION_TEST_SEED={seed}, {SCHEDULES} schedules, {total} times\n")
    assert total > 1_000
