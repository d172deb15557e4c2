"""Temporal's own SDK in front of the door, in one process: its calls go to the door as bytes, and come back so.

What the door answers, the SDK reads as it reads a server; only the connection between them is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

from google.protobuf.message import Message
from temporalio.client import Client, Schedule, ScheduleActionStartWorkflow, ScheduleSpec
from temporalio.service import ConnectConfig, RPCError, RPCStatusCode, ServiceClient

from tests.support.app import QUICK, SECONDS, Home
from tests.support.temporal_workflows import QUEUE
from tompion.api.auth.authenticator import Authenticator, Credentials, OpenAuthenticator
from tompion.api.rate_limit import NamespaceRateLimiter
from tompion.api.temporal.dispatcher import Dispatcher, ServiceDeps, read_namespaces
from tompion.api.temporal.errors import GrpcError
from tompion.api.temporal.system_service import METHODS, OPERATOR_SERVICE, WORKFLOW_SERVICE
from tompion.config.settings import Settings
from tompion.executors.base import Completed, Executor, RunContext
from tompion.executors.options import ExecutorEnv
from tompion.executors.temporal.executor import TemporalExecutor
from tompion.operations.runner import OperationRunner

T = TypeVar("T")
R = TypeVar("R", bound=Message)
HASTY = replace(QUICK, shutdown_grace_ms=100)
"""What runs on a cluster goes on there: nobody has to wait for it at the end of a test."""
SERVICES = {
    "workflow": WORKFLOW_SERVICE,
    "operator": OPERATOR_SERVICE,
    "health": "grpc.health.v1.Health",
}


class Through(ServiceClient):
    """Sends what the SDK sends to a door."""

    def __init__(self, door: Dispatcher, api_key: str | None = None) -> None:
        super().__init__(ConnectConfig(target_host="nowhere"))
        self.door = door
        self.api_key = api_key

    async def _rpc_call(
        self,
        rpc: str,
        req: Message,
        resp_type: type[R],
        *,
        service: str,
        retry: bool,
        metadata: Mapping[str, str | bytes],
        timeout: timedelta | None,  # noqa: ASYNC109 - the signature is the SDK's
    ) -> R:
        name = "".join(part.capitalize() for part in rpc.split("_"))
        try:
            credentials = Credentials(authorization=(f"Bearer {self.api_key}",) if self.api_key else ())
            body = await self.door.dispatch(f"/{SERVICES[service]}/{name}", req.SerializeToString(), credentials)
        except GrpcError as error:
            raise RPCError(error.message, RPCStatusCode(error.code), error.status) from None
        return resp_type.FromString(body)

    @property
    def worker_service_client(self) -> Any:
        raise NotImplementedError

    def update_rpc_metadata(self, metadata: Mapping[str, str | bytes]) -> None:
        raise NotImplementedError

    def update_api_key(self, api_key: str | None) -> None:
        self.api_key = api_key


class Written(Executor):
    """Starts nothing: every run succeeds at once."""

    async def run(self, dag: Any, meta: RunContext) -> Completed:
        return Completed(execution_id=f"{meta.schedule_id}/{meta.key[:12]}")


def door_to(
    runner: OperationRunner,
    *namespaces: str,
    gate: Authenticator | None = None,
    read_only: bool = False,
    per_s: int = 0,
) -> Dispatcher:
    """A door that raises what should never happen."""

    def raised(error: BaseException) -> None:
        raise AssertionError("the door has made a mistake") from error

    named = read_namespaces(namespaces or ("default",))
    deps = ServiceDeps(
        runner, "test", named, gate or OpenAuthenticator(), read_only, raised, NamespaceRateLimiter(per_s)
    )
    return Dispatcher(deps, METHODS)


def client_of(door: Dispatcher, namespace: str = "default", api_key: str | None = None) -> Client:
    return Client(Through(door, api_key), namespace=namespace)


@asynccontextmanager
async def opened(
    store: str, executors: dict[str, Executor], *namespaces: str, seconds: int = SECONDS, settings: Settings = HASTY
) -> AsyncIterator[tuple[Home, Client]]:
    """A whole Tompion, and the SDK in front of it."""
    async with asyncio.timeout(seconds), Home(store, executors, settings) as home:
        yield home, client_of(door_to(home.runner, *namespaces))


def told(story: Callable[[Home, Client], Awaitable[T]], store: str = "sqlite://", cluster: str = "") -> T:
    """What a story leads to; without a cluster its workflows are only written down."""

    async def tell() -> T:
        executor: Executor = Written() if not cluster else TemporalExecutor({"address": cluster}, ExecutorEnv())
        async with opened(store, {"temporal": executor}) as (home, client):
            return await story(home, client)

    return asyncio.run(tell())


def action(workflow: str = "echo", *args: Any, **more: Any) -> ScheduleActionStartWorkflow:
    return ScheduleActionStartWorkflow(workflow, args=args, **{"id": f"wf-{workflow}", "task_queue": QUEUE, **more})


def schedule(spec: ScheduleSpec | None = None, *args: Any, workflow: str = "echo", **more: Any) -> Schedule:
    spec = spec or ScheduleSpec(cron_expressions=["0 12 * * MON"])
    return Schedule(action=action(workflow, *args), spec=spec, **more)
