"""``H`` and jitter are evenly distributed, independent, and never change."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tompion
from tompion import Spec
from tompion.model.spec import JitterMode
from tompion.spec.calendar.days import DAY
from tompion.spec.jitter import fire_time_ms, jitter_offset_ms
from tompion.spec.stable_hash import hash_bits, hash_number

SCHEDULES = [f"schedule-{number}" for number in range(10_000)]
NEW_YEAR = 1_767_225_600  # 2026-01-01T00:00:00Z
HOUR = 3600


def assert_even(counts: Counter[int], buckets: Iterable[int], tolerance: float = 0.25) -> None:
    """Check that each bucket holds its share, within a quarter."""
    expected = list(buckets)
    assert set(counts) <= set(expected)
    share = sum(counts.values()) / len(expected)
    uneven = {bucket: counts[bucket] for bucket in expected if abs(counts[bucket] - share) > tolerance * share}
    assert not uneven, f"{share:.1f} to a bucket were expected"


# ---------------------------------------------------------------- golden values

GOLDEN = [
    # schedule, minute of H, hour of H, day of H, jitter of ±30 s and delay of 30 s at 2026-01-01T00:00:00Z
    ("daily-report", 3, 15, 27, -16_372, 6_814),
    ("", 54, 6, 14, 25_583, 27_792),
    ("a", 55, 16, 11, -29_753, 123),
    ("b", 9, 20, 12, -2_108, 13_946),
    ("Ünïcødé-🐢", 17, 5, 26, -15_374, 7_313),
    ("x" * 500, 2, 5, 20, -9_745, 10_127),
    ("tenant/42", 0, 13, 22, 21_141, 25_571),
    ("nightly backup", 5, 20, 24, -9_651, 10_174),
    ("H", 55, 12, 3, 5_353, 17_676),
    ("00000000-0000-0000-0000-000000000000", 54, 17, 19, -5_163, 12_418),
]


@pytest.mark.parametrize(("schedule", "minute", "hour", "day", "jitter", "delay"), GOLDEN)
def test_hash_matches_the_test_vectors(
    schedule: str, minute: int, hour: int, day: int, jitter: int, delay: int
) -> None:
    """A change would move the fires of every schedule that uses H or jitter."""
    tick = tompion.compile_spec("H H H * *", schedule_id=schedule).next_epoch(0)
    assert tick is not None
    moment = datetime.fromtimestamp(tick, UTC)
    assert (moment.minute, moment.hour, moment.day) == (minute, hour, day)
    assert jitter_offset_ms(schedule, NEW_YEAR, 30_000) == jitter
    assert jitter_offset_ms(schedule, NEW_YEAR, 30_000, "delay") == delay


def test_hash_follows_its_description() -> None:
    """The first eight bytes of BLAKE2b over the parts, each preceded by its length in four bytes."""

    def described(*parts: str) -> int:
        data = b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in parts)
        return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")

    for parts in ((), ("",), ("a", "b"), ("jitter", "daily-report", str(NEW_YEAR)), ("ü", "🐢")):
        assert hash_bits(*parts) == described(*parts)
    assert hash_number("daily-report", "minute", 60) == described("minute", "daily-report") * 60 >> 64


def test_hash_separates_its_parts() -> None:
    assert len({hash_bits(*parts) for parts in (("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("", "abc"))}) == 5


def test_hash_does_not_depend_on_the_process() -> None:
    """Python's hash() has a new salt in each process. This hash must not."""
    code = "import tompion; print(tompion.compile_spec('H H H H H', schedule_id='daily-report').next_epoch(0))"
    answers = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, env=os.environ | {"PYTHONHASHSEED": salt}
        ).stdout
        for salt in ("1", "2")
    }
    expected = tompion.compile_spec("H H H H H", schedule_id="daily-report").next_epoch(0)
    assert answers == {f"{expected}\n".encode()}


def test_any_text_can_be_hashed() -> None:
    assert 0 <= hash_number("\ud800\0", "minute", 60) < 60
    assert tompion.compile_spec("H * * * *", schedule_id="\ud800").next_epoch(0) is not None


# ---------------------------------------------------------------- H


def hashed_times(text: str) -> list[datetime]:
    ticks = [tompion.compile_spec(text, schedule_id=schedule).next_epoch(NEW_YEAR - 1) for schedule in SCHEDULES]
    return [datetime.fromtimestamp(tick, UTC) for tick in ticks if tick is not None]


def test_ten_thousand_schedules_fill_the_sixty_minutes() -> None:
    moments = hashed_times("H * * * *")
    assert len(moments) == len(SCHEDULES)
    assert_even(Counter(moment.minute for moment in moments), range(60))


