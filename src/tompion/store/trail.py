"""The statements about the audit: what is written with every change, and the chain that it is put into afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tompion.model.audit import AuditHead
from tompion.model.rows import AuditRow
from tompion.store.sending import DriverTransaction


class TrailStatements(DriverTransaction):
    """Audit rows, and where the chain of each namespace begins and ends."""

    def insert_audit(self, row: AuditRow) -> None:
        """Add an audit row; its number is given by the store."""
        self.rows("insert_audit", row._asdict())

    def audit_page(self, namespace: str, schedule_id: str | None, before_number: int, limit: int) -> list[AuditRow]:
        """Return audit rows of a schedule, or of a namespace, the newest first."""
        params = {"namespace": namespace, "before_number": before_number, "limit": limit}
        if schedule_id is None:
            return [AuditRow._make(row) for row in self.rows("audit_of_all", params)]
        return [AuditRow._make(row) for row in self.rows("audit_page", {**params, "schedule_id": schedule_id})]

    def audit_since(self, after_number: int, limit: int) -> list[AuditRow]:
        """Return audit rows of all namespaces after a number, the oldest first."""
        params = {"after_number": after_number, "limit": limit}
        return [AuditRow._make(row) for row in self.rows("audit_since", params)]

    def last_audit_number(self) -> int:
        """Return the number of the newest audit row."""
        return int(self.rows("last_audit_number", {})[0][0])

    def unsealed_namespaces(self, limit: int) -> list[str]:
        """Return the namespaces of the oldest rows that are not in a chain yet."""
        return sorted(row[0] for row in self.rows("unsealed_namespaces", {"limit": limit}))

    def lock_heads(self, namespaces: Iterable[str]) -> list[AuditHead]:
        """Lock where chains end, passing over those that others hold; a chain that is new begins."""
        names = sorted(set(namespaces))
        self.many("insert_heads", [(name,) for name in names])
        return [AuditHead._make(row) for row in self.rows("lock_heads", {"namespaces": names})]

    def unsealed_audit(self, namespaces: Iterable[str], limit: int) -> list[AuditRow]:
        """Return rows of namespaces that are not in a chain yet, the oldest first."""
        params = {"namespaces": sorted(namespaces), "limit": limit}
        return [AuditRow._make(row) for row in self.rows("unsealed_audit", params)]

    def seal_audit(self, rows: Sequence[AuditRow]) -> None:
        """Put rows into chains whose ends are locked by this transaction."""
        if rows:
            self.many("seal_audit", [(row.audit_number, row.position, row.previous, row.digest) for row in rows])

    def save_heads(self, heads: Sequence[AuditHead]) -> None:
        """Write where locked chains end, and up to where their rows are gone."""
        if heads:
            self.many("save_heads", heads)

    def audit_head(self, namespace: str) -> AuditHead | None:
        """Return where the chain of a namespace ends, if it has begun."""
        found = self._one("audit_head", namespace=namespace)
        return None if found is None else AuditHead._make(found)

    def audit_chain(self, namespace: str, after_position: int, limit: int) -> list[AuditRow]:
        """Return the rows of a chain after a place, in its order."""
        params = {"namespace": namespace, "after_position": after_position, "limit": limit}
        return [AuditRow._make(row) for row in self.rows("audit_chain", params)]

    def count_unsealed(self, namespace: str) -> int:
        """Count the rows of a namespace that are not in its chain yet."""
        return int(self.rows("count_unsealed", {"namespace": namespace})[0][0])

    def oldest_audit(self, before_ms: int, limit: int) -> dict[str, int]:
        """Return up to which place the chains of namespaces are older than a moment, among so many oldest rows."""
        return {row[0]: row[1] for row in self.rows("oldest_audit", {"before_ms": before_ms, "limit": limit})}

    def expire_audit(self, namespace: str, until_position: int) -> None:
        """Forget the rows of a chain up to a place that its head calls gone already."""
        self.rows("expire_audit", {"namespace": namespace, "until_position": until_position})
