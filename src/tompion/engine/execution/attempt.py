"""One attempt at a run that this instance executes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from typing import Any

from tompion.executors.base import Executor, RunContext, RunSignals, ignore_wait
from tompion.model.rows import HeldRun
from tompion.model.run import RunRow, RunState
from tompion.plan.compiled_schedule import CompiledSchedule


class AttemptState(Enum):
    """State of an attempt in this process. ``TRANSITIONS`` has the allowed changes."""

    CREATED = auto()
    """Its task exists and has not run yet."""
    RUNNING = auto()
    """Its task runs."""
    CANCELLED_BEFORE_START = auto()
    """Cancelled before its task ran. The first step of the task ends it."""
    CANCELLING = auto()
    """Cancelled while its task ran."""
    TIMED_OUT = auto()
    """It has reached ``max_execution_ms``."""
    LOST = auto()
    """Another instance owns the run, so this attempt has no outcome."""
    GIVEN_UP = auto()
    """It did not end after its deadline. Its outcome was recorded without it."""


TRANSITIONS: dict[AttemptState, frozenset[AttemptState]] = {
    AttemptState.CREATED: frozenset(
        {AttemptState.RUNNING, AttemptState.CANCELLED_BEFORE_START, AttemptState.LOST, AttemptState.GIVEN_UP}
    ),
    AttemptState.RUNNING: frozenset(
        {AttemptState.CANCELLING, AttemptState.TIMED_OUT, AttemptState.LOST, AttemptState.GIVEN_UP}
    ),
    AttemptState.CANCELLED_BEFORE_START: frozenset({AttemptState.LOST, AttemptState.GIVEN_UP}),
    AttemptState.CANCELLING: frozenset({AttemptState.LOST, AttemptState.GIVEN_UP}),
    AttemptState.TIMED_OUT: frozenset(),
    AttemptState.LOST: frozenset(),
    AttemptState.GIVEN_UP: frozenset(),
}
CANCELLED_STATES = (AttemptState.CANCELLING, AttemptState.CANCELLED_BEFORE_START)
STARTED_STATES = (AttemptState.RUNNING, AttemptState.CANCELLING)
STATES_WITHOUT_OUTCOME = (AttemptState.LOST, AttemptState.GIVEN_UP)


class Attempt(RunSignals):
    """One attempt at a run, from the claim to its outcome. ``started_ms`` is the time of the claim."""

    __slots__ = (
        "called_ns",
        "compiled",
        "dag",
        "deadline",
        "executor",
        "held",
        "kind",
        "on_wait",
        "row",
        "run_context",
        "started_ms",
        "state",
        "task",
    )  # fmt: skip

    def __init__(self, row: RunRow, compiled: CompiledSchedule, started_ms: int) -> None:
        self.should_continue = True
        self.progress = None
        self.state: AttemptState = AttemptState.CREATED
        self.row: RunRow = row
        self.compiled: CompiledSchedule = compiled
        self.started_ms: int = started_ms
        self.task: asyncio.Task[None] | None = None
        self.executor: Executor | None = None
        self.run_context: RunContext | None = None
        self.dag: Any = None
        self.kind: str = ""
        self.called_ns: int | None = None
        self.deadline: asyncio.Timeout | None = None
        self.on_wait: Callable[[bool], None] = ignore_wait
        self.held: HeldRun = (row.schedule_key, row.nominal_s, row.origin, row.attempt)

    def enter(self, state: AttemptState) -> bool:
        """Change to another state if that is allowed. Return whether it was."""
        if state not in TRANSITIONS[self.state]:
            return False
        self.state = state
        self.should_continue = state is AttemptState.RUNNING
        return True

    def begin(self) -> None:
        """Enter RUNNING as the first step of the task. Raises CancelledError if the attempt was cancelled before."""
        if not self.enter(AttemptState.RUNNING):
            raise asyncio.CancelledError

    def cancel(self) -> None:
        """Enter the state of a cancelled attempt."""
        if not self.enter(AttemptState.CANCELLING):
            self.enter(AttemptState.CANCELLED_BEFORE_START)

    @property
    def has_started(self) -> bool:
        """Return whether the task runs. One that has not run yet must not be cancelled: it would have no outcome."""
        return self.state in STARTED_STATES

    @property
    def is_cancelled(self) -> bool:
        """Return whether the attempt was cancelled."""
        return self.state in CANCELLED_STATES

    @property
    def is_marked(self) -> bool:
        """Return whether the store has the run as STARTED."""
        return self.row.state is RunState.STARTED

    @property
    def is_remote(self) -> bool:
        """Return whether the run continues without this process."""
        return self.executor is not None and self.executor.remote

    def set_deadline(self, deadline: asyncio.Timeout, limit_s: float) -> None:
        """Set the deadline. It is suspended while the attempt waits for an executor slot."""
        self.deadline = deadline

        def on_wait(is_waiting: bool) -> None:
            with suppress(RuntimeError):  # the deadline has passed meanwhile
                deadline.reschedule(None if is_waiting else asyncio.get_running_loop().time() + limit_s)

        self.on_wait = on_wait

    def is_overdue(self, now_s: float, grace_s: float) -> bool:
        """Return whether the attempt still runs although its deadline passed more than the grace ago."""
        deadline = self.deadline
        return deadline is not None and deadline.expired() and now_s > (deadline.when() or now_s) + grace_s
