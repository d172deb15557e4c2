"""The contract of every executor: the same tests for all of them, on real targets."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, aclosing, contextmanager
from typing import Any
from uuid import uuid4

import pytest

from tests.conformance.executor.subjects import SUBJECTS, Options, Subject
from tests.support.executors import CANARY, launch_of
from tests.support.servers import LOOPBACK, free_port
from tompion.errors import LaunchError, LaunchRefused, TargetUnreachable
from tompion.executors.base import Completed, Executor, RunContext
from tompion.executors.registry import installed_executors
from tompion.model.run import RunState

SECONDS = 120
"""Timeout of every wait."""
pytestmark = pytest.mark.server


@pytest.fixture(params=SUBJECTS)
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    with ExitStack() as stack:
        yield SUBJECTS[request.param](request, stack)


@pytest.fixture
def name() -> str:
    """Return a unique schedule id, because a target may remember a key for long."""
    return f"contract-{uuid4().hex}"


def run_scenario(subject: Subject, scenario: Callable[[Executor], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with subject.around(), asyncio.timeout(SECONDS), aclosing(subject.make()) as executor:
            return await scenario(executor)

    return asyncio.run(run())


def required(options: Options | None) -> Options:
    if options is None:
        pytest.skip("the executor does not support this")
    return options


def test_every_installed_executor_is_tested() -> None:
    """Two executors have their own tests: test_transactional.py of the engine for PostgreSQL, and test_rabbitmq.py."""
    assert set(installed_executors()) - {"postgres", "rabbitmq"} <= set(SUBJECTS)


def test_run_succeeds_with_one_delivery(subject: Subject, name: str) -> None:
    launch = launch_of(subject.work, schedule_id=name)

    async def scenario(executor: Executor) -> Any:
        completed = await executor.run({"steps": [1]}, launch)
        return completed, await subject.deliveries(launch)

    completed, deliveries = run_scenario(subject, scenario)
    assert isinstance(completed, Completed)
    assert (completed.state, completed.error) == (RunState.SUCCESS, None)
    assert (completed.result is not None) is subject.has_result
    assert len(deliveries) == 1


def test_run_fails_with_the_error_of_the_target(subject: Subject, name: str) -> None:
    """The error of the target is recorded in the run."""
    launch = launch_of(required(subject.fail), schedule_id=name)
    completed = run_scenario(subject, lambda executor: _outcome(executor, launch))
    assert completed.state is RunState.FAILED
    assert "luck" in str(completed.error)


async def _outcome(executor: Executor, launch: RunContext) -> Completed:
    """Return the outcome of a run, as the engine would record it."""
    try:
        completed = await executor.run(None, launch)
    except LaunchRefused as error:
        return Completed(RunState.FAILED, error=str(error))
    assert isinstance(completed, Completed)
    return completed


@contextmanager
def port_of(target: str) -> Iterator[int]:
    """Yield a port without a server, or with a server that never answers."""
    if target == "closed":
        yield free_port()
        return
    with socket.create_server((LOOPBACK, 0)) as silent:
        yield silent.getsockname()[1]


@pytest.mark.parametrize("target", ["closed", "silent"])
def test_unreachable_target_is_retryable_and_leaks_nothing(
    subject: Subject, name: str, target: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The run waits for its target, or times out. Payload, document and credentials are in no error or log."""
    if target == "silent" and not subject.is_remote:
        pytest.skip("the executor has no remote target")
    caplog.set_level(logging.DEBUG)

    async def scenario() -> str:
        with port_of(target) as port:
            options = subject.work if subject.unreachable_options is None else subject.unreachable_options(port)
            launch = launch_of(options, payload=CANARY, schedule_id=name)
            async with asyncio.timeout(SECONDS), aclosing(subject.unreachable(port)) as executor:
                try:
                    completed = await executor.run(CANARY, launch)
                except LaunchError as error:
                    return f"{isinstance(error, TargetUnreachable)} {_error_chain(error)} {executor!r} {launch!r}"
                assert isinstance(completed, Completed)
                assert (completed.state, target) == (RunState.TIMED_OUT, "silent")
                return f"{completed} {executor!r} {launch!r}"

    text = asyncio.run(scenario())
    assert text.startswith((str(subject.is_remote), "Completed"))
    assert CANARY not in text
    assert CANARY not in caplog.text


