"""A run that this instance executes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tompion.executors.base import Executor, RunContext, RunSignals, ignore_wait
from tompion.model.rows import HeldRun
from tompion.model.run import RunRow
from tompion.plan.compiled_schedule import CompiledSchedule


class Attempt(RunSignals):
    """One attempt at a run, from its lease to its outcome.

    ``lost`` is one that is somebody else's now, ``over`` one whose outcome is known already, whatever it says itself.
    """

    __slots__ = (
        "begun",
        "called_ns",
        "compiled",
        "dag",
        "deadline",
        "executor",
        "held",
        "kind",
        "launch",
        "marked",
        "over",
        "row",
        "started_ms",
        "task",
        "waits",
    )  # fmt: skip

    def __init__(self, row: RunRow, compiled: CompiledSchedule, started_ms: int) -> None:
        """Take the run as it was leased, and when that was."""
        self.cancelled = None
        self.lost = False
        self.progress = None
        self.unwanted = False
        self.row = row
        self.compiled = compiled
        self.started_ms = started_ms
        self.task: asyncio.Task[None] | None = None
        self.executor: Executor | None = None
        self.launch: RunContext | None = None
        self.dag: Any = None
        self.kind = ""
        self.called_ns: int | None = None
        self.begun = False
        self.marked = False
        self.over = False
        self.deadline: asyncio.Timeout | None = None
        self.waits: Callable[[bool], None] = ignore_wait
        self.held: HeldRun = (row.schedule_key, row.nominal_s, row.origin, row.attempt)

    def begin(self) -> None:
        """Take the first step, unless somebody has decided otherwise before: a task that never began says nothing."""
        self.begun = True
        if self.cancelled is not None or self.lost:
            raise asyncio.CancelledError

    @property
    def remote(self) -> bool:
        """Return whether it goes on without this process."""
        return self.executor is not None and self.executor.remote

    def within(self, deadline: asyncio.Timeout, limit_s: float) -> None:
        """Obey a deadline, which stands still while the attempt waits for room."""
        self.deadline = deadline

        def waits(is_waiting: bool) -> None:
            with suppress(RuntimeError):  # it is over meanwhile
                deadline.reschedule(None if is_waiting else asyncio.get_running_loop().time() + limit_s)

        self.waits = waits

    def is_overdue(self, now_s: float, patience_s: float) -> bool:
        """Return whether it goes on although its deadline is long over."""
        deadline = self.deadline
        return deadline is not None and deadline.expired() and now_s > (deadline.when() or now_s) + patience_s
