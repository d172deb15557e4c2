"""The rate limit of catch-up runs."""

from __future__ import annotations

from tompion.engine.limits import CatchupRateLimiter


def test_bucket_starts_full_and_fills_with_time() -> None:
    budget = CatchupRateLimiter(10)
    assert budget.available(100.0) == 10
    budget.use(10)
    assert budget.available(100.0) == 0
    assert budget.available(100.5) == 5
    assert budget.available(900.0) == 10


def test_instances_share_the_rate() -> None:
    budget = CatchupRateLimiter(10)
    budget.instances = 5
    budget.available(0.0)
    budget.use(10)
    assert budget.available(1.0) == 2
    assert budget.available(60.0) == 2


def test_large_fleet_still_gets_one_token_at_a_time() -> None:
    budget = CatchupRateLimiter(1)
    budget.instances = 4
    budget.available(0.0)
    budget.use(1)
    assert [budget.available(second) for second in (1.0, 2.0, 3.0, 4.0, 9.0)] == [0, 0, 0, 1, 1]


def test_tokens_used_beyond_the_bucket_are_owed() -> None:
    budget = CatchupRateLimiter(10)
    budget.available(0.0)
    budget.use(25)
    assert budget.available(1.0) <= 0
    assert budget.available(2.0) == 5
