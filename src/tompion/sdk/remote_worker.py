"""A worker that is connected to a service over a network: it asks for runs, calls functions, and says how they ended.

It has no store.  What it is given is leased to it run by run; it says every few seconds that it lives, and learns then
which runs are to end and which are no longer its own.  An outcome that cannot be delivered is tried again while the
lease lasts; after that somebody else has the run, and what is said here changes nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from tompion.client import AsyncClient
from tompion.config.settings import Settings
from tompion.engine.telemetry.events import EngineEvents
from tompion.errors import LaunchError, NotFound, StaleReport, TompionError
from tompion.executors.base import Completed, RunContext, RunSignals
from tompion.executors.function import FunctionExecutor
from tompion.model.run import RunId, RunRow, RunState
from tompion.model.worker import Assignment, Worker
from tompion.operations.runs import callbacks, remote_workers
from tompion.runtime import clock

POLL_MS = 20_000
"""How long the service may think about whether there is work."""
RETRY_DELAYS_S = (0.2, 1.0, 5.0)
REFUSED = "failed"
EVENTS = {
    RunState.SUCCESS: "succeeded",
    RunState.FAILED: "failed",
    RunState.CANCELLED: "cancelled",
    RunState.TIMED_OUT: "timed_out",
}


class WorkerLink(RunSignals):
    """A link that also knows whether its function was found at all."""

    def __init__(self) -> None:
        """It was, until it turns out otherwise."""
        super().__init__()
        self.launched = True
        self.is_lost = False


class RemoteWorker:
    """Executes runs of a service somewhere else."""

    def __init__(
        self,
        client: AsyncClient,
        executor: FunctionExecutor,
        queues: frozenset[str],
        settings: Settings,
        events: EngineEvents,
    ) -> None:
        """Take the service, what calls functions, and which queues are served; nothing starts yet."""
        self._client = client
        self._executor = executor
        self._queues = sorted(queues)
        self._settings = settings
        self._events = events
        self._stopping = asyncio.Event()
        self._active: dict[str, tuple[asyncio.Task[None], WorkerLink]] = {}
        self._room = asyncio.Event()
        self._room.set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._worker: Worker | None = None
        self._loops: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Join, and begin to ask for work."""
        try:
            await self._join()
        except BaseException:  # nobody will stop what has not begun
            await self._client.close()
            raise
        for loop in (self._poll, self._beat):
            self._loops.append(asyncio.create_task(loop(), name=f"tompion-remote{loop.__name__}"))

    async def stop(self, grace_s: float | None = None) -> None:
        """Ask for nothing more, let runs end within the grace, and give the others back."""
        self._stopping.set()
        self._room.set()
        polling, beating = self._loops
        polling.cancel()
        await asyncio.wait([polling])
        grace = self._settings.shutdown_grace_ms / 1000 if grace_s is None else grace_s
        await clock.wait(self._idle, grace)
        left = dict(self._active)
        for task, link in left.values():
            link.is_lost, link.is_wanted = True, False
            task.cancel()
        beating.cancel()
        await asyncio.wait([beating, *(task for task, _ in left.values())], timeout=5)
        try:
            await self._ask(remote_workers.remove_worker, self._id, tokens=list(left))
        except TompionError as error:
            self._events.warn(f"gone without a goodbye, leases will run out by themselves: {error}")
        await self._executor.aclose()
        await self._client.close()

    # --- asking for work ------------------------------------------------------------------------------------------

    @property
    def _id(self) -> int:
        assert self._worker is not None
        return self._worker.worker_id

    async def _join(self) -> None:
        name = f"{socket.gethostname()}:{os.getpid()}"
        self._worker = await self._ask(remote_workers.register_worker, name, queues=self._queues)

    async def _poll(self) -> None:
        async def step() -> None:
            await self._room.wait()
            room = self._settings.max_active_launches - len(self._active)
            given = await self._ask(
                remote_workers.claim_runs,
                self._id,
                queues=self._queues,
                limit=min(room, remote_workers.MAX_RUNS),
                wait_ms=POLL_MS,
            )
            for each in given:
                self._begin(each)

        await self._again(step, "cannot ask for work just now")

    async def _beat(self) -> None:
        async def step() -> None:
            assert self._worker is not None
            await clock.pause(self._worker.heartbeat_ms / 1000)
            await self._write_progress()
            tokens = list(self._active)
            heard = await self._ask(remote_workers.heartbeat_worker, self._id, queues=self._queues, tokens=tokens)
            for token in heard.to_cancel:
                self._cancel(token, lost=False)
            for token in heard.lost:
                self._cancel(token, lost=True)

        await self._again(step, "cannot say that this worker lives")

    async def _write_progress(self) -> None:
        """Say how far runs are, each since the last time."""
        for token, (_, link) in list(self._active.items()):
            said, link.progress = link.progress, None
            if said is not None:
                with suppress(StaleReport):
                    await self._ask(callbacks.report_run, token, "progress", progress=json.loads(said))

    async def _again(self, step: Callable[[], Coroutine[Any, Any, None]], problem: str) -> None:
        """Do a step until the worker stops, whatever goes wrong."""
        failures = 0
        while not self._stopping.is_set():
            try:
                await step()
                failures = 0
            except NotFound:
                await self._try_to_join()
            except TompionError as error:
                self._events.warn(f"{problem}, trying again: {error}")
                await clock.wait(self._stopping, RETRY_DELAYS_S[min(failures, len(RETRY_DELAYS_S) - 1)])
                failures += 1

    async def _try_to_join(self) -> None:
        try:
            await self._join()
        except TompionError as error:
            self._events.warn(f"cannot join again: {error}")
            await clock.wait(self._stopping, RETRY_DELAYS_S[-1])

    async def _ask(self, operation: Callable[..., Any], *args: Any, **given: Any) -> Any:
        return await self._client._run_operation(operation, args, given, writes=True)  # noqa: SLF001 - as one of its methods

    # --- executing ------------------------------------------------------------------------------------------------

    def _begin(self, given: Assignment) -> None:
        link = WorkerLink()
        task = asyncio.create_task(self._execute(given, link), name="tompion-run")
        self._active[given.token] = (task, link)
        self._idle.clear()
        if len(self._active) >= self._settings.max_active_launches:
            self._room.clear()
        self._events.emit("started", given.schedule_id, f"attempt {given.attempt}")

    def _cancel(self, token: str, *, lost: bool) -> None:
        task, link = self._active.get(token, (None, None))
        if task is None or link is None or not link.is_wanted:
            return
        link.is_lost, link.is_wanted = lost, False
        if lost:
            self._events.count("leases_lost")
        task.cancel()

    async def _execute(self, given: Assignment, link: WorkerLink) -> None:
        try:
            ended = await self._outcome(given, link)
            await self._tell(given, ended, EVENTS[ended.state] if link.launched else "launch_failed")
        finally:
            self._active.pop(given.token, None)
            self._room.set()
            if not self._active:
                self._idle.set()

    async def _outcome(self, given: Assignment, link: WorkerLink) -> Completed:
        limit_s = None if given.max_execution_ms is None else given.max_execution_ms / 1000
        running = asyncio.ensure_future(self._executor.run(None, launch_of(given, link)))
        try:
            done, _ = await asyncio.wait([running], timeout=limit_s)
            if not done:
                link.is_wanted = False
                running.cancel()
                return Completed(
                    RunState.TIMED_OUT, error=f"it took longer than max_execution_ms ({given.max_execution_ms})"
                )
            return running.result()
        except asyncio.CancelledError:
            running.cancel()
            if link.is_lost:
                raise
            return Completed(RunState.CANCELLED, error="cancelled on request")
        except LaunchError as error:
            self._events.count("runs_failed_launch")
            link.launched = False
            return Completed(RunState.FAILED, error=str(error))

    async def _tell(self, given: Assignment, ended: Completed, event: str) -> None:
        """Say how a run ended, until somebody has heard it or it is no longer ours."""
        said: dict[str, Any] = {
            "result": None if ended.result is None else _clean(json.loads(ended.result)),
            "error": None if ended.error is None else _clean(ended.error),
        }
        failures = 0
        while True:
            try:
                await self._ask(callbacks.report_run, given.token, event, **said)
            except StaleReport as problem:
                self._events.count("stale_writes_rejected")
                self._events.warn(f"run {given.run_id}: {problem}")
                return
            except TompionError as problem:
                if problem.retryable:
                    self._events.warn(f"cannot say how run {given.run_id} ended, trying again: {problem}")
                    await clock.pause(RETRY_DELAYS_S[min(failures, len(RETRY_DELAYS_S) - 1)])
                    failures += 1
                elif event != REFUSED:  # nobody would ever hear how it ended, and somebody would begin it again
                    event, said = REFUSED, {"error": f"how it ended is not accepted: {problem}"}
                else:
                    self._events.warn(f"how run {given.run_id} ended is not accepted: {problem}")
                    return
            else:
                self._events.emit("ended", given.schedule_id, ended.state)
                return


def _clean(value: Any) -> Any:
    """Return a value in which every text can be sent and stored: a service that refuses it would never hear the end."""
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode().replace("\x00", "\\x00")
    if isinstance(value, dict):
        return {_clean(key): _clean(each) for key, each in value.items()}
    return [_clean(each) for each in value] if isinstance(value, list) else value


def launch_of(given: Assignment, link: RunSignals) -> RunContext:
    """Return a run as its function sees it."""
    run = RunId(*map(int, given.run_id.split("-")))
    nominal_s = int(given.scheduled_for.timestamp())
    row = RunRow(
        *run, given.source, RunState.STARTED, None, 1, given.attempt, given.failures, nominal_s * 1000, None, None,
        nominal_s * 1000, None, None, None, None, given.request_id, None, None, False, None, None, None,
    )  # fmt: skip
    payload = None if given.payload is None else json.dumps(given.payload)
    names = (given.namespace, given.schedule_id)
    launch = RunContext(row, *names, given.action, payload, sign=lambda _: given.token, link=link)
    launch.traceparent = given.traceparent
    return launch
