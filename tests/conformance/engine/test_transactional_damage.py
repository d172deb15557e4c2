"""Transactional runs amid executors and documents that are broken, or that change at the wrong moment."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.conformance.engine.kit import UNTIL_DUE_S
from tests.conformance.engine.users import DECLARED, Scene
from tompion.errors import LaunchError
from tompion.executors.base import Accepted, Completed, RunContext
from tompion.executors.options import ExecutorEnv
from tompion.executors.postgres import PostgresExecutor
from tompion.model.sql_call import SqlCall
from tompion.testing.executor import RecordingExecutor

pytestmark = pytest.mark.server


class Turning(RecordingExecutor):
    """Cannot begin; and meanwhile somebody deploys the workflow for another executor."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene.clock.now, lambda _: (0.0, Completed()))
        self._scene = scene

    async def run(self, dag: Any, meta: RunContext) -> Completed | Accepted:
        self._scene.workflow()
        raise LaunchError("not now")


def test_a_workflow_that_turns_to_the_executor_after_its_run_was_taken(scene: Scene) -> None:
    """The run was taken without a transaction around its launch; it is handed back, and taken again with one."""
    scene.workflow(executor="turning")
    scene.schedule()

    async def story() -> None:
        async with scene.engine(turning=Turning(scene)):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.told("ended")

    asyncio.run(story())
    assert scene.runs() == [("SUCCESS", None, 2)]
    assert [attempt for _, attempt in scene.jobs()] == [2]
    assert scene.is_whole()


class Uncallable(PostgresExecutor):
    """Breaks its contract before the call."""

    def call(self, dag: Any, meta: RunContext) -> SqlCall:
        raise ZeroDivisionError("before")


class Unanswerable(PostgresExecutor):
    """Breaks its contract after the call."""

    def call(self, dag: Any, meta: RunContext) -> SqlCall:
        return PostgresExecutor(DECLARED, ExecutorEnv()).call(dag, meta)

    def outcome_of_call(self, meta: RunContext, answer: str | None) -> Completed | Accepted:
        raise ZeroDivisionError("after")


@pytest.mark.parametrize("kind", [Uncallable, Unanswerable])
def test_an_executor_that_breaks_its_contract_stops_nobody_else(scene: Scene, kind: type[PostgresExecutor]) -> None:
    scene.workflow()
    scene.workflow("broken", executor="broken")
    scene.schedule("sound")
    scene.schedule(workflow_id="broken")

    async def story() -> None:
        async with scene.engine(broken=kind(DECLARED, ExecutorEnv())):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.told("ended", 2)

    asyncio.run(story())
    assert sorted(scene.runs()) == [("FAILED", "launch_failed", 1), ("SUCCESS", None, 1)]
    assert "the executor has failed: ZeroDivisionError" in scene.errors()
    assert scene.is_whole("report", "sound")


@pytest.mark.parametrize("document", ['{"executor": []}', "[]", "{", '{"executor": "postgres", "options": [1]}'])
def test_a_document_that_somebody_has_damaged_stops_nobody_else(scene: Scene, document: str) -> None:
    scene.workflow()
    scene.workflow("damaged")
    scene.sql("UPDATE workflows SET document = %s WHERE workflow_id = 'damaged'", document)
    scene.schedule("sound")
    scene.schedule(workflow_id="damaged")

    async def story() -> None:
        async with scene.engine():
            scene.clock.advance(UNTIL_DUE_S)
            await scene.told("ended", 2)

    asyncio.run(story())
    assert [state for state, _, _ in sorted(scene.runs())] == ["FAILED", "SUCCESS"]
    assert scene.is_whole("report", "sound")
