"""Workflow documents and paused targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tompion.model.rows import WorkflowRow
from tompion.store.driver_transaction import DriverTransaction


class WorkflowTable(DriverTransaction):
    """Workflow documents and paused targets."""

    def workflow_get(self, namespace: str, workflow_id: str, version: int | None = None) -> WorkflowRow | None:
        """Return a version of a workflow document, the newest by default."""
        params = {"namespace": namespace, "workflow_id": workflow_id}
        row = (
            self._one("workflow_get_newest", **params)
            if version is None
            else self._one("workflow_get_version", version=version, **params)
        )
        return None if row is None else WorkflowRow._make(row)

    def workflow_list_newest(self, names: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """Return the newest versions of workflows, by namespace and id."""
        return (
            {(row[0], row[1]): row[2] for row in self.execute_many_returning("workflow_list_newest", names)}
            if names
            else {}
        )

    def workflow_list(self, namespace: str, after_id: str, limit: int) -> list[WorkflowRow]:
        """Return the newest version of each workflow of a namespace, by id."""
        params = {"namespace": namespace, "after_id": after_id, "limit": limit}
        return [WorkflowRow._make(row) for row in self.rows("workflow_list", params)]

    def workflow_insert(self, row: WorkflowRow) -> None:
        """Add a version of a workflow document."""
        self.rows("workflow_insert", row._asdict())

    def target_list_paused(self) -> set[tuple[str, str, str]]:
        """Return the paused workflows and queues as (namespace, kind, name)."""
        return {(row[0], row[1], row[2]) for row in self.rows("target_list_paused", {})}

    def target_pause(self, **params: Any) -> None:
        """Pause a workflow or a queue."""
        self.rows("target_pause", params)

    def target_resume(self, namespace: str, kind: str, target: str) -> bool:
        """Resume a workflow or a queue and return whether it was paused."""
        return self._one("target_resume", namespace=namespace, kind=kind, target=target) is not None
