"""Unions and bounds: iteration and single lookups."""

from __future__ import annotations

from tompion import Spec, Ticks
from tompion.spec.interval import IntervalTicks
from tompion.spec.union import BoundedTicks, UnionTicks
from tompion.spec.zone.tables import load_zone

GREENWICH = load_zone("UTC")


class Counting(Ticks):
    """Ticks that count their calls."""

    def __init__(self, inner: Ticks) -> None:
        self.inner, self.calls = inner, 0

    def next_epoch(self, after: int) -> int | None:
        self.calls += 1
        return self.inner.next_epoch(after)


def test_union_advances_a_source_only_after_its_tick() -> None:
    """Regression: linting a thousand yearly strings advanced each of them for each of two thousand ticks."""
    counting = Counting(IntervalTicks(86_400, 0, GREENWICH))
    union = UnionTicks((counting, IntervalTicks(1, 0, GREENWICH)))
    assert list(union.between_epochs(0, 999)) == list(range(1_000))
    assert counting.calls < 5


def test_between_equals_repeated_next_across_windows_and_bounds() -> None:
    union = UnionTicks((IntervalTicks(7, 0, GREENWICH), IntervalTicks(5, 3, GREENWICH)))
    bounded = BoundedTicks(union, 20, 900, [(100, 150), (140, 200), (500, 501)])
    walked = []
    tick = bounded.next_epoch(-1)
    while tick is not None:
        walked.append(tick)
        tick = bounded.next_epoch(tick)
    assert list(bounded.between_epochs(0, 2_000)) == walked
    assert list(bounded.between_epochs(120, 180)) == []


def test_instant_far_before_the_range_is_handled() -> None:
    """Regression: -10¹⁹ was answered with -9999999999999990000."""
    assert Spec(cron="0 9 * * *", timezone="Europe/Berlin").compile().next_epoch(-(10**19)) == 28_800
