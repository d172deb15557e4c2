"""How many fires are to come, and where the spikes are."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.operations import FUNCTION, Bench, shown
from tompion.errors import InvalidField, NotFound
from tompion.operations.insight import forecast
from tompion.operations.resources import calendars
from tompion.operations.schedules import control, crud


def test_every_fire_of_the_hour_is_counted_once(bench: Bench) -> None:
    bench.create("often", cron="*/10 * * * *")
    bench.create("seldom", cron="30 * * * *")
    found = bench.ask(forecast.forecast)
    counts = {shown(each.start): each.fires for each in found.buckets if each.fires}
    assert counts == {"08:10": 1, "08:20": 1, "08:30": 2, "08:40": 1, "08:50": 1}
    assert (found.fully_counted, found.next_fire_only, found.capped, found.spikes) == (2, 0, False, ())


def test_what_is_paused_or_of_others_does_not_fire(bench: Bench) -> None:
    bench.create("resting", cron="* * * * *")
    bench.ask(control.pause, "resting")
    bench.ask(crud.create, "theirs", cron="* * * * *", function=FUNCTION, namespace="other")
    found = bench.ask(forecast.forecast)
    assert sum(each.fires for each in found.buckets) == 0


def test_of_a_fixed_delay_only_the_next_fire_is_known(bench: Bench) -> None:
    bench.create("poll", intervals={"every": "10m", "anchor": "completion"})
    found = bench.ask(forecast.forecast)
    assert sum(each.fires for each in found.buckets) == 1
    assert (found.fully_counted, found.next_fire_only) == (0, 1)


def test_a_herd_is_found_and_advised(bench: Bench) -> None:
    for number in range(12):
        bench.create(f"hourly-{number:02}", cron="45 * * * *")
    bench.create("other", cron="15 * * * *")
    (spike,) = bench.ask(forecast.forecast).spikes
    assert (shown(spike.start), spike.fires) == ("08:45", 12)
    (group,) = spike.groups
    assert (group.example, group.schedules, group.jitter_ms, group.hashed) == (
        "hourly-00",
        12,
        1_800_000,
        ("H * * * *",),
    )
    assert "jitter of 1800 seconds" in spike.advice


def test_what_has_jitter_is_counted_where_it_fires(bench: Bench) -> None:
    for number in range(40):
        bench.create(f"spread-{number:02}", cron="30 * * * *", jitter_ms=1_200_000)
    found = bench.ask(forecast.forecast)
    assert sum(each.fires for each in found.buckets) == 40
    assert max(each.fires for each in found.buckets) < 10
    assert found.spikes == ()


def test_days_that_a_calendar_excludes_have_no_fires(bench: Bench) -> None:
    bench.ask(calendars.put_calendar, {"name": "off", "dates": ["2027-01-16"]})
    bench.create("daily", cron="0 * * * *", exclude={"named": ["off"]})
    found = bench.ask(forecast.forecast, seconds=3 * 86_400, buckets=3)
    assert [each.fires for each in found.buckets] == [15, 0, 24]


def test_of_very_many_the_specs_of_some_are_read_and_stand_for_the_others(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The specs of 100,000 schedules took a second to read, whoever looked."""
    for number in range(60):
        bench.create(f"often-{number:02}", cron="*/20 * * * *")
    exact = bench.ask(forecast.forecast)
    monkeypatch.setattr(forecast, "MAX_READ", 20)
    found = bench.ask(forecast.forecast)
    assert (exact.one_in, found.one_in) == (1, 3)
    assert (found.fully_counted, found.next_fire_only, found.capped) == (60, 0, False)
    assert [each.fires for each in found.buckets] == [each.fires for each in exact.buckets]
    assert [(spike.fires, spike.groups[0].schedules) for spike in found.spikes] == [(60, 60)] * 2


def test_more_than_can_be_counted_is_said(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast, "MAX_SCHEDULES", 3)
    for number in range(4):
        bench.create(f"hourly-{number}", cron="30 * * * *")
    found = bench.ask(forecast.forecast)
    assert found.capped
    assert sum(each.fires for each in found.buckets) == 3


@pytest.mark.parametrize("given", [{"seconds": 0}, {"buckets": 0}, {"seconds": 10, "buckets": 11}])
def test_what_cannot_be_cut_is_refused(bench: Bench, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidField):
        bench.ask(forecast.forecast, **given)


# --- who shares a spec ------------------------------------------------------------------------------------------------


def test_who_shares_a_spec_is_found_page_by_page_with_tokens(bench: Bench) -> None:
    """A spike is spread as a whole: by whoever knows all of it, and what each was like when it was looked at."""
    for number in range(5):
        bench.create(f"hourly-{number}", cron="45 * * * *")
    bench.create("other", cron="15 * * * *")
    bench.create("adaptive", cron="45 * * * *", adaptive=True)
    bench.create("resting", cron="45 * * * *")
    bench.ask(control.pause, "resting")
    bench.ask(crud.patch, "hourly-3", description="changed since")
    bench.ask(crud.delete, "hourly-4")
    first = bench.ask(forecast.same_spec, "hourly-1", limit=3)
    rest = bench.ask(forecast.same_spec, "hourly-1", limit=3, after=first.next_page)
    assert [each.schedule_id for each in first.items] == ["hourly-0", "hourly-1", "hourly-2"]
    assert [(each.schedule_id, each.token) for each in rest.items] == [("hourly-3", 2)]
    assert rest.next_page is None
    bench.ask(crud.patch, "hourly-0", cron=["H * * * *"])
    assert bench.ask(forecast.same_spec, "hourly-1").items[0].schedule_id == "hourly-1"


def test_who_shares_a_spec_with_nobody_stands_alone(bench: Bench) -> None:
    bench.create("alone", cron="15 * * * *")
    assert [each.schedule_id for each in bench.ask(forecast.same_spec, "alone").items] == ["alone"]
    with pytest.raises(NotFound):
        bench.ask(forecast.same_spec, "nobody")
