"""Runs as workflows of a Temporal cluster, with an id derived from the tick, followed until they end.

The request id belongs to the run, so a repeated start finds the workflow of the first one, even if that has ended
meanwhile.  The result or the failure of the previous run is passed on unchanged.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from temporalio.api.common.v1 import Payloads
from temporalio.api.enums.v1 import EventType, WorkflowIdConflictPolicy
from temporalio.api.failure.v1 import Failure
from temporalio.api.workflowservice.v1 import StartWorkflowExecutionRequest
from temporalio.client import Client, WorkflowExecutionDescription, WorkflowHandle
from temporalio.converter import PayloadConverter
from temporalio.service import RPCError, RPCStatusCode, TLSConfig

from tompion.encoding.bounded_text import json_value, truncate
from tompion.errors import InvalidField, LaunchError, LaunchRefused, TargetUnreachable
from tompion.executors.base import Completed, Executor, RunContext
from tompion.executors.options import ExecutorEnv, check_settings, check_workflow_options, int_setting
from tompion.executors.queue_message import text_option
from tompion.executors.temporal.messages import add_search_attributes, close_event, failure_text, history_request
from tompion.executors.temporal.start_options import apply_start_options
from tompion.executors.temporal.workflow_ids import (
    MEMO,
    TICK,
    earlier_run_id,
    may_use_fallback_id,
    memo_matches,
    reuse_policy,
    workflow_ids,
)
from tompion.model.action_options import EXECUTOR_OPTIONS
from tompion.model.run import RunState
from tompion.runtime.clock import pause

SETTINGS = ("address", "namespace", "api_key", "tls", "timeout_ms", "max_active", "namespaces")
TRACER_HEADER = "_tracer-data"
"""The header in which Temporal's OpenTelemetry interceptors expect the trace context."""
POLL_TIMEOUT = timedelta(seconds=70)
"""The timeout of one long poll. The server responds after a minute if the workflow still runs."""
RETRY_DELAY_S = 1.0
"""The delay after a failed poll."""
MAX_TIMEOUT_MS = 315_576_000_000_000
"""The longest timeout of the protocol: ten thousand years."""
MAX_CACHED_ENDS = 1_000
"""The number of workflow ends that are cached for later runs."""
UNREACHABLE_STATUSES = (RPCStatusCode.UNAVAILABLE, RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED)
PERMANENT_STATUSES = (
    RPCStatusCode.INVALID_ARGUMENT,
    RPCStatusCode.NOT_FOUND,
    RPCStatusCode.PERMISSION_DENIED,
    RPCStatusCode.UNAUTHENTICATED,
    RPCStatusCode.UNIMPLEMENTED,
    RPCStatusCode.FAILED_PRECONDITION,
)


class TemporalExecution(NamedTuple):
    """One execution of a workflow. The ledger stores it as text."""

    workflow_id: str
    run_id: str

    def __str__(self) -> str:
        return f"{self.workflow_id}/{self.run_id}"

    @classmethod
    def read(cls, text: str) -> TemporalExecution:
        """Return the execution that a text of the ledger identifies."""
        workflow_id, _, run_id = text.rpartition("/")
        return cls(workflow_id, run_id)


class TemporalEnd(NamedTuple):
    """The end of a workflow, as the server reports it."""

    state: RunState
    result: Payloads | None = None
    failure: Failure | None = None
    message: str | None = None


