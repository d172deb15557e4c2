"""Catch-up: nobody is there while three times of a schedule pass, neither Tompion nor a real server; then both are.

The rows are in the table of docs/reference/temporal.md. Tompion has no grace here: with one, times that are no older
than that are late, not missed, and what is to be tested would not happen.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from temporalio.client import Client, ScheduleIntervalSpec, ScheduleOverlapPolicy, SchedulePolicy, ScheduleSpec

from tests.conformance.temporal.kit import HASTY, Written, opened, schedule
from tests.conformance.temporal.test_behaviour import Sides, named, rows, summary, ticked, until
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
"""No worker runs, so what is started goes on."""
LEAD_S = 8
GRACELESS = replace(HASTY, misfire_grace_ms=0)


async def made(client: Client, first: datetime) -> None:
    """Schedules that have three times, a second apart."""
    spec = ScheduleSpec(
        intervals=[ScheduleIntervalSpec(every=timedelta(seconds=1))],
        start_at=first,
        end_at=first + timedelta(seconds=2),
    )

    async def one(title: str) -> None:
        name = name_of(title)
        handle = await client.create_schedule(name, named(schedule(spec, 0, policy=POLICIES[title]), name))
        # A server that is stopped before it has planned them takes up to a minute to take them up again.
        while not (await handle.describe()).info.next_action_times:
            await pause()

    await asyncio.gather(*map(one, POLICIES))


def name_of(title: str) -> str:
    return "".join(letter for letter in title.lower() if letter.isalnum())


async def passed(moment: datetime) -> None:
    """Let time pass until a moment is over: a Tompion of its own counts the seconds."""
    async with opened("sqlite://", {"temporal": Written()}) as (_, client):
        while datetime.now(UTC) < moment:
            await ticked(client, f"second-{datetime.now(UTC).timestamp()}", 1)


async def told(client: Client, place: int) -> dict[str, str]:
    """What is shown of each, when nothing happens any more."""
    wanted = rows()
    handles = {title: client.get_schedule_handle(name_of(title)) for title in POLICIES}

    async def reached(title: str) -> None:
        await until(handles[title], lambda said: said == wanted.get(title, ("", ""))[place])

    await asyncio.gather(*map(reached, POLICIES))
    await ticked(client, "settled", 2)
    return {title: await summary(handle) for title, handle in handles.items()}


@pytest.mark.slow
def test_what_was_missed_is_caught_up_alike(temporal_address: str, tmp_path: Path) -> None:
    store, database = f"sqlite:///{tmp_path}/tompion.db", tmp_path / "temporal.db"

    def executors() -> dict[str, Executor]:
        return {"temporal": TemporalExecutor({"address": temporal_address}, ExecutorEnv())}

    async def tell() -> dict[str, Sides]:
        with temporal_server(database) as address:
            real = await Client.connect(address)
            first = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=LEAD_S)
            async with opened(store, executors(), settings=GRACELESS) as (_, ours):
                await asyncio.gather(made(real, first), made(ours, first))
            assert datetime.now(UTC) < first, "it took too long to create them"
        await passed(first + timedelta(seconds=3) + WINDOW)
        with temporal_server(database) as address:
            real = await Client.connect(address)
            async with opened(store, executors(), settings=GRACELESS) as (_, ours):
                here, there = await asyncio.gather(told(ours, 0), told(real, 1))
        return {title: (here[title], there[title]) for title in POLICIES}

    found = asyncio.run(tell())
    assert {title: rows().get(title) for title in POLICIES} == found
