"""Lookups before a launch: the document of the workflow, and the previous runs of the schedule."""

from __future__ import annotations

from typing import Any

from tompion.engine.schedule_cache import parse_document
from tompion.engine.store_future import await_store
from tompion.errors import LaunchError, StoreUnavailable, TargetUnreachable, TompionError
from tompion.executors.base import Previous
from tompion.model.run import RunRow, RunState
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.store.base import FAR_S, Store, Transaction


class WorkflowLookup:
    """Reads workflow documents and previous runs from a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def document(self, compiled: CompiledSchedule) -> Any:
        """Return the document of the workflow that a schedule starts, stored or in the schedule itself."""
        action = compiled.action
        if action.executor is not None:
            return {"executor": action.executor, "options": action.options}
        assert action.workflow_id is not None
        name, version = action.workflow_id, action.workflow_version
        try:
            row = await await_store(
                self._store.read(lambda transaction: transaction.workflow_get(compiled.namespace, name, version))
            )
        except TompionError as error:
            kind = TargetUnreachable if isinstance(error, StoreUnavailable) else LaunchError
            raise kind(f"the workflow {name!r} cannot be loaded: {error}") from error
        if row is None:
            raise LaunchError(f"there is no workflow {name!r}" + ("" if version is None else f" version {version}"))
        return parse_document(row.document)

    async def previous(self, row: RunRow) -> Previous:
        """Return the execution ids of the schedule's last success and, if it is later, of its last failure."""

        def read_previous(transaction: Transaction) -> Previous:
            rows = {
                state: transaction.run_list_page(row.schedule_key, (FAR_S, 0), 1, state, None)
                for state in (RunState.SUCCESS, RunState.FAILED)
            }
            success = next(iter(rows[RunState.SUCCESS]), None)
            failure = next(iter(rows[RunState.FAILED]), None)
            if success is not None and failure is not None and _finished_ms(failure) < _finished_ms(success):
                failure = None
            return (
                None if success is None else success.execution_id,
                None if failure is None else failure.execution_id,
            )

        try:
            return await await_store(self._store.read(read_previous))
        except TompionError as error:
            raise LaunchError(f"the previous runs cannot be loaded: {error}") from error


def _finished_ms(row: RunRow) -> int:
    return row.finished_ms or 0
