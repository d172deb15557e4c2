"""``python -m tests.chaos --seconds 300 --seed 4711 --workers 3``: the long form, with a report."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from random import SystemRandom

from tests.chaos.trial import Options, run


def tell(text: str) -> None:
    """Say something to whoever waits."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    """Run a trial; return 1 if anything does not add up."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--seconds", type=float, default=300, help="how long things break")
    parser.add_argument("--seed", type=int, default=None, help="which faults, in which order; random if not given")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--gap", type=float, default=1.5, help="the longest pause between two faults, in seconds")
    parser.add_argument("--logs", type=Path, default=None, help="where to keep the workers' logs")
    given = parser.parse_args()
    seed = SystemRandom().randrange(1_000_000) if given.seed is None else given.seed
    tell(f"seed {seed}")
    with tempfile.TemporaryDirectory() as temporary:
        logs = given.logs or Path(temporary)
        logs.mkdir(parents=True, exist_ok=True)
        report = run(Options(seed, given.seconds, given.workers, given.gap), logs, tell)
    for line in report.lines():
        tell(line)
    frozen_in_vain = report.faults["freeze"] > 20 and not report.counts["stale_writes_rejected"]
    if frozen_in_vain:
        tell("violation: workers were frozen beyond their leases, yet no stale write was rejected")
    return 1 if report.violations or frozen_in_vain else 0


if __name__ == "__main__":
    sys.exit(main())
