"""Whether a due tick starts, waits or is skipped.  Judged at fire time, under the lock of the dial."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from tompion.model.policy import Keep, Overlap, Policy
from tompion.model.run import Reason


class OverlapAction(Enum):
    """What happens to the tick itself."""

    START = "start"
    WAIT = "wait"
    SKIP = "skip"


class OverlapDecision(NamedTuple):
    """What happens to a tick, and to the runs it meets."""

    act: OverlapAction
    reason: Reason | None = None
    supersede: bool = False
    cancel: bool = False
    terminate: bool = False


START = OverlapDecision(OverlapAction.START)
WAIT = OverlapDecision(OverlapAction.WAIT)
REPLACE = OverlapDecision(OverlapAction.WAIT, supersede=True)
CANCEL = OverlapDecision(OverlapAction.WAIT, supersede=True, cancel=True)
CANCEL_FOR_REQUEST = OverlapDecision(OverlapAction.WAIT, cancel=True)
TERMINATE = OverlapDecision(OverlapAction.START, supersede=True, terminate=True)
TERMINATE_FOR_REQUEST = OverlapDecision(OverlapAction.START, terminate=True)
SKIP_OVERLAP = OverlapDecision(OverlapAction.SKIP, Reason.OVERLAP)
SKIP_SUPERSEDED = OverlapDecision(OverlapAction.SKIP, Reason.SUPERSEDED)
SKIP_FULL = OverlapDecision(OverlapAction.SKIP, Reason.BUFFER_FULL)


def admit(
    policy: Policy, in_flight: int, waiting: int, max_buffer: int, overlap: Overlap | None = None
) -> OverlapDecision:
    """Return what an overlap policy makes of one more tick; ``overlap`` is the request's own, if it has one.

    A free slot is the tick's, whatever waits: a run that waits beside a free slot waits for something else, such as the
    resume of its schedule.  Whoever frees a slot starts what waits for it in the same transaction
    (:func:`~tompion.plan.release.release_queues`), and so does whoever wakes a schedule, before it decides new ticks.
    """
    chosen = overlap or policy.overlap_policy
    if chosen == Overlap.ALLOW or in_flight < policy.max_concurrent:
        return START
    if chosen == Overlap.SKIP:
        return SKIP_OVERLAP
    if chosen == Overlap.QUEUE:
        return WAIT if waiting < max_buffer else SKIP_FULL
    if overlap is not None:
        return _for_request(policy, overlap, waiting, max_buffer)
    if chosen == Overlap.TERMINATE_OTHER:
        return TERMINATE
    if chosen == Overlap.CANCEL_OTHER:
        return CANCEL
    if waiting and policy.buffer_keep == Keep.FIRST:
        return SKIP_SUPERSEDED
    return REPLACE


def _for_request(policy: Policy, overlap: Overlap, waiting: int, max_buffer: int) -> OverlapDecision:
    """A request meets what runs, not the ticks that wait: they stay; another ``buffer_one`` gives way."""
    if overlap == Overlap.TERMINATE_OTHER:
        return TERMINATE_FOR_REQUEST
    if waiting >= max_buffer:
        return SKIP_FULL
    if overlap == Overlap.CANCEL_OTHER:
        return CANCEL_FOR_REQUEST
    return SKIP_SUPERSEDED if waiting and policy.buffer_keep == Keep.FIRST else REPLACE


def is_too_soon(last_start_ms: int | None, shortest_ms: int, now_ms: int) -> bool:
    """Return whether a start now would undercut the shortest interval.

    A clock that was set back puts the last start into the future: that says how far it is away, not that it is to come.
    """
    return last_start_ms is not None and abs(now_ms - last_start_ms) < shortest_ms
