"""Transactional executors on a store without user SQL: a clear error, and no cost for other runs."""

from __future__ import annotations

import pytest

from tests.unit.engine.harness import EngineHarness
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
def test_run_on_an_unsupported_store_fails_with_a_remedy(
    harness: EngineHarness, configured: bool, way_out: str
) -> None:
    if configured:
        harness.executors["postgres"] = PostgresExecutor({"tables": ["jobs"]}, ExecutorEnv())
    harness.call(workflows.put_workflow, "flow", DOCUMENT)
    harness.create(workflow_id="flow", function=None)

    async def scenario() -> None:
        await harness.engine().start()
        await pause(40)

    harness.run(scenario)
    assert harness.states() == ["08:01 FAILED launch_failed"]
    assert way_out in harness.call(read.runs, "report").items[0].error


def test_other_runs_need_no_further_statement(harness: EngineHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """On such a store no workflow is looked up."""
    harness.executors["postgres"] = PostgresExecutor({"tables": ["jobs"]}, ExecutorEnv())
    harness.executors["recorder"] = harness.executor
    harness.call(workflows.put_workflow, "flow", {"executor": "recorder"})
    harness.create(workflow_id="flow", function=None)
    monkeypatch.setattr("tompion.store.tables.workflows.WorkflowTable.workflow_list_newest", None)

    async def scenario() -> None:
        await harness.engine().start()
        await pause(40)

    harness.run(scenario)
    assert harness.states() == ["08:01 SUCCESS"]