class TemporalExecutor(Executor):
    """Starts workflows and follows them."""

    remote = True
    wants_previous = True

    def __init__(self, configured: Mapping[str, Any], env: ExecutorEnv) -> None:
        check_settings(configured, "temporal", *SETTINGS)
        self._address = _text(configured, "address", "127.0.0.1:7233")
        self._namespace = _text(configured, "namespace", "default")
        self._api_key = _text(configured, "api_key", "") if "api_key" in configured else None
        self._tls = _tls_config(configured.get("tls"))
        self._rpc_timeout = timedelta(milliseconds=int_setting(configured, "temporal", "timeout_ms", 10_000))
        self.max_active: int = int_setting(configured, "temporal", "max_active", 1_000)
        self._env = env
        self._connected: Client | None = None
        self._connecting: asyncio.Future[Client] | None = None
        self._starts: OrderedDict[str, asyncio.Future[TemporalExecution]] = OrderedDict()
        self._ends: OrderedDict[str, TemporalEnd] = OrderedDict()
        self._by_namespace = _namespace_executors(configured, env)

    async def run(self, dag: Any, run_context: RunContext) -> Completed:
        """Start the workflow, unless an earlier attempt did, and wait until it ends."""
        if run_context.namespace in self._by_namespace:
            return await self._by_namespace[run_context.namespace].run(dag, run_context)
        check_workflow_options(run_context.options, *EXECUTOR_OPTIONS["temporal"])
        done = run_context.options.get("done", "followed")
        if done not in ("followed", "taken"):
            raise LaunchRefused("the workflow's option done is neither 'followed' nor 'taken'")
        client = await self._client()
        execution = await self._begin(client, await self._request(client, dag, run_context), run_context)
        run_context.progress(execution._asdict())
        if done == "taken":
            return Completed(execution_id=str(execution))
        end = await self._wait_for_end(client, execution)
        return await self._outcome(client, execution, end)

    async def cancel(self, dag: Any, run_context: RunContext, execution_id: str | None) -> bool:
        """Request the cancellation of the workflow. The task that follows it gets the outcome."""
        if run_context.namespace in self._by_namespace:
            return await self._by_namespace[run_context.namespace].cancel(dag, run_context, execution_id)
        handle = await self._handle(run_context, execution_id)
        if handle is None:
            return False
        await _ignore_not_found(handle.cancel(rpc_timeout=self._rpc_timeout))
        return bool(run_context.options.get("done", "followed") == "followed")

    async def terminate(self, dag: Any, run_context: RunContext, execution_id: str | None) -> None:
        """End the workflow by force."""
        if run_context.namespace in self._by_namespace:
            return await self._by_namespace[run_context.namespace].terminate(dag, run_context, execution_id)
        handle = await self._handle(run_context, execution_id)
        if handle is not None:
            await _ignore_not_found(handle.terminate(reason="replaced by a later run", rpc_timeout=self._rpc_timeout))
        return None

    async def _handle(self, run_context: RunContext, execution_id: str | None) -> WorkflowHandle[Any, Any] | None:
        """Return a handle of a run's workflow, with its continuations but never another one with the same id."""
        client = await self._client()
        execution = (
            await self._execution(client, run_context) if execution_id is None else TemporalExecution.read(execution_id)
        )
        if execution is None:
            return None
        return client.get_workflow_handle(execution.workflow_id, first_execution_run_id=execution.run_id)

    async def _execution(self, client: Client, run_context: RunContext) -> TemporalExecution | None:
        """Return the execution of a run, started here or by a worker that was lost. Wait for a pending start."""
        start = self._starts.get(run_context.delivery_id)
        if start is not None:
            await asyncio.wait({start})
            return None if start.cancelled() or _exception_of(start) else start.result()
        workflow = await self._find_workflow(client, run_context)
        return None if workflow is None else TemporalExecution(workflow.id, workflow.raw_info.first_run_id)

    async def _find_workflow(self, client: Client, run_context: RunContext) -> WorkflowExecutionDescription | None:
        """Return the workflow that was started for a run, under either of its ids."""
        for workflow_id in workflow_ids(run_context).candidates:
            workflow = await self._describe(client, workflow_id)
            if workflow is not None and memo_matches(run_context, await workflow.memo_value(MEMO, None)):
                return workflow
        return None

    async def _describe(self, client: Client, workflow_id: str) -> WorkflowExecutionDescription | None:
        try:
            return await client.get_workflow_handle(workflow_id).describe(rpc_timeout=self._rpc_timeout)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise _launch_error(error) from None

    # --- start ------------------------------------------------------------------------------------------------

    async def _client(self) -> Client:
        """Return the connection. Concurrent callers share one attempt to connect."""
        if self._connected is None:
            if self._connecting is None:
                self._connecting = asyncio.ensure_future(self._connect())
                self._connecting.add_done_callback(self._connect_done)
            self._connected = await asyncio.shield(self._connecting)
        return self._connected

    async def _connect(self) -> Client:
        try:
            async with asyncio.timeout(self._rpc_timeout.total_seconds()):
                return await Client.connect(
                    self._address, namespace=self._namespace, api_key=self._api_key, tls=self._tls
                )
        except ValueError as error:
            raise LaunchRefused(f"the settings for Temporal are invalid: {error}") from None
        except (RuntimeError, RPCError, TimeoutError) as error:
            raise TargetUnreachable(f"cannot reach Temporal at {self._address}: {type(error).__name__}") from None

    def _connect_done(self, connecting: asyncio.Future[Client]) -> None:
        self._connecting = None
        _exception_of(connecting)

    async def _request(self, client: Client, dag: Any, run_context: RunContext) -> StartWorkflowExecutionRequest:
        """Return the request that starts the workflow of a run."""
        options, convert = run_context.options, client.data_converter
        workflow = await self._find_workflow(client, run_context) if run_context.failures else None
        request = StartWorkflowExecutionRequest(
            namespace=self._namespace,
            workflow_id=workflow_ids(run_context).default if workflow is None else workflow.id,
            request_id=run_context.delivery_id,
            identity=client.identity,
            workflow_id_reuse_policy=reuse_policy(run_context, has_begun=workflow is not None),
            workflow_id_conflict_policy=WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
        )
        request.workflow_type.name = text_option(run_context, "workflow")
        request.task_queue.name = text_option(run_context, "task_queue")
        if "start" in options:
            apply_start_options(request, options["start"])
        else:
            request.input.payloads.extend(await convert.encode(_arguments(dag, run_context)))
        for name, value in {MEMO: _memo_of(run_context), **_mapping(options, "memo")}.items():
            request.memo.fields[name].CopyFrom((await convert.encode([value]))[0])
        if run_context.traceparent is not None:
            carrier = PayloadConverter.default.to_payloads([{"traceparent": run_context.traceparent}])
            request.header.fields[TRACER_HEADER].CopyFrom(carrier[0])
        add_search_attributes(request.search_attributes, run_context, _mapping(options, "search_attributes"))
        for name in ("execution", "run", "task"):
            _set_timeout(getattr(request, f"workflow_{name}_timeout"), options, f"{name}_timeout_ms")
        await self._add_previous_end(client, request, run_context)
        return request

    async def _add_previous_end(
        self, client: Client, request: StartWorkflowExecutionRequest, run_context: RunContext
    ) -> None:
        """Add the last result to the request, and the last failure if that is later."""
        succeeded, failed = run_context.previous
        if succeeded is not None and (end := await self._cached_end(client, succeeded)) and end.result is not None:
            request.last_completion_result.CopyFrom(end.result)
        if failed is not None and (end := await self._cached_end(client, failed)) and end.failure is not None:
            request.continued_failure.CopyFrom(end.failure)

    async def _cached_end(self, client: Client, execution_id: str) -> TemporalEnd | None:
        """Return the end of an earlier run, from the cache or from the server, unless its retention has expired."""
        if execution_id not in self._ends:
            end: TemporalEnd | TemporalExecution | None = TemporalExecution.read(execution_id)
            try:
                while isinstance(end, TemporalExecution):  # continued as new
                    end = await self._poll_end(client, end, wait=False)
            except RPCError:
                return None
            if end is None:
                return None
            self._cache_end(execution_id, end)
        return self._ends[execution_id]

    async def _begin(
        self, client: Client, request: StartWorkflowExecutionRequest, run_context: RunContext
    ) -> TemporalExecution:
        """Start the workflow. The start completes even if the caller is cancelled."""
        self._starts[request.request_id] = start = asyncio.ensure_future(self._start(client, request, run_context))
        start.add_done_callback(_exception_of)
        while len(self._starts) > self.max_active + MAX_CACHED_ENDS:
            self._starts.popitem(last=False)
        return await asyncio.shield(start)

    async def _start(
        self, client: Client, request: StartWorkflowExecutionRequest, run_context: RunContext
    ) -> TemporalExecution:
        """Start the workflow or find it. Use the fallback id if another run has the default one."""
        try:
            response = await client.workflow_service.start_workflow_execution(request, timeout=self._rpc_timeout)
        except RPCError as error:
            if error.status is not RPCStatusCode.ALREADY_EXISTS:
                raise _launch_error(error) from None
            run_id = earlier_run_id(error, request.request_id)
            if run_id is not None:
                return TemporalExecution(request.workflow_id, run_id)
        else:
            return TemporalExecution(request.workflow_id, response.run_id)
        taken, fallback = request.workflow_id, workflow_ids(run_context).fallback
        if fallback is None or fallback == taken or not await self._may_use_fallback_id(client, taken, run_context):
            raise LaunchRefused(f"the workflow id {taken!r} is in use by another execution")
        request.workflow_id = fallback
        return await self._start(client, request, run_context)

    async def _may_use_fallback_id(self, client: Client, taken: str, run_context: RunContext) -> bool:
        workflow = None if run_context.source != TICK else await self._describe(client, taken)
        return may_use_fallback_id(run_context, None if workflow is None else await workflow.memo_value(MEMO, None))

    # --- the end --------------------------------------------------------------------------------------------------

    async def _wait_for_end(self, client: Client, execution: TemporalExecution) -> TemporalEnd:
        """Wait until a workflow and its continuations have ended."""
        while True:
            try:
                end = await self._poll_end(client, execution, wait=True)
            except RPCError as error:
                if error.status in PERMANENT_STATUSES:
                    return TemporalEnd(
                        RunState.FAILED, message=f"Temporal has no record of the execution: {error.status.name}"
                    )
                await pause(RETRY_DELAY_S)
                continue
            if isinstance(end, TemporalEnd):
                return end
            execution = end or execution

    async def _poll_end(
        self, client: Client, execution: TemporalExecution, *, wait: bool
    ) -> TemporalEnd | TemporalExecution | None:
        """Return the end of an execution, its continuation, or ``None`` if it still runs."""
        request = history_request(self._namespace, execution.workflow_id, execution.run_id, wait=wait)
        while True:
            response = await client.workflow_service.get_workflow_execution_history(request, timeout=POLL_TIMEOUT)
            event = close_event(response)
            if event is not None:
                break
            if not response.next_page_token or not wait:
                return None
            request.next_page_token = response.next_page_token
        kind, attributes = event
        next_run_id = getattr(attributes, "new_execution_run_id", "")
        if next_run_id:
            return TemporalExecution(execution.workflow_id, next_run_id)
        end: TemporalEnd = _END_BY_EVENT[kind](attributes)
        return end

    async def _outcome(self, client: Client, execution: TemporalExecution, end: TemporalEnd) -> Completed:
        execution_id, max_bytes = str(execution), self._env.max_result_bytes
        self._cache_end(execution_id, end)
        if end.state is RunState.SUCCESS:
            value = await _read_result(client, end.result)
            return Completed(result=None if value is None else json_value(value, max_bytes), execution_id=execution_id)
        message = end.message if end.failure is None else failure_text(end.failure)
        error = None if message is None else truncate(message, max_bytes)
        return Completed(end.state, error=error, execution_id=execution_id)

    def _cache_end(self, execution_id: str, end: TemporalEnd) -> None:
        self._ends[execution_id] = end
        if len(self._ends) > MAX_CACHED_ENDS:
            self._ends.popitem(last=False)


