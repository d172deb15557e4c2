"""Catch-up: nobody is there while three times of a schedule pass, neither Foliot nor a real server; then both are.

The rows are in the table of docs/reference/temporal.md.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from temporalio.client import Client, ScheduleIntervalSpec, ScheduleOverlapPolicy, SchedulePolicy, ScheduleSpec

from foliot.launch.base import Executor
from foliot.launch.site import Site
from foliot.launch.temporal import TemporalExecutor
from tests.conformance.temporal.kit import Written, opened, schedule
from tests.conformance.temporal.test_behaviour import PAGE, named, ticked, until
from tests.servers.temporal import temporal_server

pytestmark = [pytest.mark.server, pytest.mark.xdist_group("temporal")]
P = ScheduleOverlapPolicy
POLICIES: dict[ScheduleOverlapPolicy, tuple[str, str]] = {
    P.ALLOW_ALL: ("3 started", "3 started"),
    P.SKIP: ("1 started, 2 skipped", "1 started, 2 skipped"),
    P.BUFFER_ONE: ("1 started, 1 waiting, 1 skipped", "1 started, 1 waiting, 1 skipped"),
    P.CANCEL_OTHER: ("1 started, 2 skipped", "1 started"),
}
"""What comes of it here and there; no worker runs, so what is started goes on."""
LEAD_S = 15


async def made(client: Client, first: datetime, prefix: str) -> None:
    """Schedules that have three times, a second apart."""
    spec = ScheduleSpec(
        intervals=[ScheduleIntervalSpec(every=timedelta(seconds=1))],
        start_at=first,
        end_at=first + timedelta(seconds=2),
    )
    for policy in POLICIES:
        name = f"{prefix}-{policy.name}"
        made = named(schedule(spec, 0, policy=SchedulePolicy(overlap=policy)), name)
        handle = await client.create_schedule(name, made)
        # A server that is stopped before it has planned them takes up to a minute to take them up again.
        while not (await handle.describe()).info.next_action_times:
            pass


async def passed(moment: datetime) -> None:
    """Let time pass until a moment is over: a Foliot of its own counts the seconds."""
    async with opened("sqlite://", {"temporal": Written()}) as (_, client):
        while datetime.now(UTC) < moment:
            await ticked(client, f"second-{datetime.now(UTC).timestamp()}", 1)


@pytest.mark.slow
def test_what_was_missed_is_caught_up_alike(temporal_address: str, tmp_path: Path) -> None:
    store, database = f"sqlite:///{tmp_path}/foliot.db", tmp_path / "temporal.db"

    def executors() -> dict[str, Executor]:
        return {"temporal": TemporalExecutor({"address": temporal_address}, Site())}

    async def tell() -> None:
        with temporal_server(database) as address:
            real = await Client.connect(address)
            first = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=LEAD_S)
            await made(real, first, "down")
            async with opened(store, executors()) as (_, ours):
                await made(ours, first, "down")
            assert datetime.now(UTC) < first, "it took too long to create them"
        await passed(first + timedelta(seconds=3))
        with temporal_server(database) as address:
            real = await Client.connect(address)
            async with opened(store, executors()) as (_, ours):
                for policy, (here, there) in POLICIES.items():
                    name = f"down-{policy.name}"
                    assert await until(ours.get_schedule_handle(name), here) == here
                    assert await until(real.get_schedule_handle(name), there) == there

    asyncio.run(tell())
    for policy, (here, there) in POLICIES.items():
        assert f"| down while 3 times pass, `{policy.name}` | {here} | {there} |" in PAGE.read_text()
