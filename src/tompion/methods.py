"""The operations as methods, asynchronous and synchronous: the same for a store in this process and for a service.

Whoever offers them says how an operation is asked for; its signature, its documentation and its types are those of the
operation itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from tompion.operations import (
    adaptive,
    attention,
    bulk,
    control,
    effect,
    forecast,
    glances,
    keys,
    launches,
    notices,
    reports,
    schedules,
    steering,
    targets,
    trail,
    work,
    workflows,
)
from tompion.operations import coming as ahead
from tompion.operations import runs as ledger
from tompion.operations import stats as figures
from tompion.operations import verify as proof
from tompion.operations.preview import preview_for
from tompion.operations.session import Session

P = ParamSpec("P")
T = TypeVar("T")


class _Async(Generic[P, T]):
    """An operation as an asynchronous method."""

    def __init__(self, operation: Callable[Concatenate[Session, P], T], *, writes: bool = True) -> None:
        self.operation = operation
        self.writes = writes
        self.__doc__ = operation.__doc__

    def __get__(self, home: AsyncMethods, owner: type[AsyncMethods]) -> Callable[P, Coroutine[Any, Any, T]]:
        async def call(*args: P.args, **kwargs: P.kwargs) -> T:
            answer: T = await home._ask(self.operation, args, kwargs, writes=self.writes)  # noqa: SLF001 - as one of its methods
            return answer

        call.__doc__ = self.__doc__
        return call


class _Sync(Generic[P, T]):
    """An operation as a synchronous method."""

    def __init__(self, operation: Callable[Concatenate[Session, P], T], *, writes: bool = True) -> None:
        self.operation = operation
        self.writes = writes
        self.__doc__ = operation.__doc__

    def __get__(self, home: SyncMethods, owner: type[SyncMethods]) -> Callable[P, T]:
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            answer: T = home._ask(self.operation, args, kwargs, writes=self.writes)  # noqa: SLF001 - as one of its methods
            return answer

        call.__doc__ = self.__doc__
        return call


class AsyncMethods(ABC):
    """Every operation as an asynchronous method."""

    @abstractmethod
    async def _ask(self, operation: Callable[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        """Have an operation done, and return its answer."""

    create = _Async(schedules.create)
    upsert = _Async(schedules.upsert)
    update = _Async(schedules.update)
    patch = _Async(schedules.patch)
    get = _Async(schedules.get, writes=False)
    list_schedules = _Async(schedules.list_schedules, writes=False)
    count_schedules = _Async(schedules.count_schedules, writes=False)
    delete = _Async(schedules.delete)
    history = _Async(schedules.history, writes=False)
    versions = _Async(schedules.versions, writes=False)
    restore = _Async(schedules.restore)
    pause = _Async(control.pause)
    resume = _Async(control.resume)
    trigger = _Async(control.trigger)
    pause_matching = _Async(bulk.pause_matching)
    resume_matching = _Async(bulk.resume_matching)
    trigger_matching = _Async(bulk.trigger_matching)
    skip = _Async(control.skip)
    unskip = _Async(control.unskip)
    backfill = _Async(control.backfill)
    backfills = _Async(control.backfills, writes=False)
    get_backfill = _Async(control.get_backfill, writes=False)
    cancel_backfill = _Async(control.cancel_backfill)
    hint = _Async(adaptive.hint)
    hints = _Async(adaptive.hints, writes=False)
    clear_hints = _Async(adaptive.clear_hints)
    reset_failures = _Async(adaptive.reset_failures)
    runs = _Async(ledger.runs, writes=False)
    recent_runs = _Async(ledger.recent_runs, writes=False)
    coming = _Async(ahead.coming, writes=False)
    stats = _Async(figures.stats, writes=False)
    get_run = _Async(ledger.run, writes=False)
    cancel_run = _Async(steering.cancel_run)
    terminate_run = _Async(steering.terminate_run)
    retry_run = _Async(steering.retry_run)
    spans = _Async(ledger.spans, writes=False)
    describe = _Async(ledger.describe, writes=False)
    verify = _Async(proof.verify, writes=False)
    verify_audit = _Async(trail.verify_audit, writes=False)
    preview = _Async(preview_for, writes=False)
    glances = _Async(glances.glances, writes=False)
    effect = _Async(effect.effect, writes=False)
    sharers = _Async(forecast.sharers, writes=False)
    forecast = _Async(forecast.forecast, writes=False)
    attention = _Async(attention.attention, writes=False)
    put_workflow = _Async(workflows.put_workflow)
    get_workflow = _Async(workflows.get_workflow, writes=False)
    list_workflows = _Async(workflows.list_workflows, writes=False)
    start_run = _Async(launches.start_run)
    report = _Async(reports.report)
    create_key = _Async(keys.create_key)
    list_keys = _Async(keys.list_keys, writes=False)
    revoke_key = _Async(keys.revoke_key)
    list_instances = _Async(work.list_instances, writes=False)
    list_queues = _Async(work.list_queues, writes=False)
    list_notices = _Async(notices.list_notices, writes=False)
    put_calendar = _Async(targets.put_calendar)
    get_calendar = _Async(targets.get_calendar, writes=False)
    list_calendars = _Async(targets.list_calendars, writes=False)
    pause_target = _Async(targets.pause_target)
    resume_target = _Async(targets.resume_target)


class SyncMethods(ABC):
    """Every operation as a synchronous method."""

    @abstractmethod
    def _ask(self, operation: Callable[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        """Have an operation done, and return its answer."""

    create = _Sync(schedules.create)
    upsert = _Sync(schedules.upsert)
    update = _Sync(schedules.update)
    patch = _Sync(schedules.patch)
    get = _Sync(schedules.get, writes=False)
    list_schedules = _Sync(schedules.list_schedules, writes=False)
    count_schedules = _Sync(schedules.count_schedules, writes=False)
    delete = _Sync(schedules.delete)
    history = _Sync(schedules.history, writes=False)
    versions = _Sync(schedules.versions, writes=False)
    restore = _Sync(schedules.restore)
    pause = _Sync(control.pause)
    resume = _Sync(control.resume)
    trigger = _Sync(control.trigger)
    pause_matching = _Sync(bulk.pause_matching)
    resume_matching = _Sync(bulk.resume_matching)
    trigger_matching = _Sync(bulk.trigger_matching)
    skip = _Sync(control.skip)
    unskip = _Sync(control.unskip)
    backfill = _Sync(control.backfill)
    backfills = _Sync(control.backfills, writes=False)
    get_backfill = _Sync(control.get_backfill, writes=False)
    cancel_backfill = _Sync(control.cancel_backfill)
    hint = _Sync(adaptive.hint)
    hints = _Sync(adaptive.hints, writes=False)
    clear_hints = _Sync(adaptive.clear_hints)
    reset_failures = _Sync(adaptive.reset_failures)
    runs = _Sync(ledger.runs, writes=False)
    recent_runs = _Sync(ledger.recent_runs, writes=False)
    coming = _Sync(ahead.coming, writes=False)
    stats = _Sync(figures.stats, writes=False)
    get_run = _Sync(ledger.run, writes=False)
    cancel_run = _Sync(steering.cancel_run)
    terminate_run = _Sync(steering.terminate_run)
    retry_run = _Sync(steering.retry_run)
    spans = _Sync(ledger.spans, writes=False)
    describe = _Sync(ledger.describe, writes=False)
    verify = _Sync(proof.verify, writes=False)
    verify_audit = _Sync(trail.verify_audit, writes=False)
    preview = _Sync(preview_for, writes=False)
    glances = _Sync(glances.glances, writes=False)
    effect = _Sync(effect.effect, writes=False)
    sharers = _Sync(forecast.sharers, writes=False)
    forecast = _Sync(forecast.forecast, writes=False)
    attention = _Sync(attention.attention, writes=False)
    put_workflow = _Sync(workflows.put_workflow)
    get_workflow = _Sync(workflows.get_workflow, writes=False)
    list_workflows = _Sync(workflows.list_workflows, writes=False)
    start_run = _Sync(launches.start_run)
    report = _Sync(reports.report)
    create_key = _Sync(keys.create_key)
    list_keys = _Sync(keys.list_keys, writes=False)
    revoke_key = _Sync(keys.revoke_key)
    list_instances = _Sync(work.list_instances, writes=False)
    list_queues = _Sync(work.list_queues, writes=False)
    list_notices = _Sync(notices.list_notices, writes=False)
    put_calendar = _Sync(targets.put_calendar)
    get_calendar = _Sync(targets.get_calendar, writes=False)
    list_calendars = _Sync(targets.list_calendars, writes=False)
    pause_target = _Sync(targets.pause_target)
    resume_target = _Sync(targets.resume_target)
