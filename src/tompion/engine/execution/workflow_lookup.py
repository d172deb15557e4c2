"""What a launch has to look up: the document of its workflow, and what the run before has left."""

from __future__ import annotations

from typing import Any

from tompion.engine.lease import answer_of
from tompion.engine.schedule_cache import document_of
from tompion.errors import LaunchError, TompionError
from tompion.executors.base import Previous
from tompion.model.run import RunRow, RunState
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.store.base import FAR_S, Store, Transaction


class WorkflowLookup:
    """Looks things up in a store."""

    def __init__(self, store: Store) -> None:
        """Take the store."""
        self._store = store

    async def document(self, compiled: CompiledSchedule) -> Any:
        """Return the document of the workflow that a rule starts."""
        action = compiled.action
        assert action.workflow_id is not None
        name, version = action.workflow_id, action.workflow_version
        try:
            row = await answer_of(
                self._store.read(lambda transaction: transaction.workflow_get(compiled.namespace, name, version))
            )
        except TompionError as error:
            raise LaunchError(f"the workflow {name!r} cannot be loaded: {error}") from error
        if row is None:
            raise LaunchError(f"there is no workflow {name!r}" + ("" if version is None else f" version {version}"))
        return document_of(row.document)

    async def previous(self, row: RunRow) -> Previous:
        """Return which runs of the same schedule ended last: well, and later than that, not well."""

        def look(transaction: Transaction) -> Previous:
            found = {
                state: transaction.run_list_page(row.schedule_key, (FAR_S, 0), 1, state, None)
                for state in (RunState.SUCCESS, RunState.FAILED)
            }
            succeeded = next(iter(found[RunState.SUCCESS]), None)
            failed = next(iter(found[RunState.FAILED]), None)
            if succeeded is not None and failed is not None and _ended_ms(failed) < _ended_ms(succeeded):
                failed = None
            return (
                None if succeeded is None else succeeded.execution_id,
                None if failed is None else failed.execution_id,
            )

        try:
            return await answer_of(self._store.read(look))
        except TompionError as error:
            raise LaunchError(f"what the run before has left cannot be looked up: {error}") from error


def _ended_ms(row: RunRow) -> int:
    return row.finished_ms or 0
