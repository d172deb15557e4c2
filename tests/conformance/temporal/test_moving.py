"""Schedules of a real cluster, copied: they tick the same here, and what differs is said."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import (
    Client,
    ScheduleCalendarSpec,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleRange,
    ScheduleSpec,
    ScheduleState,
)
from temporalio.service import ConnectConfig, RPCError, RPCStatusCode, ServiceClient
from typer.testing import CliRunner

from tests.conformance.temporal.kit import opened, schedule
from tests.conformance.temporal.test_grpc import Papers, guarded
from tests.support.service import runner_of, serving
from tompion import SyncTompion, Tompion
from tompion.api.temporal.importer import ScheduleImporter, TemporalCluster
from tompion.bootstrap.store import open_store
from tompion.cli.main import app
from tompion.model.import_result import ImportResult

ALL = [ScheduleRange(0, 59)]
pytestmark = [pytest.mark.server, pytest.mark.xdist_group("temporal")]


async def made(address: str) -> None:
    """Schedules on the cluster; they start nothing while the test looks at them."""
    client = await Client.connect(address)
    jittered = ScheduleSpec(
        cron_expressions=["0 */2 * * *"], jitter=timedelta(minutes=40), time_zone_name="America/New_York"
    )
    policy = SchedulePolicy(overlap=ScheduleOverlapPolicy.BUFFER_ALL, catchup_window=timedelta(hours=1))
    await client.create_schedule("move-jittered", schedule(jittered, "x", policy=policy), memo={"m": 1})
    weekly = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(days=7), offset=timedelta(hours=5))])
    await client.create_schedule("move-paused", schedule(weekly, "x", state=ScheduleState(paused=True, note="old")))
    rome = ScheduleSpec(cron_expressions=["*/30 2 * * *"], time_zone_name="Europe/Rome")
    short = SchedulePolicy(catchup_window=timedelta(seconds=20))
    await client.create_schedule("move-rome", schedule(rome, "x", policy=short))
    await client.create_schedule("move-never", schedule(ScheduleSpec(), "x"))
    over = ScheduleSpec(cron_expressions=["0 12 * * *"], end_at=datetime(2026, 1, 1, tzinfo=UTC))
    await client.create_schedule("move-over", schedule(over, "x"))
    always = ScheduleCalendarSpec(second=ALL, minute=ALL, hour=[ScheduleRange(0, 23)])
    excluded = ScheduleSpec(cron_expressions=["0 0 1 1 * 2090"], skip=[always])
    await client.create_schedule("move-excluded", schedule(excluded, "x", state=ScheduleState(paused=True)))


def moved(address: str, *options: str) -> tuple[int, dict[str, Any]]:
    done = CliRunner().invoke(app, ["import", "temporal", "--address", address, "--json", *options])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, {each["schedule_id"]: each for each in json.loads(done.stdout)}


@pytest.fixture(scope="module")
def cluster(temporal_address: str) -> str:
    asyncio.run(made(temporal_address))
    return temporal_address


@pytest.fixture(params=["store", "service"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """A store, and how to have schedules copied there: straight, or over a service that has it open."""
    store = f"sqlite:///{tmp_path}/tompion.db"
    if request.param == "store":
        yield store, ("--store", store)
        return
    with closing(open_store(store)) as opened, serving(runner_of(opened)) as url:
        yield store, ("--url", url)


def test_schedules_are_copied_and_tick_the_same(cluster: str, target: tuple[str, tuple[str, ...]]) -> None:
    store, options = target
    code, found = moved(cluster, *options)
    assert code == 0
    names = ("jittered", "paused", "rome", "never", "over", "excluded")
    jittered, paused, rome, never, over, excluded = (found[f"move-{name}"] for name in names)
    assert (jittered["same_times"], jittered["compared_times"]) == (1_000, 1_000)
    assert jittered["differs"] == ["state: paused in Tompion"]
    assert (paused["created"], paused["same_times"], paused["differs"]) == (True, paused["compared_times"], [])
    [_, window, ours, theirs, why] = rome["differs"]
    assert "at most 30 s late" in window
    assert re.match(r"times: only in Tompion \d{4}-10-\d\dT00:00:00\+00:00, \S+T00:30", ours)  # the server loses these
    assert theirs.startswith("times: only in Temporal ")
    assert why.startswith("times: the clocks change then")
    assert rome["compared_times"] - rome["same_times"] == 3
    assert (excluded["created"], excluded["differs"]) == (
        False,
        ["not copied: it has no upcoming times: all are excluded, or none is left"],
    )
    assert (never["created"], never["compared_times"]) == (True, 0)
    assert (over["created"], over["differs"]) == (False, ["not copied: it has ended"])
    with SyncTompion(store, engine=False) as tompion:
        ours = tompion.get("move-jittered")
        assert (ours.state, ours.definition.policy.overlap_policy, ours.definition.memo) == (
            "paused",
            "queue",
            {"m": 1},
        )
        assert tompion.get("move-paused").pause_note == "old"
        assert tompion.get_workflow("temporal/move-rome").document["options"]["workflow"] == "echo"
    again, found = moved(cluster, *options)
    assert again == 1
    for name in ("move-jittered", "move-paused", "move-rome", "move-never"):
        assert "exists already" in found[name]["differs"][0]


def test_a_dry_run_compares_and_copies_nothing(cluster: str, target: tuple[str, tuple[str, ...]]) -> None:
    store, options = target
    code, found = moved(cluster, *options, "--dry-run")
    assert code == 0
    assert {each["created"] for each in found.values()} == {False}
    assert found["move-jittered"]["same_times"] == 1_000
    with SyncTompion(store, engine=False) as tompion:
        assert tompion.list_schedules().items == ()
        assert tompion.list_workflows().items == ()


def test_shadows_record_and_start_nothing(cluster: str, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/tompion.db"
    _, found = moved(cluster, "--store", store, "--shadow", "--into", "moved")
    with SyncTompion(store, engine=False, namespace="moved") as tompion:
        for name, each in found.items():
            if each["created"]:
                assert tompion.get(name).definition.policy.shadow
        assert tompion.get("move-jittered").state == "active"


def test_what_people_read(cluster: str, tmp_path: Path) -> None:
    argv = ["import", "temporal", "--address", cluster, "--store", f"sqlite:///{tmp_path}/tompion.db", "--dry-run"]
    said = CliRunner().invoke(app, argv).output
    assert "move-jittered  1000 of 1000 upcoming times are equal  state: paused in Tompion" in said
    assert "move-over  not copied: it has ended" in said
    assert "compared, nothing imported.\n" in said


class Ailing:
    """A cluster of two schedules that cannot describe one of them, and cannot tell the times of the other."""

    def __init__(self, service: Any) -> None:
        self._service = service
        self.workflow_service = self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._service, name)

    async def describe_schedule(self, request: Any, **more: Any) -> Any:
        if request.schedule_id == "bad":
            raise RPCError("its history is lost", RPCStatusCode.DATA_LOSS, b"")
        return await self._service.describe_schedule(request)

    async def list_schedule_matching_times(self, request: Any, **more: Any) -> Any:
        raise RPCError("it took too long", RPCStatusCode.DEADLINE_EXCEEDED, b"")


def test_one_bad_schedule_is_not_the_end_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async def tell() -> list[ImportResult]:
        async with opened("sqlite://", {}) as (_, client), Tompion("sqlite://", engine=False) as home:
            for name in ("bad", "good"):
                await client.create_schedule(name, schedule())

            async def connected(_config: ConnectConfig) -> Ailing:
                return Ailing(client.workflow_service)

            monkeypatch.setattr(ServiceClient, "connect", connected)
            mover = ScheduleImporter(home, TemporalCluster("nowhere", "default"), shadow=False)
            return [each async for each in mover.import_all(1_800_000_000)]

    bad, good = asyncio.run(tell())
    assert (bad.created, bad.possible) == (False, False)
    assert bad.differs == ("not copied: Temporal cannot describe it: its history is lost",)
    assert (good.created, good.compared_times) == (True, 0)
    assert good.differs[-1] == "times: not compared, Temporal does not return its own: it took too long"


def test_a_cluster_that_demands_certificates(tmp_path: Path) -> None:
    """What stands there is a door of ours: to whoever copies, it is a cluster like any other."""
    papers = Papers(tmp_path)
    files = ("--tls-ca", papers.ca, "--tls-cert", papers.cert, "--tls-key", papers.key)

    async def tell() -> tuple[int, dict[str, Any]]:
        async with guarded(papers) as address:
            client = await Client.connect(address, tls=papers.shown)
            await client.create_schedule("guarded", schedule())
            store = f"sqlite:///{tmp_path}/tompion.db"
            return await asyncio.to_thread(moved, address, "--store", store, *files)

    code, found = asyncio.run(tell())
    assert code == 0
    assert found["guarded"]["same_times"] == found["guarded"]["compared_times"] > 0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--tls-ca", "/no/such/file"), "cannot read /no/such/file"),
        (("--tls-cert", __file__), "must be used together"),
        (("--url", "http://127.0.0.1:1", "--store", "sqlite://"), "use a service or a store"),
    ],
)
def test_options_that_cannot_be(
    options: tuple[str, ...], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the store is in the working directory
    done = CliRunner().invoke(app, ["import", "temporal", "--address", "127.0.0.1:1", *options])
    assert done.exit_code != 0
    assert problem in str(done.exception)
