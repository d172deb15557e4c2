"""``python -m tests.interleavings``: every pair of transactions through its orders, as a table.

::

    python -m tests.interleavings                       the long form: up to 200 orders of each pair
    python -m tests.interleavings --most 1000000        every order there is
    python -m tests.interleavings --seconds 60          as many pairs as there is time for
    python -m tests.interleavings --pair fire pause     one pair
    python -m tests.interleavings --defects             plants each known mistake and says which pair gave it away
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from contextlib import closing
from random import Random

from tests.interleavings.cast import PAIRS, PARTS
from tests.interleavings.defects import MISTAKES, caught
from tests.interleavings.search import TOLD, Report, Worlds, explore
from tests.support.servers.postgres import PostgresServer

QUIET = {"autovacuum": "off"}
SHOWN = 3
ENDLESS_S = 1e9
"""Without a bound the pairs come in the order of the table; with one, in an order of the seed."""


def _search(pairs: list[tuple[str, str]], most: int, seed: int, seconds: float) -> int:
    print(f"seed {seed}, at most {most} orders of each pair")
    until = time.monotonic() + seconds
    print(
        f"{'pair':<22}{'orders':>8}{'all':>5}{'blocked':>9}{'deadlocks':>11}{'retried':>9}{'told':>6}{'mixed':>7}{'anomalies':>11}"
    )
    total: Counter[str] = Counter()
    with PostgresServer(QUIET) as server, closing(Worlds(server)) as worlds:
        for pair in Random(seed).sample(pairs, len(pairs)) if seconds < ENDLESS_S else pairs:
            if time.monotonic() < until:
                total.update(_show(explore(pair, worlds, most, seed)))
    tried = f"{total['pairs']} pairs, {total['orders']} orders beside the serial ones"
    tried += f" ({total['complete']} pairs to the last)"
    print(f"{tried}, {total['blocked']} with a wait, {total['deadlocks']} deadlocks, {total['anomalies']} anomalies")
    return 1 if total["anomalies"] else 0


def _show(report: Report) -> Counter[str]:
    deadlocks = report.met["DeadlockDetected"]
    told = report.met[TOLD]
    retried = report.met.total() - deadlocks - told
    bad = len(report.anomalies)
    name = " × ".join(report.pair)
    complete = "yes" if report.complete else ""
    print(
        f"{name:<22}{report.orders:>8}{complete:>5}{report.blocked:>9}{deadlocks:>11}{retried:>9}{told:>6}{report.mixed:>7}{bad:>11}",
        flush=True,
    )
    for text in report.anomalies[:SHOWN]:
        print(f"  {text}")
    return Counter(
        pairs=1,
        orders=report.orders,
        complete=int(report.complete),
        blocked=report.blocked,
        deadlocks=deadlocks,
        anomalies=bad,
    )


def _defects(seed: int) -> int:
    missed = 0
    with PostgresServer(QUIET) as server, closing(Worlds(server)) as worlds:
        for chosen in MISTAKES:
            report = caught(chosen, worlds, seed)
            missed += report is None
            found = "NOT CAUGHT" if report is None else f"{' × '.join(report.pair)}, the {report.orders}th order"
            print(f"{chosen.name}: {found}", flush=True)
            print("" if report is None else f"  {report.anomalies[0].splitlines()[0]}")
    print(f"{len(MISTAKES) - missed} of {len(MISTAKES)} planted mistakes caught")
    return 1 if missed else 0


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.interleavings", description="Go through the orders of pairs."
    )
    parser.add_argument("--most", type=int, default=200, help="orders of each pair, beside the serial ones (200)")
    parser.add_argument("--seconds", type=float, default=ENDLESS_S, help="begin no other pair after so long")
    parser.add_argument("--seed", type=int, default=1, help="which orders, where there are more (1)")
    parser.add_argument("--defects", action="store_true", help="plant the known mistakes instead")
    parser.add_argument("--pair", nargs=2, choices=sorted(PARTS), help="one pair only")
    given = parser.parse_args()
    if given.defects:
        return _defects(given.seed)
    pairs = list(PAIRS) if given.pair is None else [(given.pair[0], given.pair[1])]
    return _search(pairs, given.most, given.seed, given.seconds)


if __name__ == "__main__":
    sys.exit(main())
