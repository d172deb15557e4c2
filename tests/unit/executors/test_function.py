"""Functions by their import path: lookup, call and outcome."""

from __future__ import annotations

import asyncio
import json
import pickle
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tompion.errors import LaunchError
from tompion.executors.base import NO_OPTIONS, Completed, RunContext, ignore_wait
from tompion.executors.function import FunctionExecutor, add_import_path, resolve
from tompion.model.run import RunRow, RunState
from tompion.model.schedule import Action

SECONDS = 120
"""After which a test gives up waiting."""

RUN = RunRow(
    1, 2, 0, "schedule", "ENQUEUED", None, 1, 1, 0, 2_000, None, 1, 2_000, None, None, None, None, None, None, None,
    False, None, None, None,
)  # fmt: skip


def launch(
    function: str | None, options: Any = NO_OPTIONS, on_wait: Callable[[bool], None] = ignore_wait
) -> RunContext:
    action = Action(function=function, workflow_id=None if function else "flow", user_id="u1")
    return RunContext(RUN, "default", "report", action, '{"a":1}', options, on_wait)


def run(name: str, *, limit: int = 1_000) -> Completed:
    """Call one of the functions below."""
    sys.modules["function_tests"] = SimpleNamespace(**{**globals(), "holder": Holder})  # type: ignore[assignment]  # a stand-in for a module

    async def call() -> Completed:
        executor = FunctionExecutor(max_threads=2, max_result_bytes=limit)
        try:
            return await executor.run(None, launch(f"function_tests:{name}"))
        finally:
            await executor.aclose()

    return asyncio.run(call())


# --- functions --------------------------------------------------------------------------------------------------------


async def asynchronous(run: RunContext) -> str:
    return run.schedule_id


def synchronous(run: RunContext) -> str:
    assert threading.current_thread() is not threading.main_thread()
    return run.run_id


def without_argument() -> int:
    return 5


def with_keywords_only(*, verbose: bool = False) -> bool:
    return verbose


def with_any(*args: Any) -> int:
    return len(args)


def returns_awaitable(run: RunContext) -> Any:
    return asynchronous(run)


def returns_nothing() -> None:
    return None


def returns_generator() -> Iterator[int]:
    yield 1


async def returns_async_generator() -> AsyncIterator[int]:
    yield 1


def returns_a_created_generator() -> Iterator[int]:
    return (number for number in [1])


def returns_much() -> str:
    return "ä" * 500


def returns_surrogate() -> str:
    return "\udc80"


def fails() -> None:
    raise ValueError("no luck")


def fails_with_surrogate() -> None:
    raise ValueError("file \udc80")


def leaves() -> None:
    sys.exit(3)


async def leaves_asynchronously() -> None:
    sys.exit("enough")


def runs_out() -> None:
    next(iter([]))


def fails_without_a_message() -> None:
    raise UnprintableError


async def fails_without_a_message_asynchronously() -> None:
    raise UnprintableError


async def cancels_itself() -> None:
    raise asyncio.CancelledError("another task's")


async def times_out() -> None:
    raise TimeoutError("no answer")


class UnprintableError(Exception):
    """An error whose text cannot be read."""

    def __str__(self) -> str:
        raise SystemExit("not even this")


class Holder:
    """A namespace for functions that are not at the top of a module."""

    @staticmethod
    def inside(run: RunContext) -> str:
        return run.source

    def __call__(self, run: RunContext) -> str:
        return run.namespace


