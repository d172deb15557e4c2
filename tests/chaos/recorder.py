"""The functions of a trial, which log one line per launch outside the database.

The log is independent of the ledger.  Each process has a file of its own, and a line is on disk before the function
does anything else.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tompion.executors.base import RunContext

LOG_VARIABLE = "TOMPION_TEST_CHAOS_LOG"


class Line(NamedTuple):
    """One launch, as its process saw it."""

    at_ms: int
    pid: int
    run_id: str
    key: str
    attempt: int
    schedule_id: str
    nominal_s: int


async def gently(launch: RunContext) -> None:
    """Log a line and wait for the time in the payload, on the event loop."""
    _record(launch)
    await asyncio.sleep(launch.payload["ms"] / 1000)


def stubbornly(launch: RunContext) -> None:
    """Do the same in a thread, which cannot be cancelled."""
    _record(launch)
    threading.Event().wait(launch.payload["ms"] / 1000)


def read_lines(path: Path) -> list[Line]:
    """Return what a process has left. A line that a kill has cut short is no line."""
    texts = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [Line(*json.loads(text)) for text in texts if text.endswith("\n")]


def _record(launch: RunContext) -> None:
    line = Line(
        time.time_ns() // 1_000_000,
        os.getpid(),
        launch.run_id,
        launch.idempotency_key,
        launch.attempt,
        launch.schedule_id,
        int(launch.run_at.timestamp()),
    )
    os.write(_log(), json.dumps(line).encode() + b"\n")
    os.fsync(_log())


@cache
def _log() -> int:
    return os.open(os.environ[LOG_VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
