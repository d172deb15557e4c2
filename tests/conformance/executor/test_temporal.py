"""A real Temporal server and a real worker: started under the tick's id, followed, ended, and handed on."""

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
"""After which a test gives up waiting."""
NOMINAL = "2027-01-15T08:01:00Z"
Story = Callable[[TemporalExecutor, Client], Awaitable[Any]]
pytestmark = pytest.mark.server


@pytest.fixture
def address(temporal_address: str) -> str:
    return temporal_address


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A schedule of its own for each test: a workflow's id is used once."""
    return str(request.node.name)


def told(address: str, story: Story) -> Any:
    async def tell() -> Any:
        made = TemporalExecutor({"address": address}, ExecutorEnv())
        async with temporal_worker(address) as client, asyncio.timeout(SECONDS), aclosing(made) as executor:
            return await story(executor, client)

    return asyncio.run(tell())


def of(name: str, workflow: str, payload: Any = None, **given: Any) -> RunContext:
    row = {each: given.pop(each) for each in ("attempt", "failures", "source", "request_id") if each in given}
    options = {"workflow": workflow, "task_queue": QUEUE, **given}
    return launch_of(options, payload=payload, schedule_id=name, **row)


def ran(address: str, launch: RunContext, dag: Any = None) -> Completed:
    ended: Completed = told(address, lambda executor, _: executor.run(dag, launch))
    return ended


async def executions(client: Client, workflow_id: str) -> list[WorkflowExecutionStatus | None]:
    """How the executions of a workflow are, newest first; lists follow what happens with a delay."""
    found = [each.status async for each in client.list_workflows(f"WorkflowId = '{workflow_id}'")]
    newest = await client.get_workflow_handle(workflow_id).describe()
    return found if found and found[0] is newest.status else await executions(client, workflow_id)


async def begun(client: Client, workflow_id: str, count: int = 1) -> WorkflowHandle[Any, Any]:
    """Wait until a workflow is there, and so many executions of it."""
    asked = f"WorkflowId = '{workflow_id}'"
    while (await client.count_workflows(asked)).count < count:
        await pause()
    return client.get_workflow_handle(workflow_id)


def test_a_workflow_is_started_under_the_ticks_id_and_followed_to_its_result(address: str, name: str) -> None:
    launch = of(name, "echo", payload={"n": 5})
    ended = ran(address, launch, dag={"steps": [1]})
    assert ended.state is RunState.SUCCESS
    said = json.loads(ended.result or "")
    assert said == {"given": {"dag": {"steps": [1]}, "meta": launch.meta}, "last_result": None, "last_failure": None}
    assert (ended.execution_id or "").startswith(f"{name}-{NOMINAL}/")


def test_what_the_server_knows_about_it(address: str, name: str) -> None:
    """Who looks for the workflows of a schedule finds them as those of Temporal's own schedules."""
    launch = of(name, "echo", payload=CANARY, memo={"team": "a"}, run_timeout_ms=60_000)

    async def story(executor: TemporalExecutor, client: Client) -> Any:
        await executor.run(None, launch)
        handle = client.get_workflow_handle(f"{name}-{NOMINAL}")
        first = await anext(handle.fetch_history_events())
        return await handle.describe(), first.workflow_execution_started_event_attributes

    known, started = told(address, story)
    found = known.typed_search_attributes
    at = found.get(SearchAttributeKey.for_datetime("TemporalScheduledStartTime"))
    assert at == datetime(2027, 1, 15, 8, 1, tzinfo=UTC)
    assert found.get(SearchAttributeKey.for_keyword("TemporalScheduledById")) == name
    memo = asyncio.run(known.memo())
    assert memo["team"] == "a"
    assert (memo["tompion"]["idempotency_key"], memo["tompion"]["schedule_id"]) == (launch.key, name)
    assert CANARY not in str(memo)
    assert list(known.raw_description.workflow_extended_info.request_id_infos) == [launch.delivery_id]
    assert started.workflow_run_timeout.ToTimedelta() == timedelta(minutes=1)


def test_how_a_failure_reads(address: str, name: str) -> None:
    ended = ran(address, of(name, "fail"))
    assert ended.state is RunState.FAILED
    assert ended.error == "Work: it did not work, caused by Weather: no luck today"
    assert ended.execution_id is not None


def test_a_workflow_that_continues_itself_is_followed_to_the_end(address: str, name: str) -> None:
    launch = of(name, "counting", args=[3])

    async def story(executor: TemporalExecutor, client: Client) -> Any:
        ended = await executor.run(None, launch)
        return ended, await executions(client, f"{name}-{NOMINAL}")

    ended, found = told(address, story)
    assert (ended.state, ended.result) == (RunState.SUCCESS, '"counted"')
    assert found == [WorkflowExecutionStatus.COMPLETED] + [WorkflowExecutionStatus.CONTINUED_AS_NEW] * 3


