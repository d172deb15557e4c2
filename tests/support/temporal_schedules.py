"""A real Temporal server, asked through its own API when a schedule would run."""

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
        workflow_id="never", workflow_type=WorkflowType(name="never"), task_queue=TaskQueue(name="nobody")
    )
)

Window = tuple[int, int]
"""From the first instant to the last, both included."""


class TemporalServer:
    """A running server, asked synchronously."""

    def __init__(self, runner: asyncio.Runner, client: Client) -> None:
        self._runner = runner
        self._client = client
        self._created = 0

    def ticks(self, cron: str, zone: str, window: Window) -> list[int]:
        """The instants of a window at which a schedule with this cron string would run."""
        return self.ticks_of_all([(cron, zone, [window])])[0][0]

    def ticks_of_all(self, asked: Iterable[tuple[str, str, list[Window]]]) -> list[list[list[int]]]:
        """The same for many schedules, each with its own windows."""
        return self._runner.run(self._ask_all(list(asked)))

    def accepts(self, cron: str) -> bool:
        """Whether it is willing to read a cron string."""
        try:
            self._runner.run(self._create(cron, ""))
        except RPCError as error:
            if error.status is not RPCStatusCode.INVALID_ARGUMENT:
                raise
            return False
        return True

    async def _ask_all(self, asked: list[tuple[str, str, list[Window]]]) -> list[list[list[int]]]:
        turn = asyncio.Semaphore(CALLS_AT_ONCE)
        return await asyncio.gather(*(self._ask(turn, *each) for each in asked))

    async def _ask(self, turn: asyncio.Semaphore, cron: str, zone: str, windows: list[Window]) -> list[list[int]]:
        async with turn:
            schedule_id = await self._create(cron, zone)
            return [await self._list(schedule_id, *window) for window in windows]

    async def _create(self, cron: str, zone: str) -> str:
        """Create a paused schedule: it is only ever asked, never runs."""
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
        request.start_time.FromSeconds(first - 1)  # the server leaves out the start and includes the end
        request.end_time.FromSeconds(last)
        found = await self._client.workflow_service.list_schedule_matching_times(request, retry=True)
        return [time.ToSeconds() for time in found.start_time]


@contextmanager
def running_server() -> Iterator[TemporalServer]:
    """Start a server to be asked, and end it."""
    with temporal_server() as address, asyncio.Runner() as runner:
        client = runner.run(Client.connect(address, namespace=NAMESPACE))
        yield TemporalServer(runner, client)
