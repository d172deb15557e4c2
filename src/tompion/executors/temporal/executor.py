"""Runs as workflows of a Temporal cluster: started under an id of the tick, followed to their end.

The request id is the run's own, so a start that is sent again finds what it began before; and a workflow that has
ended meanwhile says which request had begun it.  What the previous run left, its result or its failure, is handed on
as it is.
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

from tompion.errors import InvalidField, LaunchError, LaunchRefused
from tompion.executors.base import Completed, Executor, RunContext
from tompion.executors.options import ExecutorEnv, known_options, only, whole
from tompion.executors.queue_message import text_option
from tompion.executors.temporal.messages import close_event_of, failure_text, history_request, search_attributes
from tompion.executors.temporal.start_options import hand_on
from tompion.executors.temporal.workflow_ids import (
    MEMO,
    TICK,
    begun_before,
    ids_of,
    is_of,
    may_step_aside,
    reuse_policy,
)
from tompion.model.codec import json_value, truncate
from tompion.model.run import RunState
from tompion.runtime.clock import pause

CONFIGURED = ("address", "namespace", "api_key", "tls", "timeout_ms", "max_active", "namespaces")
OPTIONS = (
    "workflow", "task_queue", "workflow_id", "id", "args", "memo", "search_attributes", "done", "start",
    "execution_timeout_ms", "run_timeout_ms", "task_timeout_ms",
)  # fmt: skip
TRACER = "_tracer-data"
"""The header in which Temporal's own interceptors for OpenTelemetry look for a trace."""
POLL_S = timedelta(seconds=70)
"""How long one question about a workflow's end may take; the server answers after a minute if it goes on."""
AGAIN_S = 1.0
"""The pause after a question that could not be answered."""
LONGEST_MS = 315_576_000_000_000
"""The longest timeout that the protocol knows: ten thousand years."""
REMEMBERED = 1_000
"""Of how many ended workflows the end is remembered, for the runs after them."""
UNREACHABLE = (RPCStatusCode.UNAVAILABLE, RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED)
HOPELESS = (
    RPCStatusCode.INVALID_ARGUMENT,
    RPCStatusCode.NOT_FOUND,
    RPCStatusCode.PERMISSION_DENIED,
    RPCStatusCode.UNAUTHENTICATED,
    RPCStatusCode.UNIMPLEMENTED,
    RPCStatusCode.FAILED_PRECONDITION,
)


class TemporalExecution(NamedTuple):
    """One execution of a workflow; the ledger keeps it as text."""

    workflow_id: str
    run_id: str

    def __str__(self) -> str:
        return f"{self.workflow_id}/{self.run_id}"

    @classmethod
    def read(cls, text: str) -> TemporalExecution:
        """Return the execution that the ledger knows."""
        workflow_id, _, run_id = text.rpartition("/")
        return cls(workflow_id, run_id)


class TemporalEnd(NamedTuple):
    """How a workflow ended, as the server tells it."""

    state: RunState
    result: Payloads | None = None
    failure: Failure | None = None
    said: str | None = None


