"""Catch-up: Tompion and a real server are both down while three times of a schedule pass, and then start again.

The expected outcomes are in the table of docs/reference/temporal.md. Tompion runs without a misfire grace here, because
a time within the grace is late and not missed.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from temporalio.client import Client, ScheduleIntervalSpec, ScheduleOverlapPolicy, SchedulePolicy, ScheduleSpec

from tests.conformance.temporal.kit import SHORT_GRACE, ImmediateExecutor, running_app, schedule
from tests.conformance.temporal.test_behaviour import (
    Sides,
    documented_outcomes,
    summarize,
    wait_for_summary,
    wait_for_ticks,
    with_workflow_id,
)
from tests.support.servers.temporal import temporal_server
from tests.support.waiting import pause
from tompion.executors.base import Executor
from tompion.executors.options import ExecutorEnv
from tompion.executors.temporal.executor import TemporalExecutor

pytestmark = [pytest.mark.server, pytest.mark.xdist_group("temporal")]
P = ScheduleOverlapPolicy
WINDOW = timedelta(seconds=10)
POLICIES: dict[str, SchedulePolicy] = {
    **{
        f"down while 3 times pass, `{policy.name}`": SchedulePolicy(overlap=policy)
        for policy in (P.ALLOW_ALL, P.SKIP, P.BUFFER_ONE, P.BUFFER_ALL, P.CANCEL_OTHER, P.TERMINATE_OTHER)
    },
    "down until 3 times are older than the window": SchedulePolicy(overlap=P.ALLOW_ALL, catchup_window=WINDOW),
}
"""No worker runs, so every started workflow keeps running."""
LEAD_S = 8
SHORTEST_GRACE = replace(SHORT_GRACE, misfire_grace_ms=500)


async def create_schedules(client: Client, first: datetime) -> None:
    """Create a schedule for each policy, with three times that are a second apart."""
    spec = ScheduleSpec(
        intervals=[ScheduleIntervalSpec(every=timedelta(seconds=1))],
        start_at=first,
        end_at=first + timedelta(seconds=2),
    )

    async def create(title: str) -> None:
        name = name_of(title)
        handle = await client.create_schedule(name, with_workflow_id(schedule(spec, 0, policy=POLICIES[title]), name))
        # A server that stops before it has planned the times takes up to a minute to resume the schedule.
        while not (await handle.describe()).info.next_action_times:
            await pause()

    await asyncio.gather(*map(create, POLICIES))


def name_of(title: str) -> str:
    return "".join(letter for letter in title.lower() if letter.isalnum())


async def wait_until(moment: datetime) -> None:
    """Wait until a moment has passed, with the ticks of a separate Tompion."""
    async with running_app("sqlite://", {"temporal": ImmediateExecutor()}) as (_, client):
        while datetime.now(UTC) < moment:
            await wait_for_ticks(client, f"second-{datetime.now(UTC).timestamp()}", 1)


async def final_summaries(client: Client, place: int) -> dict[str, str]:
    """Return the summary of each schedule when it no longer changes."""
    documented = documented_outcomes()
    handles = {title: client.get_schedule_handle(name_of(title)) for title in POLICIES}

    async def wait_for_outcome(title: str) -> None:
        await wait_for_summary(handles[title], lambda text: text == documented.get(title, ("", ""))[place])

    await asyncio.gather(*map(wait_for_outcome, POLICIES))
    await wait_for_ticks(client, "settled", 2)
    return {title: await summarize(handle) for title, handle in handles.items()}


@pytest.mark.slow
def test_missed_times_are_caught_up_as_documented(temporal_address: str, tmp_path: Path) -> None:
    store, database = f"sqlite:///{tmp_path}/tompion.db", tmp_path / "temporal.db"

    def executors() -> dict[str, Executor]:
        return {"temporal": TemporalExecutor({"address": temporal_address}, ExecutorEnv())}

    async def run() -> dict[str, Sides]:
        with temporal_server(database) as address:
            real = await Client.connect(address)
            first = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=LEAD_S)
            async with running_app(store, executors(), settings=SHORTEST_GRACE) as (_, ours):
                await asyncio.gather(create_schedules(real, first), create_schedules(ours, first))
            assert datetime.now(UTC) < first, "the schedules were not created in time"
        await wait_until(first + timedelta(seconds=3) + WINDOW)
        with temporal_server(database) as address:
            real = await Client.connect(address)
            async with running_app(store, executors(), settings=SHORTEST_GRACE) as (_, ours):
                here, there = await asyncio.gather(final_summaries(ours, 0), final_summaries(real, 1))
        return {title: (here[title], there[title]) for title in POLICIES}

    outcomes = asyncio.run(run())
    assert {title: documented_outcomes().get(title) for title in POLICIES} == outcomes
