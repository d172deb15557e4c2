"""Calling executors: concurrently, outside any transaction, each attempt with its fence.

An attempt ends in exactly one :class:`~foliot.plan.settle.Outcome`, which waits here until it is written.  Outcomes
that could not be written stay; the lease stays with them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from foliot.engine.instance import Instance
from foliot.errors import FoliotError, LaunchError
from foliot.launch.base import Ended, Executor, Launch, nobody_asks
from foliot.model.rows import HeldRun
from foliot.model.run import Reason, RunId, RunRow, RunState
from foliot.plan.rule import Rule
from foliot.plan.settle import Outcome

Documents = Callable[[Rule], Awaitable[Any]]
Pause = Callable[[float], Awaitable[None]]
ABANDON_S = 5.0
"""How long an instance waits for runs that it has cancelled because it stops, or because their deadline is over."""
TASK = "foliot-run"
"""What every task that executes a run is called: to number them would cost more than to make them."""


class Attempt:
    """A run that this instance executes."""

    __slots__ = (
        "cancelled",
        "deadline",
        "held",
        "lost",
        "marked",
        "over",
        "row",
        "rule",
        "started_ms",
        "task",
        "waits",
    )

    def __init__(self, row: RunRow, rule: Rule, started_ms: int) -> None:
        """Take the run as it was leased, and when that was."""
        self.row = row
        self.rule = rule
        self.started_ms = started_ms
        self.task: asyncio.Task[None] | None = None
        self.marked = False
        self.lost = False
        self.over = False
        self.deadline: asyncio.Timeout | None = None
        self.waits: Callable[[bool], None] = nobody_asks
        self.cancelled: RunState | None = None
        self.held: HeldRun = (row.schedule_key, row.nominal_s, row.origin, row.attempt)


class Launching:
    """The runs that one instance executes, and the outcomes that are still to be written."""

    def __init__(self, instance: Instance, executors: dict[str, Executor], documents: Documents, pause: Pause) -> None:
        """Take the executors by kind, and how to load a workflow's document."""
        self._instance = instance
        self._executors = executors
        self._documents = documents
        self._pause = pause
        self.active: dict[HeldRun, Attempt] = {}
        self.outcomes: list[Outcome] = []
        self._writing: list[Outcome] = []
        self.ready = asyncio.Event()
        self.idle = asyncio.Event()
        self.idle.set()

    def start(self, launches: Iterable[tuple[RunRow, Rule]], now_ms: int) -> None:
        """Begin to execute runs that the ledger says are ours since a moment."""
        create_task = asyncio.get_running_loop().create_task
        pickups = self._instance.settings.max_pickups
        active, execute = self.active, self._execute
        for row, rule in launches:
            attempt = Attempt(row, rule, now_ms)
            if row.pickups >= pickups:
                self._end(attempt, *_lost(row))
                continue
            active[attempt.held] = attempt
            attempt.task = create_task(execute(attempt), name=TASK)
        if active:
            self.idle.clear()

    def end(self, rows: Iterable[RunRow]) -> None:
        """Cancel runs that are to end, where they are executed here."""
        for row in rows:
            attempt = self.active.get((row.schedule_key, row.nominal_s, row.origin, row.attempt))
            if attempt is not None:
                self.cancel(attempt)

    def cancel(self, attempt: Attempt) -> None:
        """Cancel one attempt; its outcome says so, if anybody still wants to know."""
        attempt.cancelled = RunState.CANCELLED
        if attempt.task is not None:
            attempt.task.cancel()

    async def abandon(self) -> list[HeldRun]:
        """End whatever is executed here without an outcome; return it, so that it can be handed back."""
        abandoned = dict(self.active)
        tasks = [attempt.task for attempt in abandoned.values() if attempt.task is not None]
        self.lose_all()
        if tasks:
            await asyncio.wait(tasks, timeout=ABANDON_S)  # one that will not be cancelled goes on in vain
        self.active.clear()
        self.idle.set()
        return list(abandoned)

    def give_up(self, now_s: float) -> int:
        """Say of attempts that went on long after their deadline that they are over; return how many that were."""
        overdue = [attempt for attempt in self.active.values() if _is_overdue(attempt, now_s)]
        for attempt in overdue:
            attempt.over = True  # what it says when it ends after all is of no interest
            del self.active[attempt.held]
            self._end(attempt, _too_slow(attempt.rule.policy.max_execution_ms), None)
        if not self.active:
            self.idle.set()
        return len(overdue)

    def take(self, limit: int) -> list[Outcome]:
        """Return outcomes to be written; ``put_back`` takes those that the store did not want to hear."""
        self._writing, self.outcomes = self.outcomes[:limit], self.outcomes[limit:]
        return self._writing

    def written(self) -> None:
        """Forget the outcomes that were taken: they are in the ledger."""
        self._writing = []

    def put_back(self, outcomes: list[Outcome]) -> None:
        """Keep outcomes that could not be written."""
        self.outcomes[:0] = outcomes
        self.ready.set()

    async def _execute(self, attempt: Attempt) -> None:
        reason = None
        try:
            limit_ms = attempt.rule.policy.max_execution_ms
            if limit_ms is None:
                ended = await self._run(attempt)
            else:
                async with asyncio.timeout(limit_ms / 1000) as deadline:
                    attempt.deadline = deadline
                    attempt.waits = partial(_wait, deadline, limit_ms / 1000)
                    ended = await self._run(attempt)
                if deadline.expired():  # it was told to stop, and preferred to go on
                    ended = _too_slow(limit_ms)
        except asyncio.CancelledError:
            if attempt.lost:
                return
            if attempt.cancelled is None:
                ended = Ended(RunState.FAILED, error="CancelledError: it cancelled itself, or somebody else did")
            else:
                ended, reason = Ended(attempt.cancelled, error="cancelled on request"), Reason.CANCEL_REQUESTED
        except LaunchError as error:
            ended, reason = Ended(RunState.FAILED, error=str(error)), Reason.LAUNCH_FAILED
            self._instance.probe.count("runs_failed_launch")
        except TimeoutError:
            ended = _too_slow(attempt.rule.policy.max_execution_ms)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - an executor that breaks its contract must not take the engine along
            ended = Ended(RunState.FAILED, error=_described(error))
        finally:
            self.active.pop(attempt.held, None)
            if not self.active:
                self.idle.set()
        if not attempt.over:
            self._end(attempt, ended, reason)

    async def _run(self, attempt: Attempt) -> Ended:
        """Launch, again and again if it cannot even begin; the last such error counts."""
        settings = self._instance.settings
        pause_ms = settings.launch_retry_ms
        for tries_left in range(settings.launch_tries - 1, -1, -1):
            try:
                document = None if attempt.rule.action.function is not None else await self._document(attempt.rule)
                return await self._executor(document).run(_launch_of(attempt, document))
            except LaunchError:
                if not tries_left:
                    raise
                await self._pause(pause_ms / 1000)
                pause_ms *= 2
        raise AssertionError("there is at least one try")

    async def _document(self, rule: Rule) -> Any:
        name = rule.action.workflow_id
        try:
            document = await self._documents(rule)
        except FoliotError as error:
            raise LaunchError(f"the workflow {name!r} cannot be loaded: {error}") from error
        if document is None:
            raise LaunchError(f"there is no workflow {name!r}")
        return document

    def _executor(self, document: Any) -> Executor:
        kind = "function" if document is None else str(document.get("executor", "function"))
        executor = self._executors.get(kind)
        if executor is None:
            raise LaunchError(f"no executor {kind!r} here; there is {', '.join(sorted(self._executors))}")
        return executor

    def _end(self, attempt: Attempt, ended: Ended, reason: Reason | None) -> None:
        row = attempt.row
        outcome = Outcome(
            row.schedule_key,
            row.nominal_s,
            row.origin,
            row.attempt,
            ended.state,
            reason,
            row.failures,
            attempt.started_ms,
            None if ended.error is None else _storable(ended.error),
            None if ended.result is None else _storable(ended.result),
            None if ended.execution_id is None else _storable(ended.execution_id),
        )
        self.outcomes.append(outcome)
        self.ready.set()

    def held(self) -> list[HeldRun]:
        """Return everything that must not be launched again: what is executed, and what waits to be written."""
        ended = [*self._writing, *self.outcomes]
        return [
            *self.active,
            *((each.schedule_key, each.nominal_s, each.origin, each.fence) for each in ended),
        ]

    def unmarked(self) -> list[Attempt]:
        """Return the attempts that are executing and not yet known to be."""
        return [attempt for attempt in self.active.values() if not attempt.marked]

    def lost(self, still_ours: set[RunId], asked: Iterable[HeldRun]) -> int:
        """Cancel the attempts among those asked about that are no longer ours; return how many."""
        return self.lose(held for held in asked if RunId(*held[:3]) not in still_ours)

    def lose_all(self) -> int:
        """End whatever is executed here: it is somebody else's now; return how much that was."""
        return self.lose(list(self.active))

    def lose(self, gone: Iterable[HeldRun]) -> int:
        """End attempts that are somebody else's now, whoever that is: nothing is to be said about them from here."""
        lost = [attempt for held in gone if (attempt := self.active.get(held)) is not None]
        for attempt in lost:
            attempt.lost = True
            if attempt.task is not None:
                attempt.task.cancel()
        return len(lost)


