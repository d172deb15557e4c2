"""A preview shows the ticks of a spec by the store's clock and calendars, and writes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.operations import FUNCTION, Bench, shown, when
from tompion import Spec
from tompion.errors import InvalidField, InvalidSpec, LimitExceeded, TompionError
from tompion.model.spec import Preview
from tompion.operations.insight.preview import MAX_BOUNDS, MAX_COUNTED, MAX_PREVIEW, preview
from tompion.operations.resources import calendars


def preview_ticks(bench: Bench, *args: Any, **fields: Any) -> Preview:
    before = bench.dump()
    result: Preview = bench.ask(preview, *args, **fields)
    assert bench.dump() == before
    return result


def times(preview: Preview) -> list[str]:
    return [shown(tick.at) for tick in preview.ticks]


def test_a_preview_begins_now(bench: Bench) -> None:
    """It uses the store's clock, which also fires the schedules."""
    preview = preview_ticks(bench, cron="*/5 * * * *", timezone="Europe/Berlin", count=2)
    assert times(preview) == ["08:05", "08:10"]
    assert preview.timezone == "Europe/Berlin"
    assert preview.explanation == Spec(cron="*/5 * * * *", timezone="Europe/Berlin").explain()
    assert [finding.code for finding in preview.findings] == ["dst-overlap"]
    assert len(preview_ticks(bench, cron="* * * * *").ticks) == 20


@pytest.mark.parametrize("after", [when("12:00"), "2027-01-15T12:00:00Z", int(when("12:00").timestamp())])
def test_a_preview_can_begin_at_another_time(bench: Bench, after: Any) -> None:
    assert times(preview_ticks(bench, cron="* * * * *", after=after, count=1)) == ["12:01"]


def test_a_preview_matches_the_created_schedule(bench: Bench) -> None:
    """This also holds where the ticks depend on the schedule id."""
    fields: dict[str, Any] = {"cron": "H H(9-16) * * *", "jitter_ms": 20_000}
    tick = preview_ticks(bench, "report", count=1, **fields).ticks[0]
    created = bench.create(**fields)
    assert (tick.at, tick.fire_at) == (created.next_run_at, created.next_fire_at)


def test_a_preview_accepts_a_complete_spec(bench: Bench) -> None:
    for spec in (Spec(cron="0 9 * * *"), {"cron": "0 9 * * *"}):
        assert times(preview_ticks(bench, spec=spec, count=1)) == ["09:00"]


def test_a_preview_uses_the_calendars_of_the_store(bench: Bench) -> None:
    """A preview without a store does not know the excluded days."""
    bench.ask(calendars.put_calendar, {"name": "closed", "dates": ["2027-01-15"]})
    fields: dict[str, Any] = {"cron": "0 9 * * *", "exclude": {"named": ["closed"]}, "count": 1}
    assert preview_ticks(bench, **fields).ticks[0].at.day == 16
    bench.ask(calendars.put_calendar, {"name": "closed", "dates": ["2027-01-15", "2027-01-16"]})
    assert preview_ticks(bench, **fields).ticks[0].at.day == 17


def test_a_spec_that_would_never_run_is_reported_not_rejected(bench: Bench) -> None:
    """A preview reports the problems for which a create would be rejected."""
    preview = preview_ticks(bench, cron="0 0 30 2 *")
    assert preview.ticks == ()
    assert [finding.code for finding in preview.findings] == ["never-fires"]


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({}, InvalidField, "spec: there is no source of ticks"),
        ({"cron": "99 * * * *"}, InvalidSpec, "cron.minute"),
        ({"crom": "* * * * *"}, InvalidField, "crom: there is no such field; did you mean cron?"),
        ({"cron": "* * * * *", "function": FUNCTION}, InvalidField, "function: there is no such field"),
        ({"cron": "* * * * *", "count": 0}, InvalidField, "count: 0"),
        ({"cron": "* * * * *", "count": True}, InvalidField, "count: True"),
        ({"cron": "* * * * *", "count": MAX_PREVIEW + 1}, LimitExceeded, "at most 1000"),
        ({"cron": "* * * * *", "after": "soon"}, InvalidField, "after: 'soon' is not a time"),
        ({"cron": "* * * * *", "after": "2027-01-15T08:00:00"}, InvalidField, "after: .* has no offset"),
        ({"cron": "* * * * *", "schedule_id": 5}, InvalidField, "schedule_id: 5"),
        ({"cron": "* * * * *", "exclude": {"named": ["x"]}}, InvalidField, "exclude.named: there is no calendar 'x'"),
    ],
)
def test_an_invalid_preview_is_rejected(
    bench: Bench, fields: dict[str, Any], error: type[TompionError], words: str
) -> None:
    with pytest.raises(error, match=words):
        bench.ask(preview, **fields)


def test_ticks_are_counted_between_bounds(bench: Bench) -> None:
    """Each count is from one bound up to the next, exclusive. With midnights as bounds it counts days."""
    fields: dict[str, Any] = {"cron": "*/10 * * * *", "count": 1}
    assert preview_ticks(bench, **fields).counts == ()
    bounds = [when("09:00"), when("10:00"), when("10:01"), when("10:09")]
    assert preview_ticks(bench, **fields, bounds=bounds).counts == (6, 1, 0)
    assert preview_ticks(bench, cron="0 0 1 1 *", end_at=when("09:30"), bounds=bounds).counts == (0, 0, 0)


def test_counts_beyond_the_limit_are_omitted(bench: Bench) -> None:
    day = int(when("00:00").timestamp())
    bounds = [day + 86_400 * number for number in range(4)]
    assert preview_ticks(bench, cron="* * * * * *", count=1, bounds=bounds).counts == (86_400, None, None)
    assert 86_400 < MAX_COUNTED < 2 * 86_400


def test_invalid_bounds_are_rejected(bench: Bench) -> None:
    fields: dict[str, Any] = {"cron": "* * * * *", "count": 1}
    with pytest.raises(LimitExceeded, match=f"at most {MAX_BOUNDS}"):
        preview_ticks(bench, **fields, bounds=list(range(MAX_BOUNDS + 1)))
    for wrong in ([when("10:00"), when("09:00")], [when("09:00"), when("09:00")], ["noon"], 7):
        with pytest.raises(InvalidField, match="bounds"):
            preview_ticks(bench, **fields, bounds=wrong)
