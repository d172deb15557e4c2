"""``python -m tests.chaos --seconds 300 --seed 4711 --workers 3``: the long form, with a report."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from random import SystemRandom

from tests.chaos.trial import Options, run


def show_progress(text: str) -> None:
    """Print a progress message."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    """Run a trial. Return 1 if anything does not add up."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--seconds", type=float, default=300, help="how long things break")
    parser.add_argument("--seed", type=int, default=None, help="which faults, in which order; random if not given")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--gap", type=float, default=1.5, help="the longest pause between two faults, in seconds")
    parser.add_argument("--logs", type=Path, default=None, help="where to keep the workers' logs")
    options = parser.parse_args()
    seed = SystemRandom().randrange(1_000_000) if options.seed is None else options.seed
    show_progress(f"seed {seed}")
    with tempfile.TemporaryDirectory() as temporary:
        logs = options.logs or Path(temporary)
        logs.mkdir(parents=True, exist_ok=True)
        report = run(Options(seed, options.seconds, options.workers, options.gap), logs, show_progress)
    for line in report.lines():
        show_progress(line)
    frozen_in_vain = report.faults["freeze"] > 20 and not report.counts["stale_writes_rejected"]
    if frozen_in_vain:
        show_progress("violation: workers were frozen beyond their leases, yet no stale write was rejected")
    return 1 if report.violations or frozen_in_vain else 0


if __name__ == "__main__":
    sys.exit(main())
