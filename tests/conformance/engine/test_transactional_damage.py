"""Transactional runs beside broken executors, damaged documents and workflows that change during a launch."""

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


class RedeployingExecutor(RecordingExecutor):
    """Changes the executor of the workflow during a launch, which then fails."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene.clock.now, lambda _: (0.0, Completed()))
        self._scene = scene

    async def run(self, dag: Any, run_context: RunContext) -> Completed | Accepted:
        self._scene.workflow()
        raise LaunchError("not now")


def test_workflow_that_becomes_transactional_during_a_launch(scene: Scene) -> None:
    """The run was claimed without a transaction around its launch. It is released, and claimed again with one."""
    scene.workflow(executor="redeploying")
    scene.schedule()

    async def scenario() -> None:
        async with scene.engine(redeploying=RedeployingExecutor(scene)):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.wait_for_events("ended")

    asyncio.run(scenario())
    assert scene.runs() == [("SUCCESS", None, 2)]
    assert [attempt for _, attempt in scene.jobs()] == [2]
    assert scene.is_consistent()


class FailsBeforeCall(PostgresExecutor):
    """Raises an unexpected error before the call."""

    def call(self, dag: Any, run_context: RunContext) -> SqlCall:
        raise ZeroDivisionError("before")


class FailsAfterCall(PostgresExecutor):
    """Raises an unexpected error after the call."""

    def call(self, dag: Any, run_context: RunContext) -> SqlCall:
        return PostgresExecutor(DECLARED, ExecutorEnv()).call(dag, run_context)

    def outcome_of_call(self, run_context: RunContext, answer: str | None) -> Completed | Accepted:
        raise ZeroDivisionError("after")


@pytest.mark.parametrize("kind", [FailsBeforeCall, FailsAfterCall])
def test_broken_executor_does_not_affect_other_runs(scene: Scene, kind: type[PostgresExecutor]) -> None:
    scene.workflow()
    scene.workflow("broken", executor="broken")
    scene.schedule("sound")
    scene.schedule(workflow_id="broken")

    async def scenario() -> None:
        async with scene.engine(broken=kind(DECLARED, ExecutorEnv())):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.wait_for_events("ended", 2)

    asyncio.run(scenario())
    assert sorted(scene.runs()) == [("FAILED", "launch_failed", 1), ("SUCCESS", None, 1)]
    assert "the executor has failed: ZeroDivisionError" in scene.errors()
    assert scene.is_consistent("report", "sound")


@pytest.mark.parametrize("document", ['{"executor": []}', "[]", "{", '{"executor": "postgres", "options": [1]}'])
def test_damaged_document_does_not_affect_other_runs(scene: Scene, document: str) -> None:
    scene.workflow()
    scene.workflow("damaged")
    scene.sql("UPDATE workflows SET document = %s WHERE workflow_id = 'damaged'", document)
    scene.schedule("sound")
    scene.schedule(workflow_id="damaged")

    async def scenario() -> None:
        async with scene.engine():
            scene.clock.advance(UNTIL_DUE_S)
            await scene.wait_for_events("ended", 2)

    asyncio.run(scenario())
    assert [state for state, _, _ in sorted(scene.runs())] == ["FAILED", "SUCCESS"]
    assert scene.is_consistent("report", "sound")
