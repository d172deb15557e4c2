"""Where doors hand in what they are asked: one operation, one transaction, on behalf of somebody in a namespace."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeVar

from foliot.operations.session import Session
from foliot.settings import Settings
from foliot.store.base import Store, Transaction

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Desk:
    """A store, and the limits that its operations obey."""

    store: Store
    settings: Settings

    def send(self, operation: Callable[[Session], T], *, namespace: str, actor: str, writes: bool) -> Future[T]:
        """Run an operation, to which everything but the session is bound already; its answer comes later."""

        def work(transaction: Transaction) -> T:
            return operation(Session(transaction, self.settings, namespace, actor))

        return self.store.write(work) if writes else self.store.read(work)
