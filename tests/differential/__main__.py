"""``python -m tests.differential``: stories told twice, for as long as one likes.

::

    python -m tests.differential --minutes 10                 all three comparisons, one after the other
    python -m tests.differential --only reference --seed 7    one of them, with a seed of one's own
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

from tests.differential.comparison import Judge, alike, by_heart, shortened
from tests.differential.generator import draw
from tests.differential.sides import PLAIN_SETTINGS, OnPostgres, on_sqlite, over_rest
from tests.support.servers.postgres import PostgresServer
from tompion.store.postgres.driver import PostgresMigrator

KINDS = ("stores", "interfaces", "reference")
LENGTH = 60
DOORS = alike(on_sqlite, over_rest)
REFERENCE = by_heart(partial(on_sqlite, PLAIN_SETTINGS))


@contextmanager
def judging(kind: str) -> Iterator[Judge]:
    """What compares the two sides of a kind."""
    if kind == "stores":
        with PostgresServer() as server:
            url = server.create_database("differential")
            PostgresMigrator(url).up()
            with closing(OnPostgres(url)) as postgres:
                yield alike(on_sqlite, postgres)
    else:
        yield DOORS if kind == "interfaces" else REFERENCE


def _search(kind: str, seed: int, seconds: float) -> bool:
    until, number, steps = time.monotonic() + seconds, 0, 0
    with judging(kind) as judge:
        while time.monotonic() < until:
            story = draw(f"{seed}/{kind}/{number}", LENGTH, plain=kind == "reference")
            found = judge(story)
            if found is not None:
                short = shortened(story, judge)
                print(f"{kind}, seed {seed}, story {number}: {found}\nfor corpus.json:")
                print(json.dumps({"kind": kind, "story": short}))
                print(f"{judge(short)}")
                return False
            number += 1
            steps += len(story)
    print(f"{kind}: {number} scenarios of {steps} steps, no difference", flush=True)
    return True


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description="Tell stories twice.")
    parser.add_argument("--minutes", type=float, default=1.0, help="how long for each comparison (1)")
    parser.add_argument("--seed", type=int, default=None, help="default: a new one, which is printed")
    parser.add_argument("--only", choices=KINDS, help="one comparison only")
    given = parser.parse_args()
    seed = SystemRandom().randrange(1 << 32) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    agreed = [_search(kind, seed, given.minutes * 60) for kind in KINDS if given.only in (None, kind)]
    return 0 if all(agreed) else 1


if __name__ == "__main__":
    sys.exit(main())
