"""Answers stored by request id."""

from __future__ import annotations

from tompion.model.rows import (
    RequestRow,
)
from tompion.store.driver_transaction import DriverTransaction


class RequestTable(DriverTransaction):
    """Answers stored by request id."""

    def request_get(self, namespace: str, request_id: str) -> RequestRow | None:
        """Return what a request id was answered."""
        found = self._one("request_get_answer", namespace=namespace, request_id=request_id)
        return None if found is None else RequestRow._make(found)

    def request_insert(self, namespace: str, request_id: str, row: RequestRow, now_ms: int) -> None:
        """Remember the answer to a request id."""
        params = {"namespace": namespace, "request_id": request_id, "created_ms": now_ms}
        self.rows("request_insert", {**params, **row._asdict()})

    def request_expire(self, before_ms: int, limit: int) -> int:
        """Forget some answers that were given before a moment; return how many."""
        return len(self.rows("request_expire", {"before_ms": before_ms, "limit": limit}))
