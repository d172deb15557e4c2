"""Run the benchmark of the time engine: ``python -m bench.spec [--rounds N] [--quick] [--json] [--strict]``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import NamedTuple

from bench.spec.details import measure_details
from bench.spec.measures import measure_million, measure_next, measure_parse
from bench.spec.memory import measure_memory
from bench.spec.report import Report, as_json, as_text
from bench.spec.workload import build_workload

SEED = 20_150_101


class Scale(NamedTuple):
    """The extent of a measurement."""

    expressions: int
    rounds: int
    cases: int
    schedules: int
    rivals: int
    calls: int
    detail_calls: int


FULL = Scale(600, 41, 600, 100_000, 2_000, 1_000_000, 2_000)
QUICK = Scale(40, 2, 40, 400, 40, 4_000, 20)
"""A short run to check the benchmark. Its figures are not meaningful."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.spec", description="Benchmark of Tompion's time engine.")
    parser.add_argument("--rounds", type=int, default=None, help=f"rounds of each contest (default: {FULL.rounds})")
    parser.add_argument("--seed", type=int, default=SEED, help=f"of everything that is drawn (default: {SEED})")
    parser.add_argument("--quick", action="store_true", help="a run of less than a second, to see that it works")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    options = parser.parse_args(arguments)
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds: at least 1")
    scale = QUICK if options.quick else FULL
    report = measure(scale._replace(rounds=options.rounds or scale.rounds), options.seed)
    print(json.dumps(as_json(report), ensure_ascii=False, indent=2) if options.json else as_text(report))
    return exit_code(report, strict=options.strict)


def measure(scale: Scale, seed: int) -> Report:
    """Run everything, one after the other, in this process."""
    work = build_workload(seed, scale.expressions, scale.rounds, scale.cases)
    return Report(
        work,
        [
            measure_next(work),
            measure_parse(work, scale.rounds),
            measure_million(work, seed, scale.calls),
            measure_memory(work, seed, scale.schedules, scale.rivals),
            measure_details(seed, min(scale.rounds, 15), scale.detail_calls),
        ],
    )


def exit_code(report: Report, *, strict: bool) -> int:
    """Return 0, or 1 if a target is missed and that is to count."""
    return 1 if strict and report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
