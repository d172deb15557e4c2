"""Temporal's own SDK and the dispatcher in one process, without a connection between them.

The SDK serializes each request, the dispatcher answers with bytes, and the SDK parses them as a server's response.
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
SHORT_GRACE = replace(QUICK, shutdown_grace_ms=100)
"""Settings with a short shutdown grace: a workflow continues on its cluster after the engine has stopped."""
SERVICES = {
    "workflow": WORKFLOW_SERVICE,
    "operator": OPERATOR_SERVICE,
    "health": "grpc.health.v1.Health",
}


class DispatcherServiceClient(ServiceClient):
    """A service client of the SDK that calls a dispatcher."""

    def __init__(self, dispatcher: Dispatcher, api_key: str | None = None) -> None:
        super().__init__(ConnectConfig(target_host="nowhere"))
        self.dispatcher = dispatcher
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
            body = await self.dispatcher.dispatch(f"/{SERVICES[service]}/{name}", req.SerializeToString(), credentials)
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


class ImmediateExecutor(Executor):
    """An executor that starts nothing. Every run succeeds immediately."""

    async def run(self, dag: Any, run_context: RunContext) -> Completed:
        return Completed(execution_id=f"{run_context.schedule_id}/{run_context.idempotency_key[:12]}")


def dispatcher_for(
    runner: OperationRunner,
    *namespaces: str,
    authenticator: Authenticator | None = None,
    read_only: bool = False,
    per_s: int = 0,
) -> Dispatcher:
    """Build a dispatcher that raises internal errors."""

    def raise_internal_error(error: BaseException) -> None:
        raise AssertionError("internal error in the dispatcher") from error

    deps = ServiceDeps(
        runner,
        "test",
        read_namespaces(namespaces or ("default",)),
        authenticator or OpenAuthenticator(),
        read_only,
        raise_internal_error,
        NamespaceRateLimiter(per_s),
    )
    return Dispatcher(deps, METHODS)


def sdk_client(dispatcher: Dispatcher, namespace: str = "default", api_key: str | None = None) -> Client:
    return Client(DispatcherServiceClient(dispatcher, api_key), namespace=namespace)


@asynccontextmanager
async def running_app(
    store: str,
    executors: dict[str, Executor],
    *namespaces: str,
    seconds: int = SECONDS,
    settings: Settings = SHORT_GRACE,
) -> AsyncIterator[tuple[Home, Client]]:
    """Run Tompion with its engine, and yield it with an SDK client."""
    async with asyncio.timeout(seconds), Home(store, executors, settings) as home:
        yield home, sdk_client(dispatcher_for(home._runner, *namespaces))


def run_scenario(scenario: Callable[[Home, Client], Awaitable[T]], store: str = "sqlite://", cluster: str = "") -> T:
    """Return the result of a scenario. Without a cluster, its runs succeed and start no workflow."""

    async def run() -> T:
        executor: Executor = (
            ImmediateExecutor() if not cluster else TemporalExecutor({"address": cluster}, ExecutorEnv())
        )
        async with running_app(store, {"temporal": executor}) as (home, client):
            return await scenario(home, client)

    return asyncio.run(run())


def action(workflow: str = "echo", *args: Any, **more: Any) -> ScheduleActionStartWorkflow:
    return ScheduleActionStartWorkflow(workflow, args=args, **{"id": f"wf-{workflow}", "task_queue": QUEUE, **more})


def schedule(spec: ScheduleSpec | None = None, *args: Any, workflow: str = "echo", **more: Any) -> Schedule:
    spec = spec or ScheduleSpec(cron_expressions=["0 12 * * MON"])
    return Schedule(action=action(workflow, *args), spec=spec, **more)