class TemporalExecutor(Executor):
    """Starts workflows, and follows them."""

    remote = True
    wants_previous = True

    def __init__(self, configured: Mapping[str, Any], site: ExecutorEnv) -> None:
        """Take where the cluster is; nothing is connected yet."""
        only(configured, "temporal", *CONFIGURED)
        self._address = _text(configured, "address", "127.0.0.1:7233")
        self._namespace = _text(configured, "namespace", "default")
        self._api_key = _text(configured, "api_key", "") if "api_key" in configured else None
        self._tls = _tls_of(configured.get("tls"))
        self._patience = timedelta(milliseconds=whole(configured, "temporal", "timeout_ms", 10_000))
        self.max_active = whole(configured, "temporal", "max_active", 1_000)
        self._site = site
        self._connected: Client | None = None
        self._connecting: asyncio.Future[Client] | None = None
        self._begun: OrderedDict[str, asyncio.Future[TemporalExecution]] = OrderedDict()
        self._ends: OrderedDict[str, TemporalEnd] = OrderedDict()
        self._elsewhere = _other_clusters(configured, site)

    async def run(self, dag: Any, meta: RunContext) -> Completed:
        """Start the workflow, unless an earlier attempt has, and wait for its end."""
        if meta.namespace in self._elsewhere:
            return await self._elsewhere[meta.namespace].run(dag, meta)
        known_options(meta.options, *OPTIONS)
        done = meta.options.get("done", "followed")
        if done not in ("followed", "taken"):
            raise LaunchRefused("the workflow's option done is neither 'followed' nor 'taken'")
        client = await self._client()
        execution = await self._begin(client, await self._request(client, dag, meta), meta)
        meta.progress(execution._asdict())
        if done == "taken":
            return Completed(execution_id=str(execution))
        end = await self._end_of(client, execution)
        return await self._ended(client, execution, end)

    async def cancel(self, dag: Any, meta: RunContext, execution_id: str | None) -> bool:
        """Ask the workflow to end; whoever follows it will see how it does."""
        if meta.namespace in self._elsewhere:
            return await self._elsewhere[meta.namespace].cancel(dag, meta, execution_id)
        handle = await self._handle(meta, execution_id)
        if handle is None:
            return False
        await _told(handle.cancel(rpc_timeout=self._patience))
        return bool(meta.options.get("done", "followed") == "followed")

    async def terminate(self, dag: Any, meta: RunContext, execution_id: str | None) -> None:
        """End the workflow by force."""
        if meta.namespace in self._elsewhere:
            return await self._elsewhere[meta.namespace].terminate(dag, meta, execution_id)
        handle = await self._handle(meta, execution_id)
        if handle is not None:
            await _told(handle.terminate(reason="a later run takes its place", rpc_timeout=self._patience))
        return None

    async def _handle(self, meta: RunContext, execution_id: str | None) -> WorkflowHandle[Any, Any] | None:
        """Return the workflow of a run and whatever continues it; never another one under the same id."""
        client = await self._client()
        execution = (
            await self._execution(client, meta) if execution_id is None else TemporalExecution.read(execution_id)
        )
        if execution is None:
            return None
        return client.get_workflow_handle(execution.workflow_id, first_execution_run_id=execution.run_id)

    async def _execution(self, client: Client, meta: RunContext) -> TemporalExecution | None:
        """Return what was started for a run: here, perhaps this very moment, or by a worker that was lost."""
        begun = self._begun.get(meta.delivery_id)
        if begun is not None:
            await asyncio.wait({begun})
            return None if begun.cancelled() or _failure_of(begun) else begun.result()
        known = await self._known(client, meta)
        return None if known is None else TemporalExecution(known.id, known.raw_info.first_run_id)

    async def _known(self, client: Client, meta: RunContext) -> WorkflowExecutionDescription | None:
        """Return the workflow that was started for a run, under whichever of its ids."""
        for workflow_id in ids_of(meta).each:
            found = await self._described(client, workflow_id)
            if found is not None and is_of(meta, await found.memo_value(MEMO, None)):
                return found
        return None

    async def _described(self, client: Client, workflow_id: str) -> WorkflowExecutionDescription | None:
        try:
            return await client.get_workflow_handle(workflow_id).describe(rpc_timeout=self._patience)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise _launch_error(error) from None

    # --- beginning ------------------------------------------------------------------------------------------------

    async def _client(self) -> Client:
        """Return the connection; all who want one while there is none wait for the same attempt."""
        if self._connected is None:
            if self._connecting is None:
                self._connecting = asyncio.ensure_future(self._connect())
                self._connecting.add_done_callback(self._has_tried)
            self._connected = await asyncio.shield(self._connecting)
        return self._connected

    async def _connect(self) -> Client:
        try:
            async with asyncio.timeout(self._patience.total_seconds()):
                return await Client.connect(
                    self._address, namespace=self._namespace, api_key=self._api_key, tls=self._tls
                )
        except ValueError as error:
            raise LaunchRefused(f"Temporal cannot be reached as configured: {error}") from None
        except (RuntimeError, RPCError, TimeoutError) as error:
            raise LaunchError(f"cannot reach Temporal at {self._address}: {type(error).__name__}") from None

    def _has_tried(self, connecting: asyncio.Future[Client]) -> None:
        self._connecting = None
        _failure_of(connecting)

    async def _request(self, client: Client, dag: Any, meta: RunContext) -> StartWorkflowExecutionRequest:
        options, convert = meta.options, client.data_converter
        known = await self._known(client, meta) if meta.failures else None
        request = StartWorkflowExecutionRequest(
            namespace=self._namespace,
            workflow_id=ids_of(meta).usual if known is None else known.id,
            request_id=meta.delivery_id,
            identity=client.identity,
            workflow_id_reuse_policy=reuse_policy(meta, has_begun=known is not None),
            workflow_id_conflict_policy=WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
        )
        request.workflow_type.name = text_option(meta, "workflow")
        request.task_queue.name = text_option(meta, "task_queue")
        if "start" in options:
            hand_on(request, options["start"])
        else:
            request.input.payloads.extend(await convert.encode(_arguments(dag, meta)))
        for name, value in {MEMO: _about(meta), **_mapping(options, "memo")}.items():
            request.memo.fields[name].CopyFrom((await convert.encode([value]))[0])
        if meta.traceparent is not None:
            carrier = PayloadConverter.default.to_payloads([{"traceparent": meta.traceparent}])
            request.header.fields[TRACER].CopyFrom(carrier[0])
        search_attributes(request.search_attributes, meta, _mapping(options, "search_attributes"))
        for name in ("execution", "run", "task"):
            _set_timeout(getattr(request, f"workflow_{name}_timeout"), options, f"{name}_timeout_ms")
        await self._hand_on(client, request, meta)
        return request

    async def _hand_on(self, client: Client, request: StartWorkflowExecutionRequest, meta: RunContext) -> None:
        """Give the workflow what was left before: the last result, and the last failure, if that is later."""
        succeeded, failed = meta.previous
        if succeeded is not None and (end := await self._known_end(client, succeeded)) and end.result is not None:
            request.last_completion_result.CopyFrom(end.result)
        if failed is not None and (end := await self._known_end(client, failed)) and end.failure is not None:
            request.continued_failure.CopyFrom(end.failure)

    async def _known_end(self, client: Client, execution_id: str) -> TemporalEnd | None:
        """Return how an earlier run ended, from memory or from the server, which may have forgotten it."""
        if execution_id not in self._ends:
            end: TemporalEnd | TemporalExecution | None = TemporalExecution.read(execution_id)
            try:
                while isinstance(end, TemporalExecution):  # which may have been continued
                    end = await self._look(client, end, wait=False)
            except RPCError:
                return None
            if end is None:
                return None
            self._remember(execution_id, end)
        return self._ends[execution_id]

    async def _begin(
        self, client: Client, request: StartWorkflowExecutionRequest, meta: RunContext
    ) -> TemporalExecution:
        """Start the workflow, and remember it; one whose start is under way is started, whoever waits for it."""
        self._begun[request.request_id] = begun = asyncio.ensure_future(self._start(client, request, meta))
        begun.add_done_callback(_failure_of)
        while len(self._begun) > self.max_active + REMEMBERED:
            self._begun.popitem(last=False)
        return await asyncio.shield(begun)

    async def _start(
        self, client: Client, request: StartWorkflowExecutionRequest, meta: RunContext
    ) -> TemporalExecution:
        """Start the workflow, or find it; under the other of its ids, if the usual one is another run's."""
        try:
            answer = await client.workflow_service.start_workflow_execution(request, timeout=self._patience)
        except RPCError as error:
            if error.status is not RPCStatusCode.ALREADY_EXISTS:
                raise _launch_error(error) from None
            begun = begun_before(error, request.request_id)
            if begun is not None:
                return TemporalExecution(request.workflow_id, begun)
        else:
            return TemporalExecution(request.workflow_id, answer.run_id)
        taken, spare = request.workflow_id, ids_of(meta).spare
        if spare is None or spare == taken or not await self._may_step_aside(client, taken, meta):
            raise LaunchRefused(f"the workflow id {taken!r} is taken by somebody else's execution")
        request.workflow_id = spare
        return await self._start(client, request, meta)

    async def _may_step_aside(self, client: Client, taken: str, meta: RunContext) -> bool:
        found = None if meta.source != TICK else await self._described(client, taken)
        return may_step_aside(meta, None if found is None else await found.memo_value(MEMO, None))

    # --- the end --------------------------------------------------------------------------------------------------

    async def _end_of(self, client: Client, execution: TemporalExecution) -> TemporalEnd:
        """Wait for the end of a workflow, and of whatever continues it."""
        while True:
            try:
                found = await self._look(client, execution, wait=True)
            except RPCError as error:
                if error.status in HOPELESS:
                    return TemporalEnd(
                        RunState.FAILED, said=f"Temporal knows nothing of it any more: {error.status.name}"
                    )
                await pause(AGAIN_S)
                continue
            if isinstance(found, TemporalEnd):
                return found
            execution = found or execution

    async def _look(
        self, client: Client, execution: TemporalExecution, *, wait: bool
    ) -> TemporalEnd | TemporalExecution | None:
        """Ask how an execution ended: an end, what continues it, or nothing yet."""
        request = history_request(self._namespace, execution.workflow_id, execution.run_id, wait=wait)
        while True:
            answer = await client.workflow_service.get_workflow_execution_history(request, timeout=POLL_S)
            event = close_event_of(answer)
            if event is not None:
                break
            if not answer.next_page_token or not wait:
                return None
            request.next_page_token = answer.next_page_token
        kind, about = event
        following = getattr(about, "new_execution_run_id", "")
        if following:
            return TemporalExecution(execution.workflow_id, following)
        end: TemporalEnd = _END_OF[kind](about)
        return end

    async def _ended(self, client: Client, execution: TemporalExecution, end: TemporalEnd) -> Completed:
        name, most = str(execution), self._site.max_result_bytes
        self._remember(name, end)
        if end.state is RunState.SUCCESS:
            value = await _read_result(client, end.result)
            return Completed(result=None if value is None else json_value(value, most), execution_id=name)
        said = end.said if end.failure is None else failure_text(end.failure)
        return Completed(end.state, error=None if said is None else truncate(said, most), execution_id=name)

    def _remember(self, execution_id: str, end: TemporalEnd) -> None:
        self._ends[execution_id] = end
        if len(self._ends) > REMEMBERED:
            self._ends.popitem(last=False)


