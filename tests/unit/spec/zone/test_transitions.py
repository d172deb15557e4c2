"""The next clock changes of a zone, and their effect on ticks."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice

import pytest

from tompion.model.spec import ClockChange
from tompion.spec.compiler import compile_spec
from tompion.spec.document import read_spec
from tompion.spec.zone.transitions import clock_changes

JANUARY_2027 = int(datetime(2027, 1, 1, tzinfo=UTC).timestamp())


def changes_of(cron: str, timezone: str | None, **policy: str) -> list[ClockChange]:
    spec = read_spec({"cron": cron, "timezone": timezone, **policy})
    return list(islice(clock_changes(spec, compile_spec(spec), JANUARY_2027), 2))


def test_fixed_time_fires_after_the_gap_and_once_in_the_overlap() -> None:
    spring, autumn = changes_of("30 2 * * *", "Europe/Berlin")
    assert spring.at == datetime(2027, 3, 28, 1, tzinfo=UTC)
    assert (f"{spring.before:%H:%M}", f"{spring.after:%H:%M}") == ("02:00", "03:00")
    assert spring.text == (
        "clocks go forward from 02:00 to 03:00; 02:30 does not exist that day (clocks go forward), so it fires at 03:00"
    )
    assert autumn.at == datetime(2027, 10, 31, 1, tzinfo=UTC)
    assert autumn.text.startswith("clocks go back from 03:00 to 02:00; the first of two 02:30")
    assert len(autumn.ticks) == 1


@pytest.mark.parametrize(
    ("cron", "spring", "autumn"),
    [
        ("*/15 * * * *", "the ticks continue in real time", "fire twice"),
        ("0 9 * * *", "no tick is near the change", "no tick is near the change"),
    ],
)
def test_other_schedules_around_clock_changes(cron: str, spring: str, autumn: str) -> None:
    first, second = changes_of(cron, "Europe/Berlin")
    assert spring in first.text
    assert autumn in second.text


def test_zone_without_dst_has_no_clock_changes() -> None:
    assert changes_of("30 2 * * *", None) == []
    assert changes_of("30 2 * * *", "Asia/Tokyo") == []


@pytest.mark.parametrize(
    ("cron", "lost"),
    [
        ("30 2 * * *", "02:30 does not exist that day, and no tick replaces it"),
        ("0,45 2 * * *", "02:00 and 02:45 do not exist that day, and no tick replaces them"),
        ("30 2 * * MON", "no tick is near the change"),
    ],
)
@pytest.mark.parametrize("policy", [{"dst_gap": "skip"}, {"dst_profile": "quartz"}, {"dst_profile": "temporal"}])
def test_lost_wall_times_are_named(cron: str, lost: str, policy: dict[str, str]) -> None:
    """Regression: the text claimed that no tick was near the change, although one was lost."""
    assert changes_of(cron, "Europe/Berlin", **policy)[0].text == f"clocks go forward from 02:00 to 03:00; {lost}"
