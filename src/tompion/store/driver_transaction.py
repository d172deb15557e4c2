"""What a driver can do: tell the time, send a statement for one or for many rows, and wake everybody."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from tompion.model.run import RunId

Params = Mapping[str, Any]


class DriverTransaction(ABC):
    """A transaction, as far as a driver is concerned."""

    @abstractmethod
    def now_ms(self) -> int:
        """Return the database's clock, in milliseconds since the epoch."""

    @abstractmethod
    def notify(self) -> None:
        """Wake every engine once this transaction has committed."""

    @abstractmethod
    def rows(self, name: str, params: Params) -> list[tuple[Any, ...]]:
        """Send one statement and return its rows."""

    @abstractmethod
    def many(self, name: str, rows: Sequence[Sequence[Any]]) -> int:
        """Send one statement for many rows and return how many it changed."""

    @abstractmethod
    def many_rows(self, name: str, rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
        """Send one statement for many rows and return what it returned for them."""

    def changed(self, name: str, rows: Sequence[Sequence[Any]]) -> set[RunId]:
        """Send one guarded write for many runs, each row beginning with its id; return the runs that it changed."""
        return {RunId._make(row) for row in self.many_rows(name, rows)}

    def _one(self, name: str, /, **params: Any) -> tuple[Any, ...] | None:
        found = self.rows(name, params)
        return found[0] if found else None
