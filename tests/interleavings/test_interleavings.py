"""A few orders of every pair, and every planted defect.

``python -m tests.interleavings`` runs the other orders.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from math import comb

import pytest

from tests.interleavings.defects import INTERLEAVING_DEFECTS, InterleavingDefect, detect
from tests.interleavings.initial_database import run_line
from tests.interleavings.search import RETRY_LEFT_TO_CALLER, Databases, OrderResult, explore
from tests.interleavings.transactions import PAIRS, TRANSACTION_TYPES
from tests.support.seeds import suite_seed
from tests.support.servers.postgres import PostgresServer

ORDERS = 4
"""Number of orders of each pair, without the two serial ones."""
SEED = 1
"""Seed of the tests that are the same in every run."""


@pytest.fixture(scope="module")
def databases(postgres_server: PostgresServer) -> Iterator[Databases]:
    with closing(Databases(postgres_server)) as databases:
        yield databases


def test_every_pair_is_listed() -> None:
    assert len(PAIRS) == comb(len(TRANSACTION_TYPES) + 1, 2) == 78


@pytest.mark.parametrize("name", TRANSACTION_TYPES)
def test_each_order_of_a_pair_equals_a_serial_order(
    name: str, databases: Databases, capfd: pytest.CaptureFixture[str]
) -> None:
    """The rows and answers of some orders of each pair that begins with this type are those of a serial order."""
    seed = suite_seed()
    with capfd.disabled():  # print the seed even if the test passes
        sys.stderr.write(f"\ninterleavings of {name}: seed {seed}\n")
    for pair in (pair for pair in PAIRS if pair[0] == name):
        report = explore(pair, databases, ORDERS, seed)
        command = f"python -m tests.interleavings --seed {seed} --most {ORDERS} --pair {' '.join(pair)}"
        assert not report.anomalies, f"{command}\n{report.anomalies[0]}"
        assert report.orders == ORDERS, command
        assert not report.errors[RETRY_LEFT_TO_CALLER], command


RUN, OTHER = (run_line((1, 60, origin), "a row as the first leaves it") for origin in (0, 1))
SECOND_RUN, SECOND_OTHER = (line.replace("first", "second") for line in (RUN, OTHER))
LAUNCH, LAUNCH_OTHER = (run_line((1, 60, origin), "launch (2, 1)") for origin in (0, 1))


def order_result(rows: list[str], *answers: list[str]) -> OrderResult:
    return OrderResult((), tuple(sorted(rows)), tuple(map(tuple, answers)), 0, Counter(), [], [])


@pytest.mark.parametrize(
    ("result", "is_mix"),
    [
        (order_result(["state 1", RUN, SECOND_OTHER], [LAUNCH], [LAUNCH_OTHER]), True),
        (order_result(["state 2", RUN, SECOND_OTHER], [LAUNCH], [LAUNCH_OTHER]), True),
        (order_result(["state 1", RUN], [LAUNCH], [LAUNCH_OTHER]), False),
        (order_result(["state 1", RUN], [LAUNCH], []), False),
        (order_result(["state 1", RUN, SECOND_OTHER], [LAUNCH], []), False),
        (order_result(["state 1", RUN, SECOND_OTHER], [LAUNCH], [LAUNCH_OTHER, LAUNCH_OTHER]), False),
        (order_result(["state 1", RUN, SECOND_OTHER], [LAUNCH, LAUNCH_OTHER], []), False),
        (order_result(["state 1", RUN, SECOND_OTHER, SECOND_RUN], [LAUNCH], [LAUNCH_OTHER]), False),
        (order_result(["state 1", "state 2", RUN, SECOND_OTHER], [LAUNCH], [LAUNCH_OTHER]), False),
        (order_result([RUN, SECOND_OTHER], [LAUNCH], [LAUNCH_OTHER]), False),
    ],
)
def test_a_result_may_be_mixed_only_run_by_run(result: OrderResult, is_mix: bool) -> None:
    """Once, a missing row or launch passed, and so did every mix of lines from both serial orders."""
    serial = [
        order_result(["state 1", RUN, OTHER], [LAUNCH, LAUNCH_OTHER], []),
        order_result(["state 2", SECOND_RUN, SECOND_OTHER], [], [LAUNCH, LAUNCH_OTHER]),
    ]
    assert result.is_mix_of(serial) == is_mix


def test_two_migrators_migrate_once_in_every_order(databases: Databases) -> None:
    """One migrator migrates, and the other finds the migration done. The search covers every order.

    The migrators read nothing before the lock, so the orders differ only in when the second one requests the lock.
    """
    report = explore(("migrate", "migrate"), databases, 1_000, SEED)
    assert report.complete
    assert report.orders == report.blocked == 10
    assert not report.anomalies


def test_a_migration_survives_a_deadlock(databases: Databases) -> None:
    """A trigger locks the schedule state and then a run, a migration locks them the other way round. Both complete."""
    report = explore(("trigger", "migrate"), databases, 24, SEED)
    assert report.errors["DeadlockDetected"]
    assert not report.errors[RETRY_LEFT_TO_CALLER]
    assert not report.anomalies


@pytest.mark.parametrize("defect", INTERLEAVING_DEFECTS, ids=lambda defect: defect.name)
def test_a_planted_defect_is_detected(defect: InterleavingDefect, databases: Databases) -> None:
    assert detect(defect, databases) is not None
