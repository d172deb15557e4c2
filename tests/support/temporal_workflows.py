"""The workflows of the tests, and a worker that serves them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.client import Client
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

QUEUE = "tests"


@workflow.defn(name="echo")
class Echo:
    """Returns its argument, and the last result and failure that it received."""

    @workflow.run
    async def run(self, argument: Any) -> Any:
        failure = workflow.get_last_failure()
        return {
            "given": argument,
            "last_result": workflow.get_last_completion_result() if workflow.has_last_completion_result() else None,
            "last_failure": None if failure is None else str(failure),
        }


@workflow.defn(name="add")
class Add:
    """Takes two arguments."""

    @workflow.run
    async def run(self, one: int, other: int) -> int:
        return one + other


@workflow.defn(name="fail")
class Fail:
    """Fails with an error that has a cause."""

    @workflow.run
    async def run(self, argument: Any) -> None:
        raise ApplicationError("it did not work", type="Work") from ApplicationError("no luck today", type="Weather")


@workflow.defn(name="moody")
class Moody:
    """Fails at the first attempt of a run."""

    @workflow.run
    async def run(self, argument: Any) -> str:
        if argument["meta"]["attempt"] == 1:
            raise ApplicationError("not in the mood")
        return "well then"


@workflow.defn(name="counting")
class Counting:
    """Continues as new until its argument is 0."""

    @workflow.run
    async def run(self, left: int) -> str:
        if left:
            workflow.continue_as_new(left - 1)
        return "counted"


@workflow.defn(name="hold")
class Hold:
    """Waits for the signal `release`. With the argument 1 it continues as new once before that."""

    def __init__(self) -> None:
        self._released: Any = None

    @workflow.run
    async def run(self, argument: Any) -> Any:
        if argument == 1:
            workflow.continue_as_new(0)
        await workflow.wait_condition(lambda: self._released is not None)
        return self._released

    @workflow.signal
    def release(self, value: Any) -> None:
        self._released = value


@workflow.defn(name="raw")
class Raw:
    """Returns bytes that are not JSON."""

    @workflow.run
    async def run(self, argument: Any) -> bytes:
        return b"\x00\xff"


@workflow.defn(name="secretive")
class Secretive:
    """Returns an encrypted payload."""

    @workflow.run
    async def run(self, argument: Any) -> RawValue:
        return RawValue(Payload(metadata={"encoding": b"binary/encrypted"}, data=b"\x00\xff"))


@asynccontextmanager
async def temporal_worker(address: str) -> AsyncIterator[Client]:
    """Run a worker for the workflows during the block, and yield a client."""
    client = await Client.connect(address)
    workflows = [Echo, Add, Fail, Moody, Counting, Hold, Raw, Secretive]
    async with Worker(client, task_queue=QUEUE, workflows=workflows, workflow_runner=UnsandboxedWorkflowRunner()):
        yield client
