"""The app inside a process: both classes, on an SQLite file, with the machine's own clock."""

from __future__ import annotations

import asyncio
import inspect
import pydoc
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from tests.support.methods import groups_of, methods_of
from tompion import AsyncTompion, Settings, Tompion
from tompion.contract.async_methods import AsyncMethods
from tompion.contract.routes import ROUTES
from tompion.contract.sync_methods import SyncMethods
from tompion.engine.telemetry.events import Event
from tompion.errors import AlreadyExists, InvalidField, NotFound, TompionError
from tompion.model.schedule import Run

SECONDS = 120
"""After which a test gives up waiting."""
QUICK = Settings(tick_ms=20, launch_retry_ms=1, settle_gather_ms=1)
YEARLY = "0 0 1 1 *"

TASKS = """
import threading

seen = []
held = threading.Event()
let_go = threading.Event()


async def asynchronous(run):
    seen.append((run.schedule_id, run.payload, threading.current_thread().name))
    return {"key": run.idempotency_key, "user": run.user_id}


def synchronous(run):
    seen.append((run.schedule_id, run.payload, threading.current_thread().name))
    return run.source


def without_argument():
    return 7


def failing(run):
    raise ValueError("no luck today")


def leaving():
    raise SystemExit(1)


def holding():
    held.set()
    let_go.wait()


async def endless():
    import asyncio

    held.set()
    await asyncio.Event().wait()
"""


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/tompion.db"


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module of functions for this test only."""
    name = f"tasks_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(TASKS)
    monkeypatch.syspath_prepend(str(tmp_path))
    import importlib

    module = importlib.import_module(name)
    yield module
    module.let_go.set()
    sys.modules.pop(name, None)


class Waiter:
    """A listener that a test can wait on."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def wait(self, kind: str, count: int = 1) -> None:
        with self._changed:
            result = self._changed.wait_for(lambda: sum(item.kind == kind for item in self.events) >= count, SECONDS)
        assert result, self.events


# --- the twins --------------------------------------------------------------------------------------------------------