def test_ten_thousand_schedules_fill_the_day() -> None:
    moments = hashed_times("H H * * *")
    assert_even(Counter(moment.minute for moment in moments), range(60))
    assert_even(Counter(moment.hour for moment in moments), range(24))


def test_hours_and_minutes_are_independent() -> None:
    """Chi squared over 24 × 60 cells: 1357 degrees of freedom, so a standard deviation is 52."""
    moments = hashed_times("H H * * *")
    cells = Counter((moment.hour, moment.minute) for moment in moments)
    hours, minutes = Counter(moment.hour for moment in moments), Counter(moment.minute for moment in moments)
    expected = {(hour, minute): hours[hour] * minutes[minute] / len(moments) for hour in hours for minute in minutes}
    chi_squared = sum((cells[cell] - share) ** 2 / share for cell, share in expected.items())
    assert 1357 - 4 * 52 < chi_squared < 1357 + 4 * 52


def test_days_months_and_weekdays_are_filled_too() -> None:
    assert_even(Counter(moment.day for moment in hashed_times("0 0 H * *")), range(1, 29))
    assert_even(Counter(moment.month for moment in hashed_times("0 0 1 H *")), range(1, 13))
    assert_even(Counter(moment.isoweekday() for moment in hashed_times("0 0 * * H")), range(1, 8))
    assert_even(Counter(moment.hour for moment in hashed_times("0 H(9-17) * * *")), range(9, 18))
    assert_even(Counter(moment.minute % 15 for moment in hashed_times("H/15 * * * *")), range(15))


@pytest.mark.parametrize(
    "text",
    [
        "H * * * *",
        "h * * * *",
        "H 0 0 * * *",
        "H/7\t* * * *",
        "0,H 0 * * *",
        "0 0 1 * H",
        "0 0 1 * +H",
        "0 0 1 * +1,H(5-6)",
        "0 H(0-5) * * * # nightly",
        "TZ=Asia/Tokyo H * * * *",
    ],
)
def test_h_in_any_field_depends_on_the_schedule(text: str) -> None:
    """Equal strings share one compiled form. A string with ``H`` must not be shared between schedules."""
    assert len({tompion.compile_spec(text, schedule_id=schedule).next_epoch(0) for schedule in SCHEDULES[:200]}) > 1
    spec = Spec(cron=text)
    assert len({spec.compile(schedule_id=schedule).next_epoch(0) for schedule in SCHEDULES[:200]}) > 1


def test_h_in_a_calendar_and_in_an_exclusion_depends_on_the_schedule() -> None:
    calendar = Spec(calendars=[{"hour": "H", "minute": "H"}])
    assert len({calendar.next(0, schedule_id=schedule) for schedule in SCHEDULES[:200]}) > 100
    excluding = Spec(cron="0 * * * *", exclude={"calendars": [{"hour": "H(1-3)"}]})
    assert len({tuple(excluding.upcoming(4, 0, schedule_id=schedule)) for schedule in SCHEDULES[:50]}) == 3


def test_spec_without_h_does_not_depend_on_the_schedule() -> None:
    for text in ("0 9 * * THU", "0 0 1 MARCH *", "@hourly"):
        assert tompion.compile_spec(text, schedule_id="a") is tompion.compile_spec(text, schedule_id="b")
        assert Spec(cron=text).compile(schedule_id="a") is Spec(cron=text).compile(schedule_id="b")


# ---------------------------------------------------------------- jitter


@given(st.text(max_size=20), st.integers(0, 1 << 33), st.integers(1, 10**8), st.sampled_from(["symmetric", "delay"]))
@settings(max_examples=300)
def test_jitter_offset_is_bounded_and_constant(schedule: str, tick: int, limit: int, mode: JitterMode) -> None:
    offset = jitter_offset_ms(schedule, tick, limit, mode)
    assert (0 if mode == "delay" else -limit) <= offset <= limit
    assert jitter_offset_ms(schedule, tick, limit, mode) == offset


def test_jitter_reaches_both_ends_of_its_range() -> None:
    assert {jitter_offset_ms(schedule, NEW_YEAR, 2) for schedule in SCHEDULES[:200]} == {-2, -1, 0, 1, 2}
    assert {jitter_offset_ms(schedule, NEW_YEAR, 2, "delay") for schedule in SCHEDULES[:200]} == {0, 1, 2}


def test_zero_jitter_has_no_offset() -> None:
    ticks = tompion.compile_spec("0 9 * * *")
    assert jitter_offset_ms("a", NEW_YEAR, 0) == 0
    assert fire_time_ms(ticks, 9 * HOUR, schedule_id="a", jitter_ms=0) == 9 * HOUR * 1000


