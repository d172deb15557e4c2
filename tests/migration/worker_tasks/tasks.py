"""What the schedules run; beside a store, it leaves a line for each launch there, with the release of its process."""

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
        "key": run.key,
        "attempt": run.attempt,
        "schedule_id": run.schedule_id,
        "nominal_s": int(run.scheduled_for.timestamp()),
        "pid": os.getpid(),
        "release": RELEASE,
    }
    with (HERE / "lines.txt").open("ab", buffering=0) as lines:
        lines.write(json.dumps(line).encode() + b"\n")


def wait(run: RunContext) -> None:
    """Leave a line, and take until somebody opens the gate that the payload names."""
    note(run)
    turn = threading.Event()
    while not (HERE / run.payload["gate"]).exists():
        turn.wait(0.02)


def fail(run: RunContext) -> None:
    """Leave a line and fail."""
    note(run)
    raise ValueError("as it was told")
