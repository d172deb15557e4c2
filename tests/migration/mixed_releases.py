"""Workers of several releases on one store, and the check afterwards."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple, Self

from tests.documentation.pages import soon
from tests.migration.releases import HERE, OUTPUT_FILE, SECONDS, Release
from tests.migration.stores import OURS, Place
from tests.support.servers.postgres import find_binaries

LIMITS = """
[limits]
tick_ms = 200
fire_batch = 2
heartbeat_ms = 600
lock_ttl_ms = 4000
sweep_ms = 1000
audit_seal_ms = 200
shutdown_grace_ms = 10000
"""
"""So that the workers share what is due, and seconds do what minutes do in production."""
STATES = frozenset("PLANNED BUFFERED ENQUEUED STARTED SUCCESS FAILED SKIPPED CANCELLED TERMINATED TIMED_OUT".split())
WHOLE = "accounted for exactly once"
AS_WRITTEN = "rows unchanged"


class Line(NamedTuple):
    """One launch, as the function that was called saw it."""

    run_id: str
    key: str
    attempt: int
    schedule_id: str
    nominal_s: int
    pid: int
    release: str


def lines_of(place: Place) -> list[Line]:
    """Return every launch so far. A line that a kill has cut short is no line."""
    path = place.home / "lines.txt"
    texts = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [Line(**json.loads(text)) for text in texts if text.endswith("\n")]


def wait_for(check: Callable[[], bool], what: str) -> None:
    """Return when something has become so, which it must."""
    assert soon(check), what


def migrated(release: Release, place: Place) -> str:
    """Run the migrations of a release. Return its output."""
    ended = release.run("migrate", "up", "--store", place.url, cwd=place.home)
    assert (ended.code, ended.complaint) == (0, ""), ended
    return ended.output


def walled(release: Release, place: Place) -> None:
    """Create the roles of a database with psql, as documented. Its workers then cannot alter tables."""
    names = ("--worker", "upgraded_worker", "--tenant", "upgraded_tenant")
    roles = release.run("migrate", "roles", *names, "--store", place.url, cwd=place.home)
    assert roles.code == 0, roles
    psql = [str(find_binaries() / "psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", place.url]

    def done() -> bool:  # a busy worker may hold a table, then nothing changes
        return not subprocess.run(psql, input=roles.output, capture_output=True, text=True, check=False).returncode

    wait_for(done, "the roles are made")
    place.worker_url = place.url.replace("://postgres@", "://upgraded_worker@")


def assert_whole(release: Release, place: Place) -> None:
    """Let a release prove that no tick is lost or doubled, and that the audit is as it was written."""
    ended = release.run("verify", "--store", place.url, cwd=place.home)
    assert ended.code == 0, ended
    assert WHOLE in ended.output, ended
    assert AS_WRITTEN in ended.output, ended


def filled(release: Release, place: Place) -> None:
    """Let a release fill a store, and kill it while it works."""
    migrated(release, place)
    program = (str(HERE / "fill_store.py"),)
    with release.started(place.url, cwd=place.home, program=program) as process:
        assert soon(lambda: process.poll() is not None or is_full(place)), lacking(place)
        process.kill()
    assert is_full(place), (place.home / OUTPUT_FILE).read_text()


def is_full(place: Place) -> bool:
    """Whether every table has rows, and there are runs in every state."""
    return not lacking(place)


def lacking(place: Place) -> list[str]:
    """Return the states that no run is in, and the tables without rows."""
    states = {row["state"] for row in place.rows("SELECT DISTINCT state FROM schedule_runs")}
    return [*sorted(STATES - states), *empty(place)]


def empty(place: Place) -> list[str]:
    """Return the tables without rows."""
    tables = [table for table in place.tables() if table not in OURS]
    return [table for table in tables if not place.rows(f"SELECT 1 FROM {table} LIMIT 1")]


class Fleet:
    """Workers of any release on one store.  Use as a context manager: nothing runs afterwards."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        (self._place.home / "tompion.toml").write_text(LIMITS)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start(self, release: Release) -> subprocess.Popen[bytes]:
        """Start a worker."""
        place = self._place
        return self._stack.enter_context(
            release.started("worker", "--quiet", "--store", place.worker_url, cwd=place.home)
        )

    def wait_for_ticks(self, workers: list[subprocess.Popen[bytes]], after_s: int = 0) -> None:
        """Return when each of them has run a tick that was due after an instant."""
        wanted = {worker.pid for worker in workers}

        def enough() -> bool:
            return wanted <= {line.pid for line in lines_of(self._place) if line.nominal_s > after_s}

        assert soon(enough), f"not all of {wanted} have run something: {self._output(after_s)}"

    def _output(self, after_s: int) -> str:
        counts = Counter(line.pid for line in lines_of(self._place) if line.nominal_s > after_s)
        return f"{counts} {(self._place.home / OUTPUT_FILE).read_text()[-2_000:]}"

    def open(self, barrier: str) -> None:
        """Release the runs that wait for a barrier."""
        (self._place.home / barrier).touch()

    def is_at_rest(self) -> bool:
        """Whether no run is left to be ended."""
        return not self._place.one("SELECT count(*) FROM schedule_runs WHERE finished_ms IS NULL")