instance = Holder()
partial_function = partial(max, 3, 4)
not_callable = 5


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("asynchronous", '"report"'),
        ("synchronous", '"1-2-0"'),
        ("without_argument", "5"),
        ("with_keywords_only", "false"),
        ("with_any", "1"),
        ("returns_awaitable", '"report"'),
        ("returns_nothing", None),
        ("holder.inside", '"schedule"'),
        ("instance", '"default"'),
    ],
)
def test_function_result_is_recorded(name: str, result: str | None) -> None:
    assert run(name) == Completed(RunState.SUCCESS, result)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("fails", "ValueError: no luck"),
        ("fails_with_surrogate", "ValueError: file \\udc80"),
        ("runs_out", "StopIteration: "),
        ("fails_without_a_message", "UnprintableError: <unprintable UnprintableError: SystemExit>"),
        ("fails_without_a_message_asynchronously", "UnprintableError: <unprintable UnprintableError: SystemExit>"),
        ("leaves", "SystemExit: 3"),
        ("leaves_asynchronously", "SystemExit: enough"),
        ("cancels_itself", "CancelledError: another task's"),
        ("times_out", "TimeoutError: no answer"),
    ],
)
def test_error_of_a_function_is_its_outcome(name: str, error: str) -> None:
    """A function that exits or cancels something has failed, and the process continues."""
    ended = run(name)
    assert (ended.state, ended.result) == (RunState.FAILED, None)
    assert ended.error is not None
    assert ended.error.splitlines()[0] == error


@pytest.mark.parametrize("name", ["fails", "times_out"])
def test_an_error_has_only_the_frames_of_the_user(name: str) -> None:
    """Regression: the error of a synchronous function began with frames of the thread pool."""
    first, *where = (run(name).error or "").splitlines()
    files = [line for line in where if line.lstrip().startswith("File ")]
    assert len(files) == 1, where
    assert files[0].endswith(f"in {name}")
    assert "test_function.py" in files[0]
    assert f"raise {first.split(':')[0]}(" in where[1]


@pytest.mark.parametrize("name", ["returns_generator", "returns_async_generator", "returns_a_created_generator"])
def test_generator_is_a_failure(name: str) -> None:
    """Regression: its body never ran, and the run was a success with the generator's repr as its result."""
    ended = run(name)
    assert (ended.state, ended.result) == (RunState.FAILED, None)
    assert "generator, which was not run" in (ended.error or "")


def test_results_are_truncated_to_the_limit() -> None:
    result = json.loads(run("returns_much", limit=100).result or "")
    assert result == {"truncated": True, "bytes": 1_002, "text": '"' + "ä" * 26}
    assert run("returns_surrogate").result == '"\\udc80"'


def test_cancelling_the_run_cancels_the_function() -> None:
    async def scenario() -> None:
        begun, ended = asyncio.Event(), asyncio.Event()

        async def endless() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        sys.modules["endless_tests"] = SimpleNamespace(endless=endless)  # type: ignore[assignment]  # a stand-in for a module
        task = asyncio.create_task(FunctionExecutor().run(None, launch("endless_tests:endless")))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("nowhere_at_all:f", "cannot be imported"),
        ("json:nothing", "does not exist"),
        ("json:decoder.nothing", "does not exist"),
        ("json:__name__", "is not a function"),
        ("json", "not an import path"),
        (":f", "not an import path"),
        ("json:", "not an import path"),
    ],
)
def test_invalid_function_path_is_rejected(path: str, problem: str) -> None:
    with pytest.raises(LaunchError, match=problem):
        resolve(path)


def test_a_module_that_fails_at_import_can_be_fixed(tmp_path: Any) -> None:
    (tmp_path / "broken_module.py").write_text("1 / 0\n")
    add_import_path(str(tmp_path))
    add_import_path(str(tmp_path))
    assert sys.path.count(str(tmp_path)) == 1
    try:
        with pytest.raises(LaunchError, match="ZeroDivisionError"):
            resolve("broken_module:f")
        (tmp_path / "broken_module.py").write_text("def f(): return 1\n")
        assert resolve("broken_module:f")[1] is False  # the failure is not cached
    finally:
        sys.path.remove(str(tmp_path))


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("class E(Exception):\n    __str__ = None\nraise E", "unprintable E"),
        ("class E(ImportError):\n    __str__ = None\nraise E", "unprintable E"),
    ],
)
def test_module_that_exits_fails_its_run_only(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, source: str, problem: str
) -> None:
    """Regression: importing a script without a main guard ended the process and its engine."""
    name = f"leaving_{abs(hash(source))}"
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(LaunchError, match=problem):
        resolve(f"{name}:f")