def _launch_error(error: RPCError) -> LaunchError:
    if error.status in UNREACHABLE:
        return LaunchError(f"cannot reach Temporal: {error.status.name}")
    kind = LaunchRefused if error.status in HOPELESS else LaunchError
    return kind(f"Temporal does not start it: {error.status.name}: {error.message}")


def _failure_of(done: asyncio.Future[Any]) -> BaseException | None:
    """Return why something has failed, and have looked at it: whoever wanted to know may be gone."""
    return None if done.cancelled() else done.exception()


async def _told(call: Any) -> None:
    """Tell a workflow to end, which may have ended already."""
    try:
        await call
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise


def _arguments(dag: Any, meta: RunContext) -> list[Any]:
    given = meta.options.get("args")
    if given is None:
        return [{"dag": dag, "meta": meta.meta}]
    if not isinstance(given, list):
        raise LaunchRefused("the workflow's option args is no list")
    return given


async def _read_result(client: Client, result: Payloads | None) -> Any:
    """Return what a workflow has returned; nothing, if only those who have the key can read it."""
    try:
        values = [] if result is None else await client.data_converter.decode(result.payloads)
    except (KeyError, RuntimeError):
        return None
    return values[0] if len(values) == 1 else values or None


def _about(meta: RunContext) -> dict[str, Any]:
    return {name: value for name, value in meta.meta.items() if name != "payload"}


