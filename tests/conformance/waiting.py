"""Waiting for somebody who waits."""

from __future__ import annotations

import psycopg

_WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


def wait_for_waiting(url: str, count: int = 1) -> None:
    """Return when so many transactions wait for a lock; the server is asked until it says so."""
    with psycopg.connect(url, autocommit=True) as connection:
        asked = (connection.execute(_WAITING).fetchall()[0][0] for _ in range(100_000))
        assert any(found >= count for found in asked), "nobody waits"
