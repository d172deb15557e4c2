"""The states of an attempt and the changes between them."""

from __future__ import annotations

import asyncio

import pytest

from tompion.engine.execution.attempt import TRANSITIONS, Attempt, AttemptState


def attempt_in(state: AttemptState) -> Attempt:
    """An attempt in one state. Its row does not matter here."""
    attempt = Attempt.__new__(Attempt)
    attempt.state = state
    attempt.should_continue = state in (AttemptState.CREATED, AttemptState.RUNNING)
    return attempt


@pytest.mark.parametrize("target", AttemptState)
@pytest.mark.parametrize("state", AttemptState)
def test_attempt_changes_only_along_the_table(state: AttemptState, target: AttemptState) -> None:
    attempt = attempt_in(state)
    is_allowed = target in TRANSITIONS[state]
    assert attempt.enter(target) is is_allowed
    assert attempt.state is (target if is_allowed else state)


def test_every_state_has_a_row_in_the_table() -> None:
    assert TRANSITIONS.keys() == set(AttemptState)


@pytest.mark.parametrize("state", [state for state in AttemptState if state is not AttemptState.CREATED])
def test_attempt_begins_only_once_and_not_after_a_cancellation(state: AttemptState) -> None:
    with pytest.raises(asyncio.CancelledError):
        attempt_in(state).begin()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (AttemptState.CREATED, AttemptState.CANCELLED_BEFORE_START),
        (AttemptState.RUNNING, AttemptState.CANCELLING),
        (AttemptState.CANCELLING, AttemptState.CANCELLING),
        (AttemptState.LOST, AttemptState.LOST),
        (AttemptState.TIMED_OUT, AttemptState.TIMED_OUT),
    ],
)
def test_cancellation_depends_on_whether_the_task_has_started(before: AttemptState, after: AttemptState) -> None:
    attempt = attempt_in(before)
    attempt.cancel()
    assert attempt.state is after
    assert not attempt.should_continue
