"""Structured calendars: a number and its text are equal."""

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
def test_weekday_number_equals_its_text(dialect: Dialect, number: int) -> None:
    """Regression: in ``quartz`` the number 1 was Monday and the text "1" Sunday."""
    by_number, by_text, by_range = (
        Spec(calendars={"day_of_week": value}, dialect=dialect).upcoming(20, 0)
        for value in (number, str(number), [{"start": number, "end": number}])
    )
    assert by_number == by_text == by_range
    assert len({tick.weekday() for tick in by_number}) == 1


@pytest.mark.parametrize(("dialect", "number"), [("tompion", 8), ("quartz", 0), ("quartz", 8), ("temporal", -1)])
def test_weekday_outside_the_dialect_is_rejected(dialect: Dialect, number: int) -> None:
    with pytest.raises(InvalidSpec, match="out of range") as caught:
        Spec(calendars={"day_of_week": number}, dialect=dialect)
    assert caught.value.field == "calendars[0].day_of_week[0]"


def test_weekday_range_may_end_at_7() -> None:
    assert Spec(calendars={"day_of_week": [{"start": 5, "end": 7}]}).upcoming(9, 0) == Spec(
        cron="0 0 * * 5-7"
    ).upcoming(9, 0)


@pytest.mark.parametrize("text", ["2026-03-29x02:30", "2026-03-29\n02:30", "2026-03-29_02:30Z"])
def test_date_and_time_are_separated_by_t_or_a_space(text: str) -> None:
    with pytest.raises(InvalidSpec):
        read_moment(text, field="start_at")


@pytest.mark.parametrize("text", ["1s" * 100_000, "9" * 1_000_000])
def test_overlong_duration_is_rejected(text: str) -> None:
    """Regression: a million characters took seconds to be rejected."""
    with pytest.raises(InvalidSpec, match="characters"):
        parse_duration(text, field="every")


def test_overlong_zone_name_has_no_suggestion() -> None:
    with pytest.raises(InvalidSpec) as caught:
        load_zone("Europe/" * 100_000)
    assert caught.value.hint is None