def left(worker: subprocess.Popen[bytes]) -> int:
    """Ask a worker to end. Return its exit code."""
    worker.send_signal(signal.SIGTERM)
    return worker.wait(SECONDS)


def now_s() -> int:
    """Return the next second: what is due after it is decided after now."""
    return int(time.time()) + 1


def reckoning(place: Place, killed: set[int]) -> Iterator[str]:
    """Yield everything that is wrong with the ledger, and with what was really called."""
    runs = {f"{row['schedule_key']}-{row['nominal_s']}-{row['origin']}": row for row in place.rows(_RUNS)}
    for schedule in place.rows(_SCHEDULES):
        key, first_s = schedule["schedule_key"], (schedule["created_ms"] - 1) // 1000 + 1
        due = range(first_s, schedule["cursor_s"] + 1) if schedule["ticks"] else range(0)
        ticks = sorted(row["nominal_s"] for row in runs.values() if (row["schedule_key"], row["origin"]) == (key, 0))
        if ticks != list(due):
            yield f"{schedule['schedule_id']}: {Counter(ticks) - Counter(due)} too many, {set(due) - set(ticks)} lost"
    yield from (f"dropped: {row}" for row in place.rows("SELECT * FROM dropped_ranges"))
    yield from (f"not done: {row}" for row in runs.values() if row["state"] != "SUCCESS")
    yield from _calls(lines_of(place), runs, killed)


def _calls(lines: list[Line], runs: dict[str, dict[str, Any]], killed: set[int]) -> Iterator[str]:
    of_run: dict[str, list[Line]] = {}
    keys: dict[str, str] = {}
    for line in lines:
        of_run.setdefault(line.run_id, []).append(line)
        if keys.setdefault(line.key, line.run_id) != line.run_id:
            yield f"one key for two runs: {line}"
    yield from (f"called, and not in the ledger: {run_id}" for run_id in of_run.keys() - runs.keys())
    for run_id, run in runs.items():
        called = of_run.get(run_id, [])
        if [line.attempt for line in called] != list(range(1, run["attempt"] + 1)):
            yield f"{run} was called as {called}"
        if any(line.pid not in killed for line in called[:-1]):
            yield f"launched again although its worker was not killed: {called}"


_RUNS = "SELECT schedule_key, nominal_s, origin, state, attempt FROM schedule_runs"
_SCHEDULES = """
SELECT s.schedule_key, s.schedule_id, s.created_ms, d.cursor_s, s.schedule_id <> 'lost' AS ticks
FROM schedules s JOIN schedule_state d ON d.schedule_key = s.schedule_key
"""
