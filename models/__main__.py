"""``python -m models``: check every model and every twin, and print what TLC says beside what it must say."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import NamedTuple

from models.checking import Answer, Missing, check, command
from models.table import HOLDS, LONG, SMALL, TWINS, Configuration

COLUMNS = "{:9} {:31} {:>10} {:>9} {:>5} {:>7}  {:28} {}"


class Row(NamedTuple):
    """One line of the table."""

    configuration: Configuration
    answer: Answer
    seconds: float

    @property
    def is_right(self) -> bool:
        """Whether TLC has said what it must."""
        return self.answer.verdict == self.configuration.expected

    def __str__(self) -> str:
        asked, answer = self.configuration, self.answer
        expected = asked.expected if asked.expected == HOLDS else f"must break {asked.expected}"
        figures = (f"{answer.states:,}", f"{answer.distinct:,}", answer.depth or "", f"{self.seconds:.1f}")
        said = answer.verdict if answer.verdict == HOLDS else f"breaks {answer.verdict}"
        return COLUMNS.format(asked.module, asked.name, *figures, said if self.is_right else f"WRONG: {said}", expected)


def asked(configuration: Configuration, workers: int = 1) -> Row:
    """Check one configuration, and take the time."""
    begun = perf_counter()
    answer = check(configuration, workers=workers)
    return Row(configuration, answer, perf_counter() - begun)


def check_all(configurations: Sequence[Configuration], jobs: int) -> list[Row]:
    """Check configurations, some at a time, and print each as it comes; those that take long run alone."""
    print(COLUMNS.format("model", "configuration", "states", "distinct", "depth", "seconds", "verdict", "expected"))
    rows = []
    with ThreadPoolExecutor(jobs) as pool:
        for row in pool.map(asked, [each for each in configurations if not each.long]):
            rows.append(row)
            print(row, flush=True)
    for each in configurations:
        if each.long:
            rows.append(asked(each, workers=jobs))
            print(rows[-1], flush=True)
    return rows


def summary(rows: Sequence[Row], seconds: float) -> str:
    """Return the last words: of everything, and of the worlds that must hold and do; a twin is never gone through."""
    held = [row for row in rows if row.is_right and row.configuration.expected == HOLDS]
    wrong = sum(not row.is_right for row in rows)
    return (
        f"{len(rows)} configurations, {_distinct(rows):,} distinct states, {seconds:.1f} s, {wrong} wrong\n"
        f"{len(held)} worlds that must hold, {_distinct(held):,} distinct states"
    )


def _distinct(rows: Sequence[Row]) -> int:
    return sum(row.answer.distinct for row in rows)


def main(arguments: list[str] | None = None) -> int:
    """Check what the arguments name; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m models", description=__doc__)
    parser.add_argument("--long", action="store_true", help="the large configurations, too: some minutes")
    parser.add_argument("--only", metavar="MODEL", help="one model, such as Fire")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
    parser.add_argument("--show", action="store_true", help="print what TLC said where it was wrong")
    given = parser.parse_args(arguments)
    try:
        command()
    except Missing as error:
        print(f"python -m models: {error}", file=sys.stderr)
        return 2
    chosen = [each for each in (*SMALL, *TWINS, *(LONG if given.long else ())) if given.only in (None, each.module)]
    begun = perf_counter()
    rows = check_all(chosen, given.jobs)
    print(summary(rows, perf_counter() - begun))
    wrong = [row for row in rows if not row.is_right]
    for row in wrong if given.show else ():
        print(f"\n--- {row.configuration.module}, {row.configuration.name}\n{row.answer.output}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
