"""Apps that are never closed, or closed too late: the process exits quietly and releases its runs."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tompion import AsyncTompion, Settings, Tompion
from tompion.engine.telemetry.events import Event
from tompion.errors import TompionError

SECONDS = 120
"""After which a test gives up waiting."""
QUICK = Settings(tick_ms=20, launch_retry_ms=1, settle_gather_ms=1)
YEARLY = "0 0 1 1 *"

TASKS = """
import threading

held = threading.Event()


def holding():
    held.set()
    threading.Event().wait()


def nothing():
    pass
"""

# A slow exit: the runs meanwhile are recorded.
PROGRAM = """
import atexit, os, sys, threading, time

atexit.register(time.sleep, 0.5)
from tompion import Settings, Tompion

tompion = Tompion(sys.argv[1], settings=Settings(tick_ms=20))
tompion.open()
"""

HOLDING = """
import tasks

tompion.create("job", cron="0 0 1 1 *", function="tasks:holding")
tompion.create("other", cron="* * * * * *", function="tasks:nothing")
tompion.trigger("job")
assert tasks.held.wait(120)
"""

THREAD = """
def go_on():
    threading.main_thread().join()
    time.sleep(0.3)
    print(tompion.create("late", cron="0 0 1 1 *", function="tasks:nothing").schedule_id)

threading.Thread(target=go_on).start()
"""

FORK = """
if os.fork() == 0:
    sys.exit(0)
os.wait()
print(tompion.create("parent", cron="0 0 1 1 *", function="tasks:nothing").schedule_id)
"""

BLOCKED = """
from tompion.sdk import app

app.MAX_EXIT_WAIT_S = 0.1
tompion._thread._loop.call_soon_threadsafe(threading.Event().wait)
"""


@pytest.fixture
def url(tmp_path: Path) -> str:
    (tmp_path / "tasks.py").write_text(TASKS)
    return f"sqlite:///{tmp_path}/tompion.db"


def output_of(url: str, tmp_path: Path, program: str) -> str:
    """Return the output of a program that never closes its app, and check that stderr is empty."""
    command = [sys.executable, "-c", PROGRAM + program, url]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


def test_an_unclosed_app_exits_quietly_and_hands_back_runs(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: its engine continued without a store, and printed a traceback for every attempt."""
    assert output_of(url, tmp_path, HOLDING) == ""
    (tmp_path / "tasks.py").write_text(TASKS.replace("threading.Event().wait()", "pass"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "tasks", raising=False)
    over = threading.Event()

    def listen(event: Event) -> None:
        if event.kind == "ended" and event.schedule_id == "job":
            over.set()

    with Tompion(url, settings=QUICK, listener=listen):
        assert over.wait(SECONDS)  # soon, and not only after a lease of two minutes
    sys.modules.pop("tasks")


def test_an_open_app_works_until_the_last_thread_ends(url: str, tmp_path: Path) -> None:
    """Regression: after the end of the main thread, the store started no more threads, though others needed them."""
    assert output_of(url, tmp_path, THREAD) == "late\n"


def test_a_fork_does_not_close_the_app_of_its_parent(url: str, tmp_path: Path) -> None:
    assert output_of(url, tmp_path, FORK) == "parent\n"


def test_a_blocked_engine_does_not_block_the_exit(url: str, tmp_path: Path) -> None:
    assert output_of(url, tmp_path, BLOCKED) == ""


# --- event loops ------------------------------------------------------------------------------------------------------


async def open_app(url: str) -> AsyncTompion:
    return await AsyncTompion(url, settings=QUICK).open()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_closing_after_the_event_loop_raises(url: str) -> None:
    """Regression: it was an unrelated RuntimeError of the event loop."""
    loop = asyncio.new_event_loop()
    tompion = loop.run_until_complete(open_app(url))
    left = asyncio.all_tasks(loop)
    loop.close()
    with pytest.raises(TompionError, match="its event loop was closed before"):
        asyncio.run(tompion.close())
    for task in left:
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # it stays pending
    asyncio.run(tompion.close())  # it is closed
    with Tompion(url, engine=False) as other:
        other.create("job", cron=YEARLY, function="tasks:nothing")


def test_closing_after_asyncio_run_works(url: str) -> None:
    """``asyncio.run`` has cancelled the loops of the engine, so nothing blocks the deregistration."""
    tompion = asyncio.run(open_app(url))
    asyncio.run(tompion.close())


def test_closing_in_another_event_loop_is_rejected(url: str) -> None:
    loop = asyncio.new_event_loop()
    tompion = loop.run_until_complete(open_app(url))
    with pytest.raises(TompionError, match="opened in another event loop: close it there"):
        asyncio.run(tompion.close())
    created = loop.run_until_complete(tompion.create("job", cron=YEARLY, function="tasks:nothing"))
    assert created.schedule_id == "job"
    loop.run_until_complete(tompion.close())
    loop.close()


def test_without_an_engine_any_event_loop_can_close(url: str) -> None:
    loop = asyncio.new_event_loop()
    tompion = loop.run_until_complete(AsyncTompion(url, engine=False).open())
    asyncio.run(tompion.close())
    loop.close()
