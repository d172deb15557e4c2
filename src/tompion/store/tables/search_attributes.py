"""Registered search attributes."""

from __future__ import annotations

from tompion.store.driver_transaction import DriverTransaction


class SearchAttributeTable(DriverTransaction):
    """Registered search attributes."""

    def search_attribute_list(self, namespace: str) -> dict[str, str]:
        """Return the types of the registered search attributes of a namespace by name."""
        return {str(name): str(kind) for name, kind in self.rows("search_attribute_list", {"namespace": namespace})}

    def search_attribute_insert(self, namespace: str, name: str, kind: str) -> None:
        """Register a search attribute. An existing one is not changed."""
        self.rows("search_attribute_insert", {"namespace": namespace, "name": name, "kind": kind})
