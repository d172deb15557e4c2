"""Whether a due tick starts, waits or is skipped. Decided at fire time, while the schedule's state is locked."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from tompion.model.policy import Keep, Overlap, Policy
from tompion.model.run import Reason


class OverlapAction(Enum):
    """The action for the tick itself."""

    START = "start"
    WAIT = "wait"
    SKIP = "skip"


class OverlapDecision(NamedTuple):
    """The action for a tick, and for the runs that are in flight or wait."""

    action: OverlapAction
    reason: Reason | None = None
    supersede: bool = False
    cancel: bool = False
    terminate: bool = False


START = OverlapDecision(OverlapAction.START)
WAIT = OverlapDecision(OverlapAction.WAIT)
BUFFER_ONE = OverlapDecision(OverlapAction.WAIT, supersede=True)
CANCEL_OTHER = OverlapDecision(OverlapAction.WAIT, supersede=True, cancel=True)
CANCEL_FOR_REQUEST = OverlapDecision(OverlapAction.WAIT, cancel=True)
TERMINATE_OTHER = OverlapDecision(OverlapAction.START, supersede=True, terminate=True)
TERMINATE_FOR_REQUEST = OverlapDecision(OverlapAction.START, terminate=True)
SKIP_OVERLAP = OverlapDecision(OverlapAction.SKIP, Reason.OVERLAP)
SKIP_SUPERSEDED = OverlapDecision(OverlapAction.SKIP, Reason.SUPERSEDED)
SKIP_FULL = OverlapDecision(OverlapAction.SKIP, Reason.BUFFER_FULL)


def decide_overlap(
    policy: Policy, in_flight: int, waiting: int, max_buffer: int, overlap: Overlap | None = None
) -> OverlapDecision:
    """Return the decision of an overlap policy for one more tick.

    ``overlap`` is the policy of a request, if it has one.

    A tick takes a free slot even if runs wait: a run that waits although a slot is free waits for something else, such
    as the resume of its schedule. The transaction that frees a slot starts the runs that wait for it
    (:func:`~tompion.plan.release.release_queues`), and so does the fire transaction before it decides new ticks.
    """
    effective_policy = overlap or policy.overlap_policy
    if effective_policy == Overlap.ALLOW or in_flight < policy.max_concurrent:
        return START
    if effective_policy == Overlap.SKIP:
        return SKIP_OVERLAP
    if effective_policy == Overlap.QUEUE:
        return WAIT if waiting < max_buffer else SKIP_FULL
    if overlap is not None:
        return _for_request(policy, overlap, waiting, max_buffer)
    if effective_policy == Overlap.TERMINATE_OTHER:
        return TERMINATE_OTHER
    if effective_policy == Overlap.CANCEL_OTHER:
        return CANCEL_OTHER
    assert effective_policy == Overlap.BUFFER_ONE
    return SKIP_SUPERSEDED if waiting and policy.buffer_keep == Keep.FIRST else BUFFER_ONE


def _for_request(policy: Policy, overlap: Overlap, waiting: int, max_buffer: int) -> OverlapDecision:
    """Return the decision for a request.

    It competes with running runs, not with waiting ticks. A ``buffer_one`` replaces another.
    """
    if overlap == Overlap.TERMINATE_OTHER:
        return TERMINATE_FOR_REQUEST
    if waiting >= max_buffer:
        return SKIP_FULL
    if overlap == Overlap.CANCEL_OTHER:
        return CANCEL_FOR_REQUEST
    return SKIP_SUPERSEDED if waiting and policy.buffer_keep == Keep.FIRST else BUFFER_ONE


def is_too_soon(last_start_ms: int | None, min_interval_ms: int, now_ms: int) -> bool:
    """Return whether a start now would be earlier than the minimum interval allows.

    If the clock was set back, the last start lies in the future. The distance counts in both directions.
    """
    return last_start_ms is not None and abs(now_ms - last_start_ms) < min_interval_ms
