"""Responses stored by request id."""

from __future__ import annotations

from tompion.model.rows import RequestRow
from tompion.store.driver_transaction import DriverTransaction


class RequestTable(DriverTransaction):
    """Responses stored by request id."""

    def request_get(self, namespace: str, request_id: str) -> RequestRow | None:
        """Return the stored response to a request id."""
        row = self._one("request_get", namespace=namespace, request_id=request_id)
        return None if row is None else RequestRow._make(row)

    def request_insert(self, namespace: str, request_id: str, row: RequestRow, now_ms: int) -> None:
        """Store the response to a request id."""
        params = {"namespace": namespace, "request_id": request_id, "created_ms": now_ms}
        self.rows("request_insert", {**params, **row._asdict()})

    def request_expire(self, before_ms: int, limit: int) -> int:
        """Delete up to ``limit`` responses older than a time and return how many."""
        return len(self.rows("request_expire", {"before_ms": before_ms, "limit": limit}))
