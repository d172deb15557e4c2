"""``python -m tests.interleavings``: every pair of transactions through its orders, as a table.

::

    python -m tests.interleavings                       the long form: up to 200 orders of each pair
    python -m tests.interleavings --most 1000000        every order there is
    python -m tests.interleavings --pair fire pause     one pair
    python -m tests.interleavings --defects             plants each known mistake and says which pair gave it away
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from contextlib import closing

from tests.interleavings.cast import PAIRS, PARTS
from tests.interleavings.defects import MISTAKES, caught
from tests.interleavings.search import TOLD, Report, Worlds, explore
from tests.servers.postgres import PostgresServer

AUTHORITATIVE = {"autovacuum": "off"}
SHOWN = 3


def _search(pairs: list[tuple[str, str]], most: int, seed: int) -> int:
    print(f"seed {seed}, at most {most} orders of each pair")
    print(
        f"{'pair':<22}{'orders':>8}{'all':>5}{'blocked':>9}{'deadlocks':>11}{'retried':>9}{'told':>6}{'mixed':>7}{'anomalies':>11}"
    )
    total: Counter[str] = Counter()
    with PostgresServer(AUTHORITATIVE) as server, closing(Worlds(server)) as worlds:
        for pair in pairs:
            report = explore(pair, worlds, most, seed)
            total.update(_show(report))
    print(
        f"{len(pairs)} pairs, {total['orders']} orders ({total['complete']} pairs to the last), {total['blocked']} with"
        f" a wait, {total['deadlocks']} deadlocks, {total['anomalies']} anomalies"
    )
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
        orders=report.orders,
        complete=int(report.complete),
        blocked=report.blocked,
        deadlocks=deadlocks,
        anomalies=bad,
    )


def _defects(seed: int) -> int:
    missed = 0
    with PostgresServer(AUTHORITATIVE) as server, closing(Worlds(server)) as worlds:
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
    parser.add_argument("--most", type=int, default=200, help="orders of each pair (200)")
    parser.add_argument("--seed", type=int, default=1, help="which orders, where there are more (1)")
    parser.add_argument("--defects", action="store_true", help="plant the known mistakes instead")
    parser.add_argument("--pair", nargs=2, choices=sorted(PARTS), help="one pair only")
    given = parser.parse_args()
    if given.defects:
        return _defects(given.seed)
    pairs = list(PAIRS) if given.pair is None else [(given.pair[0], given.pair[1])]
    return _search(pairs, given.most, given.seed)


if __name__ == "__main__":
    sys.exit(main())
