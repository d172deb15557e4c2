"""The Temporal executor with a real server and a real worker: workflow ids, outcomes, cancellation and retries."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle
from temporalio.common import SearchAttributeKey

from tests.support.executors import CANARY, launch_of
from tests.support.servers import free_port
from tests.support.temporal_workflows import QUEUE, temporal_worker
from tests.support.waiting import pause
from tompion.errors import InvalidField, LaunchError, LaunchRefused
from tompion.executors.base import Completed, RunContext
from tompion.executors.options import ExecutorEnv
from tompion.executors.temporal.executor import TemporalExecutor
from tompion.model.run import RunState

SECONDS = 120
"""Timeout of every wait."""
NOMINAL = "2027-01-15T08:01:00Z"
Scenario = Callable[[TemporalExecutor, Client], Awaitable[Any]]
pytestmark = pytest.mark.server


@pytest.fixture
def address(temporal_address: str) -> str:
    return temporal_address


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """Return a unique schedule id, because a workflow id is used once."""
    return str(request.node.name)


def run_scenario(address: str, scenario: Scenario) -> Any:
    async def run() -> Any:
        temporal_executor = TemporalExecutor({"address": address}, ExecutorEnv())
        async with (
            temporal_worker(address) as client,
            asyncio.timeout(SECONDS),
            aclosing(temporal_executor) as executor,
        ):
            return await scenario(executor, client)

    return asyncio.run(run())


def of(name: str, workflow: str, payload: Any = None, **fields: Any) -> RunContext:
    columns = ("attempt", "failures", "source", "request_id")
    row = {column: fields.pop(column) for column in columns if column in fields}
    options = {"workflow": workflow, "task_queue": QUEUE, **fields}
    return launch_of(options, payload=payload, schedule_id=name, **row)


def ran(address: str, launch: RunContext, dag: Any = None) -> Completed:
    completed: Completed = run_scenario(address, lambda executor, _: executor.run(dag, launch))
    return completed


async def executions(client: Client, workflow_id: str) -> list[WorkflowExecutionStatus | None]:
    """Return the statuses of the executions of a workflow, newest first. The list of the server lags behind."""
    statuses = [execution.status async for execution in client.list_workflows(f"WorkflowId = '{workflow_id}'")]
    newest = await client.get_workflow_handle(workflow_id).describe()
    return statuses if statuses and statuses[0] is newest.status else await executions(client, workflow_id)


async def wait_for_workflow(client: Client, workflow_id: str, count: int = 1) -> WorkflowHandle[Any, Any]:
    """Wait until a workflow has a number of executions, and return its handle."""
    query = f"WorkflowId = '{workflow_id}'"
    while (await client.count_workflows(query)).count < count:
        await pause()
    return client.get_workflow_handle(workflow_id)


def test_workflow_has_the_id_of_the_tick_and_its_result_is_recorded(address: str, name: str) -> None:
    launch = of(name, "echo", payload={"n": 5})
    ended = ran(address, launch, dag={"steps": [1]})
    assert ended.state is RunState.SUCCESS
    result = json.loads(ended.result or "")
    assert result == {"given": {"dag": {"steps": [1]}, "meta": launch.meta}, "last_result": None, "last_failure": None}
    assert (ended.execution_id or "").startswith(f"{name}-{NOMINAL}/")


def test_workflow_has_search_attributes_memo_and_timeout(address: str, name: str) -> None:
    """The workflow has the same search attributes as a workflow of Temporal's own schedules."""
    launch = of(name, "echo", payload=CANARY, memo={"team": "a"}, run_timeout_ms=60_000)

    async def scenario(executor: TemporalExecutor, client: Client) -> Any:
        await executor.run(None, launch)
        handle = client.get_workflow_handle(f"{name}-{NOMINAL}")
        first = await anext(handle.fetch_history_events())
        return await handle.describe(), first.workflow_execution_started_event_attributes

    description, started = run_scenario(address, scenario)
    attributes = description.typed_search_attributes
    start_time = attributes.get(SearchAttributeKey.for_datetime("TemporalScheduledStartTime"))
    assert start_time == datetime(2027, 1, 15, 8, 1, tzinfo=UTC)
    assert attributes.get(SearchAttributeKey.for_keyword("TemporalScheduledById")) == name
    memo = asyncio.run(description.memo())
    assert memo["team"] == "a"
    assert (memo["tompion"]["idempotency_key"], memo["tompion"]["schedule_id"]) == (launch.idempotency_key, name)
    assert CANARY not in str(memo)
    assert list(description.raw_description.workflow_extended_info.request_id_infos) == [launch.delivery_id]
    assert started.workflow_run_timeout.ToTimedelta() == timedelta(minutes=1)


