"""A real Celery worker on Valkey: sent, followed, revoked, and sent again under the same id."""

from __future__ import annotations

import asyncio
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
"""After which a test gives up waiting."""
TASKS = "tests.conformance.executor.celery_tasks"
pytestmark = pytest.mark.server


@pytest.fixture
def url(celery_url: str) -> str:
    return celery_url


def unique(task: str, name: str, **options: Any) -> Callable[..., RunContext]:
    """A run of its own for each test: a task's id is used once."""

    def launch(attempt: int = 1, payload: Any = None) -> RunContext:
        made = launch_of({"task": f"{TASKS}.{task}", **options}, payload=payload, attempt=attempt)
        made.schedule_id = name
        return made

    return launch


def told(url: str, story: Callable[[CeleryExecutor], Awaitable[Any]]) -> Any:
    async def tell() -> Any:
        async with aclosing(CeleryExecutor({"broker": url, "backend": url, "poll_ms": 20}, ExecutorEnv())) as executor:
            async with asyncio.timeout(SECONDS):
                return await story(executor)

    return asyncio.run(tell())


def marks(url: str, launch: RunContext) -> list[bytes]:
    found: Any = Redis.from_url(url).lrange(f"marks:{launch.key}", 0, -1)
    return list(found)


def test_a_task_is_sent_and_followed_to_its_result(url: str) -> None:
    launch = unique("work", "result")(payload={"n": 5})
    ended = told(url, lambda executor: executor.run({"steps": [1]}, launch))
    expected = f'{{"dag": {{"steps": [1]}}, "payload": {{"n": 5}}, "token": "{launch.token}"}}'
    assert ended == Completed(result=expected, execution_id=launch.key)
    assert marks(url, launch) == [b"worked"]


def test_a_task_that_fails(url: str) -> None:
    ended = told(url, lambda executor: executor.run(None, unique("fail", "failing")()))
    assert (ended.state, ended.error) == (RunState.FAILED, "ValueError: no luck today")


def test_a_task_that_ran_is_not_sent_again(url: str) -> None:
    """The worker that had sent it has died before it could say so; the next one follows it, and it ran once."""
    make = unique("work", "again")

    async def story(executor: CeleryExecutor) -> tuple[Any, Any]:
        return await executor.run(None, make()), await executor.run(None, make(attempt=2))

    first, again = told(url, story)
    assert first.result == again.result
    assert marks(url, make()) == [b"worked"]


def test_nobody_listens_for_results_that_are_asked_for(url: str) -> None:
    """A channel for each task, never left, would grow for as long as the process lives."""
    launch = unique("work", "channels", done="taken")()

    async def story(executor: CeleryExecutor) -> None:
        await executor.run(None, launch)
        assert executor._app.backend.result_consumer.subscribed_to == set()

    told(url, story)


def test_a_task_that_is_cancelled_is_revoked(url: str) -> None:
    launch = unique("hold", "cancelled")()

    async def story(executor: CeleryExecutor) -> Any:
        following = asyncio.create_task(executor.run(None, launch))
        loop = asyncio.get_running_loop()
        begun = await loop.run_in_executor(None, _begun, url, launch)
        assert begun
        assert not await executor.cancel(None, launch, None)
        return await following

    assert told(url, story).state is RunState.CANCELLED


def _begun(url: str, launch: RunContext) -> bool:
    found: Any = Redis.from_url(url).blmove(f"marks:{launch.key}", f"seen:{launch.key}", SECONDS)
    return bool(found == b"begun")


def test_a_result_that_cannot_be_read_is_about_its_own_task(url: str) -> None:
    """It kept everybody else's results from being read, too."""
    bad, good = unique("work", "unreadable")(), unique("work", "readable")()

    async def story(executor: CeleryExecutor) -> Any:
        Redis.from_url(url).set(f"celery-task-meta-{bad.key}", b"\x80\x04\x95junk")
        again = unique("work", "unreadable")(attempt=2)
        return await asyncio.gather(executor.run(None, again), executor.run(None, good))

    failed, worked = told(url, story)
    assert failed.state is RunState.FAILED
    assert worked.state is RunState.SUCCESS


def test_celerys_own_errors_do_not_repeat_the_arguments(url: str) -> None:
    ended = told(url, lambda executor: executor.run(CANARY, unique("retry", "retrying")(payload=CANARY)))
    assert (ended.state, ended.error) == (RunState.FAILED, "MaxRetriesExceededError")


@pytest.mark.parametrize(("done", "expected"), [("taken", Completed), ("reported", Accepted)])
def test_when_a_run_counts_as_done(url: str, done: str, expected: type[Any]) -> None:
    launch = unique("work", f"done-{done}", done=done)()
    ended = told(url, lambda executor: executor.run(None, launch))
    assert isinstance(ended, expected)
    assert ended.execution_id == launch.key


def test_nobody_is_there() -> None:
    async def story() -> None:
        nowhere = f"redis://127.0.0.1:{free_port()}/0"
        async with aclosing(CeleryExecutor({"broker": nowhere}, ExecutorEnv())) as executor:
            await executor.run(CANARY, unique("work", "nowhere")(payload=CANARY))

    with pytest.raises(LaunchError, match="cannot reach Celery") as caught:
        asyncio.run(story())
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    "options", [{}, {"task": "x", "done": "perhaps"}, {"task": "x", "colour": 1}, {"task": "x", "queue": {}}]
)
def test_options_that_cannot_be(options: dict[str, Any]) -> None:
    async def story() -> None:
        async with aclosing(CeleryExecutor({"broker": "memory://"}, ExecutorEnv())) as executor:
            await executor.run(None, launch_of(options))

    with pytest.raises(LaunchRefused, match="option"):
        asyncio.run(story())


def test_what_has_no_backend_cannot_be_followed() -> None:
    async def story() -> None:
        async with aclosing(CeleryExecutor({"broker": "memory://"}, ExecutorEnv())) as executor:
            await executor.run(None, launch_of({"task": "x", "done": "followed"}))

    with pytest.raises(LaunchRefused, match="no result backend"):
        asyncio.run(story())


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
def test_a_configuration_that_cannot_be(configured: dict[str, Any]) -> None:
    with pytest.raises(InvalidField, match=r"executors\.celery"):
        CeleryExecutor(configured, ExecutorEnv())


def test_an_app_by_its_import_path() -> None:
    assert CeleryExecutor({"app": f"{TASKS}:app"}, ExecutorEnv())._app.main == "tests"
