"""``python -m tests.differential``: search for differences between two sides.

::

    python -m tests.differential --minutes 10                 all three comparisons, one after the other
    python -m tests.differential --only reference --seed 7    one of them, with a options seed
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from random import SystemRandom

from tests.differential.comparison import Comparison, compare_sides, compare_with_reference, minimise
from tests.differential.generator import generate
from tests.differential.sides import PLAIN_SETTINGS, OnPostgres, on_sqlite, over_rest
from tests.support.servers.postgres import PostgresServer
from tompion.store.postgres.driver import PostgresMigrator

KINDS = ("stores", "interfaces", "reference")
LENGTH = 60
INTERFACES = compare_sides(on_sqlite, over_rest)
REFERENCE = compare_with_reference(partial(on_sqlite, PLAIN_SETTINGS))


@contextmanager
def comparison_of(kind: str) -> Iterator[Comparison]:
    """Yield the comparison of a kind."""
    if kind == "stores":
        with PostgresServer() as server:
            url = server.create_database("differential")
            PostgresMigrator(url).up()
            with closing(OnPostgres(url)) as postgres:
                yield compare_sides(on_sqlite, postgres)
    else:
        yield INTERFACES if kind == "interfaces" else REFERENCE


def _search(kind: str, seed: int, seconds: float) -> bool:
    until, number, steps = time.monotonic() + seconds, 0, 0
    with comparison_of(kind) as compare:
        while time.monotonic() < until:
            scenario = generate(f"{seed}/{kind}/{number}", LENGTH, plain=kind == "reference")
            difference = compare(scenario)
            if difference is not None:
                short = minimise(scenario, compare)
                print(f"{kind}, seed {seed}, scenario {number}: {difference}\nfor corpus.json:")
                print(json.dumps({"kind": kind, "scenario": short}))
                print(f"{compare(short)}")
                return False
            number += 1
            steps += len(scenario)
    print(f"{kind}: {number} scenarios of {steps} steps, no difference", flush=True)
    return True


def main() -> int:
    """Run the comparisons of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description="Run scenarios on two sides.")
    parser.add_argument("--minutes", type=float, default=1.0, help="how long for each comparison (1)")
    parser.add_argument("--seed", type=int, default=None, help="default: a new one, which is printed")
    parser.add_argument("--only", choices=KINDS, help="one comparison only")
    options = parser.parse_args()
    seed = SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    agreed = [_search(kind, seed, options.minutes * 60) for kind in KINDS if options.only in (None, kind)]
    return 0 if all(agreed) else 1


if __name__ == "__main__":
    sys.exit(main())
