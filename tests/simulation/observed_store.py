"""The store of a scenario: it reports every commit to the observer, and knows which processes are alive."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from tompion.store.base import Store, Work
from tompion.store.sqlite.driver import SqliteStore

T = TypeVar("T")


class ObservedStore(Store):
    """The real store, which calls an observer after every commit."""

    def __init__(self, store: SqliteStore, committed: Callable[[], None]) -> None:
        self._store = store
        self._committed = committed
        self.present: set[int] = set()
        self._known: set[int] = set()

    def write(self, work: Work[T]) -> Future[T]:
        future = self._store.write(work)
        self._committed()
        return future

    def read(self, work: Work[T]) -> Future[T]:
        return self._store.read(work)

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        return self._store.subscribe(wake)

    @property
    def knows_presence(self) -> bool:
        return True

    def hold_presence(self, instance_id: int) -> None:
        self.present.add(instance_id)
        self._known.add(instance_id)

    def drop_presence(self, instance_id: int) -> None:
        self.present.discard(instance_id)

    def find_absent(self, own_id: int) -> Future[dict[int, int]]:
        return self._store.read(
            lambda transaction: {
                lease.instance_id: lease.heartbeat_ms
                for lease in transaction.lease_list_valid(transaction.now_ms(), own_id)
                if lease.instance_id in self._known - self.present
            }
        )

    def close(self) -> None:
        self._store.close()
