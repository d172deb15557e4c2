"""Batches concurrent point reads of a namespace into one transaction.

A transaction and a thread switch cost more than such a read. A read that arrives while a batch is running goes into
the next batch, which begins after it, so its result is never older than the request. A slow batch does not delay the
next one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, NamedTuple

from tompion.errors import TompionError
from tompion.operations.context import OperationContext
from tompion.operations.runner import OperationRunner
from tompion.operations.runs import read
from tompion.operations.schedules import backfills, crud

MAX_BATCH = 32
MAX_BATCH_S = 0.05
"""The next batch starts after this time, even if the one before is still running."""
BatchRead = Callable[[OperationContext, Sequence[Any]], list[Any]]
"""Reads several names. The list has an error in the place of a result that could not be read."""


class BatchKey(NamedTuple):
    """Reads with the same key can share a transaction."""

    operation: Callable[..., Any]
    namespace: str


class PendingRead(NamedTuple):
    """A read that waits for its batch."""

    name: Any
    future: asyncio.Future[Any]


class ReadBatcher:
    """Queues point reads and runs them in batches."""

    def __init__(self, runner: OperationRunner) -> None:
        self._runner = runner
        self._queues: dict[BatchKey, deque[PendingRead]] = {}
        self._running: dict[BatchKey, object] = {}
        """The newest batch of each key, until it ends or takes too long."""

    def read(self, operation: Callable[..., Any], namespace: str, name: Any) -> asyncio.Future[Any]:
        """Return the future result of a point read."""
        key = BatchKey(operation, namespace)
        pending = PendingRead(name, asyncio.get_running_loop().create_future())
        self._queues.setdefault(key, deque()).append(pending)
        if key not in self._running:
            self._start_batch(key)
        return pending.future

    def _start_batch(self, key: BatchKey) -> None:
        queue = self._queues[key]
        if not queue:
            del self._queues[key]
            return
        reads = [queue.popleft() for _ in range(min(len(queue), MAX_BATCH))]
        self._running[key] = batch = object()
        self._send(key, reads, batch)
        asyncio.get_running_loop().call_later(MAX_BATCH_S, self._release, key, batch)

    def _release(self, key: BatchKey, batch: object) -> None:
        """Start the next batch if a batch is still the newest one."""
        if self._running.get(key) is batch:
            del self._running[key]
            self._start_batch(key)

    def _send(self, key: BatchKey, reads: list[PendingRead], batch: object) -> None:
        operation = partial(_call_batch, POINT_READS[key.operation], [pending.name for pending in reads])
        try:
            future = self._runner.send(operation, namespace=key.namespace, actor="", writes=False)
        except RuntimeError as error:  # the store is being closed
            future = Future()
            future.set_exception(error)
        asyncio.wrap_future(future).add_done_callback(partial(self._finish, key, reads, batch))

    def _finish(self, key: BatchKey, reads: list[PendingRead], batch: object, done: asyncio.Future[list[Any]]) -> None:
        error = asyncio.CancelledError() if done.cancelled() else done.exception()
        if error is None:
            for pending, result in zip(reads, done.result(), strict=True):
                _resolve(pending.future, result)
        elif len(reads) == 1:
            _resolve(reads[0].future, error)
        else:  # one read has failed the transaction of all, so each runs again alone
            for pending in reads:
                self._send(key, [pending], batch)
        self._release(key, batch)


def one_by_one(operation: Callable[..., Any]) -> BatchRead:
    """Return a batch read that calls an operation for each name."""

    def read_batch(context: OperationContext, names: Sequence[Any]) -> list[Any]:
        results: list[Any] = []
        for name in names:
            try:
                results.append(operation(context, name))
            except TompionError as error:
                results.append(error)
        return results

    return read_batch


def _call_batch(read_batch: BatchRead, names: Sequence[Any], context: OperationContext) -> list[Any]:
    return read_batch(context, names)


def _resolve(future: asyncio.Future[Any], result: Any) -> None:
    if future.done():
        return  # the request has been cancelled
    if isinstance(result, asyncio.CancelledError):
        future.cancel()
    elif isinstance(result, BaseException):
        future.set_exception(result)
    else:
        future.set_result(result)


POINT_READS: dict[Callable[..., Any], BatchRead] = {
    crud.get: crud.get_each,
    read.get_run: one_by_one(read.get_run),
    backfills.get_backfill: one_by_one(backfills.get_backfill),
}
"""Operations that read one object by its name, and the batch read of each."""