def test_error_of_a_failed_workflow_has_its_causes(address: str, name: str) -> None:
    ended = ran(address, of(name, "fail"))
    assert ended.state is RunState.FAILED
    assert ended.error == "Work: it did not work, caused by Weather: no luck today"
    assert ended.execution_id is not None


def test_workflow_continued_as_new_is_followed_to_the_end(address: str, name: str) -> None:
    launch = of(name, "counting", args=[3])

    async def scenario(executor: TemporalExecutor, client: Client) -> Any:
        ended = await executor.run(None, launch)
        return ended, await executions(client, f"{name}-{NOMINAL}")

    ended, statuses = run_scenario(address, scenario)
    assert (ended.state, ended.result) == (RunState.SUCCESS, '"counted"')
    assert statuses == [WorkflowExecutionStatus.COMPLETED] + [WorkflowExecutionStatus.CONTINUED_AS_NEW] * 3


@pytest.mark.parametrize("workflow", ["raw", "secretive"])
def test_result_that_is_not_json_is_passed_on(address: str, name: str, workflow: str) -> None:
    """The run succeeds, and the result is passed to the next run unchanged, even if it is encrypted."""
    launch = of(name, workflow)

    async def scenario(executor: TemporalExecutor, client: Client) -> Any:
        ended = await executor.run(None, launch)
        after = of(name, "add", args=[1, 1], source="trigger", request_id="r")
        after.previous = (ended.execution_id, None)
        await executor.run(None, after)
        handle = client.get_workflow_handle(
            f"{name}-{NOMINAL}-{after.idempotency_key[:12]}"
        )  # the tick has the default id
        return ended, await anext(handle.fetch_history_events())

    ended, started = run_scenario(address, scenario)
    assert ended.state is RunState.SUCCESS
    (payload,) = started.workflow_execution_started_event_attributes.last_completion_result.payloads
    assert payload.data == b"\x00\xff"


def test_arguments_are_passed_to_the_workflow(address: str, name: str) -> None:
    assert ran(address, of(name, "add", args=[2, 3])).result == "5"


@pytest.mark.parametrize(
    ("end", "state", "error"),
    [
        ("cancel", RunState.CANCELLED, "cancelled"),
        ("terminate", RunState.TERMINATED, "replaced by a later run"),
    ],
)
@pytest.mark.parametrize("continued", [0, 1])
def test_workflow_is_cancelled_and_terminated_on_the_server(
    address: str, name: str, end: str, state: RunState, error: str, continued: int
) -> None:
    """A workflow that was continued as new is ended as well."""
    launch = of(name, "hold", args=[continued])

    async def scenario(executor: TemporalExecutor, client: Client) -> Any:
        following = asyncio.create_task(executor.run(None, launch))
        await wait_for_workflow(client, f"{name}-{NOMINAL}", 1 + continued)
        response = await getattr(executor, end)(None, launch, None)
        return response, await following

    response, ended = run_scenario(address, scenario)
    assert (ended.state, ended.error) == (state, error)
    assert response is (True if end == "cancel" else None)


def test_another_worker_can_end_a_run(address: str, name: str) -> None:
    """The worker that started the run is gone. Another worker ends its workflow, and no workflow of another run."""
    launch = of(name, "hold", done="taken")

    async def scenario(executor: TemporalExecutor, client: Client) -> Any:
        await executor.run(None, launch)
        other = TemporalExecutor({"address": address}, ExecutorEnv())
        other_run = of(name, "hold", workflow_id=f"{name}-{NOMINAL}", id="as_is", source="trigger", request_id="r")
        assert not await other.cancel(None, other_run, None)
        await other.terminate(None, other_run, None)
        handle = client.get_workflow_handle(f"{name}-{NOMINAL}")
        before = (await handle.describe()).status
        await other.terminate(None, launch, None)
        return before, (await handle.describe()).status

    assert run_scenario(address, scenario) == (WorkflowExecutionStatus.RUNNING, WorkflowExecutionStatus.TERMINATED)