def _launch_error(error: RPCError) -> LaunchError:
    if error.status in UNREACHABLE_STATUSES:
        return TargetUnreachable(f"cannot reach Temporal: {error.status.name}")
    kind = LaunchRefused if error.status in PERMANENT_STATUSES else LaunchError
    return kind(f"Temporal rejected the start: {error.status.name}: {error.message}")


def _exception_of(done: asyncio.Future[Any]) -> BaseException | None:
    """Return the exception of a future. Reading it avoids a warning if no task waits for the future."""
    return None if done.cancelled() else done.exception()


async def _ignore_not_found(call: Any) -> None:
    """Await a request about a workflow that may have ended already."""
    try:
        await call
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise


def _arguments(dag: Any, run_context: RunContext) -> list[Any]:
    args = run_context.options.get("args")
    if args is None:
        return [{"dag": dag, "meta": run_context.meta}]
    if not isinstance(args, list):
        raise LaunchRefused("the workflow's option args is not a list")
    return args


async def _read_result(client: Client, result: Payloads | None) -> Any:
    """Return the result of a workflow, or ``None`` if it is encrypted."""
    try:
        values = [] if result is None else await client.data_converter.decode(result.payloads)
    except (KeyError, RuntimeError):
        return None
    return values[0] if len(values) == 1 else values or None


