"""Waiting for conditions, for lock waiters of a server, and between polls."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import psycopg

SECONDS = 120
"""Timeout of every wait. A guard against hanging, not an expectation."""
_WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


def wait_until(check: Callable[[], bool]) -> bool:
    """Return whether ``check`` becomes true in time. Another thread has to make it true."""
    turn = threading.Event()
    deadline = time.monotonic() + SECONDS
    while not (is_true := check()) and time.monotonic() < deadline:
        turn.wait(0.01)
    return is_true


def wait_for_lock_waiters(url: str, count: int = 1) -> None:
    """Poll the server until a number of transactions wait for a lock."""
    with psycopg.connect(url, autocommit=True) as connection:
        counts = (connection.execute(_WAITING).fetchall()[0][0] for _ in range(100_000))
        assert any(waiting >= count for waiting in counts), "no transaction waits for a lock"


async def pause(seconds: float = 0.02) -> None:
    """Wait a little before the next poll of a server. Polling without a pause takes CPU time that the server needs."""
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), seconds)
