"""``python -m tests.load.http --runs 5000``: concurrent runs at a slow target, with a report."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.load.slow_runs import load


def main() -> int:
    """Run the load and print the measurements."""
    parser = argparse.ArgumentParser(prog="python -m tests.load.http")
    parser.add_argument("--runs", type=int, default=5_000, help="how many runs the slow target holds at a time")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        report = asyncio.run(load(options.runs, Path(directory)))
    sys.stdout.write("\n".join(report.lines()) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
