"""The extra statements of other runs if the engine has a transactional executor."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance.engine.users import DECLARED, Scene
from tompion.engine.engine import Engine
from tompion.executors.base import Completed, Executor
from tompion.executors.options import ExecutorEnv
from tompion.executors.postgres import PostgresExecutor
from tompion.operations.schedules import crud
from tompion.store.postgres.driver import PostgresTransaction
from tompion.testing.executor import RecordingExecutor

pytestmark = pytest.mark.server


def statements(scene: Scene, monkeypatch: pytest.MonkeyPatch, document: Any, *, configured: bool) -> Counter[str]:
    """Count the statements of the transaction that fires a tick."""
    names: Counter[str] = Counter()
    recorder = RecordingExecutor(scene.clock.now, lambda _: (0.0, Completed()))
    executors: dict[str, Executor] = {"recorder": recorder, "function": recorder}
    if configured:
        executors["postgres"] = PostgresExecutor(DECLARED, ExecutorEnv())
    engine = Engine(scene.store, executors, clock=scene.clock)
    scene.schedule(f"configured-{configured}", **document)

    async def scenario() -> None:
        await engine.lease.register()
        scene.clock.advance(86_400)
        with monkeypatch.context() as patching:
            for name in ("rows", "execute_many", "execute_many_returning"):
                patching.setattr(PostgresTransaction, name, _counted(getattr(PostgresTransaction, name), names))
            fired = await engine.runner.run(lambda t: engine.finder.fire_step.catch_up(t, 10, 10))
            assert len(fired.launches) == 1

    asyncio.run(scenario())
    scene.call(crud.delete, f"configured-{configured}")
    return names


def _counted(send: Callable[..., Any], names: Counter[str]) -> Callable[..., Any]:
    def counted(transaction: Any, name: str, values: Any) -> Any:
        names[name] += 1
        return send(transaction, name, values)

    return counted


@pytest.mark.parametrize(
    ("document", "more"),
    [
        ({"workflow_id": None, "function": "tasks:work"}, {}),
        ({"workflow_version": 1}, {"workflow_get_version": 1}),
        ({}, {"workflow_list_newest": 1, "workflow_get_version": 1}),
    ],
    ids=["a function", "a version of a workflow", "the newest of a workflow"],
)
def test_transactional_executor_adds_few_statements_to_other_runs(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, document: dict[str, Any], more: dict[str, int]
) -> None:
    """A function adds none. A workflow adds lookups of its executor: once per batch, or once per version."""
    scene.workflow(executor="recorder")
    fields = {"catchup_policy": "fire_immediately", **document}
    without = statements(scene, monkeypatch, fields, configured=False)
    assert statements(scene, monkeypatch, fields, configured=True) - without == Counter(more)
