"""Arbitrary text into every parser, and requests to a service.

::

    python -m tests.fuzz --seconds 60 [--seed N] [--case N]     every parser
    python -m tests.fuzz --minutes 60 --only token              some of them
    python -m tests.fuzz --minutes 60 --only rest               conversations with the service
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.fuzz.parsers import PARSERS
from tests.fuzz.search import Misbehaved, Tally, best_time, run_search
from tests.support.seeds import new_seed

REST = "rest"
"""Sequences of requests to a whole service instead of a parser."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long to go on (default: 60)")
    parser.add_argument("--minutes", type=float, default=None, help="the same in minutes")
    parser.add_argument(
        "--only", default="", help=f"the parsers whose names start with this (config, token, …), or {REST}"
    )
    parser.add_argument("--seed", type=int, default=None, help="default: a new one, which is printed")
    parser.add_argument("--case", type=int, default=None, help="run only this case of the seed")
    options = parser.parse_args()
    seed = new_seed() if options.seed is None else options.seed
    say(f"seed {seed}")
    began = time.monotonic()
    seconds = options.seconds if options.minutes is None else options.minutes * 60
    if options.only == REST:
        return converse_and_say(seed, seconds)
    try:
        tally = run_search(seed, seconds, None if options.case is None else [options.case], options.only)
    except Misbehaved as found:
        say(str(found))
        return 1
    report(tally, time.monotonic() - began)
    return 0


def converse_and_say(seed: int, seconds: float) -> int:
    """Hold conversations with a service. A check that fails ends with the requests that led there."""
    from tests.fuzz.rest_sequences import converse  # here, because it takes seconds to read the description of the API

    counts = converse(seed, seconds)
    answers = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()) if name.startswith("status"))
    operations = sum(1 for name in counts if name[0].isupper())
    requests = f"{counts['alone'] + counts['linked']:,} requests, {counts['linked']:,} of them by a link"
    worked = f"{time.process_time():.0f} s of a processor"
    say(f"{counts['conversations']:,} conversations, {requests}; {operations} operations; {worked}")
    say(f"{answers}; every answer is as described")
    return 0


def report(tally: Tally, passed: float) -> None:
    """Print the number of texts, and the time of the slowest text of each parser, measured again."""
    worked = f"{passed:.0f} s ({time.process_time():.0f} s of a processor)"
    speed = f"{tally.cases:,} texts in {worked}, {tally.cases / passed:,.0f} per second"
    say(f"{speed}; nothing came out that should not")
    say(f"{'parser':<22}{'accepted':>10}{'refused':>10}{'slowest':>12}")
    for name in sorted(tally.accepted.keys() | tally.refused.keys()):
        _taken, text, after = tally.slowest[name]
        taken = best_time(PARSERS[name], text, after)
        display = repr(text if len(text) <= 40 else text[:39] + "…")[:60]
        say(f"{name:<22}{tally.accepted[name]:>10,}{tally.refused[name]:>10,}{taken * 1000:>9.2f} ms  {display}")


def say(line: str) -> None:
    sys.stdout.write(line.encode(sys.stdout.encoding or "utf-8", "backslashreplace").decode() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
