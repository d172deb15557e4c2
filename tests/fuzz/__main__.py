"""Arbitrary text into every parser: ``python -m tests.fuzz --seconds 60 [--seed N] [--case N]``."""

from __future__ import annotations

import argparse
import sys
import time

from tests.fuzz.doors import DOORS
from tests.fuzz.hunt import Misbehaved, Tally, best_time, hunt, new_seed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long to go on (default: 60)")
    parser.add_argument("--seed", type=int, default=None, help="default: a new one, which is printed")
    parser.add_argument("--case", type=int, default=None, help="run only this case of the seed")
    options = parser.parse_args()
    seed = new_seed() if options.seed is None else options.seed
    say(f"seed {seed}")
    began = time.monotonic()
    try:
        tally = hunt(seed, options.seconds, None if options.case is None else [options.case])
    except Misbehaved as found:
        say(str(found))
        return 1
    report(tally, time.monotonic() - began)
    return 0


def report(tally: Tally, passed: float) -> None:
    """Say how many texts there were, and how long the slowest of each door really takes, measured anew."""
    say(f"{tally.cases:,} texts in {passed:.0f} s, {tally.cases / passed:,.0f} per second; only InvalidSpec came out")
    say(f"{'door':<22}{'accepted':>10}{'refused':>10}{'slowest':>12}")
    for name in sorted(tally.accepted.keys() | tally.refused.keys()):
        _taken, text, after = tally.slowest[name]
        taken = best_time(DOORS[name], text, after)
        shown = repr(text if len(text) <= 40 else text[:39] + "…")[:60]
        say(f"{name:<22}{tally.accepted[name]:>10,}{tally.refused[name]:>10,}{taken * 1000:>9.2f} ms  {shown}")


def say(line: str) -> None:
    sys.stdout.write(line.encode(sys.stdout.encoding or "utf-8", "backslashreplace").decode() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
