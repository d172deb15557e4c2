"""Retention deletes in batches, and ticks fire between them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.support.operations import BEGIN, Bench, Worker, open_transaction
from tompion import AsyncTompion
from tompion.config.settings import Settings
from tompion.engine.engine import Engine
from tompion.engine.lease import Lease
from tompion.engine.step_runner import StepRunner
from tompion.engine.steps.sweep import SWEEP_BATCH
from tompion.engine.store_future import await_store
from tompion.executors.function import FunctionExecutor
from tompion.model.notification import NotificationRow
from tompion.model.rows import RequestRow
from tompion.model.run import RunRow
from tompion.model.schedule_state import DroppedRange
from tompion.operations.schedules import crud
from tompion.runtime.clock import SystemClock, pause
from tompion.store.base import Params, Store, Transaction, Work
from tompion.store.postgres.driver import PostgresMigrator, PostgresStore, PostgresTransaction
from tompion.store.sqlite.driver import SqliteStore, SqliteTransaction
from tompion.testing.clock import ManualClock

T = TypeVar("T")
pytestmark = [pytest.mark.slow, pytest.mark.server]
OLD_RUNS = 100_000
PART = 10_000
SPREAD = 20
"""Schedules whose jitter spreads their fires over each second, because the clean-up may take less than one."""
WORK = "tests.endurance.test_retention:work"
STEPS, SWEEPING = "StepRunner.in_transaction", "SweepStep.expire"
SECONDS = 120
SETTINGS = Settings(tick_ms=50)
SHORT = Settings(retention_ms=60_000, audit_retention_ms=120_000, request_retention_ms=60_000)
FORGOTTEN = ("schedule_runs", "dropped_ranges", "requests", "audit", "schedules", "schedule_state", "schedule_versions")
FORGETTING = ("_expire", "_purge", "notification_give_up")
UNBOUNDED = frozenset({"instance_expire", "backfill_purge", "version_purge"})
"""One row for each start of a process, for each backfill, for each edit."""


def work() -> None:
    """Do nothing."""


class Watched(Store):
    """A store that records the order in which transactions were submitted and started."""

    def __init__(self, store: Store) -> None:
        self._inner = store
        self.is_out_of_process = store.is_out_of_process
        self.seen: list[tuple[str, int, str]] = []
        self._submitted = 0

    def write(self, work: Work[T]) -> Future[T]:
        self._submitted += 1
        number, name = self._submitted, _name(work)
        self.seen.append(("submitted", number, name))

        def begun(transaction: Transaction) -> T:
            self.seen.append(("begun", number, name))
            return work(transaction)

        return self._inner.write(begun)

    def read(self, work: Work[T]) -> Future[T]:
        return self._inner.read(work)

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        return self._inner.subscribe(wake)

    def close(self) -> None:
        self._inner.close()


def _name(work: Any) -> str:
    return str(getattr(getattr(work, "func", work), "__qualname__", work))


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'old.db'}"
    database_url: str = request.getfixturevalue("postgres_url")
    PostgresMigrator(database_url).up()
    return database_url


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Params, int]]:
    """The deleting statements, each with its number of rows."""
    seen: list[tuple[str, Params, int]] = []
    for kind in (SqliteTransaction, PostgresTransaction):
        plain = kind.rows

        def rows(self: Any, name: str, params: Params, plain: Any = plain) -> Any:
            answer = plain(self, name, params)
            if name.endswith(FORGETTING):
                seen.append((name, dict(params), len(answer)))
            return answer

        monkeypatch.setattr(kind, "rows", rows)
    return seen


def grow_old(transaction: Transaction, key: int, part: int) -> None:
    """Add old rows: runs, dropped ranges, responses and notifications."""
    begin = part * PART
    run = RunRow(
        key, 0, 0, "schedule", "SUCCESS", None, 1, 1, 0, fire_ms=1, due_ms=None, owner=None, decided_ms=1, local_s=None,
        dst_adjustment=None, overlap=None, payload=None, request_id=None, started_ms=1, finished_ms=2,
        cancel_requested=False,
        error=None, result=None, execution_id=None,
    )  # fmt: skip
    transaction.run_insert([run._replace(nominal_s=begin + number) for number in range(PART)])
    few = range(begin + 1, begin + 1 + PART // 20)
    transaction.dropped_range_insert([DroppedRange(key, at - 1, at, 1, "missed", 1, 1) for at in few])
    notifications = [
        NotificationRow(f"msg_{at}", "n", "t", "default", "s", "{}", "DELIVERED", 1, None, 1, 2, None, None)
        for at in few
    ]
    transaction.notification_insert(notifications)
    for at in few:
        transaction.request_insert("default", f"r{at}", RequestRow("create", "f", "{}"), 1)


def counts(transaction: Transaction, key: int) -> list[int]:
    """Count the remaining old rows, up to a page."""
    return [
        len(transaction.dropped_range_list(key, 0, 1 << 40, 9)),
        len(transaction.notification_list("default", 1 << 40, 9)),
        sum(transaction.request_get("default", f"r{at}") is not None for at in (1, PART, OLD_RUNS)),
        sum(run.decided_ms == 1 for run in transaction.run_list_page(key, (OLD_RUNS, 0), 9)),
    ]


def test_ticks_fire_between_batches_of_retention(url: str, statements: list[tuple[str, Params, int]]) -> None:
    store = Watched(PostgresStore(url) if url.startswith("postgres") else SqliteStore(url.removeprefix("sqlite:///")))
    try:
        asyncio.run(sweep_all(url, store))
    finally:
        store.close()
    assert_bounded(statements)
    ahead = batches_ahead(store)
    if not store.is_out_of_process:  # other stores do not wait, see below
        assert ahead <= 1, "there is one writer, and it may be busy with one batch"


async def sweep_all(url: str, store: Watched) -> None:
    """Let an engine fire and clean up until nothing old is left."""
    async with AsyncTompion(url, engine=False) as tompion:
        await tompion.create("old", cron="0 0 1 1 *", function=WORK)
        await tompion.create("ticks", cron="* * * * * *", function=WORK, overlap_policy="allow")
        for number in range(SPREAD):
            await tompion.create(f"spread-{number}", cron="* * * * * *", jitter_ms=400, function=WORK)
        for part in range(OLD_RUNS // PART):
            await await_store(store.write(partial(grow_old, key=1, part=part)))
        assert await await_store(store.read(partial(counts, key=1))) == [9, 9, 1, 9]
        store.seen.clear()
        engine = Engine(store, {"function": FunctionExecutor(4)}, clock=SystemClock(), settings=SETTINGS)
        await engine.start()
        async with asyncio.timeout(SECONDS):
            while any(await await_store(store.read(partial(counts, key=1)))) or not step_transactions(store):
                await pause(0.02)
        await engine.stop()
        assert (await tompion.schedules.verify("ticks")).ok


def test_ticks_fire_during_a_batch_of_retention(postgres_url: str) -> None:
    """A PostgreSQL batch has deleted its rows and not committed. Ticks of these schedules still fire.

    They are not skipped like rows that another transaction locks, and runs end meanwhile.
    """
    PostgresMigrator(postgres_url).up()
    clock = ManualClock(BEGIN)
    with closing(PostgresStore(postgres_url, clock=clock)) as store:
        bench = Bench(store, clock, SHORT)
        worker = create_history(bench)
        bench.go("08:20")
        before = bench.dump()
        fire = partial(worker.firing.on_time, limit=10)
        runner = StepRunner(store, worker.context, Lease(store, worker.context, "worker", "", int))
        with open_transaction(store, partial(one_batch, worker)):
            worker.beat()
            assert worker.catch_up().runs
            worker.settle()
            bench.go("08:21")
            fire_once = store.write(runner.in_transaction(fire)).result(SECONDS)
            assert fire_once is not None
            worker.launched += fire_once.launches
            worker.settle()
            assert bench.dump()["schedule_versions"] == before["schedule_versions"], "the batch has not committed"
        after = bench.dump()
        assert [table for table in FORGOTTEN if not set(before[table]) - set(after[table])] == []
        assert bench.outcomes() == ["08:20 SUCCESS", "08:21 SUCCESS"]
        bench.prove()


def create_history(bench: Bench) -> Worker:
    """A schedule with old runs, a dropped range, answers and changes, and another that was deleted."""
    bench.create()
    bench.create("gone")
    worker = bench.worker()
    for moment in ("08:01", "08:02", "08:08"):
        bench.go(moment)
        worker.tick()
        while worker.launched:
            worker.settle()
    bench.trigger(request_id="once")
    worker.rescue()
    worker.settle()
    bench.ask(crud.delete, "gone", purge=True)
    return worker


def one_batch(worker: Worker, transaction: Transaction) -> None:
    worker.sweeping.expire_runs(transaction, 0)
    worker.sweeping.expire(transaction)


def step_transactions(store: Watched) -> list[int]:
    return [number for what, number, name in store.seen if what == "begun" and name.startswith(STEPS)]


def batches_ahead(store: Watched) -> int:
    """Return the maximum number of clean-up batches that a claiming transaction waited for."""
    submitted = {number: at for at, (what, number, _) in enumerate(store.seen) if what == "submitted"}
    begun = {number: at for at, (what, number, _) in enumerate(store.seen) if what == "begun"}
    sweeps = [at for at, (what, _, name) in enumerate(store.seen) if what == "begun" and SWEEPING in name]
    assert len(sweeps) >= OLD_RUNS // SWEEP_BATCH
    assert any(sweeps[0] < begun[number] < sweeps[-1] for number in step_transactions(store)), (
        "nothing was fired meanwhile"
    )
    return max(sum(submitted[number] < at < begun[number] for at in sweeps) for number in step_transactions(store))


def assert_bounded(statements: list[tuple[str, Params, int]]) -> None:
    """Check that no statement deletes more than a batch."""
    assert {name for name, _, _ in statements} >= {
        "run_expire",
        "dropped_range_expire",
        "request_expire",
        "notification_expire",
    }
    for name, params, rows in statements:
        if name in UNBOUNDED:
            continue
        assert rows <= SWEEP_BATCH, name
        limit = params["limit"] if "limit" in params else params["until_number"] - params["after_number"]
        assert limit <= SWEEP_BATCH, (name, params)
