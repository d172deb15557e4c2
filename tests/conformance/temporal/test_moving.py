"""Import of schedules from a real cluster: the copies have the same times, and differences are reported."""

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

from tests.conformance.temporal.kit import running_app, schedule
from tests.conformance.temporal.test_grpc import Certificates, serving_with_certificates
from tests.support.service import runner_of, serve_runner
from tompion import AsyncTompion, Tompion
from tompion.api.temporal.importer import ScheduleImporter, TemporalCluster
from tompion.bootstrap.store import open_store
from tompion.cli.main import app
from tompion.model.import_result import ImportResult

ALL = [ScheduleRange(0, 59)]
pytestmark = [pytest.mark.server, pytest.mark.xdist_group("temporal")]


async def create_schedules(address: str) -> None:
    """Create schedules on the cluster that start nothing during the test."""
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


def run_import(address: str, *options: str) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(app, ["import", "temporal", "--address", address, "-o", "json", *options])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, {row["schedule_id"]: row for row in json.loads(result.stdout)}


@pytest.fixture(scope="module")
def cluster(temporal_address: str) -> str:
    asyncio.run(create_schedules(temporal_address))
    return temporal_address


@pytest.fixture(params=["store", "service"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield a store and the options that import into it: directly, or through a service that has it open."""
    store = f"sqlite:///{tmp_path}/tompion.db"
    if request.param == "store":
        yield store, ("--store", store)
        return
    with closing(open_store(store)) as open_, serve_runner(runner_of(open_)) as url:
        yield store, ("--url", url)


def test_imported_schedules_have_the_same_times(cluster: str, target: tuple[str, tuple[str, ...]]) -> None:
    store, options = target
    code, rows = run_import(cluster, *options)
    assert code == 0
    names = ("jittered", "paused", "rome", "never", "over", "excluded")
    jittered, paused, rome, never, over, excluded = (rows[f"move-{name}"] for name in names)
    assert (jittered["same_times"], jittered["compared_times"]) == (1_000, 1_000)
    assert jittered["differs"] == ["state: paused in Tompion"]
    assert (paused["created"], paused["same_times"], paused["differs"]) == (True, paused["compared_times"], [])
    [_, window, ours, theirs, why] = rome["differs"]
    assert "at most 30 s late" in window
    assert re.match(r"times: only in Tompion \d{4}-10-\d\dT00:00:00\+00:00, \S+T00:30", ours)  # the server omits these
    assert theirs.startswith("times: only in Temporal ")
    assert why.startswith("times: the clocks change then")
    assert rome["compared_times"] - rome["same_times"] == 3
    assert (excluded["created"], excluded["differs"]) == (
        False,
        ["not copied: it has no upcoming times: all are excluded, or none is left"],
    )
    assert (never["created"], never["compared_times"]) == (True, 0)
    assert (over["created"], over["differs"]) == (False, ["not copied: it has ended"])
    with Tompion(store, engine=False) as tompion:
        ours = tompion.get("move-jittered")
        assert (ours.status, ours.definition.policy.overlap_policy, ours.definition.memo) == (
            "paused",
            "queue",
            {"m": 1},
        )
        assert tompion.get("move-paused").note == "old"
        assert tompion.workflows.get("temporal/move-rome").document["options"]["workflow"] == "echo"
    repeated_code, rows = run_import(cluster, *options)
    assert repeated_code == 1
    for name in ("move-jittered", "move-paused", "move-rome", "move-never"):
        assert "exists already" in rows[name]["differs"][0]


def test_dry_run_compares_and_imports_nothing(cluster: str, target: tuple[str, tuple[str, ...]]) -> None:
    store, options = target
    code, rows = run_import(cluster, *options, "--dry-run")
    assert code == 0
    assert {row["created"] for row in rows.values()} == {False}
    assert rows["move-jittered"]["same_times"] == 1_000
    with Tompion(store, engine=False) as tompion:
        assert tompion.schedules.list().items == ()
        assert tompion.workflows.list().items == ()


@pytest.mark.parametrize("has_executor", [True, False])
def test_an_engine_without_the_executor_refuses_the_schedules(cluster: str, tmp_path: Path, has_executor: bool) -> None:
    """Such an engine would fire the schedules, and every run would fail. A store without an engine accepts them."""
    executors = {"temporal": {"address": cluster}} if has_executor else {}
    with (
        Tompion(f"sqlite:///{tmp_path}/tompion.db", executors=executors) as tompion,
        serve_runner(tompion._runner) as url,
    ):
        code, rows = run_import(cluster, "--url", url)
        row = rows["move-jittered"]
        if has_executor:
            assert (code, row["created"]) == (0, True)
            assert tompion.schedules.get("move-jittered").warnings == ()
            return
        assert (code, row["created"]) == (1, False)
        [problem] = row["differs"]
        assert problem.startswith("not copied: document.executor: no executor 'temporal' is configured; configure it")
        assert tompion.schedules.list().items == ()


def test_shadow_import_creates_shadow_schedules(cluster: str, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/tompion.db"
    _, rows = run_import(cluster, "--store", store, "--shadow", "--into", "moved")
    with Tompion(store, engine=False, namespace="moved") as tompion:
        for name, row in rows.items():
            if row["created"]:
                assert tompion.get(name).definition.policy.shadow
        assert tompion.get("move-jittered").status == "active"


def test_text_output_lists_equal_times_and_differences(cluster: str, tmp_path: Path) -> None:
    argv = ["import", "temporal", "--address", cluster, "--store", f"sqlite:///{tmp_path}/tompion.db", "--dry-run"]
    output = CliRunner().invoke(app, argv).output
    assert "move-jittered  1000 of 1000 upcoming times are equal  state: paused in Tompion" in output
    assert "move-over  not copied: it has ended" in output
    assert "compared, nothing imported.\n" in output


class FailingCluster:
    """A cluster of two schedules. It cannot describe one of them, and cannot list the times of the other."""

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


def test_import_continues_after_a_schedule_that_cannot_be_described(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> list[ImportResult]:
        async with running_app("sqlite://", {}) as (_, client), AsyncTompion("sqlite://", engine=False) as home:
            for name in ("bad", "good"):
                await client.create_schedule(name, schedule())

            async def connect(_config: ConnectConfig) -> FailingCluster:
                return FailingCluster(client.workflow_service)

            monkeypatch.setattr(ServiceClient, "connect", connect)
            importer = ScheduleImporter(home, TemporalCluster("nowhere", "default"), shadow=False)
            return [result async for result in importer.import_all(1_800_000_000)]

    bad, good = asyncio.run(run())
    assert (bad.created, bad.possible) == (False, False)
    assert bad.differs == ("not copied: Temporal cannot describe it: its history is lost",)
    assert (good.created, good.compared_times) == (True, 0)
    assert good.differs[-1] == "times: not compared, Temporal does not return its own: it took too long"


def test_import_from_a_cluster_that_requires_client_certificates(tmp_path: Path) -> None:
    """The cluster in this test is another Tompion."""
    certificates = Certificates(tmp_path)
    files = ("--tls-ca", certificates.ca, "--tls-cert", certificates.cert, "--tls-key", certificates.key)

    async def run() -> tuple[int, dict[str, Any]]:
        async with serving_with_certificates(certificates) as address:
            client = await Client.connect(address, tls=certificates.client_tls)
            await client.create_schedule("guarded", schedule())
            store = f"sqlite:///{tmp_path}/tompion.db"
            return await asyncio.to_thread(run_import, address, "--store", store, *files)

    code, rows = asyncio.run(run())
    assert code == 0
    assert rows["guarded"]["same_times"] == rows["guarded"]["compared_times"] > 0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--tls-ca", "/no/such/file"), "cannot read /no/such/file"),
        (("--tls-cert", __file__), "must be used together"),
        (("--url", "http://127.0.0.1:1", "--store", "sqlite://"), "use a service or a store"),
    ],
)
def test_invalid_import_options_are_rejected(
    options: tuple[str, ...], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the store is in the working directory
    result = CliRunner().invoke(app, ["import", "temporal", "--address", "127.0.0.1:1", *options])
    assert result.exit_code != 0
    assert problem in str(result.exception)
