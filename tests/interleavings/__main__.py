"""``python -m tests.interleavings`` runs the orders of every pair of transactions and prints a table.

::

    python -m tests.interleavings                       up to 200 orders of each pair
    python -m tests.interleavings --most 1000000        every order
    python -m tests.interleavings --seconds 60          as many pairs as there is time for
    python -m tests.interleavings --pair fire pause     one pair
    python -m tests.interleavings --defects             plant each defect and print the pair that detects it
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from contextlib import closing
from random import Random

from tests.interleavings.defects import INTERLEAVING_DEFECTS, detect
from tests.interleavings.search import RETRY_LEFT_TO_CALLER, Databases, Report, explore
from tests.interleavings.transactions import PAIRS, TRANSACTION_TYPES
from tests.support.servers.postgres import PostgresServer

QUIET = {"autovacuum": "off"}
MAX_PRINTED_ANOMALIES = 3
UNLIMITED_S = 1e9
"""Without a time limit the pairs run in the order of the table. With one, the seed gives the order."""


def _search(pairs: list[tuple[str, str]], most: int, seed: int, seconds: float) -> int:
    print(f"seed {seed}, at most {most} orders of each pair")
    until = time.monotonic() + seconds
    print(
        f"{'pair':<22}{'orders':>8}{'all':>5}{'blocked':>9}{'deadlocks':>11}{'retried':>9}"
        f"{'to caller':>11}{'mixed':>7}{'anomalies':>11}"
    )
    total: Counter[str] = Counter()
    with PostgresServer(QUIET) as server, closing(Databases(server)) as databases:
        for pair in Random(seed).sample(pairs, len(pairs)) if seconds < UNLIMITED_S else pairs:
            if time.monotonic() < until:
                total.update(_show(explore(pair, databases, most, seed)))
    orders = f"{total['pairs']} pairs, {total['orders']} orders beside the serial ones"
    orders += f" ({total['complete']} pairs to the last)"
    print(f"{orders}, {total['blocked']} with a wait, {total['deadlocks']} deadlocks, {total['anomalies']} anomalies")
    return 1 if total["anomalies"] else 0


def _show(report: Report) -> Counter[str]:
    deadlocks = report.errors["DeadlockDetected"]
    to_caller = report.errors[RETRY_LEFT_TO_CALLER]
    retried = report.errors.total() - deadlocks - to_caller
    bad = len(report.anomalies)
    name = " × ".join(report.pair)
    complete = "yes" if report.complete else ""
    print(
        f"{name:<22}{report.orders:>8}{complete:>5}{report.blocked:>9}{deadlocks:>11}{retried:>9}"
        f"{to_caller:>11}{report.mixed:>7}{bad:>11}",
        flush=True,
    )
    for text in report.anomalies[:MAX_PRINTED_ANOMALIES]:
        print(f"  {text}")
    return Counter(
        pairs=1,
        orders=report.orders,
        complete=int(report.complete),
        blocked=report.blocked,
        deadlocks=deadlocks,
        anomalies=bad,
    )


def _check_defects(seed: int) -> int:
    missed = 0
    with PostgresServer(QUIET) as server, closing(Databases(server)) as databases:
        for defect in INTERLEAVING_DEFECTS:
            report = detect(defect, databases, seed)
            missed += report is None
            detection = "NOT DETECTED" if report is None else f"{' × '.join(report.pair)}, the {report.orders}th order"
            print(f"{defect.name}: {detection}", flush=True)
            print("" if report is None else f"  {report.anomalies[0].splitlines()[0]}")
    print(f"{len(INTERLEAVING_DEFECTS) - missed} of {len(INTERLEAVING_DEFECTS)} planted defects detected")
    return 1 if missed else 0


def main() -> int:
    """Run the pairs that the options select, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.interleavings", description="Run the orders of pairs of transactions."
    )
    parser.add_argument(
        "--most", type=int, default=200, help="maximum number of orders of each pair, without the serial ones (200)"
    )
    parser.add_argument(
        "--seconds", type=float, default=UNLIMITED_S, help="start no further pair after this time (no limit)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed that selects the orders (1)")
    parser.add_argument("--defects", action="store_true", help="run the planted defects instead")
    parser.add_argument("--pair", nargs=2, choices=sorted(TRANSACTION_TYPES), help="run only this pair")
    options = parser.parse_args()
    if options.defects:
        return _check_defects(options.seed)
    pairs = list(PAIRS) if options.pair is None else [(options.pair[0], options.pair[1])]
    return _search(pairs, options.most, options.seed, options.seconds)


if __name__ == "__main__":
    sys.exit(main())
