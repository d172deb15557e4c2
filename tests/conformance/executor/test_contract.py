"""What every executor promises, whatever its target is: the same cases for all of them, on real targets."""

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
from tompion.errors import LaunchError, LaunchRefused
from tompion.executors.base import Completed, Executor, RunContext
from tompion.executors.registry import installed_executors
from tompion.model.run import RunState

SECONDS = 120
"""After which a test gives up waiting."""
pytestmark = pytest.mark.server


@pytest.fixture(params=SUBJECTS)
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    with ExitStack() as stack:
        yield SUBJECTS[request.param](request, stack)


@pytest.fixture
def name() -> str:
    """A schedule of its own for each test: a target may remember a key for long."""
    return f"contract-{uuid4().hex}"


def told(subject: Subject, story: Callable[[Executor], Awaitable[Any]]) -> Any:
    async def tell() -> Any:
        async with subject.around(), asyncio.timeout(SECONDS), aclosing(subject.make()) as executor:
            return await story(executor)

    return asyncio.run(tell())


def wanted(options: Options | None) -> Options:
    if options is None:
        pytest.skip("it cannot do that")
    return options


def test_every_executor_that_is_installed_is_here() -> None:
    """But for the one whose contract is that of a transaction: tests/conformance/engine/test_transactional.py.

    And for the one whose server is not everywhere: test_rabbitmq.py.
    """
    assert set(installed_executors()) - {"postgres", "rabbitmq"} <= set(SUBJECTS)


def test_it_works(subject: Subject, name: str) -> None:
    launch = launch_of(subject.work, schedule_id=name)

    async def story(executor: Executor) -> Any:
        ended = await executor.run({"steps": [1]}, launch)
        return ended, await subject.effects(launch)

    ended, effects = told(subject, story)
    assert isinstance(ended, Completed)
    assert (ended.state, ended.error) == (RunState.SUCCESS, None)
    assert (ended.result is not None) is subject.has_result
    assert len(effects) == 1


def test_it_fails(subject: Subject, name: str) -> None:
    """Whatever a target says about why reaches the run."""
    launch = launch_of(wanted(subject.fail), schedule_id=name)
    ended = told(subject, lambda executor: _outcome(executor, launch))
    assert ended.state is RunState.FAILED
    assert "luck" in str(ended.error)


async def _outcome(executor: Executor, launch: RunContext) -> Completed:
    """How a run ended, as the engine would write it down."""
    try:
        ended = await executor.run(None, launch)
    except LaunchRefused as error:
        return Completed(RunState.FAILED, error=str(error))
    assert isinstance(ended, Completed)
    return ended


@contextmanager
def port_of(what: str) -> Iterator[int]:
    """A port where nobody listens, or where somebody does who never says a word."""
    if what == "nobody":
        yield free_port()
        return
    with socket.create_server((LOOPBACK, 0)) as mute:
        yield mute.getsockname()[1]


@pytest.mark.parametrize("what", ["nobody", "mute"])
def test_nobody_is_there(subject: Subject, name: str, what: str, caplog: pytest.LogCaptureFixture) -> None:
    """It is worth another try, or was too slow; what was to be sent, or to be shown at the door, is told to nobody."""
    if what == "mute" and not subject.is_remote:
        pytest.skip("it has nobody to talk to")
    caplog.set_level(logging.DEBUG)

    async def story() -> str:
        with port_of(what) as port:
            options = subject.work if subject.nowhere is None else subject.nowhere(port)
            launch = launch_of(options, payload=CANARY, schedule_id=name)
            async with asyncio.timeout(SECONDS), aclosing(subject.unreachable(port)) as executor:
                try:
                    ended = await executor.run(CANARY, launch)
                except LaunchError as error:
                    return f"{_everything(error)} {executor!r} {launch!r}"
                assert isinstance(ended, Completed)
                assert (ended.state, what) == (RunState.TIMED_OUT, "mute")
                return f"{ended} {executor!r} {launch!r}"

    assert CANARY not in asyncio.run(story())
    assert CANARY not in caplog.text


