"""The functions of the schedules. They log each launch in the folder of the store, with the release of the process."""

from __future__ import annotations

import json
import os
import threading
from importlib.metadata import version
from pathlib import Path

from tompion import RunContext

HERE = Path(__file__).parent
RELEASE = version("tompion")


def note(run: RunContext) -> None:
    """Leave a line, in one piece."""
    line = {
        "run_id": run.run_id,
        "key": run.idempotency_key,
        "attempt": run.attempt,
        "schedule_id": run.schedule_id,
        "nominal_s": int(run.run_at.timestamp()),
        "pid": os.getpid(),
        "release": RELEASE,
    }
    with (HERE / "lines.txt").open("ab", buffering=0) as lines:
        lines.write(json.dumps(line).encode() + b"\n")


def wait(run: RunContext) -> None:
    """Log a line and wait for the barrier in the payload."""
    note(run)
    turn = threading.Event()
    while not (HERE / run.payload["barrier"]).exists():
        turn.wait(0.02)


def fail(run: RunContext) -> None:
    """Leave a line and fail."""
    note(run)
    raise ValueError("as requested")