def _launch_of(attempt: Attempt, document: Any) -> Launch:
    row, rule = attempt.row, attempt.rule
    payload = row.payload if row.payload is not None else rule.payload
    return Launch(row, rule.namespace, rule.schedule_id, rule.action, payload, document, attempt.waits)


def _wait(deadline: asyncio.Timeout, limit_s: float, waits: bool) -> None:
    """Stop the deadline of an attempt while it waits for room, and let it begin when the attempt does."""
    with suppress(RuntimeError):  # it is over meanwhile
        deadline.reschedule(None if waits else asyncio.get_running_loop().time() + limit_s)


def _is_overdue(attempt: Attempt, now_s: float) -> bool:
    deadline = attempt.deadline
    if deadline is None or not deadline.expired():
        return False
    return now_s > (deadline.when() or now_s) + ABANDON_S


def _too_slow(limit_ms: int | None) -> Ended:
    return Ended(RunState.TIMED_OUT, error=f"it took longer than max_execution_ms ({limit_ms})")


def _described(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - its own method that says what it is may raise anything
        return type(error).__name__


def _storable(text: str) -> str:
    """Text that every store can hold: one NUL in a message must not keep a whole batch from being written."""
    if text.isascii() and "\x00" not in text:
        return text
    return text.encode(errors="backslashreplace").decode().replace("\x00", "\\x00")


def _lost(row: RunRow) -> tuple[Ended, Reason]:
    error = f"picked up {row.pickups} times, and each time the worker was lost; it may be the cause"
    return Ended(RunState.FAILED, error=error), Reason.WORKER_LOST
