"""The quota of schedules in a namespace. Other namespaces are not affected."""

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
    """A namespace that has reached its quota."""
    bench = Bench(store, clock, Settings(max_schedules_per_namespace=MOST))
    for number in range(MOST):
        bench.ask(crud.create, f"s{number}", **EVERY_SECOND)
    return bench


def test_every_way_to_create_is_rejected_at_the_quota(full: Bench) -> None:
    refused: list[Callable[[], object]] = [
        partial(full.ask, crud.create, "more", **EVERY_SECOND),
        partial(full.ask, crud.upsert, "more", **EVERY_SECOND),
        partial(full.ask, workflows.put_workflow, "flow", {"function": "tasks:work", "triggers": [{"cron": "@daily"}]}),
    ]
    for number in range(300):
        with pytest.raises(LimitExceeded, match=rf"max_schedules_per_namespace \({MOST}\)"):
            refused[number % len(refused)]()
    assert len(full.ask(crud.list_schedules, limit=100).items) == MOST


def test_other_namespaces_and_updates_are_accepted_at_the_quota(full: Bench) -> None:
    full.ask(crud.create, "theirs", namespace="b", **EVERY_SECOND)
    full.ask(crud.upsert, "s0", description="changed", **EVERY_SECOND)
    full.ask(control.pause, "s1")
    with pytest.raises(LimitExceeded):
        full.ask(crud.create, "more", **EVERY_SECOND)
    full.ask(control.resume, "s1")


def test_a_deleted_schedule_does_not_count_until_it_is_recreated(full: Bench) -> None:
    full.ask(crud.delete, "s0")
    full.ask(crud.create, "more", **EVERY_SECOND)
    for name in ("s0", "another"):
        with pytest.raises(LimitExceeded):
            full.ask(crud.upsert, name, **EVERY_SECOND)
    full.ask(crud.delete, "more", purge=True)
    full.ask(crud.upsert, "s0", **EVERY_SECOND)
    with pytest.raises(LimitExceeded):
        full.ask(crud.create, "more", **EVERY_SECOND)


def test_concurrent_creates_stop_at_the_quota(postgres: Bench) -> None:
    postgres.settings = Settings(max_schedules_per_namespace=MOST)

    def create(number: int) -> bool:
        try:
            postgres.ask(crud.create, f"s{number}", **EVERY_SECOND)
        except LimitExceeded:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(create, range(4 * MOST))) == MOST