def _everything(error: BaseException | None) -> str:
    """An error and whatever it came from."""
    if error is None:
        return ""
    assert not isinstance(error, LaunchRefused)
    return f"{error!r} {error} {_everything(error.__cause__)} {_everything(error.__context__)}"


def test_what_it_is_given_is_not_told_on(subject: Subject, name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    launch = launch_of(subject.secret or subject.work, payload=CANARY, schedule_id=name)

    async def story(executor: Executor) -> str:
        ended = await executor.run(CANARY, launch)
        return f"{ended.execution_id} {getattr(ended, 'error', None)} {executor!r} {launch!r}"

    assert CANARY not in told(subject, story)
    assert CANARY not in caplog.text


def test_an_option_that_nobody_would_obey_is_refused(subject: Subject, name: str) -> None:
    launch = launch_of({**subject.work, "colour": CANARY}, schedule_id=name)
    with pytest.raises(LaunchRefused, match="'colour' is not known") as caught:
        told(subject, lambda executor: executor.run(None, launch))
    assert CANARY not in str(caught.value)


def test_no_options_are_too_few(subject: Subject, name: str) -> None:
    with pytest.raises(LaunchRefused):
        told(subject, lambda executor: executor.run(None, launch_of({}, schedule_id=name)))


def test_the_same_delivery_from_two_workers_has_one_effect(subject: Subject, name: str) -> None:
    """Or the target can tell: it has the same key."""

    async def story(executor: Executor) -> Any:
        first = await executor.run(None, launch_of(subject.work, schedule_id=name))
        async with aclosing(subject.make()) as other:
            again = await other.run(None, launch_of(subject.work, attempt=2, schedule_id=name))
        return first, again, await subject.effects(launch_of({}, schedule_id=name))

    first, again, effects = told(subject, story)
    assert again.state == first.state
    assert len(set(effects)) == 1
    if subject.recognises:
        assert len(effects) == 1
        assert again.execution_id == first.execution_id


def test_another_try_after_a_failure_is_delivered(subject: Subject, name: str) -> None:
    """A target that knows the key by now must not keep it from being tried."""
    options = subject.fail or subject.work

    async def story(executor: Executor) -> list[str]:
        await _outcome(executor, launch_of(options, schedule_id=name))
        again = launch_of(options, attempt=2, failures=1, schedule_id=name)
        await _outcome(executor, again)
        lost = launch_of(options, attempt=3, failures=1, schedule_id=name)
        async with aclosing(subject.make()) as other:
            await _outcome(other, lost)
        return await subject.effects(again)

    effects = told(subject, story)
    assert len(effects) == (2 if subject.recognises else 3)


@pytest.mark.parametrize("forced", [False, True], ids=["cancelled", "terminated"])
def test_it_is_ended(subject: Subject, name: str, forced: bool) -> None:
    """As the engine does it: a remote target is asked, and whoever waits is cancelled unless it will tell."""
    launch = launch_of(wanted(subject.hold), schedule_id=name)

    async def story(executor: Executor) -> None:
        assert subject.begun is not None
        running = asyncio.create_task(executor.run(None, launch))
        await subject.begun(launch)
        told_later = False
        if executor.remote and forced:
            await executor.terminate(None, launch, None)
        elif executor.remote:
            told_later = await executor.cancel(None, launch, None)
        if not told_later:
            running.cancel()
        await asyncio.wait({running})
        if told_later:
            assert (await running).state is RunState.CANCELLED  # type: ignore[union-attr]  # it does not call back
        if subject.stopped is not None:
            await subject.stopped(launch)

    told(subject, story)


def test_it_is_closed_as_often_as_anybody_likes(subject: Subject, name: str) -> None:
    async def story(executor: Executor) -> None:
        await executor.run(None, launch_of(subject.work, schedule_id=name))
        await executor.aclose()
        await executor.aclose()
        unused = subject.make()
        await unused.aclose()
        await unused.aclose()

    told(subject, story)
