"""The overlap table of the semantics page."""

from __future__ import annotations

from itertools import product

import pytest

from tompion.model.policy import Keep, Overlap, Policy
from tompion.model.run import Reason
from tompion.plan.overlap import OverlapAction, OverlapDecision, decide_overlap

MAX_BUFFER = 5

# "In flight < max_concurrent → start." Otherwise by policy and by the waiting runs: none, one, a full buffer.
FREE = "start"
TAKEN = {
    "skip": ("skip overlap", "skip overlap", "skip overlap"),
    "allow": ("start", "start", "start"),
    "queue": ("wait", "wait", "skip buffer_full"),
    "buffer_one": ("replace", "replace", "replace"),
    "buffer_one, keep first": ("replace", "skip superseded", "skip superseded"),
    "cancel_other": ("cancel and wait", "cancel and wait", "cancel and wait"),
    "terminate_other": ("terminate and start", "terminate and start", "terminate and start"),
}
# A request with its own policy: waiting ticks stay, so the buffer may be filled.
TAKEN_BY_REQUEST = {
    Overlap.SKIP: TAKEN["skip"],
    Overlap.ALLOW: TAKEN["allow"],
    Overlap.QUEUE: TAKEN["queue"],
    Overlap.BUFFER_ONE: ("replace", "replace", "skip buffer_full"),
    Overlap.CANCEL_OTHER: ("cancel what runs and wait", "cancel what runs and wait", "skip buffer_full"),
    Overlap.TERMINATE_OTHER: ("terminate what runs and start",) * 3,
}
MEANING = {
    "start": OverlapDecision(OverlapAction.START),
    "wait": OverlapDecision(OverlapAction.WAIT),
    "replace": OverlapDecision(OverlapAction.WAIT, supersede=True),
    "cancel and wait": OverlapDecision(OverlapAction.WAIT, supersede=True, cancel=True),
    "terminate and start": OverlapDecision(OverlapAction.START, supersede=True, terminate=True),
    "cancel what runs and wait": OverlapDecision(OverlapAction.WAIT, cancel=True),
    "terminate what runs and start": OverlapDecision(OverlapAction.START, terminate=True),
    "skip overlap": OverlapDecision(OverlapAction.SKIP, Reason.OVERLAP),
    "skip superseded": OverlapDecision(OverlapAction.SKIP, Reason.SUPERSEDED),
    "skip buffer_full": OverlapDecision(OverlapAction.SKIP, Reason.BUFFER_FULL),
}
# maximum at once, number in flight, whether a slot is free
SLOTS = [
    (1, 0, "free"), (1, 1, "taken"), (1, 2, "taken"),
    (3, 0, "free"), (3, 2, "free"), (3, 3, "taken"), (3, 4, "taken"),
]  # fmt: skip
WAITING = [0, 1, MAX_BUFFER]


def policy_of(name: str, most: int) -> Policy:
    overlap, _, keep = name.partition(", keep ")
    return Policy(overlap_policy=Overlap(overlap), max_concurrent=most, buffer_keep=Keep(keep or "latest"))


@pytest.mark.parametrize(("most", "in_flight", "slot"), SLOTS)
@pytest.mark.parametrize("name", TAKEN)
def test_policy_of_the_schedule(name: str, most: int, in_flight: int, slot: str) -> None:
    for waiting, taken in zip(WAITING, TAKEN[name], strict=True):
        expected = MEANING[FREE if slot == "free" else taken]
        assert decide_overlap(policy_of(name, most), in_flight, waiting, MAX_BUFFER) == expected


@pytest.mark.parametrize(("most", "in_flight", "slot"), SLOTS)
@pytest.mark.parametrize(("name", "own"), list(product(Overlap, Overlap)))
def test_policy_of_the_request_wins(name: Overlap, own: Overlap, most: int, in_flight: int, slot: str) -> None:
    for waiting, taken in zip(WAITING, TAKEN_BY_REQUEST[name], strict=True):
        expected = MEANING[FREE if slot == "free" else taken]
        assert decide_overlap(policy_of(own, most), in_flight, waiting, MAX_BUFFER, name) == expected


def test_buffer_keep_of_the_schedule_applies_to_requests() -> None:
    policy = policy_of("skip, keep first", 1)
    assert decide_overlap(policy, 1, 1, MAX_BUFFER, Overlap.BUFFER_ONE) == MEANING["skip superseded"]


@pytest.mark.parametrize(("waiting", "expected"), [(0, "wait"), (4, "wait"), (5, "skip buffer_full")])
def test_the_buffer_is_full_at_exactly_its_size(waiting: int, expected: str) -> None:
    assert decide_overlap(policy_of("queue", 1), 1, waiting, MAX_BUFFER) == MEANING[expected]


def test_buffer_of_size_zero() -> None:
    assert decide_overlap(policy_of("queue", 1), 1, 0, 0) == MEANING["skip buffer_full"]
    assert decide_overlap(policy_of("queue", 1), 0, 0, 0) == MEANING["start"]


def test_free_slot_is_taken_although_runs_wait() -> None:
    """Regression: a trigger of a paused schedule waited behind a buffered tick, although the slot was free.

    With ``queue`` it waited for the resume, because no run was in flight whose end would have released it. With
    ``skip`` it was even skipped as an overlap. A trigger bypasses the pause.
    """
    for overlap in Overlap:
        assert decide_overlap(Policy(), 0, 1, MAX_BUFFER, overlap) == MEANING["start"]
