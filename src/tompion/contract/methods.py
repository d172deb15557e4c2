"""The operations as methods, asynchronous and synchronous, for the embedded app and for both clients.

A subclass defines how an operation is run. Signature, documentation and types are those of the operation itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from tompion.operations.context import OperationContext
from tompion.operations.insight import edit_diff, problems, summaries, upcoming
from tompion.operations.insight.forecast import forecast, same_spec
from tompion.operations.insight.preview import preview_for
from tompion.operations.insight.stats import stats
from tompion.operations.resources import api_keys, calendars, notifications, targets, workers, workflows
from tompion.operations.runs import callbacks, cancel, read, start
from tompion.operations.schedules import bulk, control, crud
from tompion.operations.schedules.backfills import backfill, backfills, cancel_backfill, get_backfill
from tompion.operations.schedules.hints import clear_hints, hint, hints, reset_failures
from tompion.operations.schedules.history import history, restore, versions
from tompion.operations.verify import audit_chain, schedule

P = ParamSpec("P")
T = TypeVar("T")


class _Async(Generic[P, T]):
    """An operation as an asynchronous method."""

    def __init__(self, operation: Callable[Concatenate[OperationContext, P], T], *, writes: bool = True) -> None:
        self.operation = operation
        self.writes = writes
        self.__doc__ = operation.__doc__

    def __get__(self, home: AsyncMethods, owner: type[AsyncMethods]) -> Callable[P, Coroutine[Any, Any, T]]:
        async def call(*args: P.args, **kwargs: P.kwargs) -> T:
            result: T = await home._run_operation(self.operation, args, kwargs, writes=self.writes)  # noqa: SLF001 - as one of its methods
            return result

        call.__doc__ = self.__doc__
        return call


class _Sync(Generic[P, T]):
    """An operation as a synchronous method."""

    def __init__(self, operation: Callable[Concatenate[OperationContext, P], T], *, writes: bool = True) -> None:
        self.operation = operation
        self.writes = writes
        self.__doc__ = operation.__doc__

    def __get__(self, home: SyncMethods, owner: type[SyncMethods]) -> Callable[P, T]:
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            result: T = home._run_operation(self.operation, args, kwargs, writes=self.writes)  # noqa: SLF001 - as one of its methods
            return result

        call.__doc__ = self.__doc__
        return call


class AsyncMethods(ABC):
    """Every operation as an asynchronous method."""

    @abstractmethod
    async def _run_operation(self, operation: Callable[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        """Run an operation and return its result."""

    create = _Async(crud.create)
    upsert = _Async(crud.upsert)
    update = _Async(crud.update)
    patch = _Async(crud.patch)
    get = _Async(crud.get, writes=False)
    list_schedules = _Async(crud.list_schedules, writes=False)
    count_schedules = _Async(crud.count_schedules, writes=False)
    delete = _Async(crud.delete)
    history = _Async(history, writes=False)
    versions = _Async(versions, writes=False)
    restore = _Async(restore)
    pause = _Async(control.pause)
    resume = _Async(control.resume)
    trigger = _Async(control.trigger)
    pause_matching = _Async(bulk.pause_matching)
    resume_matching = _Async(bulk.resume_matching)
    trigger_matching = _Async(bulk.trigger_matching)
    skip = _Async(control.skip)
    unskip = _Async(control.unskip)
    backfill = _Async(backfill)
    backfills = _Async(backfills, writes=False)
    get_backfill = _Async(get_backfill, writes=False)
    cancel_backfill = _Async(cancel_backfill)
    hint = _Async(hint)
    hints = _Async(hints, writes=False)
    clear_hints = _Async(clear_hints)
    reset_failures = _Async(reset_failures)
    runs = _Async(read.runs, writes=False)
    recent_runs = _Async(read.recent_runs, writes=False)
    upcoming = _Async(upcoming.upcoming, writes=False)
    stats = _Async(stats, writes=False)
    get_run = _Async(read.run, writes=False)
    cancel_run = _Async(cancel.cancel_run)
    terminate_run = _Async(cancel.terminate_run)
    retry_run = _Async(cancel.retry_run)
    dropped_ranges = _Async(read.dropped_ranges, writes=False)
    describe = _Async(read.describe, writes=False)
    verify = _Async(schedule.verify, writes=False)
    verify_audit = _Async(audit_chain.verify_audit, writes=False)
    preview = _Async(preview_for, writes=False)
    summaries = _Async(summaries.summaries, writes=False)
    diff = _Async(edit_diff.diff, writes=False)
    same_spec = _Async(same_spec, writes=False)
    forecast = _Async(forecast, writes=False)
    problems = _Async(problems.problems, writes=False)
    put_workflow = _Async(workflows.put_workflow)
    get_workflow = _Async(workflows.get_workflow, writes=False)
    list_workflows = _Async(workflows.list_workflows, writes=False)
    start_run = _Async(start.start_run)
    report_run = _Async(callbacks.report_run)
    create_key = _Async(api_keys.create_key)
    list_keys = _Async(api_keys.list_keys, writes=False)
    revoke_key = _Async(api_keys.revoke_key)
    list_instances = _Async(workers.list_instances, writes=False)
    list_queues = _Async(workers.list_queues, writes=False)
    list_notifications = _Async(notifications.list_notifications, writes=False)
    put_calendar = _Async(calendars.put_calendar)
    get_calendar = _Async(calendars.get_calendar, writes=False)
    list_calendars = _Async(calendars.list_calendars, writes=False)
    pause_target = _Async(targets.pause_target)
    resume_target = _Async(targets.resume_target)


class SyncMethods(ABC):
    """Every operation as a synchronous method."""

    @abstractmethod
    def _run_operation(self, operation: Callable[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        """Run an operation and return its result."""

    create = _Sync(crud.create)
    upsert = _Sync(crud.upsert)
    update = _Sync(crud.update)
    patch = _Sync(crud.patch)
    get = _Sync(crud.get, writes=False)
    list_schedules = _Sync(crud.list_schedules, writes=False)
    count_schedules = _Sync(crud.count_schedules, writes=False)
    delete = _Sync(crud.delete)
    history = _Sync(history, writes=False)
    versions = _Sync(versions, writes=False)
    restore = _Sync(restore)
    pause = _Sync(control.pause)
    resume = _Sync(control.resume)
    trigger = _Sync(control.trigger)
    pause_matching = _Sync(bulk.pause_matching)
    resume_matching = _Sync(bulk.resume_matching)
    trigger_matching = _Sync(bulk.trigger_matching)
    skip = _Sync(control.skip)
    unskip = _Sync(control.unskip)
    backfill = _Sync(backfill)
    backfills = _Sync(backfills, writes=False)
    get_backfill = _Sync(get_backfill, writes=False)
    cancel_backfill = _Sync(cancel_backfill)
    hint = _Sync(hint)
    hints = _Sync(hints, writes=False)
    clear_hints = _Sync(clear_hints)
    reset_failures = _Sync(reset_failures)
    runs = _Sync(read.runs, writes=False)
    recent_runs = _Sync(read.recent_runs, writes=False)
    upcoming = _Sync(upcoming.upcoming, writes=False)
    stats = _Sync(stats, writes=False)
    get_run = _Sync(read.run, writes=False)
    cancel_run = _Sync(cancel.cancel_run)
    terminate_run = _Sync(cancel.terminate_run)
    retry_run = _Sync(cancel.retry_run)
    dropped_ranges = _Sync(read.dropped_ranges, writes=False)
    describe = _Sync(read.describe, writes=False)
    verify = _Sync(schedule.verify, writes=False)
    verify_audit = _Sync(audit_chain.verify_audit, writes=False)
    preview = _Sync(preview_for, writes=False)
    summaries = _Sync(summaries.summaries, writes=False)
    diff = _Sync(edit_diff.diff, writes=False)
    same_spec = _Sync(same_spec, writes=False)
    forecast = _Sync(forecast, writes=False)
    problems = _Sync(problems.problems, writes=False)
    put_workflow = _Sync(workflows.put_workflow)
    get_workflow = _Sync(workflows.get_workflow, writes=False)
    list_workflows = _Sync(workflows.list_workflows, writes=False)
    start_run = _Sync(start.start_run)
    report_run = _Sync(callbacks.report_run)
    create_key = _Sync(api_keys.create_key)
    list_keys = _Sync(api_keys.list_keys, writes=False)
    revoke_key = _Sync(api_keys.revoke_key)
    list_instances = _Sync(workers.list_instances, writes=False)
    list_queues = _Sync(workers.list_queues, writes=False)
    list_notifications = _Sync(notifications.list_notifications, writes=False)
    put_calendar = _Sync(calendars.put_calendar)
    get_calendar = _Sync(calendars.get_calendar, writes=False)
    list_calendars = _Sync(calendars.list_calendars, writes=False)
    pause_target = _Sync(targets.pause_target)
    resume_target = _Sync(targets.resume_target)
