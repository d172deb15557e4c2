"""A real Temporal server, whose API lists the times at which a schedule would run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from temporalio.api.common.v1 import WorkflowType
from temporalio.api.schedule.v1 import Schedule, ScheduleAction, ScheduleSpec, ScheduleState
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflow.v1 import NewWorkflowExecutionInfo
from temporalio.api.workflowservice.v1 import CreateScheduleRequest, ListScheduleMatchingTimesRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from tests.support.servers.temporal import temporal_server

NAMESPACE = "default"
CALLS_AT_ONCE = 8

ACTION = ScheduleAction(
    start_workflow=NewWorkflowExecutionInfo(
        workflow_id="never", workflow_type=WorkflowType(name="never"), task_queue=TaskQueue(name="unserved")
    )
)

Window = tuple[int, int]
"""The first and the last instant, both included."""


class TemporalServer:
    """A running server with a synchronous API."""

    def __init__(self, runner: asyncio.Runner, client: Client) -> None:
        self._runner = runner
        self._client = client
        self._created = 0

    def ticks(self, cron: str, zone: str, window: Window) -> list[int]:
        """Return the instants of a window at which a schedule with this cron string would run."""
        return self.ticks_of_all([(cron, zone, [window])])[0][0]

    def ticks_of_all(self, schedules: Iterable[tuple[str, str, list[Window]]]) -> list[list[list[int]]]:
        """Return the instants for many schedules, each with its own windows."""
        return self._runner.run(self._ticks_of_all(list(schedules)))

    def accepts(self, cron: str) -> bool:
        """Return whether the server accepts a cron string."""
        try:
            self._runner.run(self._create(cron, ""))
        except RPCError as error:
            if error.status is not RPCStatusCode.INVALID_ARGUMENT:
                raise
            return False
        return True

    async def _ticks_of_all(self, schedules: list[tuple[str, str, list[Window]]]) -> list[list[list[int]]]:
        slots = asyncio.Semaphore(CALLS_AT_ONCE)
        return await asyncio.gather(*(self._ticks(slots, *schedule) for schedule in schedules))

    async def _ticks(self, slots: asyncio.Semaphore, cron: str, zone: str, windows: list[Window]) -> list[list[int]]:
        async with slots:
            schedule_id = await self._create(cron, zone)
            return [await self._list(schedule_id, *window) for window in windows]

    async def _create(self, cron: str, zone: str) -> str:
        """Create a paused schedule, which never runs."""
        self._created += 1
        schedule_id = f"schedule-{self._created}"
        schedule = Schedule(
            spec=ScheduleSpec(cron_string=[cron], timezone_name=zone), action=ACTION, state=ScheduleState(paused=True)
        )
        request = CreateScheduleRequest(
            namespace=NAMESPACE, schedule_id=schedule_id, request_id=schedule_id, schedule=schedule
        )
        await self._client.workflow_service.create_schedule(request, retry=True)
        return schedule_id

    async def _list(self, schedule_id: str, first: int, last: int) -> list[int]:
        request = ListScheduleMatchingTimesRequest(namespace=NAMESPACE, schedule_id=schedule_id)
        request.start_time.FromSeconds(first - 1)  # the server excludes the start and includes the end
        request.end_time.FromSeconds(last)
        response = await self._client.workflow_service.list_schedule_matching_times(request, retry=True)
        return [time.ToSeconds() for time in response.start_time]


@contextmanager
def running_server() -> Iterator[TemporalServer]:
    """Run a server during the block."""
    with temporal_server() as address, asyncio.Runner() as runner:
        client = runner.run(Client.connect(address, namespace=NAMESPACE))
        yield TemporalServer(runner, client)
