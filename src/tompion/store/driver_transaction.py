"""The part of a transaction that each driver implements: the clock, statements, and notification."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from tompion.model.run import RunId

Params = Mapping[str, Any]


class DriverTransaction(ABC):
    """A transaction as a driver implements it."""

    @abstractmethod
    def now_ms(self) -> int:
        """Return the database's clock in milliseconds since the epoch."""

    @abstractmethod
    def notify(self) -> None:
        """Wake every engine after this transaction has committed."""

    @abstractmethod
    def rows(self, name: str, params: Params) -> list[tuple[Any, ...]]:
        """Execute one statement and return its rows."""

    @abstractmethod
    def execute_many(self, name: str, rows: Sequence[Sequence[Any]]) -> int:
        """Execute one statement for many rows and return the number of changed rows."""

    @abstractmethod
    def execute_many_returning(self, name: str, rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
        """Execute one statement for many rows and return all result rows."""

    def change_runs(self, name: str, rows: Sequence[Sequence[Any]]) -> set[RunId]:
        """Execute one guarded write for many runs, each row beginning with its id. Return the changed runs."""
        return {RunId._make(row) for row in self.execute_many_returning(name, rows)}

    def _one(self, name: str, /, **params: Any) -> tuple[Any, ...] | None:
        rows = self.rows(name, params)
        return rows[0] if rows else None
