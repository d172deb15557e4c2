"""A namespace has so many schedules and no more: a tenant who makes thousands meets a bound, and no neighbour does."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from tests.support.operations import Bench
from tompion.config.settings import Settings
from tompion.errors import LimitExceeded
from tompion.operations.resources import workflows
from tompion.operations.schedules import control, crud
from tompion.store.base import Store
from tompion.testing.clock import ManualClock

MOST = 5
EVERY_SECOND = {"cron": "* * * * * *", "function": "tasks:work"}


@pytest.fixture
def full(store: Store, clock: ManualClock) -> Bench:
    """A namespace without room for another schedule."""
    bench = Bench(store, clock, Settings(max_schedules_per_namespace=MOST))
    for number in range(MOST):
        bench.ask(crud.create, f"s{number}", **EVERY_SECOND)
    return bench


def test_one_more_is_refused_however_it_is_made(full: Bench) -> None:
    refused: list[Callable[[], object]] = [
        partial(full.ask, crud.create, "more", **EVERY_SECOND),
        partial(full.ask, crud.upsert, "more", **EVERY_SECOND),
        partial(full.ask, workflows.put_workflow, "flow", {"function": "tasks:work", "triggers": [{"cron": "@daily"}]}),
    ]
    for number in range(300):
        with pytest.raises(LimitExceeded, match=rf"max_schedules_per_namespace \({MOST}\)"):
            refused[number % len(refused)]()
    assert len(full.ask(crud.list_schedules, limit=100).items) == MOST


def test_neighbours_and_what_is_there_already_do_not_notice(full: Bench) -> None:
    full.ask(crud.create, "theirs", namespace="b", **EVERY_SECOND)
    full.ask(crud.upsert, "s0", description="changed", **EVERY_SECOND)
    full.ask(control.pause, "s1")
    with pytest.raises(LimitExceeded):
        full.ask(crud.create, "more", **EVERY_SECOND)
    full.ask(control.resume, "s1")


def test_what_is_deleted_makes_room_and_what_comes_back_takes_it(full: Bench) -> None:
    full.ask(crud.delete, "s0")
    full.ask(crud.create, "more", **EVERY_SECOND)
    for name in ("s0", "another"):
        with pytest.raises(LimitExceeded):
            full.ask(crud.upsert, name, **EVERY_SECOND)
    full.ask(crud.delete, "more", purge=True)
    full.ask(crud.upsert, "s0", **EVERY_SECOND)
    with pytest.raises(LimitExceeded):
        full.ask(crud.create, "more", **EVERY_SECOND)


def test_of_many_at_a_time_no_more_are_made_than_there_is_room_for(postgres: Bench) -> None:
    postgres.settings = Settings(max_schedules_per_namespace=MOST)

    def create(number: int) -> bool:
        try:
            postgres.ask(crud.create, f"s{number}", **EVERY_SECOND)
        except LimitExceeded:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(create, range(4 * MOST))) == MOST
