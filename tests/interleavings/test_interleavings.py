"""A few orders of every pair, and every planted mistake.

``python -m tests.interleavings`` goes through the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from math import comb

import pytest

from tests.interleavings.cast import PAIRS, PARTS
from tests.interleavings.defects import MISTAKES, Mistake, caught
from tests.interleavings.search import TOLD, Worlds, explore
from tests.servers.postgres import PostgresServer

ORDERS = 3
SEED = 1


@pytest.fixture(scope="module")
def worlds(postgres_server: PostgresServer) -> Iterator[Worlds]:
    with closing(Worlds(postgres_server)) as made:
        yield made


def test_every_pair_is_there() -> None:
    assert len(PAIRS) == comb(len(PARTS) + 1, 2) == 78


@pytest.mark.parametrize("name", PARTS)
def test_every_order_is_as_a_serial_one(name: str, worlds: Worlds) -> None:
    """Each pair that begins with this one: the rows and the answers are those of one order or the other."""
    for pair in (pair for pair in PAIRS if pair[0] == name):
        report = explore(pair, worlds, ORDERS, SEED)
        assert not report.anomalies, f"python -m tests.interleavings --pair {' '.join(pair)}\n{report.anomalies[0]}"
        assert report.orders == ORDERS
        assert not report.met[TOLD]


def test_every_order_of_two_migrators(worlds: Worlds) -> None:
    """One of them migrates and the other finds it done, whichever way their statements fall; no order is left out.

    Before the lock there is nothing to read, so the orders differ in when the second one asks for the lock.
    """
    report = explore(("migrate", "migrate"), worlds, 1_000, SEED)
    assert report.complete
    assert report.orders == 12
    assert report.blocked == 10
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
