"""Runs one operation in one transaction for a caller in a namespace."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeVar

from tompion.config.settings import Settings
from tompion.errors import StaleReport
from tompion.model.run import Reason
from tompion.operations.context import OperationContext, TargetCheck
from tompion.runtime.metric_values import Metrics
from tompion.store.base import Store, Transaction

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OperationRunner:
    """A store, the settings of its operations, and the metrics that they add to."""

    store: Store
    settings: Settings
    metrics: Metrics = field(default_factory=Metrics)
    traceparent: Callable[[str, int], str] | None = None
    """Returns the ``traceparent`` for a run key and an attempt. ``None`` if tracing is off."""
    check_target: TargetCheck | None = None

    def send(
        self,
        operation: Callable[[OperationContext], T],
        *,
        namespace: str,
        actor: str,
        writes: bool,
        restricted: bool = True,
    ) -> Future[T]:
        """Start an operation and return a future of its result.

        A ``restricted`` operation can only access the rows of its namespace. Others concern several namespaces, such as
        the lookup of an API key or a run token.
        """
        contexts: list[OperationContext] = []

        def work(transaction: Transaction) -> T:
            if restricted:
                transaction.restrict_to(namespace)
            context = OperationContext(
                transaction,
                self.settings,
                namespace,
                actor,
                traceparent=self.traceparent,
                check_target=self.check_target,
            )
            contexts[:] = [context]
            return operation(context)

        if not writes:
            return self.store.read(work)
        answer = self.store.write(work)
        answer.add_done_callback(lambda done: self._count(done, contexts))
        return answer

    def _count(self, done: Future[T], contexts: list[OperationContext]) -> None:
        """Add the metrics of a committed operation. A retried transaction counts once."""
        if done.cancelled():
            return
        if (error := done.exception()) is not None:
            self.metrics.count("stale_writes_rejected", isinstance(error, StaleReport))
            return
        for context in contexts:
            for (name, reason), number in context.counted.items():
                labels = (self.metrics.namespace_label(context.namespace), reason) if reason else ()
                self.metrics.count(name, number, labels)
                if (name, reason) == ("runs_skipped", Reason.OVERLAP):
                    self.metrics.count("runs_skipped_overlap", number)
