"""Transactional executors where there is no such transaction: said clearly, and at no cost for others."""

from __future__ import annotations

import pytest

from tests.unit.engine.kit import World
from tompion.executors.options import ExecutorEnv
from tompion.executors.postgres import PostgresExecutor
from tompion.operations.resources import workflows
from tompion.operations.runs import read
from tompion.runtime.clock import pause

DOCUMENT = {"executor": "postgres", "options": {"table": "jobs", "columns": {"key": "$key"}}}


@pytest.mark.parametrize(
    ("configured", "way_out"),
    [(True, "use a store at postgresql://"), (False, "Configure it where the engine runs (executors={'postgres'")],
)
def test_a_run_that_has_no_transaction_says_what_to_do(world: World, configured: bool, way_out: str) -> None:
    if configured:
        world.executors["postgres"] = PostgresExecutor({"tables": ["jobs"]}, ExecutorEnv())
    world.ask(workflows.put_workflow, "flow", DOCUMENT)
    world.create(workflow_id="flow", function=None)

    async def story() -> None:
        await world.engine().start()
        await pause(40)

    world.run(story)
    assert world.states() == ["08:01 FAILED launch_failed"]
    assert way_out in world.ask(read.runs, "report").items[0].error


def test_other_runs_cost_what_they_did(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a store that cannot, nobody even asks whose a workflow is."""
    world.executors["postgres"] = PostgresExecutor({"tables": ["jobs"]}, ExecutorEnv())
    world.executors["recorder"] = world.executor
    world.ask(workflows.put_workflow, "flow", {"executor": "recorder"})
    world.create(workflow_id="flow", function=None)
    monkeypatch.setattr("tompion.store.tables.workflows.WorkflowTable.workflow_list_newest", None)

    async def story() -> None:
        await world.engine().start()
        await pause(40)

    world.run(story)
    assert world.states() == ["08:01 SUCCESS"]
