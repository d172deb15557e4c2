"""Waiting for somebody who waits."""

from __future__ import annotations

import threading
from collections.abc import Callable

import psycopg

_WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


def wait_until(check: Callable[[], bool]) -> bool:
    """Return whether something becomes true; another thread makes it so, and needs its turn."""
    turn = threading.Event()
    return any(check() or turn.wait(0.01) for _ in range(1_000))


def wait_for_waiting(url: str, count: int = 1) -> None:
    """Return when so many transactions wait for a lock; the server is asked until it says so."""
    with psycopg.connect(url, autocommit=True) as connection:
        asked = (connection.execute(_WAITING).fetchall()[0][0] for _ in range(100_000))
        assert any(found >= count for found in asked), "nobody waits"
