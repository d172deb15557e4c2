"""The rate limit of catch-up runs."""

from __future__ import annotations

from tests.unit.engine.harness import EngineHarness
from tompion.config.settings import Settings
from tompion.engine.limits import CatchupRateLimiter
from tompion.runtime.clock import pause


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


def test_missed_ticks_of_a_schedule_are_limited_per_tick_of_the_engine(harness: EngineHarness) -> None:
    """Regression: the limit held for one pass, and passes followed each other within milliseconds."""
    harness.create(catchup_policy="fire_immediately", overlap_policy="allow")
    harness.loop.pass_time(40 * 60)
    engine = harness.engine(Settings(max_catchup_per_tick=7))

    async def scenario() -> None:
        await engine.start()
        await pause(20)

    harness.run(scenario)
    starts = [int(at - 40 * 60) for at in harness.launched_at()]
    assert [starts.count(second) for second in sorted(set(starts))] == [7, 7, 7, 7, 7, 5]
    warnings = [event.text for event in harness.events if event.kind == "warning"]
    assert [text for text in warnings if text.startswith("report: max_catchup_per_tick (7)")]
