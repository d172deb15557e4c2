"""The next changes of a zone's clocks, and what they do to ticks."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice

import pytest

from tompion.model.spec import ClockChange
from tompion.spec.compiler import compile_spec
from tompion.spec.document import read_spec
from tompion.spec.zone.transitions import clock_changes

JANUARY_2027 = int(datetime(2027, 1, 1, tzinfo=UTC).timestamp())


def changes_of(cron: str, timezone: str | None, **given: str) -> list[ClockChange]:
    spec = read_spec({"cron": cron, "timezone": timezone, **given})
    return list(islice(clock_changes(spec, compile_spec(spec), JANUARY_2027), 2))


def test_berlin_2027_a_fixed_time_in_the_gap_fires_after_it_and_the_repeated_one_once() -> None:
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
def test_other_ticks(cron: str, spring: str, autumn: str) -> None:
    first, second = changes_of(cron, "Europe/Berlin")
    assert spring in first.text
    assert autumn in second.text


def test_a_zone_whose_clocks_are_never_changed_has_none() -> None:
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
@pytest.mark.parametrize("given", [{"dst_gap": "skip"}, {"dst_profile": "quartz"}, {"dst_profile": "temporal"}])
def test_a_time_that_a_change_takes_away_is_named(cron: str, lost: str, given: dict[str, str]) -> None:
    """It was said that no tick fires near the change: so it was, and one should have."""
    assert changes_of(cron, "Europe/Berlin", **given)[0].text == f"clocks go forward from 02:00 to 03:00; {lost}"
