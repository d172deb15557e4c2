"""The forecast: the number of upcoming fires, and load spikes."""

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
    result = bench.ask(forecast.forecast)
    counts = {shown(bucket.start): bucket.fires for bucket in result.buckets if bucket.fires}
    assert counts == {"08:10": 1, "08:20": 1, "08:30": 2, "08:40": 1, "08:50": 1}
    assert (result.fully_counted, result.next_fire_only, result.capped, result.spikes) == (2, 0, False, ())


def test_paused_schedules_and_other_namespaces_are_not_counted(bench: Bench) -> None:
    bench.create("resting", cron="* * * * *")
    bench.ask(control.pause, "resting")
    bench.ask(crud.create, "theirs", cron="* * * * *", function=FUNCTION, namespace="other")
    result = bench.ask(forecast.forecast)
    assert sum(bucket.fires for bucket in result.buckets) == 0


def test_a_fixed_delay_counts_only_its_next_fire(bench: Bench) -> None:
    bench.create("poll", intervals={"every": "10m", "anchor": "completion"})
    result = bench.ask(forecast.forecast)
    assert sum(bucket.fires for bucket in result.buckets) == 1
    assert (result.fully_counted, result.next_fire_only) == (0, 1)


def test_a_load_spike_is_reported_with_advice(bench: Bench) -> None:
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


def test_jittered_fires_are_counted_at_their_fire_time(bench: Bench) -> None:
    for number in range(40):
        bench.create(f"spread-{number:02}", cron="30 * * * *", jitter_ms=1_200_000)
    result = bench.ask(forecast.forecast)
    assert sum(bucket.fires for bucket in result.buckets) == 40
    assert max(bucket.fires for bucket in result.buckets) < 10
    assert result.spikes == ()


def test_days_that_a_calendar_excludes_have_no_fires(bench: Bench) -> None:
    bench.ask(calendars.put_calendar, {"name": "off", "dates": ["2027-01-16"]})
    bench.create("daily", cron="0 * * * *", exclude={"named": ["off"]})
    result = bench.ask(forecast.forecast, seconds=3 * 86_400, buckets=3)
    assert [bucket.fires for bucket in result.buckets] == [15, 0, 24]


def test_a_large_namespace_is_sampled(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: reading the specs of 100,000 schedules took one second for each request."""
    for number in range(60):
        bench.create(f"often-{number:02}", cron="*/20 * * * *")
    exact = bench.ask(forecast.forecast)
    monkeypatch.setattr(forecast, "MAX_READ", 20)
    result = bench.ask(forecast.forecast)
    assert (exact.one_in, result.one_in) == (1, 3)
    assert (result.fully_counted, result.next_fire_only, result.capped) == (60, 0, False)
    assert [bucket.fires for bucket in result.buckets] == [bucket.fires for bucket in exact.buckets]
    assert [(spike.fires, spike.groups[0].schedules) for spike in result.spikes] == [(60, 60)] * 2


def test_an_incomplete_count_is_marked(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast, "MAX_SCHEDULES", 3)
    for number in range(4):
        bench.create(f"hourly-{number}", cron="30 * * * *")
    result = bench.ask(forecast.forecast)
    assert result.capped
    assert sum(bucket.fires for bucket in result.buckets) == 3


@pytest.mark.parametrize("fields", [{"seconds": 0}, {"buckets": 0}, {"seconds": 10, "buckets": 11}])
def test_invalid_buckets_are_rejected(bench: Bench, fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidField):
        bench.ask(forecast.forecast, **fields)


# --- schedules with the same spec -------------------------------------------------------------------------------------


def test_schedules_with_the_same_spec_are_paged_with_their_tokens(bench: Bench) -> None:
    """Spreading a load spike needs every schedule with the spec, and its token."""
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
    assert [schedule.schedule_id for schedule in first.items] == ["hourly-0", "hourly-1", "hourly-2"]
    assert [(schedule.schedule_id, schedule.conflict_token) for schedule in rest.items] == [("hourly-3", 2)]
    assert rest.next_page is None
    bench.ask(crud.patch, "hourly-0", cron=["H * * * *"])
    assert bench.ask(forecast.same_spec, "hourly-1").items[0].schedule_id == "hourly-1"


def test_a_schedule_with_a_unique_spec_is_alone(bench: Bench) -> None:
    bench.create("alone", cron="15 * * * *")
    assert [schedule.schedule_id for schedule in bench.ask(forecast.same_spec, "alone").items] == ["alone"]
    with pytest.raises(NotFound):
        bench.ask(forecast.same_spec, "missing")
