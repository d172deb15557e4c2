"""Batches of concurrent point reads."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest

from tompion.api.rest import read_batching
from tompion.api.rest.read_batching import MAX_BATCH, ReadBatcher
from tompion.config.settings import Settings
from tompion.errors import NotFound, StoreUnavailable, TompionError
from tompion.operations.context import OperationContext
from tompion.operations.runner import OperationRunner
from tompion.operations.runs import read
from tompion.operations.schedules import crud
from tompion.store.base import Work
from tompion.store.sqlite.driver import SqliteStore


class HeldStore(SqliteStore):
    """A store whose reads wait until the test releases them."""

    def __init__(self) -> None:
        super().__init__(inline=True)
        self.held: list[tuple[Work[Any], Future[Any]]] = []

    def read(self, work: Work[Any]) -> Future[Any]:
        self.held.append((work, Future()))
        return self.held[-1][1]

    def release(self, error: Exception | None = None) -> None:
        """Run the oldest read."""
        work, future = self.held.pop(0)
        if error is None:
            future.set_result(super().read(work).result())
        else:
            future.set_exception(error)


@pytest.fixture
def store() -> HeldStore:
    store = HeldStore()
    runner = OperationRunner(store, Settings())
    for namespace, name in (("default", "a"), ("default", "b"), ("other", "a")):
        runner.send(
            partial(crud.create, schedule_id=name, cron="0 * * * *", function="tasks:work"),
            namespace=namespace,
            actor="ann",
            writes=True,
        ).result()
    return store


def run_scenario(store: HeldStore, scenario: Callable[[ReadBatcher], Awaitable[None]]) -> None:
    async def run() -> None:
        await scenario(ReadBatcher(OperationRunner(store, Settings())))

    asyncio.run(run())


async def turn() -> None:
    """Let all ready tasks run."""
    for _ in range(3):
        await asyncio.sleep(0)


def test_reads_during_a_batch_share_the_next_transaction(store: HeldStore) -> None:
    async def scenario(batcher: ReadBatcher) -> None:
        names = ("a", "b", "c", "", "\ud800", "b")
        answers = [batcher.read(crud.get, "default", name) for name in names]
        assert len(store.held) == 1, "the first read does not wait for others"
        store.release()
        assert (await answers[0]).schedule_id == "a"
        await turn()
        assert len(store.held) == 1
        store.release()
        results: list[Any] = await asyncio.gather(*answers, return_exceptions=True)
        assert [type(result).__name__ for result in results[2:5]] == ["NotFound", "InvalidField", "InvalidField"]
        assert [results[1].schedule_id, results[5].schedule_id] == ["b", "b"]
        await turn()
        assert not store.held

    run_scenario(store, scenario)


def test_only_reads_with_the_same_key_share_a_batch(store: HeldStore) -> None:
    async def scenario(batcher: ReadBatcher) -> None:
        first = batcher.read(crud.get, "default", "b")
        elsewhere = batcher.read(crud.get, "other", "b")
        another = batcher.read(read.get_run, "default", "1-2-3")
        assert len(store.held) == 3
        for _ in range(3):
            store.release()
        assert (await first).namespace == "default"
        for missing in (elsewhere, another):
            with pytest.raises(NotFound):
                await missing

    run_scenario(store, scenario)


def test_a_failed_batch_runs_each_read_alone(store: HeldStore) -> None:
    async def scenario(batcher: ReadBatcher) -> None:
        answers = [batcher.read(crud.get, "default", name) for name in ("a", "a", "b")]
        store.release()
        await turn()
        store.release(StoreUnavailable("the connection is gone"))
        await turn()
        assert len(store.held) == 2, "each read runs alone"
        store.release(StoreUnavailable("and again"))
        store.release()
        results = await asyncio.gather(*answers, return_exceptions=True)
        assert [isinstance(result, TompionError) for result in results] == [False, True, False]

    run_scenario(store, scenario)


def test_a_slow_batch_does_not_delay_the_next_one(store: HeldStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_batching, "MAX_BATCH_S", 0.0)

    async def scenario(batcher: ReadBatcher) -> None:
        slow = batcher.read(crud.get, "default", "a")
        quick = batcher.read(crud.get, "default", "b")
        while len(store.held) < 2:
            await turn()
        store.held.reverse()
        store.release()
        assert (await quick).schedule_id == "b"
        assert not slow.done()
        store.release()
        assert (await slow).schedule_id == "a"

    run_scenario(store, scenario)


def test_a_batch_is_limited_and_skips_cancelled_reads(store: HeldStore) -> None:
    async def scenario(batcher: ReadBatcher) -> None:
        answers = [batcher.read(crud.get, "default", "a") for _ in range(MAX_BATCH + 3)]
        answers[1].cancel()
        for _ in range(3):
            store.release()
            await turn()
        results = await asyncio.gather(*answers, return_exceptions=True)
        assert sum(isinstance(result, asyncio.CancelledError) for result in results) == 1
        assert not store.held

    run_scenario(store, scenario)


def test_a_read_from_a_closed_store_raises() -> None:
    store = SqliteStore()
    store.close()

    async def scenario() -> None:
        with pytest.raises(RuntimeError, match="closed"):
            await ReadBatcher(OperationRunner(store, Settings())).read(crud.get, "default", "a")

    asyncio.run(scenario())


def test_a_batch_read_returns_the_same_as_single_reads(store: HeldStore) -> None:
    def both(context: OperationContext) -> None:
        names = ["a", "missing", "", "b", "a"]
        for name, many in zip(names, crud.get_each(context, names), strict=True):
            if isinstance(many, TompionError):
                with pytest.raises(type(many), match=str(many).replace("(", r"\(").replace(")", r"\)")):
                    crud.get(context, name)
            else:
                assert crud.get(context, name) == many

    OperationRunner(store, Settings()).send(both, namespace="default", actor="ann", writes=True).result()
