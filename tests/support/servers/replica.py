"""A PostgreSQL primary and its standby, which replaces the primary when it dies.

    with Pair() as pair:
        url = pair.url_of("mine")       # names both: a client finds the one that takes writes
        pair.kill()                     # the primary dies
        pair.promote()                  # the standby takes its place
        pair.rebuild()                  # the dead server returns as a copy of the other

A commit is confirmed when the standby has it on its disk, so that confirmed commits survive the primary.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Self

import psycopg

from tests.support.servers import LOOPBACK
from tests.support.servers.postgres import CRASH_SAFE, PAUSE, SECONDS_TO_START, SUPERUSER, PostgresServer

_QUICK = {**CRASH_SAFE, "wal_retrieve_retry_interval": "100ms"}
_STREAMING = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync'"


class Standby(PostgresServer):
    """A server that starts as a copy of another, replicates it, and answers queries."""

    def __init__(self, primary_port: int, settings: Mapping[str, str] | None = None) -> None:
        super().__init__({**_QUICK, **(settings or {})})
        self._primary_port = primary_port

    def promote(self) -> None:
        """Promote the server, and return when it accepts writes."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("SELECT pg_promote(true, %s)", [SECONDS_TO_START])

    def _creation(self) -> list[str]:
        way = f"host={LOOPBACK} port={self._primary_port} user={SUPERUSER}"
        return ["pg_basebackup", "--no-sync", "--checkpoint=fast", "--write-recovery-conf", f"--dbname={way}"]


class Pair:
    """A primary and its standby. Use as a context manager, in a thread that lives long enough for both."""

    def __init__(self) -> None:
        self.primary: PostgresServer = PostgresServer(CRASH_SAFE)
        self.standby: PostgresServer | None = None
        self._ports: list[int] = []

    def __enter__(self) -> Self:
        try:
            self.primary.start()
            self.standby = Standby(self.primary.port)
            self.standby.start()
            self._ports = [self.primary.port, self.standby.port]
            self._agree()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop and remove both servers."""
        for server in (self.standby, self.primary):
            if server is not None:
                server.close()

    def url_of(self, database: str) -> str:
        """Return the URL of a database on the server that accepts writes."""
        both = ",".join(f"{LOOPBACK}:{port}" for port in self._ports)
        return f"postgresql://{SUPERUSER}@{both}/{database}?target_session_attrs=read-write&connect_timeout=2"

    def kill(self) -> None:
        """Kill the primary, and leave the standby as it is."""
        self.primary.kill()

    def promote(self) -> None:
        """Promote the standby after the primary has died."""
        assert isinstance(self.standby, Standby)
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary

    def rebuild(self) -> None:
        """Create a new standby in place of the dead primary. Its unconfirmed writes are lost."""
        assert self.standby is not None
        port = self.standby.port
        self.standby.close()
        self.standby = Standby(self.primary.port)
        self.standby.port = port
        self.standby.start()
        self._agree()

    def _agree(self) -> None:
        """Make the primary confirm a commit only when the standby has it."""
        with psycopg.connect(self.primary.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
            turn = threading.Event()
            agreed = (
                connection.execute(_STREAMING).fetchall()[0][0] or turn.wait(PAUSE)
                for _ in range(int(SECONDS_TO_START / PAUSE))
            )
            assert any(agreed), f"the standby does not follow: {self.primary.log()[-2_000:]}"
