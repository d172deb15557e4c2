"""Kill -9 between the target's acceptance and the ledger's knowledge of it, for each executor.

The next worker launches the run again with the same key: a target that recognises it acts once, and of the others each
has the same key twice.
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

from tests.conformance.executor.lethal import NOTES
from tests.conformance.executor.subjects import SUBJECTS, Subject
from tests.support.executors import launch_of
from tompion import AsyncTompion
from tompion.executors.base import RunContext
from tompion.model.run import FINAL, RunState
from tompion.model.schedule import Run
from tompion.runtime.clock import pause

SECONDS = 120
"""After which a test gives up waiting."""
LOOK_S = 0.05
ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.server


@pytest.fixture
def subject(
    request: pytest.FixtureRequest, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Subject]:
    monkeypatch.setenv(NOTES, str(tmp_path / "notes"))
    with ExitStack() as stack:
        made = SUBJECTS[kind](request, stack)
        yield _noting(made, tmp_path / "notes") if kind == "function" else made


def _noting(subject: Subject, notes: Path) -> Subject:
    """Functions that leave their marks where another process can find them."""

    async def effects(launch: RunContext) -> list[str]:
        return await asyncio.get_running_loop().run_in_executor(None, lambda: notes.read_text().split())

    return replace(subject, work={"function": "tests.conformance.executor.lethal:note"}, effects=effects)


@pytest.fixture
def store(request: pytest.FixtureRequest, where: str, tmp_path: Path) -> str:
    if where == "sqlite":
        return f"sqlite:///{tmp_path}/tompion.db"
    url: str = request.getfixturevalue("migrated_url")
    return url


@asynccontextmanager
async def worker(store: str, kind: str, subject: Subject, fate: str) -> AsyncIterator[asyncio.subprocess.Process]:
    argv = ["-m", "tests.conformance.executor.lethal", store, kind, json.dumps(subject.configured), fate]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = await asyncio.create_subprocess_exec(sys.executable, *argv, cwd=ROOT, env=environment)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def over(tompion: AsyncTompion, run: Run) -> Run:
    """Wait until a run is over."""
    while (found := await tompion.get_run(run.run_id)).state not in FINAL:
        await pause(LOOK_S)
    return found


@pytest.mark.parametrize(
    ("kind", "where"), [*((kind, "sqlite") for kind in SUBJECTS), ("http", "postgres"), ("celery", "postgres")]
)
def test_a_worker_is_killed_when_its_target_has_the_run(subject: Subject, store: str, kind: str) -> None:
    name = f"killed-{uuid4().hex}"
    launch = launch_of({}, schedule_id=name, source="trigger", request_id="r")

    async def story() -> tuple[Run, Run, list[str]]:
        async with subject.around(), asyncio.timeout(SECONDS), AsyncTompion(store, engine=False) as tompion:
            await tompion.put_workflow(name, {"executor": kind, "options": subject.work})
            await tompion.create(name, cron="0 0 1 1 *", workflow_id=name)
            run = await tompion.trigger(name, request_id="r")
            async with worker(store, kind, subject, "dies") as first:
                assert await first.wait() == -signal.SIGKILL
            left = await tompion.get_run(run.run_id)
            async with worker(store, kind, subject, "lives"):
                return left, await over(tompion, run), await subject.effects(launch)

    left, run, effects = asyncio.run(story())
    assert left.state not in FINAL
    assert (run.state, run.attempt, run.key) == (RunState.SUCCESS, left.attempt + 1, launch.key)
    assert len(effects) == (1 if subject.recognises else 2)
    assert kind == "temporal" or set(effects) == {launch.key}  # Temporal has a name of its own for each execution
