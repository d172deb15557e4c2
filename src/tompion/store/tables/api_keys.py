"""API keys and shared secrets."""

from __future__ import annotations

from tompion.model.rows import KeyRow
from tompion.store.driver_transaction import DriverTransaction


class ApiKeyTable(DriverTransaction):
    """API keys and shared secrets."""

    def secret_get_or_create(self, name: str, fresh: str) -> str:
        """Return a secret that all instances share. The first caller sets it to ``fresh``."""
        row = self._one("secret_get_or_create", name=name)
        if row is None:
            self.rows("secret_insert", {"name": name, "value": fresh})
            row = self._one("secret_get_or_create", name=name)
        assert row is not None
        return str(row[0])

    def api_key_insert(self, row: KeyRow) -> None:
        """Add an API key."""
        self.rows("api_key_insert", row._asdict())

    def api_key_get(self, key_id: str) -> KeyRow | None:
        """Return an API key."""
        row = self._one("api_key_get", key_id=key_id)
        return None if row is None else KeyRow._make(row)

    def api_key_list(self, namespace: str, after: str, limit: int) -> list[KeyRow]:
        """Return the API keys of a namespace, by id."""
        params = {"namespace": namespace, "after": after, "limit": limit}
        return [KeyRow._make(row) for row in self.rows("api_key_list", params)]

    def api_key_revoke(self, namespace: str, key_id: str, now_ms: int) -> bool:
        """Revoke an API key and return whether it exists."""
        return self._one("api_key_revoke", namespace=namespace, key_id=key_id, now_ms=now_ms) is not None