def test_mean_of_symmetric_jitter_is_near_zero() -> None:
    """Ten thousand draws from ±60 s: the mean has a standard deviation of 346 ms."""
    offsets = [jitter_offset_ms(schedule, NEW_YEAR, 60_000) for schedule in SCHEDULES]
    assert abs(sum(offsets) / len(offsets)) < 4 * 346
    delays = [jitter_offset_ms(schedule, NEW_YEAR, 60_000, "delay") for schedule in SCHEDULES]
    assert abs(sum(delays) / len(delays) - 30_000) < 4 * 173


def test_jitter_differs_from_tick_to_tick() -> None:
    offsets = [jitter_offset_ms("a", NEW_YEAR + day * DAY, 60_000) for day in range(1_000)]
    assert len(set(offsets)) > 950
    assert_even(Counter(offset // 12_000 for offset in offsets if offset < 60_000), range(-5, 5))


@pytest.mark.parametrize(("mode", "low", "high"), [("symmetric", -1800, 1800), ("delay", 0, 3600)])
def test_jitter_spreads_daily_schedules_evenly_over_an_hour(mode: JitterMode, low: int, high: int) -> None:
    ticks = tompion.compile_spec("0 12 * * *")
    noon = NEW_YEAR + 12 * HOUR
    fires = [
        fire_time_ms(ticks, noon, schedule_id=schedule, jitter_ms=max(high, 1800) * 1000, mode=mode) / 1000 - noon
        for schedule in SCHEDULES
    ]
    assert all(low <= fire <= high for fire in fires)
    assert_even(Counter(int((fire - low) // 60) for fire in fires if fire < high), range(60))


SPECS = ["* * * * *", "*/7 * * * *", "0 9 * * MON-FRI", "0,1,30 * * * *", "* * * * * *", "0 0 29 2 *", "30 2 * * *"]


@pytest.mark.parametrize("mode", ["symmetric", "delay"])
@pytest.mark.parametrize("text", SPECS)
def test_jitter_stays_within_half_of_the_gaps_and_keeps_the_order(text: str, mode: JitterMode) -> None:
    """Strictly less than half: two neighbours never fire in the same millisecond."""
    spec = Spec(cron=text, timezone="Europe/Berlin", jitter_ms=10**9, jitter_mode=mode)
    ticks = spec.compile()
    for schedule in SCHEDULES[:8]:
        fires = []
        tick = ticks.next_epoch(1_774_742_400)  # 2026-03-29, the night of a gap
        for _ in range(40):
            assert tick is not None
            fire = fire_time_ms(ticks, tick, schedule_id=schedule, jitter_ms=10**9, mode=mode)
            earlier, later = ticks.prev_epoch(tick), ticks.next_epoch(tick)
            assert earlier is not None
            assert later is not None
            assert (0 if mode == "delay" else -min(10**9, (tick - earlier) * 500)) <= fire - tick * 1000
            assert abs(fire - tick * 1000) <= 10**9
            assert abs(fire - tick * 1000) * 2 < min(tick - earlier, later - tick) * 1000
            fires.append(fire)
            tick = later
        assert all(before < after for before, after in pairwise(fires))


def test_jitter_uses_its_whole_range_in_a_wide_gap() -> None:
    """The cap is half the gap to the neighbours, and not less: with a gap of a minute offsets reach ±29.999 s."""
    ticks = tompion.compile_spec("* * * * *")
    offsets = [
        fire_time_ms(ticks, NEW_YEAR, schedule_id=schedule, jitter_ms=10**6) - NEW_YEAR * 1000 for schedule in SCHEDULES
    ]
    assert max(offsets) <= 29_999
    assert min(offsets) >= -29_999
    assert max(offsets) > 29_900
    assert min(offsets) < -29_900


def test_fire_time_is_not_before_the_start() -> None:
    start = "2026-01-01T00:00:00+00:00"
    spec = Spec(cron="0 0 * * *", start_at=start, jitter_ms=3_600_000)
    fires = [spec.occurrences(2, NEW_YEAR - 1, schedule_id=schedule) for schedule in SCHEDULES[:300]]
    assert all(first.fire_at >= datetime.fromisoformat(start) for first, _second in fires)
    assert any(first.fire_at == datetime.fromisoformat(start) for first, _second in fires), "none was held back"
    assert any(second.fire_at < second.at for _first, second in fires), "later ticks may be early"
    assert all(abs(tick.fire_at - tick.at) <= timedelta(hours=1) for pair in fires for tick in pair)


def test_jitter_does_not_move_ticks() -> None:
    plain, jittered = Spec(cron="*/5 * * * *"), Spec(cron="*/5 * * * *", jitter_ms=60_000)
    assert plain.upcoming(50, NEW_YEAR) == jittered.upcoming(50, NEW_YEAR)
    assert [tick.at for tick in jittered.occurrences(50, NEW_YEAR)] == plain.upcoming(50, NEW_YEAR)