def test_ending_a_finished_or_unknown_workflow_is_no_error(address: str, name: str) -> None:
    async def scenario(executor: TemporalExecutor, client: Client) -> None:
        assert not await executor.cancel(None, of(name, "echo"), None)
        ended = await executor.run(None, of(name, "echo"))
        await executor.cancel(None, of(name, "echo"), ended.execution_id)
        await executor.terminate(None, of(name, "echo"), ended.execution_id)

    run_scenario(address, scenario)


def test_slow_workflow_times_out(address: str, name: str) -> None:
    ended = ran(address, of(name, "hold", execution_timeout_ms=1_000))
    assert (ended.state, ended.error) == (RunState.TIMED_OUT, "timed out")


def test_run_with_done_taken_succeeds_when_the_server_has_it(address: str, name: str) -> None:
    ended = ran(address, of(name, "hold", done="taken"))
    assert (ended.state, ended.result) == (RunState.SUCCESS, None)


@pytest.mark.parametrize("options", [{}, {"id": "as_is"}], ids=["suffix", "as_is"])
def test_repeated_key_is_one_workflow(address: str, name: str, options: dict[str, Any]) -> None:
    """A worker is lost after the server has started the workflow. The next worker finds that workflow."""

    async def scenario(executor: TemporalExecutor, client: Client) -> Any:
        before = await executor.run(None, of(name, "hold", done="taken", **options))
        other = TemporalExecutor({"address": address}, ExecutorEnv())
        following = asyncio.create_task(other.run(None, of(name, "hold", attempt=2, **options)))
        workflow_id = str(before.execution_id).split("/")[0]
        await client.get_workflow_handle(workflow_id).signal("release", "free")
        running = await following
        ended = await executor.run(None, of(name, "hold", attempt=3, **options))
        return before, running, ended, await executions(client, workflow_id)

    before, running, ended, statuses = run_scenario(address, scenario)
    assert running == ended == Completed(result='"free"', execution_id=before.execution_id)
    assert statuses == [WorkflowExecutionStatus.COMPLETED]


def test_fixed_workflow_id_can_be_reused(address: str, name: str) -> None:
    async def scenario(executor: TemporalExecutor, client: Client) -> Any:
        first = await executor.run(None, of(name, "add", args=[1, 1], id="as_is"))
        trigger = of(name, "add", args=[1, 2], id="as_is", source="trigger", request_id="r")
        return first, await executor.run(None, trigger)

    first, second = run_scenario(address, scenario)
    assert (first.result, second.result) == ("2", "3")
    assert first.execution_id.split("/")[0] == second.execution_id.split("/")[0] == name
    assert first.execution_id != second.execution_id


@pytest.mark.parametrize("running", [True, False])
def test_workflow_id_of_another_execution_is_rejected(address: str, name: str, running: bool) -> None:
    workflow, arguments = ("hold", [None]) if running else ("add", [1, 1])

    async def scenario(executor: TemporalExecutor, client: Client) -> None:
        options: Any = {"id": f"{name}-{NOMINAL}", "task_queue": QUEUE, "args": arguments}
        handle = await client.start_workflow(workflow, **options)
        if not running:
            await handle.result()
        with pytest.raises(LaunchRefused, match="in use by another execution"):
            await executor.run(None, of(name, "echo"))
        assert not await executor.cancel(None, of(name, "echo"), None)

    run_scenario(address, scenario)


def concurrent_trigger(name: str, number: int, workflow: str = "add", **fields: Any) -> RunContext:
    """Return one of several triggers in the same second."""
    fields = {"args": [number, number]} | fields if workflow == "add" else fields
    return of(name, workflow, source="trigger", request_id=f"r{number}", **fields)


