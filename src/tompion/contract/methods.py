"""The operations as methods, asynchronous and synchronous, for the embedded app and for both clients.

A subclass defines how an operation is run. Signature, documentation and types are those of the operation itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any, Generic, ParamSpec, TypeVar

from tompion.contract.stubs import OperationStub, insight_stubs, resource_stubs, run_stubs, schedule_stubs

P = ParamSpec("P")
T = TypeVar("T")


class _Async(Generic[P, T]):
    """An operation as an asynchronous method."""

    def __init__(self, operation: OperationStub[P, T], *, writes: bool = True) -> None:
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

    def __init__(self, operation: OperationStub[P, T], *, writes: bool = True) -> None:
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
    async def _run_operation(self, operation: OperationStub[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        """Run an operation and return its result."""

    create = _Async(schedule_stubs.create)
    upsert = _Async(schedule_stubs.upsert)
    update = _Async(schedule_stubs.update)
    patch = _Async(schedule_stubs.patch)
    get = _Async(schedule_stubs.get, writes=False)
    list_schedules = _Async(schedule_stubs.list_schedules, writes=False)
    count_schedules = _Async(schedule_stubs.count_schedules, writes=False)
    delete = _Async(schedule_stubs.delete)
    history = _Async(schedule_stubs.history, writes=False)
    versions = _Async(schedule_stubs.versions, writes=False)
    restore = _Async(schedule_stubs.restore)
    pause = _Async(schedule_stubs.pause)
    resume = _Async(schedule_stubs.resume)
    trigger = _Async(schedule_stubs.trigger)
    pause_matching = _Async(schedule_stubs.pause_matching)
    resume_matching = _Async(schedule_stubs.resume_matching)
    trigger_matching = _Async(schedule_stubs.trigger_matching)
    skip = _Async(schedule_stubs.skip)
    unskip = _Async(schedule_stubs.unskip)
    backfill = _Async(schedule_stubs.backfill)
    backfills = _Async(schedule_stubs.backfills, writes=False)
    get_backfill = _Async(schedule_stubs.get_backfill, writes=False)
    cancel_backfill = _Async(schedule_stubs.cancel_backfill)
    hint = _Async(schedule_stubs.hint)
    hints = _Async(schedule_stubs.hints, writes=False)
    clear_hints = _Async(schedule_stubs.clear_hints)
    reset_failures = _Async(schedule_stubs.reset_failures)
    runs = _Async(run_stubs.runs, writes=False)
    recent_runs = _Async(run_stubs.recent_runs, writes=False)
    upcoming = _Async(insight_stubs.upcoming, writes=False)
    stats = _Async(insight_stubs.stats, writes=False)
    get_run = _Async(run_stubs.get_run, writes=False)
    cancel_run = _Async(run_stubs.cancel_run)
    terminate_run = _Async(run_stubs.terminate_run)
    retry_run = _Async(run_stubs.retry_run)
    dropped_ranges = _Async(run_stubs.dropped_ranges, writes=False)
    describe = _Async(run_stubs.describe, writes=False)
    verify = _Async(insight_stubs.verify, writes=False)
    verify_audit = _Async(insight_stubs.verify_audit, writes=False)
    preview = _Async(insight_stubs.preview, writes=False)
    summaries = _Async(insight_stubs.summaries, writes=False)
    diff = _Async(insight_stubs.diff, writes=False)
    same_spec = _Async(insight_stubs.same_spec, writes=False)
    forecast = _Async(insight_stubs.forecast, writes=False)
    problems = _Async(insight_stubs.problems, writes=False)
    put_workflow = _Async(resource_stubs.put_workflow)
    get_workflow = _Async(resource_stubs.get_workflow, writes=False)
    list_workflows = _Async(resource_stubs.list_workflows, writes=False)
    start_run = _Async(run_stubs.start_run)
    report_run = _Async(run_stubs.report_run)
    create_key = _Async(resource_stubs.create_key)
    list_keys = _Async(resource_stubs.list_keys, writes=False)
    revoke_key = _Async(resource_stubs.revoke_key)
    list_instances = _Async(resource_stubs.list_instances, writes=False)
    list_queues = _Async(resource_stubs.list_queues, writes=False)
    list_notifications = _Async(resource_stubs.list_notifications, writes=False)
    put_calendar = _Async(resource_stubs.put_calendar)
    get_calendar = _Async(resource_stubs.get_calendar, writes=False)
    list_calendars = _Async(resource_stubs.list_calendars, writes=False)
    pause_target = _Async(resource_stubs.pause_target)
    resume_target = _Async(resource_stubs.resume_target)


class SyncMethods(ABC):
    """Every operation as a synchronous method."""

    @abstractmethod
    def _run_operation(self, operation: OperationStub[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        """Run an operation and return its result."""

    create = _Sync(schedule_stubs.create)
    upsert = _Sync(schedule_stubs.upsert)
    update = _Sync(schedule_stubs.update)
    patch = _Sync(schedule_stubs.patch)
    get = _Sync(schedule_stubs.get, writes=False)
    list_schedules = _Sync(schedule_stubs.list_schedules, writes=False)
    count_schedules = _Sync(schedule_stubs.count_schedules, writes=False)
    delete = _Sync(schedule_stubs.delete)
    history = _Sync(schedule_stubs.history, writes=False)
    versions = _Sync(schedule_stubs.versions, writes=False)
    restore = _Sync(schedule_stubs.restore)
    pause = _Sync(schedule_stubs.pause)
    resume = _Sync(schedule_stubs.resume)
    trigger = _Sync(schedule_stubs.trigger)
    pause_matching = _Sync(schedule_stubs.pause_matching)
    resume_matching = _Sync(schedule_stubs.resume_matching)
    trigger_matching = _Sync(schedule_stubs.trigger_matching)
    skip = _Sync(schedule_stubs.skip)
    unskip = _Sync(schedule_stubs.unskip)
    backfill = _Sync(schedule_stubs.backfill)
    backfills = _Sync(schedule_stubs.backfills, writes=False)
    get_backfill = _Sync(schedule_stubs.get_backfill, writes=False)
    cancel_backfill = _Sync(schedule_stubs.cancel_backfill)
    hint = _Sync(schedule_stubs.hint)
    hints = _Sync(schedule_stubs.hints, writes=False)
    clear_hints = _Sync(schedule_stubs.clear_hints)
    reset_failures = _Sync(schedule_stubs.reset_failures)
    runs = _Sync(run_stubs.runs, writes=False)
    recent_runs = _Sync(run_stubs.recent_runs, writes=False)
    upcoming = _Sync(insight_stubs.upcoming, writes=False)
    stats = _Sync(insight_stubs.stats, writes=False)
    get_run = _Sync(run_stubs.get_run, writes=False)
    cancel_run = _Sync(run_stubs.cancel_run)
    terminate_run = _Sync(run_stubs.terminate_run)
    retry_run = _Sync(run_stubs.retry_run)
    dropped_ranges = _Sync(run_stubs.dropped_ranges, writes=False)
    describe = _Sync(run_stubs.describe, writes=False)
    verify = _Sync(insight_stubs.verify, writes=False)
    verify_audit = _Sync(insight_stubs.verify_audit, writes=False)
    preview = _Sync(insight_stubs.preview, writes=False)
    summaries = _Sync(insight_stubs.summaries, writes=False)
    diff = _Sync(insight_stubs.diff, writes=False)
    same_spec = _Sync(insight_stubs.same_spec, writes=False)
    forecast = _Sync(insight_stubs.forecast, writes=False)
    problems = _Sync(insight_stubs.problems, writes=False)
    put_workflow = _Sync(resource_stubs.put_workflow)
    get_workflow = _Sync(resource_stubs.get_workflow, writes=False)
    list_workflows = _Sync(resource_stubs.list_workflows, writes=False)
    start_run = _Sync(run_stubs.start_run)
    report_run = _Sync(run_stubs.report_run)
    create_key = _Sync(resource_stubs.create_key)
    list_keys = _Sync(resource_stubs.list_keys, writes=False)
    revoke_key = _Sync(resource_stubs.revoke_key)
    list_instances = _Sync(resource_stubs.list_instances, writes=False)
    list_queues = _Sync(resource_stubs.list_queues, writes=False)
    list_notifications = _Sync(resource_stubs.list_notifications, writes=False)
    put_calendar = _Sync(resource_stubs.put_calendar)
    get_calendar = _Sync(resource_stubs.get_calendar, writes=False)
    list_calendars = _Sync(resource_stubs.list_calendars, writes=False)
    pause_target = _Sync(resource_stubs.pause_target)
    resume_target = _Sync(resource_stubs.resume_target)
