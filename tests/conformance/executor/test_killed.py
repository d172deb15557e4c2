"""A worker is killed after its target has accepted a run and before the ledger has recorded it, for each executor.

The next worker launches the run again with the same key. A target that deduplicates runs it once, and any other target
receives the same key twice.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from tests.conformance.executor.crashing_worker import NOTES
from tests.conformance.executor.subjects import SUBJECTS, Subject
from tests.support.executors import launch_of
from tompion import AsyncTompion
from tompion.executors.base import RunContext
from tompion.model.run import FINAL, RunState
from tompion.model.schedule import Run
from tompion.runtime.clock import pause

SECONDS = 120
"""Timeout of every wait."""
POLL_S = 0.05
ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.server


@pytest.fixture
def subject(
    request: pytest.FixtureRequest, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Subject]:
    monkeypatch.setenv(NOTES, str(tmp_path / "notes"))
    with ExitStack() as stack:
        built = SUBJECTS[kind](request, stack)
        yield _with_notes(built, tmp_path / "notes") if kind == "function" else built


def _with_notes(subject: Subject, notes: Path) -> Subject:
    """Return the subject with a function that records its deliveries in a file, for other processes."""

    async def deliveries(launch: RunContext) -> list[str]:
        return await asyncio.get_running_loop().run_in_executor(None, lambda: notes.read_text().split())

    return replace(subject, work={"function": "tests.conformance.executor.crashing_worker:note"}, deliveries=deliveries)


@pytest.fixture
def store(request: pytest.FixtureRequest, where: str, tmp_path: Path) -> str:
    if where == "sqlite":
        return f"sqlite:///{tmp_path}/tompion.db"
    url: str = request.getfixturevalue("migrated_url")
    return url


@asynccontextmanager
async def worker(store: str, kind: str, subject: Subject, mode: str) -> AsyncIterator[asyncio.subprocess.Process]:
    argv = ["-m", "tests.conformance.executor.crashing_worker", store, kind, json.dumps(subject.configured), mode]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = await asyncio.create_subprocess_exec(sys.executable, *argv, cwd=ROOT, env=environment)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def wait_until_final(tompion: AsyncTompion, run: Run) -> Run:
    """Wait until a run has a final state, and return it."""
    while (current := await tompion.runs.get(run.run_id)).status not in FINAL:
        await pause(POLL_S)
    return current


@pytest.mark.parametrize(
    ("kind", "where"), [*((kind, "sqlite") for kind in SUBJECTS), ("http", "postgres"), ("celery", "postgres")]
)
def test_run_of_a_killed_worker_is_launched_again_with_the_same_key(subject: Subject, store: str, kind: str) -> None:
    name = f"killed-{uuid4().hex}"
    launch = launch_of({}, schedule_id=name, source="trigger", request_id="r")

    async def scenario() -> tuple[Run, Run, list[str]]:
        async with subject.around(), asyncio.timeout(SECONDS), AsyncTompion(store, engine=False) as tompion:
            await tompion.workflows.put(name, {"executor": kind, "options": subject.work})
            await tompion.create(name, cron="0 0 1 1 *", workflow_id=name)
            run = await tompion.trigger(name, request_id="r")
            async with worker(store, kind, subject, "crash") as first:
                assert await first.wait() == -signal.SIGKILL
            left = await tompion.runs.get(run.run_id)
            async with worker(store, kind, subject, "work"):
                return left, await wait_until_final(tompion, run), await subject.deliveries(launch)

    left, run, deliveries = asyncio.run(scenario())
    assert left.status not in FINAL
    assert (run.status, run.attempt, run.idempotency_key) == (
        RunState.SUCCESS,
        left.attempt + 1,
        launch.idempotency_key,
    )
    assert len(deliveries) == (1 if subject.deduplicates else 2)
    assert kind == "temporal" or set(deliveries) == {
        launch.idempotency_key
    }  # Temporal has its own id for each execution