def test_triggers_in_the_same_second_have_distinct_ids(address: str, name: str) -> None:
    """The first has the id of Temporal. A trigger that is sent again finds its own workflow."""

    async def scenario(executor: TemporalExecutor, client: Client) -> Any:
        ended = [await executor.run(None, concurrent_trigger(name, number)) for number in (1, 2, 3)]
        other = TemporalExecutor({"address": address}, ExecutorEnv())
        again = [await other.run(None, concurrent_trigger(name, number, attempt=2)) for number in (3, 2, 1)]
        return ended, again[::-1]

    ended, again = run_scenario(address, scenario)
    keys = [concurrent_trigger(name, number).idempotency_key[:12] for number in (2, 3)]
    ids = [completed.execution_id.split("/")[0] for completed in ended]
    assert ids == [f"{name}-{NOMINAL}", *(f"{name}-{NOMINAL}-{key}" for key in keys)]
    assert [completed.result for completed in ended] == ["2", "4", "6"]
    assert again == ended


def test_tick_gets_another_id_than_a_trigger_of_the_same_second(address: str, name: str) -> None:
    """Temporal's own scheduler loses that tick. A workflow of another schedule with the id is rejected."""

    async def scenario(executor: TemporalExecutor, client: Client) -> Any:
        held = asyncio.create_task(executor.run(None, concurrent_trigger(name, 1, "hold")))
        handle = await wait_for_workflow(client, f"{name}-{NOMINAL}")
        tick = await executor.run(None, of(name, "echo"))
        again = await executor.run(None, of(name, "echo", attempt=2))
        with pytest.raises(LaunchRefused, match="in use by another execution"):
            await executor.run(None, of("another", "echo", workflow_id=name))
        await handle.signal("release", "free")
        return await held, tick, again

    held, tick, again = run_scenario(address, scenario)
    assert held.execution_id.startswith(f"{name}-{NOMINAL}/")
    assert tick.execution_id.startswith(f"{name}-{NOMINAL}-{of(name, 'echo').idempotency_key[:12]}/")
    assert again == tick


def test_retry_of_a_trigger_keeps_its_workflow_id(address: str, name: str) -> None:
    """Both triggers have failed once. Each retry keeps its own id, and another worker finds it by that id."""

    async def scenario(executor: TemporalExecutor, client: Client) -> Any:
        for number in (1, 2):
            await executor.run(None, concurrent_trigger(name, number, "moody"))
        second = await executor.run(None, concurrent_trigger(name, 2, "hold", done="taken", attempt=2, failures=1))
        first = await executor.run(None, concurrent_trigger(name, 1, "moody", attempt=2, failures=1))
        other = TemporalExecutor({"address": address}, ExecutorEnv())
        await other.terminate(None, concurrent_trigger(name, 2, "hold", attempt=2, failures=1), None)
        handle = client.get_workflow_handle(str(second.execution_id).split("/")[0])
        return first, second, (await handle.describe()).status

    first, second, status = run_scenario(address, scenario)
    assert first.execution_id.startswith(f"{name}-{NOMINAL}/")
    assert second.execution_id.startswith(f"{name}-{NOMINAL}-{concurrent_trigger(name, 2).idempotency_key[:12]}/")
    assert status is WorkflowExecutionStatus.TERMINATED


def test_retry_after_a_failure_is_another_execution(address: str, name: str) -> None:
    async def scenario(executor: TemporalExecutor, client: Client) -> Any:
        first = await executor.run(None, of(name, "moody"))
        again = await executor.run(None, of(name, "moody", attempt=2, failures=1))
        lost = await executor.run(None, of(name, "moody", attempt=3, failures=1))
        return first, again, lost, await executions(client, f"{name}-{NOMINAL}")

    first, again, lost, statuses = run_scenario(address, scenario)
    assert (first.state, again.result) == (RunState.FAILED, '"well then"')
    assert lost == again
    assert statuses == [WorkflowExecutionStatus.COMPLETED, WorkflowExecutionStatus.FAILED]


def test_last_result_and_failure_are_passed_on(address: str, name: str) -> None:
    """The executor reads the last result and failure from the server if it has not seen them itself."""

    def trigger(number: int, *previous: str | None) -> RunContext:
        launch = of(name, "echo", args=[number], source="trigger", request_id=f"r{number}")
        launch.previous = (previous[0], previous[1])
        return launch

    async def scenario(executor: TemporalExecutor, client: Client) -> Any:
        first = await executor.run(None, trigger(1, None, None))
        failed = await executor.run(None, of(name, "fail"))
        remembered = await executor.run(None, trigger(2, first.execution_id, failed.execution_id))
        other = TemporalExecutor({"address": address}, ExecutorEnv())
        read = await other.run(None, trigger(3, first.execution_id, failed.execution_id))
        forgotten = await other.run(None, trigger(4, "no-such-workflow/no-such-run", "pid 7"))
        return [json.loads(str(completed.result)) for completed in (first, remembered, read, forgotten)]

    first, remembered, read, forgotten = run_scenario(address, scenario)
    for result in (remembered, read):
        assert result["last_result"] == first
        assert "it did not work" in result["last_failure"]
    assert (forgotten["last_result"], forgotten["last_failure"]) == (None, None)


