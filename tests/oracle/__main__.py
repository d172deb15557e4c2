"""Run the oracle for as long as one likes: ``python -m tests.oracle --seconds 60 [--seed N]``."""

import argparse
import itertools
import sys
import time

from tests.oracle.rounds import Disagreed, Tally, run_round
from tests.support.seeds import new_seed

SECONDS_BETWEEN_LINES = 5


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long to go on (default: 60)")
    parser.add_argument("--seed", type=int, default=None, help="default: a new one")
    parser.add_argument("--round", type=int, default=None, help="run only this round of the seed")
    parser.add_argument("--survey", action="store_true", help="go on after a disagreement and show one of each kind")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else new_seed()
    say(f"seed {seed}")
    numbers = itertools.count() if options.round is None else [options.round]
    began = last_line_at = time.monotonic()
    tally, disagreements = Tally(), 0
    reported: set[str] = set()
    for number in numbers:
        try:
            tally.add(run_round(seed, number))
        except Disagreed as found:
            disagreements += 1
            if not options.survey or found.disagreement.kind not in reported:
                say(str(found))
            reported.add(found.disagreement.kind)
            if not options.survey:
                return 1
        now = time.monotonic()
        if now - last_line_at > SECONDS_BETWEEN_LINES:
            say(progress(tally, now - began))
            last_line_at = now
        if now - began > options.seconds:
            break
    say(progress(tally, time.monotonic() - began))
    for hit, count in sorted((tally.hits + tally.settings).items()):
        say(f"{count:>12,}  {hit}")
    return 1 if disagreements else 0


def progress(tally: Tally, passed: float) -> str:
    return (
        f"{passed:6.0f} s  {tally.rounds:>5} rounds  {len(tally.zones):>3} zones  {tally.specs:>7,} specs  "
        f"{tally.cases:>9,} cases judged  {tally.cases / passed:>6,.0f} per second"
    )


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