@pytest.mark.parametrize("workflow", ["raw", "secretive"])
def test_a_result_that_is_no_json(address: str, name: str, workflow: str) -> None:
    """Or that only its owners can read: it was a success all the same, and is handed on as it is."""
    launch = of(name, workflow)

    async def story(executor: TemporalExecutor, client: Client) -> Any:
        ended = await executor.run(None, launch)
        after = of(name, "add", args=[1, 1], source="trigger", request_id="r")
        after.previous = (ended.execution_id, None)
        await executor.run(None, after)
        handle = client.get_workflow_handle(f"{name}-{NOMINAL}-{after.key[:12]}")  # the usual id is the tick's
        return ended, await anext(handle.fetch_history_events())

    ended, started = told(address, story)
    assert ended.state is RunState.SUCCESS
    (left,) = started.workflow_execution_started_event_attributes.last_completion_result.payloads
    assert left.data == b"\x00\xff"


def test_arguments_as_they_are_wanted(address: str, name: str) -> None:
    assert ran(address, of(name, "add", args=[2, 3])).result == "5"


@pytest.mark.parametrize(
    ("end", "state", "error"),
    [
        ("cancel", RunState.CANCELLED, "cancelled"),
        ("terminate", RunState.TERMINATED, "replaced by a later run"),
    ],
)
@pytest.mark.parametrize("continued", [0, 1])
def test_real_ends(address: str, name: str, end: str, state: RunState, error: str, continued: int) -> None:
    """Whatever continues a workflow ends as well."""
    launch = of(name, "hold", args=[continued])

    async def story(executor: TemporalExecutor, client: Client) -> Any:
        following = asyncio.create_task(executor.run(None, launch))
        await begun(client, f"{name}-{NOMINAL}", 1 + continued)
        said = await getattr(executor, end)(None, launch, None)
        return said, await following

    said, ended = told(address, story)
    assert (ended.state, ended.error) == (state, error)
    assert said is (True if end == "cancel" else None)


def test_a_run_is_ended_by_whoever_finds_it(address: str, name: str) -> None:
    """The worker that had started it is gone; another one finds it under its id, and does not take another's for it."""
    launch = of(name, "hold", done="taken")

    async def story(executor: TemporalExecutor, client: Client) -> Any:
        await executor.run(None, launch)
        other = TemporalExecutor({"address": address}, ExecutorEnv())
        stranger = of(name, "hold", workflow_id=f"{name}-{NOMINAL}", id="as_is", source="trigger", request_id="r")
        assert not await other.cancel(None, stranger, None)
        await other.terminate(None, stranger, None)
        handle = client.get_workflow_handle(f"{name}-{NOMINAL}")
        before = (await handle.describe()).status
        await other.terminate(None, launch, None)
        return before, (await handle.describe()).status

    assert told(address, story) == (WorkflowExecutionStatus.RUNNING, WorkflowExecutionStatus.TERMINATED)


def test_ending_what_has_ended_or_never_was_is_no_error(address: str, name: str) -> None:
    async def story(executor: TemporalExecutor, client: Client) -> None:
        assert not await executor.cancel(None, of(name, "echo"), None)
        ended = await executor.run(None, of(name, "echo"))
        await executor.cancel(None, of(name, "echo"), ended.execution_id)
        await executor.terminate(None, of(name, "echo"), ended.execution_id)

    told(address, story)


def test_a_workflow_that_takes_too_long(address: str, name: str) -> None:
    ended = ran(address, of(name, "hold", execution_timeout_ms=1_000))
    assert (ended.state, ended.error) == (RunState.TIMED_OUT, "timed out")


def test_a_run_that_is_done_when_the_server_has_it(address: str, name: str) -> None:
    ended = ran(address, of(name, "hold", done="taken"))
    assert (ended.state, ended.result) == (RunState.SUCCESS, None)


