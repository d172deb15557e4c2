"""The argument of every operation: its transaction and its caller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from tompion.config.settings import Settings
from tompion.model.schedule import Action
from tompion.plan.context import DecisionContexts
from tompion.plan.due_ticks import DueLimits
from tompion.store.base import Transaction

NO_CATCH_UP = DueLimits(grace_ms=0, max_catchup=0, max_spread=0, max_dropped_range_ticks=0, lookahead_ms=0)
"""The limits of an operation that decides manual runs only, no ticks."""


Counted: TypeAlias = tuple[str, str]
"""The name of a metric, and a reason if it has several. The namespace is that of the operation."""

TargetCheck: TypeAlias = Callable[[Action], tuple[str, ...]]
"""Returns warnings about the target of an action. Raises InvalidField if the target does not exist."""


@dataclass(frozen=True)
class OperationContext:
    """One transaction on behalf of a caller in a namespace."""

    transaction: Transaction
    settings: Settings
    namespace: str = "default"
    actor: str = "local"
    counted: Counter[Counted] = field(default_factory=Counter)
    """The metrics to add once the operation is committed."""
    created: set[type] = field(default_factory=set)
    """The types of results that the operation has created, and not replaced."""
    started: list[str] = field(default_factory=list)
    """The id of the run that the operation has started, if it does not return the run."""
    traceparent: Callable[[str, int], str] | None = None
    """Returns the ``traceparent`` for a run key and an attempt. ``None`` if tracing is off."""
    check_target: TargetCheck | None = None
    """Checks targets. ``None`` in a process that knows no executors."""
    accepts_unknown_workflows: bool = False

    @cached_property
    def now_ms(self) -> int:
        """Return the time of the operation, by the database's clock."""
        return self.transaction.now_ms()

    def decision_contexts(self, limits: DueLimits = NO_CATCH_UP) -> DecisionContexts:
        """Return the contexts in which this operation decides runs. An operation launches no run itself."""
        paused = self.transaction.target_list_paused()
        return DecisionContexts(self.now_ms, limits, self.settings.max_buffer, paused)
