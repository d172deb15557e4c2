"""A preview: what a spec would do, by the store's clock and with the store's calendars, and nothing is written."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.operations import FUNCTION, Bench, shown, when
from tompion import Spec
from tompion.errors import InvalidField, InvalidSpec, LimitExceeded, TompionError
from tompion.operations.insight.preview import MAX_BOUNDS, MAX_COUNTED, MAX_PREVIEW, Preview, preview_for
from tompion.operations.resources import calendars


def previewed(bench: Bench, *args: Any, **given: Any) -> Preview:
    before = bench.dump()
    found = bench.ask(preview_for, *args, **given)
    assert bench.dump() == before
    return found


def times(found: Preview) -> list[str]:
    return [shown(tick.at) for tick in found.ticks]


def test_a_preview_begins_now(bench: Bench) -> None:
    """By the store's clock, which is the one that schedules are fired by."""
    found = previewed(bench, cron="*/5 * * * *", timezone="Europe/Berlin", count=2)
    assert times(found) == ["08:05", "08:10"]
    assert found.timezone == "Europe/Berlin"
    assert found.explanation == Spec(cron="*/5 * * * *", timezone="Europe/Berlin").explain()
    assert [finding.code for finding in found.findings] == ["dst-overlap"]
    assert len(previewed(bench, cron="* * * * *").ticks) == 20


@pytest.mark.parametrize("after", [when("12:00"), "2027-01-15T12:00:00Z", int(when("12:00").timestamp())])
def test_a_preview_of_another_time(bench: Bench, after: Any) -> None:
    assert times(previewed(bench, cron="* * * * *", after=after, count=1)) == ["12:01"]


def test_a_preview_is_what_the_schedule_then_does(bench: Bench) -> None:
    """Also where the ticks depend on its id."""
    given: dict[str, Any] = {"cron": "H H(9-16) * * *", "jitter_ms": 20_000}
    found = previewed(bench, "report", count=1, **given).ticks[0]
    created = bench.create(**given)
    assert (found.at, found.fire_at) == (created.next_run_at, created.next_fire_at)


def test_a_whole_spec(bench: Bench) -> None:
    for spec in (Spec(cron="0 9 * * *"), {"cron": "0 9 * * *"}):
        assert times(previewed(bench, spec=spec, count=1)) == ["09:00"]


def test_calendars_are_those_of_the_store(bench: Bench) -> None:
    """A preview without a store cannot know which days they exclude."""
    bench.ask(calendars.put_calendar, {"name": "closed", "dates": ["2027-01-15"]})
    given: dict[str, Any] = {"cron": "0 9 * * *", "exclude": {"named": ["closed"]}, "count": 1}
    assert previewed(bench, **given).ticks[0].at.day == 16
    bench.ask(calendars.put_calendar, {"name": "closed", "dates": ["2027-01-15", "2027-01-16"]})
    assert previewed(bench, **given).ticks[0].at.day == 17


def test_what_would_never_run_is_a_finding_here(bench: Bench) -> None:
    """A preview is for looking: it says what a new schedule would be refused for."""
    found = previewed(bench, cron="0 0 30 2 *")
    assert found.ticks == ()
    assert [finding.code for finding in found.findings] == ["never-fires"]


@pytest.mark.parametrize(
    ("given", "error", "words"),
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
def test_what_cannot_be_previewed(bench: Bench, given: dict[str, Any], error: type[TompionError], words: str) -> None:
    with pytest.raises(error, match=words):
        bench.ask(preview_for, **given)


def test_ticks_are_counted_between_bounds(bench: Bench) -> None:
    """Each from the first of two bounds up to the second, without it: those of a day, if the bounds are midnights."""
    given: dict[str, Any] = {"cron": "*/10 * * * *", "count": 1}
    assert previewed(bench, **given).counts == ()
    bounds = [when("09:00"), when("10:00"), when("10:01"), when("10:09")]
    assert previewed(bench, **given, bounds=bounds).counts == (6, 1, 0)
    assert previewed(bench, cron="0 0 1 1 *", end_at=when("09:30"), bounds=bounds).counts == (0, 0, 0)


def test_what_would_take_too_long_is_not_counted(bench: Bench) -> None:
    day = int(when("00:00").timestamp())
    bounds = [day + 86_400 * number for number in range(4)]
    assert previewed(bench, cron="* * * * * *", count=1, bounds=bounds).counts == (86_400, None, None)
    assert 86_400 < MAX_COUNTED < 2 * 86_400


def test_bounds_that_cannot_be_meant(bench: Bench) -> None:
    given: dict[str, Any] = {"cron": "* * * * *", "count": 1}
    with pytest.raises(LimitExceeded, match=f"at most {MAX_BOUNDS}"):
        previewed(bench, **given, bounds=list(range(MAX_BOUNDS + 1)))
    for wrong in ([when("10:00"), when("09:00")], [when("09:00"), when("09:00")], ["noon"], 7):
        with pytest.raises(InvalidField, match="bounds"):
            previewed(bench, **given, bounds=wrong)
