"""Migrations: the schema is the sum of its numbered scripts, and every store knows how many it has had."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from tompion.errors import SchemaOutdated, SchemaTooNew, StoreError


class MigrationStatus(NamedTuple):
    """One migration and whether the store has had it."""

    number: int
    name: str
    applied: bool


class Migrator(ABC):
    """Migrates one store."""

    dialect: str
    migrations: tuple[tuple[int, str, str], ...]

    @abstractmethod
    def version(self) -> int:
        """Return the number of the last migration that the store has had; 0 for an empty one."""

    @abstractmethod
    def apply(self, number: int, script: str) -> bool:
        """Run one script and its stamp in one transaction; return False if another process has done it meanwhile."""

    @abstractmethod
    def stamp(self, number: int) -> str:
        """Return the statement that says that a migration has been run."""

    def begin(self) -> str:
        """Return what a script that is run by hand begins with."""
        return "BEGIN;"

    def roles(self, worker: str, tenant: str) -> str:
        """Return the statements that make the roles of a store: whoever works with it, and the wall of a tenant."""
        raise StoreError(f"there are no roles in {self.dialect}: use the rights of its file; use postgresql://…")

    def status(self) -> list[MigrationStatus]:
        """Return all migrations that this release knows."""
        version = self.version()
        return [MigrationStatus(number, name, number <= version) for number, name, _script in self.migrations]

    def up(self) -> list[str]:
        """Run what is missing and return the names of what was run."""
        self.refuse_newer()
        done = []
        for number, name, script in self.migrations:
            if number > self.version() and self.apply(number, script):
                done.append(f"{number:04}_{name}")
        return done

    def sql(self) -> str:
        """Return the scripts that are missing and their stamps, as text that can be run by hand."""
        version = self.version()
        return "\n".join(
            f"{self.begin()}\n{script}\n{self.stamp(number)}\nCOMMIT;\n"
            for number, _name, script in self.migrations
            if number > version
        )

    def refuse_newer(self) -> None:
        """Raise if the store was migrated by a newer release."""
        version, known = self.version(), len(self.migrations)
        if version > known:
            raise SchemaTooNew(
                f"the store has schema {version}, this release knows {known}: use a newer release; nothing was written"
            )

    def refuse_older(self) -> None:
        """Raise if the store still has to be migrated."""
        version, known = self.version(), len(self.migrations)
        if version < known:
            raise SchemaOutdated(
                f"the store has schema {version}, this release needs {known}: run 'tompion migrate up --store URL'"
            )
