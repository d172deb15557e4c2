"""The budget for missed ticks."""

from __future__ import annotations

from tompion.engine.limits import CatchupRateLimiter


def test_a_bucket_begins_full_and_fills_by_the_second() -> None:
    budget = CatchupRateLimiter(10)
    assert budget.available(100.0) == 10
    budget.use(10)
    assert budget.available(100.0) == 0
    assert budget.available(100.5) == 5
    assert budget.available(900.0) == 10


def test_each_instance_has_its_share() -> None:
    budget = CatchupRateLimiter(10)
    budget.instances = 5
    budget.available(0.0)
    budget.use(10)
    assert budget.available(1.0) == 2
    assert budget.available(60.0) == 2


def test_a_large_fleet_still_gets_one_at_a_time() -> None:
    budget = CatchupRateLimiter(1)
    budget.instances = 4
    budget.available(0.0)
    budget.use(1)
    assert [budget.available(second) for second in (1.0, 2.0, 3.0, 4.0, 9.0)] == [0, 0, 0, 1, 1]


def test_what_was_used_beyond_it_is_owed() -> None:
    budget = CatchupRateLimiter(10)
    budget.available(0.0)
    budget.use(25)
    assert budget.available(1.0) <= 0
    assert budget.available(2.0) == 5