def _mapping(options: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = options.get(name, {})
    if not isinstance(value, Mapping):
        raise LaunchRefused(f"the workflow's option {name} is no object")
    return value


def _set_timeout(field: Any, options: Mapping[str, Any], name: str) -> None:
    value = options.get(name)
    if value is None:
        return
    if type(value) is not int or not 1 <= value <= LONGEST_MS:
        raise LaunchRefused(f"the workflow's option {name} is no whole number of milliseconds from 1 to {LONGEST_MS}")
    field.FromMilliseconds(value)


def _text(configured: Mapping[str, Any], name: str, default: str) -> str:
    value = configured.get(name, default)
    if not isinstance(value, str) or not value:
        raise InvalidField(f"executors.temporal.{name}", "expected text")
    return value


def _other_clusters(configured: Mapping[str, Any], site: ExecutorEnv) -> dict[str, TemporalExecutor]:
    """Return who starts workflows for namespaces that have a cluster of their own, or a namespace of another name."""
    tables = configured.get("namespaces", {})
    if not isinstance(tables, Mapping) or not all(isinstance(each, Mapping) for each in tables.values()):
        raise InvalidField("executors.temporal.namespaces", "expected tables, one for each namespace of Tompion")
    shared = {name: value for name, value in configured.items() if name != "namespaces"}
    return {name: TemporalExecutor({**shared, **table}, site) for name, table in tables.items()}


def _tls_of(value: Any) -> bool | TLSConfig:
    """Return how to secure the connection: not at all, with the machine's authorities, or as files say."""
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


def _completed(about: Any) -> TemporalEnd:
    return TemporalEnd(RunState.SUCCESS, result=about.result)


def _failed(about: Any) -> TemporalEnd:
    return TemporalEnd(RunState.FAILED, failure=about.failure)


_END_OF: dict[int, Any] = {
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED: _completed,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED: _failed,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED: lambda _: TemporalEnd(RunState.CANCELLED, said="cancelled"),
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED: lambda about: TemporalEnd(
        RunState.TERMINATED, said=about.reason or "terminated"
    ),
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT: lambda _: TemporalEnd(RunState.TIMED_OUT, said="timed out"),
}
