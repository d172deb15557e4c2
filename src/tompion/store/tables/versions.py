"""Versions of schedule definitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tompion.model.rows import DefinitionRow, VersionRow
from tompion.store.driver_transaction import DriverTransaction


class VersionTable(DriverTransaction):
    """Versions of schedule definitions."""

    def version_insert(self, row: VersionRow) -> None:
        """Add a version."""
        self.rows("version_insert", row._asdict())

    def version_end(self, key: int, version: int, until_s: int) -> None:
        """Write the last tick that a version decides."""
        self.rows("version_end", {"key": key, "version": version, "until_s": until_s})

    def version_list(self, key: int, limit: int) -> list[VersionRow]:
        """Return the versions of a schedule, newest first."""
        return [VersionRow._make(row) for row in self.rows("version_list", {"key": key, "limit": limit})]

    def version_get(self, key: int, version: int) -> VersionRow | None:
        """Return one version."""
        row = self._one("version_get", key=key, version=version)
        return None if row is None else VersionRow._make(row)

    def version_list_current(self, keys: Iterable[int]) -> dict[int, VersionRow]:
        """Return the newest version of each schedule."""
        rows = self.rows("version_list_current", {"keys": sorted(set(keys))})
        return {row[0]: VersionRow._make(row) for row in rows}

    def version_list_definitions(self, pairs: Sequence[tuple[int, int]]) -> list[DefinitionRow]:
        """Return versions by schedule and number, in the form that engines compile."""
        rows = self.rows("version_list_definitions", {"pairs": [list(pair) for pair in pairs]})
        return [DefinitionRow._make(row) for row in rows]
