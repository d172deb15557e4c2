"""The Celery executor with a real worker on Valkey: results, failures, revocation and retries."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import pytest
from redis import Redis

from tests.support.executors import CANARY, launch_of
from tests.support.servers import free_port
from tompion.errors import InvalidField, LaunchError, LaunchRefused
from tompion.executors.base import Accepted, Completed, RunContext
from tompion.executors.celery import CeleryExecutor
from tompion.executors.options import ExecutorEnv
from tompion.model.run import RunState

SECONDS = 120
"""Timeout of every wait."""
TASKS = "tests.conformance.executor.celery_tasks"
pytestmark = pytest.mark.server


@pytest.fixture
def url(celery_url: str) -> str:
    return celery_url


def launcher(task: str, name: str, **options: Any) -> Callable[..., RunContext]:
    """Return a function that builds runs of one schedule. Each test has its own, because a task id is used once."""

    def launch(attempt: int = 1, payload: Any = None) -> RunContext:
        run = launch_of({"task": f"{TASKS}.{task}", **options}, payload=payload, attempt=attempt)
        run.schedule_id = name
        return run

    return launch


def run_scenario(url: str, scenario: Callable[[CeleryExecutor], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        env = ExecutorEnv(public_url="https://tompion.example/")
        async with aclosing(CeleryExecutor({"broker": url, "backend": url, "poll_ms": 20}, env)) as executor:
            async with asyncio.timeout(SECONDS):
                return await scenario(executor)

    return asyncio.run(run())


def marks(url: str, launch: RunContext) -> list[bytes]:
    values: Any = Redis.from_url(url).lrange(f"marks:{launch.idempotency_key}", 0, -1)
    return list(values)


def test_result_of_a_task_is_recorded(url: str) -> None:
    launch = launcher("work", "result")(payload={"n": 5})
    completed = run_scenario(url, lambda executor: executor.run({"steps": [1]}, launch))
    expected = f'{{"dag": {{"steps": [1]}}, "payload": {{"n": 5}}, "token": "{launch.token}"}}'
    assert completed == Completed(result=expected, execution_id=launch.idempotency_key)
    assert marks(url, launch) == [b"worked"]


def test_task_receives_plain_arguments(url: str) -> None:
    launch = launcher("close_day", "plain", args=["berlin"], kwargs={"dry": True})()
    completed = run_scenario(url, lambda executor: executor.run(None, launch))
    assert (completed.state, completed.result) == (RunState.SUCCESS, '"berlin True"')


def test_run_is_described_in_a_header(url: str) -> None:
    launch = launcher("describe", "described")()
    completed = run_scenario(url, lambda executor: executor.run(None, launch))
    assert json.loads(completed.result) == {
        "run_id": launch.run_id,
        "schedule_id": "described",
        "namespace": "default",
        "idempotency_key": launch.idempotency_key,
        "run_at": "2027-01-15T08:01:00+00:00",
        "attempt": "1",
        "callback_url": "https://tompion.example/api/v1/callbacks",
        "callback_token": launch.token,
    }


def test_failed_task_has_its_error(url: str) -> None:
    completed = run_scenario(url, lambda executor: executor.run(None, launcher("fail", "failing")()))
    assert (completed.state, completed.error) == (RunState.FAILED, "ValueError: no luck today")


def test_finished_task_is_not_sent_again(url: str) -> None:
    """The worker died after it had sent the task. The next worker follows the task, which ran once."""
    make = launcher("work", "again")

    async def scenario(executor: CeleryExecutor) -> tuple[Any, Any]:
        return await executor.run(None, make()), await executor.run(None, make(attempt=2))

    first, again = run_scenario(url, scenario)
    assert first.result == again.result
    assert marks(url, make()) == [b"worked"]


def test_polling_for_results_leaves_no_subscription(url: str) -> None:
    """A subscription for each task would leak memory for as long as the process lives."""
    launch = launcher("work", "channels", done="taken")()

    async def scenario(executor: CeleryExecutor) -> None:
        await executor.run(None, launch)
        assert executor._app.backend.result_consumer.subscribed_to == set()

    run_scenario(url, scenario)


def test_cancelled_task_is_revoked(url: str) -> None:
    launch = launcher("hold", "cancelled")()

    async def scenario(executor: CeleryExecutor) -> Any:
        following = asyncio.create_task(executor.run(None, launch))
        loop = asyncio.get_running_loop()
        assert await loop.run_in_executor(None, _has_started, url, launch)
        assert not await executor.cancel(None, launch, None)
        return await following

    assert run_scenario(url, scenario).state is RunState.CANCELLED


def _has_started(url: str, launch: RunContext) -> bool:
    mark: Any = Redis.from_url(url).blmove(f"marks:{launch.idempotency_key}", f"seen:{launch.idempotency_key}", SECONDS)
    return bool(mark == b"started")


def test_unreadable_result_fails_only_its_own_task(url: str) -> None:
    """An unreadable result must not prevent the executor from reading the others."""
    bad, good = launcher("work", "unreadable")(), launcher("work", "readable")()

    async def scenario(executor: CeleryExecutor) -> Any:
        Redis.from_url(url).set(f"celery-task-meta-{bad.idempotency_key}", b"\x80\x04\x95junk")
        again = launcher("work", "unreadable")(attempt=2)
        return await asyncio.gather(executor.run(None, again), executor.run(None, good))

    failed, worked = run_scenario(url, scenario)
    assert failed.state is RunState.FAILED
    assert worked.state is RunState.SUCCESS


def test_celery_errors_do_not_quote_the_arguments(url: str) -> None:
    completed = run_scenario(
        url, lambda executor: executor.run(CANARY, launcher("retry", "retrying", kwargs={"a": CANARY})())
    )
    assert (completed.state, completed.error) == (RunState.FAILED, "MaxRetriesExceededError")


@pytest.mark.parametrize(("done", "expected"), [("taken", Completed), ("reported", Accepted)])
def test_done_option_determines_the_outcome(url: str, done: str, expected: type[Any]) -> None:
    launch = launcher("work", f"done-{done}", done=done)()
    completed = run_scenario(url, lambda executor: executor.run(None, launch))
    assert isinstance(completed, expected)
    assert completed.execution_id == launch.idempotency_key


def test_unreachable_broker_is_an_error() -> None:
    async def scenario() -> None:
        unreachable = f"redis://127.0.0.1:{free_port()}/0"
        async with aclosing(CeleryExecutor({"broker": unreachable}, ExecutorEnv())) as executor:
            await executor.run(CANARY, launcher("work", "nowhere")(payload=CANARY))

    with pytest.raises(LaunchError, match="cannot reach Celery") as caught:
        asyncio.run(scenario())
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"task": "x", "done": "perhaps"},
        {"task": "x", "colour": 1},
        {"task": "x", "queue": {}},
        {"task": "x", "args": "a"},
        {"task": "x", "kwargs": ["a"]},
    ],
)
def test_invalid_options_are_rejected(options: dict[str, Any]) -> None:
    async def scenario() -> None:
        async with aclosing(CeleryExecutor({"broker": "memory://"}, ExecutorEnv())) as executor:
            await executor.run(None, launch_of(options))

    with pytest.raises(LaunchRefused, match="option"):
        asyncio.run(scenario())


def test_task_without_a_result_backend_cannot_be_followed() -> None:
    async def scenario() -> None:
        async with aclosing(CeleryExecutor({"broker": "memory://"}, ExecutorEnv())) as executor:
            await executor.run(None, launch_of({"task": "x", "done": "followed"}))

    with pytest.raises(LaunchRefused, match="no result backend"):
        asyncio.run(scenario())


@pytest.mark.parametrize(
    "configured",
    [
        {},
        {"app": "nowhere:app"},
        {"app": "json:dumps"},
        {"app": "a", "broker": "b"},
        {"broker": "memory://", "poll_ms": 0},
    ],
)
def test_invalid_configuration_is_rejected(configured: dict[str, Any]) -> None:
    with pytest.raises(InvalidField, match=r"executors\.celery"):
        CeleryExecutor(configured, ExecutorEnv())


def test_app_is_loaded_by_its_import_path() -> None:
    assert CeleryExecutor({"app": f"{TASKS}:app"}, ExecutorEnv())._app.main == "tests"