def _error_chain(error: BaseException | None) -> str:
    """Return the text of an error, its causes and its contexts."""
    if error is None:
        return ""
    assert not isinstance(error, LaunchRefused)
    return f"{error!r} {error} {_error_chain(error.__cause__)} {_error_chain(error.__context__)}"


def test_secrets_are_in_no_result_or_log(subject: Subject, name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    launch = launch_of(subject.secret or subject.work, payload=CANARY, schedule_id=name)

    async def scenario(executor: Executor) -> str:
        completed = await executor.run(CANARY, launch)
        return f"{completed.execution_id} {getattr(completed, 'error', None)} {executor!r} {launch!r}"

    assert CANARY not in run_scenario(subject, scenario)
    assert CANARY not in caplog.text


def test_unknown_option_is_rejected(subject: Subject, name: str) -> None:
    launch = launch_of({**subject.work, "colour": CANARY}, schedule_id=name)
    with pytest.raises(LaunchRefused, match="'colour' is not known") as caught:
        run_scenario(subject, lambda executor: executor.run(None, launch))
    assert CANARY not in str(caught.value)


def test_missing_options_are_rejected(subject: Subject, name: str) -> None:
    with pytest.raises(LaunchRefused):
        run_scenario(subject, lambda executor: executor.run(None, launch_of({}, schedule_id=name)))


def test_repeated_delivery_has_the_same_key(subject: Subject, name: str) -> None:
    """A target that does not deduplicate receives the same key twice."""

    async def scenario(executor: Executor) -> Any:
        first = await executor.run(None, launch_of(subject.work, schedule_id=name))
        async with aclosing(subject.make()) as other:
            again = await other.run(None, launch_of(subject.work, attempt=2, schedule_id=name))
        return first, again, await subject.deliveries(launch_of({}, schedule_id=name))

    first, again, deliveries = run_scenario(subject, scenario)
    assert again.state == first.state
    assert len(set(deliveries)) == 1
    if subject.deduplicates:
        assert len(deliveries) == 1
        assert again.execution_id == first.execution_id


def test_retry_after_a_failure_is_delivered(subject: Subject, name: str) -> None:
    """A target that has seen the key must not reject the retry as a duplicate."""
    options = subject.fail or subject.work

    async def scenario(executor: Executor) -> list[str]:
        await _outcome(executor, launch_of(options, schedule_id=name))
        again = launch_of(options, attempt=2, failures=1, schedule_id=name)
        await _outcome(executor, again)
        redelivered = launch_of(options, attempt=3, failures=1, schedule_id=name)
        async with aclosing(subject.make()) as other:
            await _outcome(other, redelivered)
        return await subject.deliveries(again)

    deliveries = run_scenario(subject, scenario)
    assert len(deliveries) == (2 if subject.deduplicates else 3)


@pytest.mark.parametrize("forced", [False, True], ids=["cancelled", "terminated"])
def test_run_can_be_cancelled_and_terminated(subject: Subject, name: str, forced: bool) -> None:
    """End a run as the engine does: through the target, and by cancelling the task unless the target will respond."""
    launch = launch_of(required(subject.hold), schedule_id=name)

    async def scenario(executor: Executor) -> None:
        assert subject.started is not None
        running = asyncio.create_task(executor.run(None, launch))
        await subject.started(launch)
        target_responds = False
        if executor.remote and forced:
            await executor.terminate(None, launch, None)
        elif executor.remote:
            target_responds = await executor.cancel(None, launch, None)
        if not target_responds:
            running.cancel()
        await asyncio.wait({running})
        if target_responds:
            assert (await running).state is RunState.CANCELLED  # type: ignore[union-attr]  # it is not Accepted
        if subject.stopped is not None:
            await subject.stopped(launch)

    run_scenario(subject, scenario)


def test_executor_can_be_closed_repeatedly(subject: Subject, name: str) -> None:
    async def scenario(executor: Executor) -> None:
        await executor.run(None, launch_of(subject.work, schedule_id=name))
        await executor.aclose()
        await executor.aclose()
        unused = subject.make()
        await unused.aclose()
        await unused.aclose()

    run_scenario(subject, scenario)
