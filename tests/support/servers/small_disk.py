"""A PostgreSQL server with a small disk, which can be filled and emptied.

The disk is a file system in memory, in a mount namespace of the server, and disappears with it.  That needs root.
"""

from __future__ import annotations

import subprocess
import tempfile

import psycopg

from tests.support.servers.postgres import PostgresServer, unprivileged

_MOUNT = 'mkdir -p "$1" && mount -t tmpfs -o size="$2",mode=0700,uid="$3",gid="$4" none "$1" && shift 4 && exec "$@"'
BALLAST = "ballast"


def can_mount() -> bool:
    """Return whether this process may mount such a disk."""
    if unprivileged() is None:
        return False
    with tempfile.TemporaryDirectory() as directory:
        command = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", directory]
        try:
            return subprocess.run(command, check=False, capture_output=True).returncode == 0
        except FileNotFoundError:
            return False


class SmallDisk(PostgresServer):
    """A server with a tablespace on a small disk. It must not be restarted: the disk would be empty."""

    def __init__(self, mib: int) -> None:
        super().__init__()
        self._mib = mib

    def create_small(self, name: str) -> str:
        """Create a database on that disk, and return its URL."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE TABLESPACE small LOCATION '{self.home / 'small'}'".encode())
            connection.execute(f"CREATE DATABASE {name} TABLESPACE small".encode())
        return self.url_of(name)

    def fill(self) -> None:
        """Fill the disk."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            try:
                self._copy(connection, f"SELECT repeat('x', 1023) FROM generate_series(1, {self._mib * 1024})")
            except psycopg.errors.DiskFull:
                return
        raise AssertionError("the disk is larger than it should be")

    def free(self) -> None:
        """Free the space again."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            self._copy(connection, "SELECT 1 WHERE false")

    def _copy(self, connection: psycopg.Connection, query: str) -> None:
        connection.execute(f"COPY ({query}) TO '{self.home / 'small' / BALLAST}'".encode())

    def _launcher(self) -> list[str]:
        user = unprivileged()
        assert user is not None
        mount = ["unshare", "--mount", "sh", "-c", _MOUNT, "sh", str(self.home / "small"), f"{self._mib}m"]
        return [*mount, str(user[0]), str(user[1]), *super()._launcher()]
