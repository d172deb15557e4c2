"""Structured calendars: a number and the text of it are the same thing."""

from __future__ import annotations

import pytest

from tompion import InvalidSpec, Spec
from tompion.model.spec import Dialect
from tompion.spec.datetime_text import read_moment
from tompion.spec.duration import parse_duration
from tompion.spec.zone.tables import load_zone


@pytest.mark.parametrize(
    ("dialect", "number"),
    [("tompion", 0), ("tompion", 7), ("tompion", 5), ("quartz", 1), ("quartz", 7), ("temporal", 7)],
)
def test_a_weekday_is_the_same_day_as_a_number_and_as_text(dialect: Dialect, number: int) -> None:
    """Under ``quartz`` the number 1 was Monday and the text "1" Sunday; under ``tompion`` the number 7 was refused."""
    by_number, by_text, by_range = (
        Spec(calendars={"day_of_week": given}, dialect=dialect).upcoming(20, 0)
        for given in (number, str(number), [{"start": number, "end": number}])
    )
    assert by_number == by_text == by_range
    assert len({tick.weekday() for tick in by_number}) == 1


@pytest.mark.parametrize(("dialect", "number"), [("tompion", 8), ("quartz", 0), ("quartz", 8), ("temporal", -1)])
def test_a_weekday_that_the_dialect_does_not_have_is_refused(dialect: Dialect, number: int) -> None:
    with pytest.raises(InvalidSpec, match="out of range") as caught:
        Spec(calendars={"day_of_week": number}, dialect=dialect)
    assert caught.value.field == "calendars[0].day_of_week[0]"


def test_a_range_of_weekdays_may_end_on_the_second_sunday() -> None:
    assert Spec(calendars={"day_of_week": [{"start": 5, "end": 7}]}).upcoming(9, 0) == Spec(
        cron="0 0 * * 5-7"
    ).upcoming(9, 0)


@pytest.mark.parametrize("text", ["2026-03-29x02:30", "2026-03-29\n02:30", "2026-03-29_02:30Z"])
def test_only_t_or_a_space_stands_between_date_and_time(text: str) -> None:
    with pytest.raises(InvalidSpec):
        read_moment(text, field="start_at")


@pytest.mark.parametrize("text", ["1s" * 100_000, "9" * 1_000_000])
def test_a_duration_as_long_as_a_book_is_not_read(text: str) -> None:
    """A million characters took seconds before they were refused."""
    with pytest.raises(InvalidSpec, match="characters"):
        parse_duration(text, field="every")


def test_a_zone_as_long_as_a_book_gets_no_suggestion() -> None:
    with pytest.raises(InvalidSpec) as caught:
        load_zone("Europe/" * 100_000)
    assert caught.value.hint is None
