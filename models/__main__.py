"""``python -m models``: check every model and every twin, and print the verdict of TLC and the expected one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import NamedTuple

from models.checking import Missing, Report, check, command
from models.table import HOLDS, LONG, SMALL, TWINS, Configuration

COLUMNS = "{:9} {:31} {:>10} {:>9} {:>5} {:>7}  {:28} {}"


class Row(NamedTuple):
    """One line of the table."""

    configuration: Configuration
    report: Report
    seconds: float

    @property
    def is_expected(self) -> bool:
        """Whether the verdict of TLC is the expected one."""
        return self.report.verdict == self.configuration.expected

    def __str__(self) -> str:
        configuration, report = self.configuration, self.report
        holds = configuration.expected == HOLDS
        expected = configuration.expected if holds else f"must break {configuration.expected}"
        figures = (f"{report.states:,}", f"{report.distinct:,}", report.depth or "", f"{self.seconds:.1f}")
        verdict = report.verdict if report.verdict == HOLDS else f"breaks {report.verdict}"
        if not self.is_expected:
            verdict = f"WRONG: {verdict}"
        return COLUMNS.format(configuration.module, configuration.name, *figures, verdict, expected)


def check_timed(configuration: Configuration, workers: int = 1) -> Row:
    """Check one configuration, and measure the time."""
    begin = perf_counter()
    report = check(configuration, workers=workers)
    return Row(configuration, report, perf_counter() - begin)


def check_all(configurations: Sequence[Configuration], jobs: int) -> list[Row]:
    """Check configurations, several at a time and long ones alone, and print each result."""
    print(COLUMNS.format("model", "configuration", "states", "distinct", "depth", "seconds", "verdict", "expected"))
    rows = []
    with ThreadPoolExecutor(jobs) as pool:
        for row in pool.map(check_timed, [configuration for configuration in configurations if not configuration.long]):
            rows.append(row)
            print(row, flush=True)
    for configuration in configurations:
        if configuration.long:
            rows.append(check_timed(configuration, workers=jobs))
            print(rows[-1], flush=True)
    return rows


def summary(rows: Sequence[Row], seconds: float) -> str:
    """Return the totals of all configurations and of those that must hold. TLC stops early in a twin."""
    held = [row for row in rows if row.is_expected and row.configuration.expected == HOLDS]
    wrong = sum(not row.is_expected for row in rows)
    return (
        f"{len(rows)} configurations, {_distinct(rows):,} distinct states, {seconds:.1f} s, {wrong} wrong\n"
        f"{len(held)} configurations that must hold, {_distinct(held):,} distinct states"
    )


def _distinct(rows: Sequence[Row]) -> int:
    return sum(row.report.distinct for row in rows)


def main(arguments: list[str] | None = None) -> int:
    """Check the configurations that the arguments select, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m models", description=__doc__)
    parser.add_argument("--long", action="store_true", help="check the large configurations, too (some minutes)")
    parser.add_argument("--only", metavar="MODEL", help="check one model, such as Fire")
    parser.add_argument("--jobs", type=int, default=2, help="number of concurrent checks (2)")
    parser.add_argument("--show", action="store_true", help="print the output of TLC for each wrong verdict")
    options = parser.parse_args(arguments)
    try:
        command()
    except Missing as error:
        print(f"python -m models: {error}", file=sys.stderr)
        return 2
    available = (*SMALL, *TWINS, *(LONG if options.long else ()))
    selected = [configuration for configuration in available if options.only in (None, configuration.module)]
    begin = perf_counter()
    rows = check_all(selected, options.jobs)
    print(summary(rows, perf_counter() - begin))
    wrong = [row for row in rows if not row.is_expected]
    for row in wrong if options.show else ():
        print(f"\n--- {row.configuration.module}, {row.configuration.name}\n{row.report.output}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