class Recorder(SyncMethods):
    """Records the operation of a method, and whether it writes."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, Any, bool]] = []

    def _run_operation(self, operation: Any, args: Any, kwargs: Any, *, writes: bool) -> Any:
        assert args == ()
        self.calls.append((operation, kwargs, writes))


def test_both_app_classes_have_the_same_methods() -> None:
    one, other = methods_of(AsyncMethods), methods_of(SyncMethods)
    assert list(one) == list(other)
    for name in one:
        assert inspect.iscoroutinefunction(one[name]), name
        assert not inspect.iscoroutinefunction(other[name]), name
        assert inspect.signature(one[name]) == inspect.signature(other[name]), name
        assert one[name].__doc__ == other[name].__doc__, name
    assert list(groups_of(AsyncMethods)) == list(groups_of(SyncMethods))


@pytest.mark.parametrize("name", methods_of(SyncMethods))
def test_a_method_runs_its_operation_with_its_arguments(name: str) -> None:
    """A default is not sent, so that the service decides it."""
    recorder = Recorder()
    method = attrgetter(name)(recorder)
    parameters = inspect.signature(method).parameters.values()
    required = {parameter.name: object() for parameter in parameters if parameter.default is inspect.Parameter.empty}
    optional = {parameter.name: object() for parameter in parameters if parameter.name not in required}
    method(**required)
    method(**required, **optional)
    (operation, first, writes), (again, second, writes_again) = recorder.calls
    route = next(route for route in ROUTES if operation in (route.stub, route.if_match))
    assert (operation, writes, writes_again) == (again, route.writes, route.writes)
    assert (first, second) == (required, required | optional)


def test_every_method_is_documented_and_reads_are_marked() -> None:
    reads = {"get", "get_schedule", "describe", "preview", "upcoming", "stats", "forecast", "problems",
             "schedules.list",
             "schedules.count", "schedules.history", "schedules.versions", "schedules.backfills", "schedules.hints",
             "schedules.get_backfill", "schedules.dropped_ranges", "schedules.verify", "schedules.diff",
             "schedules.summaries", "schedules.same_spec", "runs.list", "runs.recent", "runs.get", "workflows.get",
             "workflows.list", "queues.list", "calendars.get", "calendars.list", "keys.list", "instances.list",
             "notifications.list", "audit.list", "audit.verify"}  # fmt: skip
    members = methods_of(SyncMethods)
    assert {name for name, member in members.items() if "_read" in member.__code__.co_names} == reads
    assert all(member.__doc__ for member in members.values())


def test_both_app_classes_have_the_same_constructor() -> None:
    assert inspect.signature(AsyncTompion.__init__) == inspect.signature(Tompion.__init__)


def test_help_shows_the_fields_of_a_schedule(url: str) -> None:
    with Tompion(url, engine=False) as tompion:
        text = pydoc.plain(pydoc.render_doc(tompion.schedules.create))
        fields = inspect.signature(tompion.preview).parameters
    assert "create(schedule_id: 'str | None' = None, *, request_id: 'str | None' = None, cron: " in text
    assert "overlap_policy: 'OverlapPolicy'" in text
    assert "Create a schedule." in text
    assert "timezone" in fields
    assert "overlap_policy" not in fields


def test_both_app_classes_accept_hints(url: str) -> None:
    async def ask() -> Any:
        async with AsyncTompion(url, engine=False, actor="planner") as tompion:
            await tompion.create("poll", intervals="1h", function="tasks:work", adaptive=True)
            return await tompion.schedules.hint("poll", interval_ms=60_000, reason="it is busy")

    arguments = asyncio.run(ask())
    with Tompion(url, engine=False) as tompion:
        assert tompion.schedules.hints("poll") == arguments == tompion.describe("poll").outlook
        assert (arguments.hints[0].author, arguments.hints[0].reason) == ("planner", "it is busy")
        assert tompion.schedules.clear_hints("poll").hints == ()
        assert tompion.schedules.reset_failures("poll").consecutive_failures == 0


def test_both_app_classes_preview_ticks(url: str) -> None:
    """Regression: only the web UI had a preview."""

    async def ask() -> Any:
        async with AsyncTompion(url, engine=False) as tompion:
            return await tompion.preview(cron="0 9 * * *", after="2027-01-15T00:00:00Z", count=1)

    with Tompion(url, engine=False) as tompion:
        result = tompion.preview(cron="0 9 * * *", after="2027-01-15T00:00:00Z", count=1)
    assert result == asyncio.run(ask())
    assert result.ticks[0].at.isoformat() == "2027-01-15T09:00:00+00:00"


def test_operations_fail_before_open(url: str) -> None:
    with pytest.raises(TompionError, match="not open"):
        Tompion(url).get("report")
    with pytest.raises(InvalidField, match="store"), Tompion("mysql://x"):
        pass


def test_opening_twice_is_rejected(url: str) -> None:
    """Regression: a second 'with' opened the store again, and the first one was never closed."""
    tompion = Tompion(url)
    with tompion:
        with pytest.raises(TompionError, match="already open"):
            tompion.open()
        tompion.create("job", cron=YEARLY, function="a:b")  # the rejected call closed nothing
    with tompion:
        assert tompion.get("job").conflict_token == 1

    async def scenario() -> None:
        twin = AsyncTompion(url)
        async with twin:
            with pytest.raises(TompionError, match="already open"):
                await twin.open()
            assert (await twin.get("job")).conflict_token == 1
        async with twin:
            assert (await twin.get("job")).conflict_token == 1

    asyncio.run(scenario())


def test_closing_twice_has_no_effect(url: str) -> None:
    tompion = Tompion(url).open()
    tompion.create("job", cron=YEARLY, function="a:b")
    tompion.close()
    tompion.close()
    with pytest.raises(TompionError, match="not open"):
        tompion.get("job")
    Tompion(url).close()

    async def scenario() -> None:
        twin = await AsyncTompion(url).open()
        assert (await twin.get("job")).conflict_token == 1
        await twin.close()
        await twin.close()
        with pytest.raises(TompionError, match="not open"):
            await twin.get("job")

    asyncio.run(scenario())


# --- real runs --------------------------------------------------------------------------------------------------------


def run_function(url: str, function: str, **arguments: Any) -> Run:
    """Trigger a function, wait for its end and return the run."""
    waiter = Waiter()
    with Tompion(url, settings=QUICK, listener=waiter) as tompion:
        tompion.create("job", cron=YEARLY, function=function, **arguments)
        created = tompion.trigger("job")
        waiter.wait("ended")
        return tompion.runs.get(created.run_id)


def test_an_asynchronous_function_succeeds(url: str, tasks: Any) -> None:
    run = run_function(url, f"{tasks.__name__}:asynchronous", payload={"a": 1}, user_id="u1")
    assert (run.status, run.result) == ("SUCCESS", {"key": run.idempotency_key, "user": "u1"})
    assert tasks.seen == [("job", {"a": 1}, "tompion-engine")]
    assert run.started_at is not None
    assert run.finished_at is not None


def test_a_synchronous_function_runs_in_a_thread(url: str, tasks: Any) -> None:
    run = run_function(url, f"{tasks.__name__}:synchronous")
    assert (run.status, run.result) == ("SUCCESS", "trigger")
    assert tasks.seen[0][2].startswith("tompion-function")


def test_a_function_without_argument_succeeds(url: str, tasks: Any) -> None:
    assert run_function(url, f"{tasks.__name__}:without_argument").result == 7


@pytest.mark.parametrize(
    ("name", "error", "reason"),
    [
        ("failing", "ValueError: no luck today", None),
        ("leaving", "SystemExit: 1", None),
        ("missing", "does not exist", "launch_failed"),
    ],
)
def test_a_failing_function_has_an_error(url: str, tasks: Any, name: str, error: str, reason: str | None) -> None:
    run = run_function(url, f"{tasks.__name__}:{name}")
    assert (run.status, run.reason) == ("FAILED", reason)
    assert error in (run.error or "")


def test_a_missing_module_is_a_launch_failure(url: str) -> None:
    run = run_function(url, "nowhere_at_all:f")
    assert (run.status, run.reason) == ("FAILED", "launch_failed")


def test_the_asynchronous_app_executes_a_trigger(url: str, tasks: Any) -> None:
    async def scenario() -> Run:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()

        def listen(event: Event) -> None:
            if event.kind == "ended":
                loop.call_soon_threadsafe(ended.set)

        async with AsyncTompion(url, settings=QUICK, listener=listen) as tompion:
            await tompion.create("job", cron=YEARLY, function=f"{tasks.__name__}:synchronous")
            created = await tompion.trigger("job")
            async with asyncio.timeout(SECONDS):
                await ended.wait()
            with pytest.raises(AlreadyExists):
                await tompion.create("job", cron=YEARLY, function="a:b")
            assert tompion.counts["runs_settled"] == 1
            return await tompion.runs.get(created.run_id)

    assert asyncio.run(scenario()).status == "SUCCESS"


def test_ticks_fire_and_the_ledger_verifies(url: str, tasks: Any) -> None:
    waiter = Waiter()
    with Tompion(url, settings=QUICK, listener=waiter) as tompion:
        tompion.create("job", intervals=[{"every": 1}], function=f"{tasks.__name__}:without_argument")
        waiter.wait("ended", 2)
        tompion.pause("job")
        runs = tompion.runs.list("job", status="SUCCESS").items
        assert len(runs) >= 2
        assert tompion.schedules.verify("job").ok


def test_without_an_engine_nothing_runs(url: str, tasks: Any) -> None:
    with Tompion(url, engine=False) as tompion:
        tompion.create("job", cron=YEARLY, function=f"{tasks.__name__}:without_argument")
        created = tompion.trigger("job")
    with Tompion(url, engine=False) as tompion:
        run = tompion.runs.get(created.run_id)
        assert (run.status, run.attempt) == ("ENQUEUED", 0)
        assert tompion.counts == {}


def test_namespaces_and_actors_are_separate(url: str) -> None:
    with Tompion(url, engine=False, namespace="a", actor="ann") as tompion:
        tompion.create("job", cron=YEARLY, function="a:b")
        assert tompion.schedules.history("job").items[0].actor == "ann"
    with Tompion(url, engine=False, namespace="b") as tompion, pytest.raises(NotFound):
        tompion.get("job")


@pytest.mark.parametrize("function", ["holding", "endless"])
def test_a_graceful_stop_releases_leases(url: str, tasks: Any, function: str) -> None:
    """A run continues after the grace: the stopping engine releases its lease, and the next one claims it at once."""
    waiter = Waiter()
    settings = Settings(tick_ms=20, shutdown_grace_ms=0)
    with Tompion(url, settings=settings, listener=waiter) as tompion:
        tompion.create("job", cron=YEARLY, function=f"{tasks.__name__}:{function}")
        created = tompion.trigger("job")
        assert tasks.held.wait(SECONDS)
    with Tompion(url, engine=False) as tompion:
        assert tompion.runs.get(created.run_id).attempt == 1
        tompion.patch("job", function=f"{tasks.__name__}:without_argument")
    tasks.let_go.set()
    tasks.held.clear()
    with Tompion(url, settings=settings, listener=waiter) as tompion:
        if function == "endless":  # the run belongs to the version that was current: it is executed again
            assert tasks.held.wait(SECONDS)
        else:
            waiter.wait("ended")
        assert tompion.runs.get(created.run_id).attempt == 2
    for thread in [item for item in threading.enumerate() if item.name.startswith("tompion-function")]:
        thread.join(SECONDS)
        assert not thread.is_alive(), "the function has ended, and its thread has not"


def test_a_graceful_stop_waits_for_runs(url: str, tasks: Any) -> None:
    """A run ends within the grace: its outcome is written before the store is closed."""
    tompion = Tompion(url, settings=QUICK)
    with tompion:
        tompion.create("job", cron=YEARLY, function=f"{tasks.__name__}:holding")
        created = tompion.trigger("job")
        assert tasks.held.wait(SECONDS)
        threading.Timer(0.05, tasks.let_go.set).start()
    with Tompion(url, engine=False) as again:
        assert again.runs.get(created.run_id).status == "SUCCESS"


def test_one_app_executes_the_triggers_of_another(url: str, tasks: Any) -> None:
    """One app has the engine, the other manages. They share only the file."""
    waiter = Waiter()
    with Tompion(url, settings=QUICK, listener=waiter), Tompion(url, engine=False) as manager:
        manager.create("job", cron=YEARLY, function=f"{tasks.__name__}:without_argument")
        created = [manager.trigger("job") for _ in range(5)]
        waiter.wait("ended", 5)
        assert [manager.runs.get(run.run_id).status for run in created] == ["SUCCESS"] * 5


SLEEPER = """
import sys, threading, types
from tompion import Settings, Tompion