@pytest.mark.parametrize("options", [{}, {"id": "as_is"}], ids=["suffix", "as_is"])
def test_the_same_key_is_one_workflow_whoever_starts_it(address: str, name: str, options: dict[str, Any]) -> None:
    """A worker is lost after the server has taken the start; the next one starts it again, and finds it."""

    async def story(executor: TemporalExecutor, client: Client) -> Any:
        before = await executor.run(None, of(name, "hold", done="taken", **options))
        other = TemporalExecutor({"address": address}, ExecutorEnv())
        following = asyncio.create_task(other.run(None, of(name, "hold", attempt=2, **options)))
        workflow_id = str(before.execution_id).split("/")[0]
        await client.get_workflow_handle(workflow_id).signal("release", "free")
        running = await following
        ended = await executor.run(None, of(name, "hold", attempt=3, **options))
        return before, running, ended, await executions(client, workflow_id)

    before, running, ended, found = told(address, story)
    assert running == ended == Completed(result='"free"', execution_id=before.execution_id)
    assert found == [WorkflowExecutionStatus.COMPLETED]


def test_an_id_as_it_is_serves_again(address: str, name: str) -> None:
    async def story(executor: TemporalExecutor, client: Client) -> Any:
        first = await executor.run(None, of(name, "add", args=[1, 1], id="as_is"))
        trigger = of(name, "add", args=[1, 2], id="as_is", source="trigger", request_id="r")
        return first, await executor.run(None, trigger)

    first, second = told(address, story)
    assert (first.result, second.result) == ("2", "3")
    assert first.execution_id.split("/")[0] == second.execution_id.split("/")[0] == name
    assert first.execution_id != second.execution_id


@pytest.mark.parametrize("running", [True, False])
def test_an_id_that_is_somebody_elses_is_refused(address: str, name: str, running: bool) -> None:
    workflow, arguments = ("hold", [None]) if running else ("add", [1, 1])

    async def story(executor: TemporalExecutor, client: Client) -> None:
        given: Any = {"id": f"{name}-{NOMINAL}", "task_queue": QUEUE, "args": arguments}
        handle = await client.start_workflow(workflow, **given)
        if not running:
            await handle.result()
        with pytest.raises(LaunchRefused, match="in use by another execution"):
            await executor.run(None, of(name, "echo"))
        assert not await executor.cancel(None, of(name, "echo"), None)

    told(address, story)


def at_once(name: str, number: int, workflow: str = "add", **given: Any) -> RunContext:
    """One of several triggers in the same second."""
    given = {"args": [number, number]} | given if workflow == "add" else given
    return of(name, workflow, source="trigger", request_id=f"r{number}", **given)


def test_triggers_of_one_second_have_ids_of_their_own(address: str, name: str) -> None:
    """The first has the id that Temporal would give it; whoever sends one again finds what it has begun."""

    async def story(executor: TemporalExecutor, client: Client) -> Any:
        ended = [await executor.run(None, at_once(name, number)) for number in (1, 2, 3)]
        other = TemporalExecutor({"address": address}, ExecutorEnv())
        again = [await other.run(None, at_once(name, number, attempt=2)) for number in (3, 2, 1)]
        return ended, again[::-1]

    ended, again = told(address, story)
    keys = [at_once(name, number).key[:12] for number in (2, 3)]
    ids = [each.execution_id.split("/")[0] for each in ended]
    assert ids == [f"{name}-{NOMINAL}", *(f"{name}-{NOMINAL}-{key}" for key in keys)]
    assert [each.result for each in ended] == ["2", "4", "6"]
    assert again == ended


def test_a_tick_steps_aside_for_a_trigger_of_its_schedule(address: str, name: str) -> None:
    """Temporal's own scheduler loses that tick; what anybody else has started under its id is the tick, and refused."""

    async def story(executor: TemporalExecutor, client: Client) -> Any:
        held = asyncio.create_task(executor.run(None, at_once(name, 1, "hold")))
        handle = await begun(client, f"{name}-{NOMINAL}")
        tick = await executor.run(None, of(name, "echo"))
        again = await executor.run(None, of(name, "echo", attempt=2))
        with pytest.raises(LaunchRefused, match="in use by another execution"):
            await executor.run(None, of("another", "echo", workflow_id=name))
        await handle.signal("release", "free")
        return await held, tick, again

    held, tick, again = told(address, story)
    assert held.execution_id.startswith(f"{name}-{NOMINAL}/")
    assert tick.execution_id.startswith(f"{name}-{NOMINAL}-{of(name, 'echo').key[:12]}/")
    assert again == tick


