"""Runs one turn in a process of its own: ``python -m bench.engine.child '{"call": "run_load", "with": {…}}'``.

A fresh process for each turn is what every peer gets, too: no caches, no garbage and no memory of an earlier turn.
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
    """A turn did not get to its end; the message is the end of what it said."""


def in_child(call: str, **given: Any) -> Any:
    """Run a turn in a new process and return what it returned, as JSON has it."""
    process = subprocess.run(  # noqa: S603 - this interpreter, with our module
        [sys.executable, "-m", "bench.engine.child", json.dumps({"call": call, "with": given})],
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
    raise ChildFailed((process.stderr or process.stdout).strip()[-2000:] or "it ended without a word")


def main(text: str) -> None:
    """Do what the assignment says and print the outcome."""
    from bench.engine import baseline, burst, idle, noisy_tenant

    calls: dict[str, Callable[..., Any]] = {
        "run_load": lambda **given: burst.run_load(**given)._asdict(),
        "create_singly": burst.create_singly,
        "baseline": baseline.run,
        "share": lambda **given: noisy_tenant.share(**given)._asdict(),
        "rest": lambda **given: idle.rest(**given)._asdict(),
    }
    assignment = json.loads(text)
    print(MARK + json.dumps(calls[assignment["call"]](**assignment["with"])), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
