"""Migrations: numbered scripts. Every store records the number of the last one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from tompion.errors import SchemaOutdated, SchemaTooNew, StoreError


class MigrationStatus(NamedTuple):
    """One migration, and whether it was applied to the store."""

    number: int
    name: str
    applied: bool


class Migrator(ABC):
    """Migrates one store."""

    dialect: str
    migrations: tuple[tuple[int, str, str], ...]

    @abstractmethod
    def version(self) -> int:
        """Return the number of the last applied migration, 0 for an empty store."""

    @abstractmethod
    def apply(self, number: int, script: str) -> bool:
        """Apply one script and its stamp in one transaction. Return False if another process has done so meanwhile."""

    @abstractmethod
    def stamp(self, number: int) -> str:
        """Return the statement that records a migration as applied."""

    def begin(self) -> str:
        """Return the first lines of a script that is run by hand."""
        return "BEGIN;"

    def roles(self, worker: str, tenant: str) -> str:
        """Return the script that creates the database roles: the worker role and the tenant role."""
        raise StoreError(
            f"{self.dialect} has no roles. Restrict the permissions of its file instead, or use a postgresql:// store"
        )

    def status(self) -> list[MigrationStatus]:
        """Return all migrations that this release knows."""
        version = self.version()
        return [MigrationStatus(number, name, number <= version) for number, name, _script in self.migrations]

    def up(self) -> list[str]:
        """Apply missing migrations and return their names."""
        self.reject_newer()
        applied = []
        for number, name, script in self.migrations:
            if number > self.version() and self.apply(number, script):
                applied.append(f"{number:04}_{name}")
        return applied

    def sql(self) -> str:
        """Return the missing scripts and their stamps as text that can be run by hand."""
        version = self.version()
        return "\n".join(
            f"{self.begin()}\n{script}\n{self.stamp(number)}\nCOMMIT;\n"
            for number, _name, script in self.migrations
            if number > version
        )

    def reject_newer(self) -> None:
        """Raise if the store was migrated by a newer release."""
        version, supported = self.version(), len(self.migrations)
        if version > supported:
            raise SchemaTooNew(
                f"the store has schema {version}, this release supports up to {supported}. "
                "Use a newer release. Nothing was written"
            )

    def reject_older(self) -> None:
        """Raise if the store has to be migrated first."""
        version, supported = self.version(), len(self.migrations)
        if version < supported:
            raise SchemaOutdated(
                f"the store has schema {version}, this release needs {supported}. Run 'tompion migrate up --store URL'"
            )
