"""What a decision depends on besides the schedule itself."""

from __future__ import annotations

from typing import NamedTuple

from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.due_ticks import DueLimits


class DecisionContext(NamedTuple):
    """The moment and the deciding instance.

    ``owner`` is the instance that will launch what starts, ``None`` if whoever decides does not launch (an operation)
    or does not serve the schedule's queue: the run is then born without a lease, for an instance that does.
    """

    now_ms: int
    owner: int | None
    limits: DueLimits
    max_buffer: int
    target_paused: bool = False


def is_target_paused(compiled: CompiledSchedule, paused: set[tuple[str, str, str]]) -> bool:
    """Whether what a schedule starts is paused by itself: ``paused`` holds namespace, kind and name."""
    action = compiled.action
    if (compiled.namespace, "queue", action.queue) in paused:
        return True
    return action.workflow_id is not None and (compiled.namespace, "workflow", action.workflow_id) in paused
