"""Two PostgreSQL servers, one of which is a copy of the other and takes its place when that dies.

    with Pair() as pair:
        url = pair.url_of("mine")       # names both: a client finds the one that takes writes
        pair.kill()                     # the primary dies
        pair.promote()                  # the standby takes its place
        pair.rebuild()                  # what has died comes back, as a copy of the other

A commit is confirmed when the standby has it on its disk: whatever was confirmed survives the primary.
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
    """A server that begins as a copy of another, follows it, and answers questions meanwhile."""

    def __init__(self, primary_port: int, settings: Mapping[str, str] | None = None) -> None:
        super().__init__({**_QUICK, **(settings or {})})
        self._primary_port = primary_port

    def promote(self) -> None:
        """Take writes from now on. Returns when that is so."""
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
        """Stop both for good."""
        for server in (self.standby, self.primary):
            if server is not None:
                server.close()

    def url_of(self, database: str) -> str:
        """Where to reach a database on whichever of the two takes writes."""
        both = ",".join(f"{LOOPBACK}:{port}" for port in self._ports)
        return f"postgresql://{SUPERUSER}@{both}/{database}?target_session_attrs=read-write&connect_timeout=2"

    def kill(self) -> None:
        """Kill the primary, and leave the standby as it is."""
        self.primary.kill()

    def promote(self) -> None:
        """Let the standby take the place of the primary, which is gone."""
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
        """Let the primary confirm nothing that the standby does not have."""
        with psycopg.connect(self.primary.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
            turn = threading.Event()
            agreed = (
                connection.execute(_STREAMING).fetchall()[0][0] or turn.wait(PAUSE)
                for _ in range(int(SECONDS_TO_START / PAUSE))
            )
            assert any(agreed), f"the standby does not follow: {self.primary.log()[-2_000:]}"
