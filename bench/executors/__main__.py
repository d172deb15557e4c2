"""Run the benchmark of the executors.

``python -m bench.executors [--quick] [--only EXECUTOR] [--rounds N] [--json]``
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.engine.peers.progress import Progress, to_stderr
from bench.engine.report import Report, as_json, as_text, environment
from bench.executors.bare_clients import SETTINGS
from bench.executors.measures import Scale, sections

NAMES = tuple(dict.fromkeys(setting.name.partition(",")[0] for setting in SETTINGS))
FULL = Scale(4_000, 5)
QUICK = Scale(40, 1)
"""A short run to check the benchmark. Its figures are not meaningful."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print. Return 0, whatever the figures are."""
    parser = argparse.ArgumentParser(prog="python -m bench.executors", description="Benchmark of Tompion's executors.")
    parser.add_argument("--quick", action="store_true", help="a few seconds, to see that it works")
    parser.add_argument("--only", choices=NAMES, action="append", help="one executor; may be given more than once")
    parser.add_argument("--rounds", type=int, default=None, help=f"turns of each (default: {FULL.rounds})")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args(arguments)
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds: at least 1")
    scale = QUICK if options.quick else FULL
    scale = scale._replace(rounds=options.rounds or scale.rounds)
    report = measure(scale, frozenset(options.only or NAMES), to_stderr)
    title = "Tompion's executors"
    print(json.dumps(as_json(report), ensure_ascii=False, indent=2) if options.json else as_text(report, title))
    return 0


def measure(scale: Scale, wanted: frozenset[str], progress: Progress) -> Report:
    """Run the chosen parts, one after the other."""
    facts = {**environment(), "load before": f"{os.getloadavg()[0]:.1f}"}
    with tempfile.TemporaryDirectory(prefix="tompion-launch-") as folder:
        figures = sections(scale, wanted, Path(folder), progress)
    facts["load after"] = f"{os.getloadavg()[0]:.1f}"
    return Report(facts, figures)


if __name__ == "__main__":
    sys.exit(main())