def test_a_workflow_names_its_function() -> None:
    async def call(options: Any) -> Completed:
        async with aclosing(FunctionExecutor()) as executor:
            return await executor.run(None, launch(None, options))

    assert asyncio.run(call({"function": "builtins:repr"})).state is RunState.SUCCESS
    with pytest.raises(LaunchError, match="names no function"):
        asyncio.run(call({"steps": []}))


# --- threads ----------------------------------------------------------------------------------------------------------


def test_run_without_a_free_thread_waits() -> None:
    """Regression: its deadline counted while it waited, so runs timed out before they began."""

    async def scenario() -> None:
        held, let_go, waits_seen = threading.Event(), threading.Event(), list[tuple[str, bool]]()
        began = asyncio.Event()

        def hold() -> None:
            held.set()
            assert let_go.wait(SECONDS)

        def note(name: str, is_waiting: bool) -> None:
            waits_seen.append((name, is_waiting))
            if (name, is_waiting) == ("second", False):
                began.set()

        sys.modules["waiting_tests"] = SimpleNamespace(hold=hold)  # type: ignore[assignment]  # a stand-in for a module
        executor = FunctionExecutor(max_threads=1)
        first = asyncio.create_task(executor.run(None, launch("waiting_tests:hold", on_wait=partial(note, "first"))))
        await asyncio.to_thread(held.wait, SECONDS)
        second = asyncio.create_task(executor.run(None, launch("waiting_tests:hold", on_wait=partial(note, "second"))))
        await asyncio.sleep(0)
        assert waits_seen == [("first", True), ("first", False), ("second", True)]
        let_go.set()
        assert (await first).state is RunState.SUCCESS
        await began.wait()
        assert (await second).state is RunState.SUCCESS
        await executor.aclose()

    asyncio.run(scenario())


def test_function_context_can_be_pickled() -> None:
    """A function may pass the run to another process."""

    async def scenario() -> Completed:
        context = launch("function_tests:pickles", on_wait=lambda is_waiting: None)
        async with aclosing(FunctionExecutor()) as executor:
            return await executor.run(None, context)

    sys.modules["function_tests"] = SimpleNamespace(pickles=lambda run: len(pickle.dumps(run)))  # type: ignore[assignment]  # a stand-in for a module
    assert asyncio.run(scenario()).error is None


def test_slow_import_does_not_delay_other_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_to_import.py").write_text(
        "from barriers import opened, reached\n"
        "reached.set()\n"
        "assert opened.wait(120)\n"
        "async def first(): return 1\n"
        "async def second(): return 2\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    opened, reached = threading.Event(), threading.Event()
    monkeypatch.setitem(sys.modules, "barriers", SimpleNamespace(opened=opened, reached=reached))
    monkeypatch.setitem(sys.modules, "quick_tests", SimpleNamespace(asynchronous=asynchronous))

    async def scenario() -> list[Any]:
        executor = FunctionExecutor()
        names = ("first", "first", "second")
        slow = [asyncio.create_task(executor.run(None, launch(f"slow_to_import:{name}"))) for name in names]
        await asyncio.to_thread(reached.wait, SECONDS)
        quick = await executor.run(None, launch("quick_tests:asynchronous"))
        slow[1].cancel()
        opened.set()
        ended = await asyncio.gather(*slow, return_exceptions=True)
        await executor.aclose()
        return [quick.result, *(item.result if isinstance(item, Completed) else type(item).__name__ for item in ended)]

    assert asyncio.run(scenario()) == ['"report"', "1", "CancelledError", "2"]
    sys.modules.pop("slow_to_import")
