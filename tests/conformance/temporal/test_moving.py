"""Schedules of a real cluster, copied: they tick the same here, and what differs is said."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import (
    Client,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleState,
)
from typer.testing import CliRunner

from foliot import SyncFoliot
from foliot.cli.main import app
from tests.conformance.temporal.kit import schedule

pytestmark = [pytest.mark.server, pytest.mark.xdist_group("temporal")]


async def made(address: str) -> None:
    """Three schedules on the cluster; they start nothing while the test looks at them."""
    client = await Client.connect(address)
    jittered = ScheduleSpec(
        cron_expressions=["0 */2 * * *"], jitter=timedelta(minutes=40), time_zone_name="America/New_York"
    )
    policy = SchedulePolicy(overlap=ScheduleOverlapPolicy.BUFFER_ALL, catchup_window=timedelta(hours=1))
    await client.create_schedule("move-jittered", schedule(jittered, "x", policy=policy), memo={"m": 1})
    weekly = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(days=7), offset=timedelta(hours=5))])
    await client.create_schedule("move-paused", schedule(weekly, "x", state=ScheduleState(paused=True, note="old")))
    rome = ScheduleSpec(cron_expressions=["*/30 2 * * *"], time_zone_name="Europe/Rome")
    await client.create_schedule("move-rome", schedule(rome, "x"))


def moved(address: str, store: str, *options: str) -> tuple[int, dict[str, Any]]:
    argv = ["import", "temporal", "--address", address, "--store", store, "--json", *options]
    done = CliRunner().invoke(app, argv)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, {each["schedule_id"]: each for each in json.loads(done.stdout)}


@pytest.fixture(scope="module")
def cluster(temporal_address: str) -> str:
    asyncio.run(made(temporal_address))
    return temporal_address


def test_schedules_are_copied_and_tick_the_same(cluster: str, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/foliot.db"
    code, found = moved(cluster, store)
    assert code == 0
    jittered, paused, rome = (found[f"move-{name}"] for name in ("jittered", "paused", "rome"))
    assert (jittered["same_times"], jittered["differs"]) == (1_000, ["state: it is paused here"])
    assert (paused["made"], paused["differs"]) == (True, [])
    assert any("times: from" in each for each in rome["differs"])  # the server loses a repeated half hour
    with SyncFoliot(store, engine=False) as foliot:
        ours = foliot.get("move-jittered")
        assert (ours.state, ours.definition.policy.overlap_policy, ours.definition.memo) == (
            "paused",
            "queue",
            {"m": 1},
        )
        assert foliot.get("move-paused").pause_note == "old"
    again, found = moved(cluster, store)
    assert again == 1
    assert all("exists already" in each["differs"][0] for each in found.values())


def test_shadows_record_and_start_nothing(cluster: str, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/foliot.db"
    _, found = moved(cluster, store, "--shadow", "--into", "moved")
    with SyncFoliot(store, engine=False, namespace="moved") as foliot:
        for name, each in found.items():
            if each["made"]:
                assert foliot.get(name).definition.policy.shadow
        assert foliot.get("move-jittered").state == "active"