held = threading.Event()
sleeper = types.ModuleType("sleeper")
sleeper.work = lambda: (held.set(), threading.Event().wait())
sys.modules["sleeper"] = sleeper

with Tompion(sys.argv[1], settings=Settings(tick_ms=20, shutdown_grace_ms=10)) as tompion:
    tompion.create("job", cron="0 0 1 1 *", function="sleeper:work")
    tompion.trigger("job")
    held.wait()
print("closed", flush=True)
"""


def test_a_function_that_never_returns_does_not_block_the_exit(url: str) -> None:
    """Regression: the process hung at its exit, because the thread of the function was joined."""
    child = subprocess.run(
        [sys.executable, "-c", SLEEPER, url], stdout=subprocess.PIPE, text=True, timeout=SECONDS, check=False
    )
    assert (child.returncode, child.stdout) == (0, "closed\n")


CHILD = """
import sys
from tompion import Settings, Tompion

def listen(event):
    if event.kind == "ended":
        print("ended", event.schedule_id, flush=True)

with Tompion(sys.argv[1], settings=Settings(tick_ms=20), listener=listen):
    print("ready", flush=True)
    sys.stdin.readline()
"""


def test_two_processes_execute_each_trigger_once(url: str, tmp_path: Path) -> None:
    """Two processes have one engine each. Exactly one of them executes each trigger."""
    waiter = Waiter()
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        with Tompion(url, engine=False) as tompion:
            tompion.create("job", cron=YEARLY, function="os:getpid")
            created = tompion.trigger("job")
            assert child.stdout.readline() == "ended job\n"
            assert tompion.runs.get(created.run_id).result == child.pid
        with Tompion(url, settings=QUICK, listener=waiter) as tompion:
            more = [tompion.trigger("job") for _ in range(10)]
            child.stdin.write("\n")
            child.stdin.close()
            assert child.wait(SECONDS) == 0
            wait_for_all(tompion, [run.run_id for run in more], waiter)
            results = [tompion.runs.get(run.run_id) for run in more]
    assert {run.attempt for run in results} <= {1, 2}
    assert all(isinstance(run.result, int) for run in results)


def wait_for_all(tompion: Tompion, run_ids: list[str], waiter: Waiter) -> None:
    """Wait until all runs have ended. Only the runs of this process are events."""
    ended = 0
    while any(tompion.runs.get(run_id).status != "SUCCESS" for run_id in run_ids):
        ended += 1
        waiter.wait("ended", ended)


def test_an_engine_that_cannot_start_closes_the_store(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Callable[[], None]:
        raise TompionError("no engine today")

    monkeypatch.setattr("tompion.sdk.app.build_engine", broken)
    tompion = Tompion(url)
    with pytest.raises(TompionError, match="no engine today"), tompion:
        pass
    with pytest.raises(TompionError, match="not open"):
        tompion.get("job")