def _memo_of(run_context: RunContext) -> dict[str, Any]:
    return {name: value for name, value in run_context.meta.items() if name != "payload"}


def _mapping(options: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = options.get(name, {})
    if not isinstance(value, Mapping):
        raise LaunchRefused(f"the workflow's option {name} is not an object")
    return value


def _set_timeout(field: Any, options: Mapping[str, Any], name: str) -> None:
    value = options.get(name)
    if value is None:
        return
    if type(value) is not int or not 1 <= value <= MAX_TIMEOUT_MS:
        raise LaunchRefused(
            f"the workflow's option {name} is not a whole number of milliseconds from 1 to {MAX_TIMEOUT_MS}"
        )
    field.FromMilliseconds(value)


def _text(configured: Mapping[str, Any], name: str, default: str) -> str:
    value = configured.get(name, default)
    if not isinstance(value, str) or not value:
        raise InvalidField(f"executors.temporal.{name}", "expected text")
    return value


def _namespace_executors(configured: Mapping[str, Any], env: ExecutorEnv) -> dict[str, TemporalExecutor]:
    """Return an executor for each namespace with a cluster or a Temporal namespace of its own."""
    tables = configured.get("namespaces", {})
    if not isinstance(tables, Mapping) or not all(isinstance(table, Mapping) for table in tables.values()):
        raise InvalidField("executors.temporal.namespaces", "expected tables, one for each namespace of Tompion")
    shared = {name: value for name, value in configured.items() if name != "namespaces"}
    return {name: TemporalExecutor({**shared, **table}, env) for name, table in tables.items()}


def _tls_config(value: Any) -> bool | TLSConfig:
    """Return the TLS settings: off, the authorities of the machine, or files."""
    if value is None or isinstance(value, bool):
        return bool(value)
    if not isinstance(value, Mapping) or not set(value) <= {"ca", "cert", "key", "domain"}:
        raise InvalidField("executors.temporal.tls", "expected true, false, or the files ca, cert and key, and domain")
    try:
        read = {name: _read(value[name]) for name in ("ca", "cert", "key") if name in value}
    except OSError as error:
        raise InvalidField("executors.temporal.tls", f"{error.filename}: {error.strerror}") from None
    return TLSConfig(
        server_root_ca_cert=read.get("ca"),
        client_cert=read.get("cert"),
        client_private_key=read.get("key"),
        domain=value.get("domain"),
    )


def _read(path: Any) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123 - the same for text and paths
        return file.read()


def _end_of_completed(about: Any) -> TemporalEnd:
    return TemporalEnd(RunState.SUCCESS, result=about.result)


def _end_of_failed(about: Any) -> TemporalEnd:
    return TemporalEnd(RunState.FAILED, failure=about.failure)


_END_BY_EVENT: dict[int, Any] = {
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED: _end_of_completed,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED: _end_of_failed,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED: lambda _: TemporalEnd(RunState.CANCELLED, message="cancelled"),
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED: lambda about: TemporalEnd(
        RunState.TERMINATED, message=about.reason or "terminated"
    ),
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT: lambda _: TemporalEnd(RunState.TIMED_OUT, message="timed out"),
}
