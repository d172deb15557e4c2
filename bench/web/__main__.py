"""Run the benchmark of the web UI: ``python -m bench.web [--quick] [--only views|live] [--minutes N] [--json]``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence

from bench.engine.peers.progress import Progress, to_stderr
from bench.engine.report import Report, as_json, as_text, environment
from bench.web.measures import PARTS, Scale, sections

FULL = Scale(100_000, 5, 3_600)
QUICK = Scale(1_500, 1, 90)
"""A short run to check the benchmark. Its figures are not meaningful."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print. Return 0, whatever the figures are."""
    parser = argparse.ArgumentParser(prog="python -m bench.web", description="Benchmark of Tompion's page.")
    parser.add_argument("--quick", action="store_true", help="half a minute, to see that it works")
    parser.add_argument("--only", choices=PARTS, default=None, help="one part")
    parser.add_argument("--schedules", type=int, default=None, help=f"how many are stored (default: {FULL.schedules})")
    parser.add_argument("--rounds", type=int, default=None, help=f"turns of each (default: {FULL.rounds})")
    parser.add_argument("--minutes", type=float, default=0, help="let live updates go on for at least so long")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args(arguments)
    for name in ("schedules", "rounds"):
        if (value := getattr(options, name)) is not None and value < 1:
            parser.error(f"--{name}: at least 1")
    scale = QUICK if options.quick else FULL
    scale = scale._replace(
        schedules=options.schedules or scale.schedules, rounds=options.rounds or scale.rounds, minutes=options.minutes
    )
    report = measure(scale, PARTS if options.only is None else (options.only,), to_stderr)
    title = "Tompion's page"
    print(json.dumps(as_json(report), ensure_ascii=False, indent=2) if options.json else as_text(report, title))
    return 0


def measure(scale: Scale, parts: Sequence[str], progress: Progress) -> Report:
    """Measure everything, one after the other."""
    facts = {**environment(), "load before": f"{os.getloadavg()[0]:.1f}"}
    figures = sections(scale, parts, progress)
    facts["load after"] = f"{os.getloadavg()[0]:.1f}"
    return Report(facts, figures)


if __name__ == "__main__":
    sys.exit(main())
