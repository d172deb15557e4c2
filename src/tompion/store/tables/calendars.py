"""Named calendars and the schedules that use them."""

from __future__ import annotations

from collections.abc import Sequence

from tompion.model.rows import CalendarRow
from tompion.store.driver_transaction import DriverTransaction


class CalendarTable(DriverTransaction):
    """Named calendars and the schedules that use them."""

    def calendar_get(self, namespace: str, name: str, version: int | None = None) -> CalendarRow | None:
        """Return a version of a calendar, the newest by default."""
        params = {"namespace": namespace, "name": name}
        row = (
            self._one("calendar_get_newest", **params)
            if version is None
            else self._one("calendar_get_version", version=version, **params)
        )
        return None if row is None else CalendarRow._make(row)

    def calendar_insert(self, row: CalendarRow) -> None:
        """Add a version of a calendar."""
        self.rows("calendar_insert", row._asdict())

    def calendar_list(self, namespace: str, after_name: str, limit: int) -> list[CalendarRow]:
        """Return the newest version of each calendar, by name."""
        params = {"namespace": namespace, "after_name": after_name, "limit": limit}
        return [CalendarRow._make(row) for row in self.rows("calendar_list", params)]

    def calendar_list_users(self, namespace: str, name: str, limit: int) -> list[int]:
        """Return the schedules that exclude a calendar."""
        params = {"namespace": namespace, "name": name, "limit": limit}
        return [row[0] for row in self.rows("calendar_list_users", params)]

    def calendar_use_replace(self, key: int, namespace: str, names: Sequence[str]) -> None:
        """Replace the list of calendars that a schedule excludes."""
        self.rows("calendar_use_delete", {"key": key})
        if names:
            self.execute_many("calendar_use_insert", [(namespace, name, key) for name in names])