def test_another_try_of_a_trigger_stays_with_its_id(address: str, name: str) -> None:
    """Both have failed once: neither takes the id of the other, and whoever looks for one finds it."""

    async def story(executor: TemporalExecutor, client: Client) -> Any:
        for number in (1, 2):
            await executor.run(None, at_once(name, number, "moody"))
        second = await executor.run(None, at_once(name, 2, "hold", done="taken", attempt=2, failures=1))
        first = await executor.run(None, at_once(name, 1, "moody", attempt=2, failures=1))
        other = TemporalExecutor({"address": address}, ExecutorEnv())
        await other.terminate(None, at_once(name, 2, "hold", attempt=2, failures=1), None)
        spare = client.get_workflow_handle(str(second.execution_id).split("/")[0])
        return first, second, (await spare.describe()).status

    first, second, status = told(address, story)
    assert first.execution_id.startswith(f"{name}-{NOMINAL}/")
    assert second.execution_id.startswith(f"{name}-{NOMINAL}-{at_once(name, 2).key[:12]}/")
    assert status is WorkflowExecutionStatus.TERMINATED


def test_another_try_after_a_failure_is_another_execution(address: str, name: str) -> None:
    async def story(executor: TemporalExecutor, client: Client) -> Any:
        first = await executor.run(None, of(name, "moody"))
        again = await executor.run(None, of(name, "moody", attempt=2, failures=1))
        lost = await executor.run(None, of(name, "moody", attempt=3, failures=1))
        return first, again, lost, await executions(client, f"{name}-{NOMINAL}")

    first, again, lost, found = told(address, story)
    assert (first.state, again.result) == (RunState.FAILED, '"well then"')
    assert lost == again
    assert found == [WorkflowExecutionStatus.COMPLETED, WorkflowExecutionStatus.FAILED]


def test_what_was_left_is_handed_on(address: str, name: str) -> None:
    """As far as the server still knows it, and however long ago this process was started."""

    def trigger(number: int, *previous: str | None) -> RunContext:
        launch = of(name, "echo", args=[number], source="trigger", request_id=f"r{number}")
        launch.previous = (previous[0], previous[1])
        return launch

    async def story(executor: TemporalExecutor, client: Client) -> Any:
        first = await executor.run(None, trigger(1, None, None))
        failed = await executor.run(None, of(name, "fail"))
        remembered = await executor.run(None, trigger(2, first.execution_id, failed.execution_id))
        other = TemporalExecutor({"address": address}, ExecutorEnv())
        read = await other.run(None, trigger(3, first.execution_id, failed.execution_id))
        forgotten = await other.run(None, trigger(4, "no-such-workflow/no-such-run", "pid 7"))
        return [json.loads(str(each.result)) for each in (first, remembered, read, forgotten)]

    first, remembered, read, forgotten = told(address, story)
    for said in (remembered, read):
        assert said["last_result"] == first
        assert "it did not work" in said["last_failure"]
    assert (forgotten["last_result"], forgotten["last_failure"]) == (None, None)


def test_being_cancelled_leaves_the_workflow_alone(address: str, name: str) -> None:
    async def story(executor: TemporalExecutor, client: Client) -> Any:
        following = asyncio.create_task(executor.run(None, of(name, "hold")))
        handle = await begun(client, f"{name}-{NOMINAL}")
        following.cancel()
        with pytest.raises(asyncio.CancelledError):
            await following
        return (await handle.describe()).status

    assert told(address, story) is WorkflowExecutionStatus.RUNNING


def test_nobody_is_there(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def story() -> None:
        nowhere = {"address": f"127.0.0.1:{free_port()}", "api_key": CANARY, "tls": False}
        async with aclosing(TemporalExecutor(nowhere, ExecutorEnv())) as executor:
            await executor.run(CANARY, of("nowhere", "echo", payload=CANARY, memo={"a": CANARY}))

    with pytest.raises(LaunchError, match="cannot reach Temporal") as caught:
        asyncio.run(story())
    assert caught.value.retryable
    assert CANARY not in f"{caught.value} {caught.value.__cause__} {caught.value.__context__} {caplog.text}"


def test_a_namespace_that_is_not_there(address: str) -> None:
    async def story() -> None:
        await TemporalExecutor({"address": address, "namespace": "nowhere"}, ExecutorEnv()).run(None, of("n", "echo"))

    with pytest.raises(LaunchRefused, match="NOT_FOUND"):
        asyncio.run(story())


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
def test_options_that_cannot_be(address: str, change: dict[str, Any]) -> None:
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
def test_search_attributes_that_cannot_be(address: str, value: Any, problem: str) -> None:
    with pytest.raises(LaunchRefused, match=problem):
        ran(address, of("attributes", "echo", search_attributes={"Custom": value}))


def test_a_search_attribute_that_the_server_does_not_know(address: str) -> None:
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
def test_a_configuration_that_cannot_be(configured: dict[str, Any]) -> None:
    with pytest.raises(InvalidField, match=r"executors\.temporal"):
        TemporalExecutor(configured, ExecutorEnv())
