"""Small questions that are asked at the same time share a transaction, and nothing else."""

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


class Held(SqliteStore):
    """A store that reads when it is told to."""

    def __init__(self) -> None:
        super().__init__(inline=True)
        self.held: list[tuple[Work[Any], Future[Any]]] = []

    def read(self, work: Work[Any]) -> Future[Any]:
        self.held.append((work, Future()))
        return self.held[-1][1]

    def let_go(self, error: Exception | None = None) -> None:
        """Answer what was asked longest ago."""
        work, future = self.held.pop(0)
        if error is None:
            future.set_result(super().read(work).result())
        else:
            future.set_exception(error)


@pytest.fixture
def store() -> Held:
    made = Held()
    runner = OperationRunner(made, Settings())
    for namespace, name in (("default", "a"), ("default", "b"), ("other", "a")):
        runner.send(
            partial(crud.create, schedule_id=name, cron="0 * * * *", function="tasks:work"),
            namespace=namespace,
            actor="ann",
            writes=True,
        ).result()
    return made


def told(store: Held, story: Callable[[ReadBatcher], Awaitable[None]]) -> None:
    async def tell() -> None:
        await story(ReadBatcher(OperationRunner(store, Settings())))

    asyncio.run(tell())


async def turn() -> None:
    """Let everything go on that can."""
    for _ in range(3):
        await asyncio.sleep(0)


def test_reads_during_a_batch_share_the_next_transaction(store: Held) -> None:
    async def story(gathering: ReadBatcher) -> None:
        names = ("a", "b", "c", "", "\ud800", "b")
        answers = [gathering.read(crud.get, "default", name) for name in names]
        assert len(store.held) == 1, "whoever is first does not wait for others"
        store.let_go()
        assert (await answers[0]).schedule_id == "a"
        await turn()
        assert len(store.held) == 1
        store.let_go()
        found: list[Any] = await asyncio.gather(*answers, return_exceptions=True)
        assert [type(each).__name__ for each in found[2:5]] == ["NotFound", "InvalidField", "InvalidField"]
        assert [found[1].schedule_id, found[5].schedule_id] == ["b", "b"]
        await turn()
        assert not store.held

    told(store, story)


def test_only_reads_with_the_same_key_share_a_batch(store: Held) -> None:
    async def story(gathering: ReadBatcher) -> None:
        first = gathering.read(crud.get, "default", "b")
        elsewhere = gathering.read(crud.get, "other", "b")
        another = gathering.read(read.run, "default", "1-2-3")
        assert len(store.held) == 3
        for _ in range(3):
            store.let_go()
        assert (await first).namespace == "default"
        for missing in (elsewhere, another):
            with pytest.raises(NotFound):
                await missing

    told(store, story)


def test_a_failed_batch_runs_each_read_alone(store: Held) -> None:
    async def story(gathering: ReadBatcher) -> None:
        answers = [gathering.read(crud.get, "default", name) for name in ("a", "a", "b")]
        store.let_go()
        await turn()
        store.let_go(StoreUnavailable("the connection is gone"))
        await turn()
        assert len(store.held) == 2, "each is asked for alone"
        store.let_go(StoreUnavailable("and again"))
        store.let_go()
        found = await asyncio.gather(*answers, return_exceptions=True)
        assert [isinstance(each, TompionError) for each in found] == [False, True, False]

    told(store, story)


def test_a_slow_batch_does_not_delay_the_next_one(store: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_batching, "MAX_BATCH_S", 0.0)

    async def story(gathering: ReadBatcher) -> None:
        slow = gathering.read(crud.get, "default", "a")
        quick = gathering.read(crud.get, "default", "b")
        while len(store.held) < 2:
            await turn()
        store.held.reverse()
        store.let_go()
        assert (await quick).schedule_id == "b"
        assert not slow.done()
        store.let_go()
        assert (await slow).schedule_id == "a"

    told(store, story)


def test_a_batch_is_limited_and_skips_cancelled_reads(store: Held) -> None:
    async def story(gathering: ReadBatcher) -> None:
        answers = [gathering.read(crud.get, "default", "a") for _ in range(MAX_BATCH + 3)]
        answers[1].cancel()
        for _ in range(3):
            store.let_go()
            await turn()
        found = await asyncio.gather(*answers, return_exceptions=True)
        assert sum(isinstance(each, asyncio.CancelledError) for each in found) == 1
        assert not store.held

    told(store, story)


def test_a_read_from_a_closed_store_raises() -> None:
    store = SqliteStore()
    store.close()

    async def story() -> None:
        with pytest.raises(RuntimeError, match="closed"):
            await ReadBatcher(OperationRunner(store, Settings())).read(crud.get, "default", "a")

    asyncio.run(story())


def test_a_batch_read_returns_the_same_as_single_reads(store: Held) -> None:
    def both(session: OperationContext) -> None:
        names = ["a", "missing", "", "b", "a"]
        for name, many in zip(names, crud.get_each(session, names), strict=True):
            if isinstance(many, TompionError):
                with pytest.raises(type(many), match=str(many).replace("(", r"\(").replace(")", r"\)")):
                    crud.get(session, name)
            else:
                assert crud.get(session, name) == many

    OperationRunner(store, Settings()).send(both, namespace="default", actor="ann", writes=True).result()
