"""Runs one measurement in a process of its own: ``python -m bench.engine.child '{"call": "run_load", "with": {…}}'``.

Every peer gets a fresh process, too: no caches and no garbage of an earlier measurement.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from bench.engine.peers.environments import ROOT

PATIENCE_S = 900.0
MARK = "outcome: "


class ChildFailed(Exception):
    """The child process failed. The message is the end of its output."""


def in_child(call: str, **arguments: Any) -> Any:
    """Run a call in a new process and return its result, as JSON has it."""
    process = subprocess.run(  # noqa: S603 - this interpreter, with our module
        [sys.executable, "-m", "bench.engine.child", json.dumps({"call": call, "with": arguments})],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), "TZ": "UTC"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    for line in process.stdout.splitlines():
        if line.startswith(MARK):
            return json.loads(line.removeprefix(MARK))
    raise ChildFailed((process.stderr or process.stdout).strip()[-2000:] or "it ended without any output")


def main(text: str) -> None:
    """Run the call of the assignment and print the outcome."""
    from bench.engine import baseline, burst, idle, noisy_tenant

    calls: dict[str, Callable[..., Any]] = {
        "run_load": lambda **arguments: burst.run_load(**arguments)._asdict(),
        "create_singly": burst.create_singly,
        "baseline": baseline.run,
        "share": lambda **arguments: noisy_tenant.share(**arguments)._asdict(),
        "rest": lambda **arguments: idle.rest(**arguments)._asdict(),
    }
    assignment = json.loads(text)
    print(MARK + json.dumps(calls[assignment["call"]](**assignment["with"])), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