def test_cancelled_executor_task_leaves_the_workflow_running(address: str, name: str) -> None:
    async def scenario(executor: TemporalExecutor, client: Client) -> Any:
        following = asyncio.create_task(executor.run(None, of(name, "hold")))
        handle = await wait_for_workflow(client, f"{name}-{NOMINAL}")
        following.cancel()
        with pytest.raises(asyncio.CancelledError):
            await following
        return (await handle.describe()).status

    assert run_scenario(address, scenario) is WorkflowExecutionStatus.RUNNING


def test_unreachable_server_is_a_retryable_error(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def scenario() -> None:
        unreachable = {"address": f"127.0.0.1:{free_port()}", "api_key": CANARY, "tls": False}
        async with aclosing(TemporalExecutor(unreachable, ExecutorEnv())) as executor:
            await executor.run(CANARY, of("nowhere", "echo", payload=CANARY, memo={"a": CANARY}))

    with pytest.raises(LaunchError, match="cannot reach Temporal") as caught:
        asyncio.run(scenario())
    assert caught.value.retryable
    assert CANARY not in f"{caught.value} {caught.value.__cause__} {caught.value.__context__} {caplog.text}"


def test_unknown_namespace_is_rejected(address: str) -> None:
    async def scenario() -> None:
        await TemporalExecutor({"address": address, "namespace": "nowhere"}, ExecutorEnv()).run(None, of("n", "echo"))

    with pytest.raises(LaunchRefused, match="NOT_FOUND"):
        asyncio.run(scenario())


@pytest.mark.parametrize(
    "change",
    [
        {"workflow": None},
        {"task_queue": ""},
        {"done": "perhaps"},
        {"colour": 1},
        {"id": "perhaps"},
        {"workflow_id": 5},
        {"args": {"a": 1}},
        {"memo": [1]},
        {"search_attributes": [1]},
        {"run_timeout_ms": 0},
        {"execution_timeout_ms": 10**30},
        {"task_timeout_ms": "1"},
    ],
)
def test_invalid_options_are_rejected(address: str, change: dict[str, Any]) -> None:
    with pytest.raises(LaunchRefused, match="option"):
        ran(address, of("options", **{"workflow": "echo", **change}))


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"type": "Colour", "value": 1}, "has an unknown type"),
        ({"type": ["Int"], "value": 1}, "has an unknown type"),
        (None, "has an unknown type"),
        ({"type": "Datetime", "value": "yesterday"}, "is not of the type Datetime"),
        ({"type": "Int", "value": "x"}, "is not of the type Int"),
        ({"type": "Keyword", "value": 5}, "is not of the type Keyword"),
        (["a", 5], "is not of the type KeywordList"),
    ],
)
def test_invalid_search_attributes_are_rejected(address: str, value: Any, problem: str) -> None:
    with pytest.raises(LaunchRefused, match=problem):
        ran(address, of("attributes", "echo", search_attributes={"Custom": value}))


def test_unregistered_search_attribute_is_rejected(address: str) -> None:
    with pytest.raises(LaunchRefused, match="INVALID_ARGUMENT"):
        ran(address, of("unknown attribute", "echo", search_attributes={"Colour": "red"}))


@pytest.mark.parametrize(
    "configured",
    [
        {"address": ""},
        {"address": 5},
        {"namespace": None},
        {"colour": 1},
        {"max_active": 0},
        {"tls": "yes"},
        {"tls": {"colour": 1}},
        {"tls": {"ca": "no-such-file"}},
        {"api_key": 5},
    ],
)
def test_invalid_configuration_is_rejected(configured: dict[str, Any]) -> None:
    with pytest.raises(InvalidField, match=r"executors\.temporal"):
        TemporalExecutor(configured, ExecutorEnv())
