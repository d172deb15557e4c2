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
    """Says what it was given, and what was left to it."""

    @workflow.run
    async def run(self, given: Any) -> Any:
        failure = workflow.get_last_failure()
        return {
            "given": given,
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
    """Fails, for a reason that has a reason."""

    @workflow.run
    async def run(self, given: Any) -> None:
        raise ApplicationError("it did not work", type="Work") from ApplicationError("no luck today", type="Weather")


@workflow.defn(name="moody")
class Moody:
    """Fails at the first try of a run."""

    @workflow.run
    async def run(self, given: Any) -> str:
        if given["meta"]["attempt"] == 1:
            raise ApplicationError("not in the mood")
        return "well then"


@workflow.defn(name="counting")
class Counting:
    """Counts itself down in as many executions."""

    @workflow.run
    async def run(self, left: int) -> str:
        if left:
            workflow.continue_as_new(left - 1)
        return "counted"


@workflow.defn(name="hold")
class Hold:
    """Begins, continues itself once if it is given 1, and ends when it is told to."""

    def __init__(self) -> None:
        self._released: Any = None

    @workflow.run
    async def run(self, given: Any) -> Any:
        if given == 1:
            workflow.continue_as_new(0)
        await workflow.wait_condition(lambda: self._released is not None)
        return self._released

    @workflow.signal
    def release(self, value: Any) -> None:
        self._released = value


@workflow.defn(name="raw")
class Raw:
    """Returns something that is no JSON."""

    @workflow.run
    async def run(self, given: Any) -> bytes:
        return b"\x00\xff"


@workflow.defn(name="secretive")
class Secretive:
    """Returns something that only its owners can read."""

    @workflow.run
    async def run(self, given: Any) -> RawValue:
        return RawValue(Payload(metadata={"encoding": b"binary/encrypted"}, data=b"\x00\xff"))


@asynccontextmanager
async def temporal_worker(address: str) -> AsyncIterator[Client]:
    """Serve the workflows; give a client."""
    client = await Client.connect(address)
    served = [Echo, Add, Fail, Moody, Counting, Hold, Raw, Secretive]
    async with Worker(client, task_queue=QUEUE, workflows=served, workflow_runner=UnsandboxedWorkflowRunner()):
        yield client
