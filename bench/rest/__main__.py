"""Run the benchmark of the REST service: ``python -m bench.rest [--quick] [--rounds N] [--json]``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence

from bench.engine.peers.progress import Progress, to_stderr
from bench.engine.report import Report, as_json, as_text, environment
from bench.rest.measures import Scale, sections

FULL = Scale(4_000, 5, 100_000)
QUICK = Scale(40, 1, 1_500)
"""A short run to check the benchmark. Its figures are not meaningful."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print. Return 0, whatever the figures are."""
    parser = argparse.ArgumentParser(prog="python -m bench.rest", description="Benchmark of Tompion's REST service.")
    parser.add_argument("--quick", action="store_true", help="a few seconds, to see that it works")
    parser.add_argument("--rounds", type=int, default=None, help=f"turns of each (default: {FULL.rounds})")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args(arguments)
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds: at least 1")
    scale = QUICK if options.quick else FULL
    report = measure(scale._replace(rounds=options.rounds or scale.rounds), to_stderr)
    title = "Tompion's REST service"
    print(json.dumps(as_json(report), ensure_ascii=False, indent=2) if options.json else as_text(report, title))
    return 0


def measure(scale: Scale, progress: Progress) -> Report:
    """Measure everything, one after the other."""
    facts = {**environment(), "load before": f"{os.getloadavg()[0]:.1f}"}
    figures = sections(scale, progress)
    facts["load after"] = f"{os.getloadavg()[0]:.1f}"
    return Report(facts, figures)


if __name__ == "__main__":
    sys.exit(main())
