"""The audit log and its hash chain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tompion.model.audit_chain import AuditHead
from tompion.model.rows import AuditRow
from tompion.store.driver_transaction import DriverTransaction


class AuditTable(DriverTransaction):
    """The audit log and its hash chain."""

    def audit_insert(self, row: AuditRow) -> None:
        """Add an audit row. The store assigns its number."""
        self.rows("audit_insert", row._asdict())

    def audit_list(self, namespace: str, schedule_id: str | None, before_number: int, limit: int) -> list[AuditRow]:
        """Return audit rows of a schedule, or of a namespace, newest first."""
        params = {"namespace": namespace, "before_number": before_number, "limit": limit}
        if schedule_id is None:
            return [AuditRow._make(row) for row in self.rows("audit_list_all", params)]
        return [AuditRow._make(row) for row in self.rows("audit_list", {**params, "schedule_id": schedule_id})]

    def audit_list_after(self, after_number: int, limit: int) -> list[AuditRow]:
        """Return audit rows of all namespaces after a number, oldest first."""
        params = {"after_number": after_number, "limit": limit}
        return [AuditRow._make(row) for row in self.rows("audit_list_after", params)]

    def audit_last_number(self) -> int:
        """Return the number of the newest audit row."""
        return int(self.rows("audit_last_number", {})[0][0])

    def audit_list_unchained_namespaces(self, limit: int) -> list[str]:
        """Return the namespaces of the oldest rows that are not in a chain yet."""
        return sorted(row[0] for row in self.rows("audit_list_unchained_namespaces", {"limit": limit}))

    def audit_head_lock(self, namespaces: Iterable[str]) -> list[AuditHead]:
        """Lock the heads of chains, creating missing ones and skipping those that other transactions hold."""
        names = sorted(set(namespaces))
        self.execute_many("audit_head_insert", [(name,) for name in names])
        return [AuditHead._make(row) for row in self.rows("audit_head_lock", {"namespaces": names})]

    def audit_list_unchained(self, namespaces: Iterable[str], limit: int) -> list[AuditRow]:
        """Return rows of namespaces that are not in a chain yet, oldest first."""
        params = {"namespaces": sorted(namespaces), "limit": limit}
        return [AuditRow._make(row) for row in self.rows("audit_list_unchained", params)]

    def audit_chain_rows(self, rows: Sequence[AuditRow]) -> None:
        """Write the chain positions and digests of rows whose heads are locked by this transaction."""
        if rows:
            self.execute_many(
                "audit_chain_rows", [(row.audit_number, row.position, row.previous, row.digest) for row in rows]
            )

    def audit_head_update(self, heads: Sequence[AuditHead]) -> None:
        """Write locked heads: where each chain ends, and up to which position its rows were deleted."""
        if heads:
            self.execute_many("audit_head_update", heads)

    def audit_head_get(self, namespace: str) -> AuditHead | None:
        """Return the head of a namespace's chain, if it has one."""
        row = self._one("audit_head_get", namespace=namespace)
        return None if row is None else AuditHead._make(row)

    def audit_list_chain(self, namespace: str, after_position: int, limit: int) -> list[AuditRow]:
        """Return the rows of a chain after a position, in chain order."""
        params = {"namespace": namespace, "after_position": after_position, "limit": limit}
        return [AuditRow._make(row) for row in self.rows("audit_list_chain", params)]

    def audit_count_unchained(self, namespace: str) -> int:
        """Count the rows of a namespace that are not in its chain yet."""
        return int(self.rows("audit_count_unchained", {"namespace": namespace})[0][0])

    def audit_list_oldest(self, before_ms: int, limit: int) -> dict[str, int]:
        """Return, for each namespace, the last position older than ``before_ms`` among the ``limit`` oldest rows."""
        return {row[0]: row[1] for row in self.rows("audit_list_oldest", {"before_ms": before_ms, "limit": limit})}

    def audit_expire(self, namespace: str, until_position: int) -> None:
        """Delete the rows of a chain up to a position that its head already records as deleted."""
        self.rows("audit_expire", {"namespace": namespace, "until_position": until_position})
