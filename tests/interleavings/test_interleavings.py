"""A few orders of every pair, the same in every run, and every planted mistake.

``python -m tests.interleavings`` goes through the rest.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from math import comb

import pytest

from tests.interleavings.cast import PAIRS, PARTS
from tests.interleavings.defects import MISTAKES, Mistake, caught
from tests.interleavings.search import TOLD, Ending, Worlds, explore
from tests.interleavings.world import of_run
from tests.support.seeds import suite_seed
from tests.support.servers.postgres import PostgresServer

ORDERS = 4
"""Of each pair, beside the two serial ones."""
SEED = 1
"""For what is to be the same in every run."""


@pytest.fixture(scope="module")
def worlds(postgres_server: PostgresServer) -> Iterator[Worlds]:
    with closing(Worlds(postgres_server)) as made:
        yield made


def test_every_pair_is_there() -> None:
    assert len(PAIRS) == comb(len(PARTS) + 1, 2) == 78


@pytest.mark.parametrize("name", PARTS)
def test_some_orders_of_each_pair_are_as_a_serial_one(
    name: str, worlds: Worlds, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each pair that begins with this one: the rows and the answers are those of one order or the other."""
    seed = suite_seed()
    with capfd.disabled():  # the seed is to be seen even when all is well
        sys.stderr.write(f"\ninterleavings of {name}: seed {seed}\n")
    for pair in (pair for pair in PAIRS if pair[0] == name):
        report = explore(pair, worlds, ORDERS, seed)
        again = f"python -m tests.interleavings --seed {seed} --most {ORDERS} --pair {' '.join(pair)}"
        assert not report.anomalies, f"{again}\n{report.anomalies[0]}"
        assert report.orders == ORDERS, again
        assert not report.met[TOLD], again


RUN, OTHER = (of_run((1, 60, origin), "a row as the first leaves it") for origin in (0, 1))
HIS, HIS_OTHER = (line.replace("first", "second") for line in (RUN, OTHER))
LAUNCH, LAUNCH_OTHER = (of_run((1, 60, origin), "launch (2, 1)") for origin in (0, 1))


def ending(left: list[str], *answers: list[str]) -> Ending:
    return Ending((), tuple(sorted(left)), tuple(map(tuple, answers)), 0, Counter(), [], [])


@pytest.mark.parametrize(
    ("made", "is_one"),
    [
        (ending(["dial 1", RUN, HIS_OTHER], [LAUNCH], [LAUNCH_OTHER]), True),
        (ending(["dial 2", RUN, HIS_OTHER], [LAUNCH], [LAUNCH_OTHER]), True),
        (ending(["dial 1", RUN], [LAUNCH], [LAUNCH_OTHER]), False),
        (ending(["dial 1", RUN], [LAUNCH], []), False),
        (ending(["dial 1", RUN, HIS_OTHER], [LAUNCH], []), False),
        (ending(["dial 1", RUN, HIS_OTHER], [LAUNCH], [LAUNCH_OTHER, LAUNCH_OTHER]), False),
        (ending(["dial 1", RUN, HIS_OTHER], [LAUNCH, LAUNCH_OTHER], []), False),
        (ending(["dial 1", RUN, HIS_OTHER, HIS], [LAUNCH], [LAUNCH_OTHER]), False),
        (ending(["dial 1", "dial 2", RUN, HIS_OTHER], [LAUNCH], [LAUNCH_OTHER]), False),
        (ending([RUN, HIS_OTHER], [LAUNCH], [LAUNCH_OTHER]), False),
    ],
)
def test_an_ending_may_be_mixed_run_by_run_only(made: Ending, is_one: bool) -> None:
    """A row or a launch that is missing passed, and so did any mixture of any table, as long as each line was known."""
    serial = [
        ending(["dial 1", RUN, OTHER], [LAUNCH, LAUNCH_OTHER], []),
        ending(["dial 2", HIS, HIS_OTHER], [], [LAUNCH, LAUNCH_OTHER]),
    ]
    assert made.is_made_of(serial) == is_one


def test_every_order_of_two_migrators(worlds: Worlds) -> None:
    """One of them migrates and the other finds it done, whichever way their statements fall; no order is left out.

    Before the lock there is nothing to read, so the orders differ in when the second one asks for the lock.
    """
    report = explore(("migrate", "migrate"), worlds, 1_000, SEED)
    assert report.complete
    assert report.orders == report.blocked == 10
    assert not report.anomalies


def test_a_migration_outlives_a_deadlock(worlds: Worlds) -> None:
    """A trigger holds a dial and wants a run's row, a migration has them the other way round: both get done."""
    report = explore(("trigger", "migrate"), worlds, 24, SEED)
    assert report.met["DeadlockDetected"]
    assert not report.met[TOLD]
    assert not report.anomalies


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_planted_mistake_is_caught(mistake: Mistake, worlds: Worlds) -> None:
    assert caught(mistake, worlds) is not None
