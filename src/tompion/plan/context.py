"""The inputs of a decision besides the schedule itself."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, TypeAlias

from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.due_ticks import DueLimits

Target: TypeAlias = tuple[str, str, str]
"""Namespace, kind (``queue`` or ``workflow``) and name of a target that can be paused."""


class DecisionContext(NamedTuple):
    """The time of a decision and the instance that makes it.

    ``owner`` is the instance that launches the runs that start. It is ``None`` if the caller does not launch runs (an
    operation), or does not serve the schedule's queue. Such a run has no lease, and an instance that serves the queue
    claims it.
    """

    now_ms: int
    owner: int | None
    limits: DueLimits
    max_buffer: int
    target_paused: bool = False


class DecisionContexts:
    """The decision contexts of one moment. Most schedules share one of two objects."""

    __slots__ = ("_elsewhere", "_here", "_paused", "_queues")

    def __init__(  # noqa: PLR0913 - the parts of a context
        self,
        now_ms: int,
        limits: DueLimits,
        max_buffer: int,
        paused_targets: set[Target],
        *,
        owner: int | None = None,
        queues: Collection[str] = (),
    ) -> None:
        self._queues = queues
        self._paused = paused_targets
        self._here = DecisionContext(now_ms=now_ms, owner=owner, limits=limits, max_buffer=max_buffer)
        self._elsewhere = self._here._replace(owner=None)

    def of(self, compiled: CompiledSchedule) -> DecisionContext:
        """Return the context in which a schedule is decided."""
        context = self._here if compiled.action.queue in self._queues else self._elsewhere
        if self._paused and is_target_paused(compiled, self._paused):
            return context._replace(target_paused=True)
        return context


def is_target_paused(compiled: CompiledSchedule, paused: set[Target]) -> bool:
    """Return whether the queue or the workflow of a schedule is paused."""
    action = compiled.action
    if (compiled.namespace, "queue", action.queue) in paused:
        return True
    return action.workflow_id is not None and (compiled.namespace, "workflow", action.workflow_id) in paused
