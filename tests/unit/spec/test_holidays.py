"""Public holidays: looked up once, when a spec is created, and never again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from importlib.metadata import version
from typing import Any

import holidays
import pytest

from tompion import InvalidSpec, Spec
from tompion.model.spec import HolidaysDocument
from tompion.spec.holidays import MAX_YEARS, YEARS_AHEAD, YEARS_BEHIND
from tompion.spec.zone.tables import TZDATA_VERSION

LIBRARY = f"holidays {version('holidays')}"
RELEASE = int(TZDATA_VERSION[:4])


def spec_without(excluded: Any) -> Spec:
    return Spec(cron="0 9 * * *", timezone="Europe/Berlin", exclude={"holidays": excluded})


def written(excluded: Any) -> Any:
    return spec_without(excluded).exclude.holidays[0]


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.fixture
def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every look-up fail: the extra is not installed."""

    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr("tompion.spec.holidays.import_module", missing)


@pytest.fixture
def other_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a later release of the library with other dates."""

    class Later:
        __version__ = "99.0"

        @staticmethod
        def country_holidays(*_country: object, **_options: object) -> dict[date, str]:
            return {date(2026, 1, 2): "the day after"}

        @staticmethod
        def list_supported_countries() -> dict[str, list[str]]:
            return {"DE": ["BY"]}

    monkeypatch.setattr("tompion.spec.holidays.import_module", lambda _name: Later)


# --- looked up --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "country", "subdivision"),
    [("DE-BY", "DE", "BY"), ("DE", "DE", None), ("US-CA", "US", "CA"), ("GB", "GB", None)],
)
def test_dates_are_those_of_the_library(text: str, country: str, subdivision: str | None) -> None:
    document = written(text)
    years = range(RELEASE - YEARS_BEHIND, RELEASE + YEARS_AHEAD + 1)
    judge = holidays.country_holidays(country, subdiv=subdivision, years=years)
    assert document.dates == tuple(day.isoformat() for day in sorted(judge))
    assert (document.country, document.subdivision) == (country, subdivision)
    assert (document.first_year, document.last_year) == (years[0], years[-1])
    assert document.source == LIBRARY


def test_subdivision_has_its_own_holidays() -> None:
    """Dates without a lookup in the library."""
    assert {"2026-01-06", "2026-06-04", "2026-12-25"} <= set(written("DE-BY").dates)
    assert "2026-12-25" in written("DE").dates
    assert not {"2026-01-06", "2026-06-04"} & set(written("DE").dates)


def test_object_equals_the_short_form() -> None:
    assert written({"country": "DE", "subdivision": "BY"}) == written("DE-BY")
    assert written({"country": "DE", "subdivision": None}) == written("DE")


def test_range_of_years_can_be_set() -> None:
    document = written({"country": "DE", "first_year": 2030, "last_year": 2031})
    assert {day[:4] for day in document.dates} == {"2030", "2031"}
    assert (
        written({"country": "DE", "first_year": 2030, "last_year": 2030}).dates
        == document.dates[: len(document.dates) // 2]
    )


def test_longest_range_of_years_is_accepted() -> None:
    last = 2000 + MAX_YEARS - 1
    assert written({"country": "DE", "first_year": 2000, "last_year": last}).dates[-1] == f"{last}-12-26"


def test_ticks_on_a_holiday_are_excluded() -> None:
    """Labour Day 2026 is a Friday."""
    spec = spec_without("DE-BY")
    assert [tick.day for tick in spec.upcoming(3, utc("2026-04-29T12:00"))] == [30, 2, 3]


def test_holiday_is_a_local_day() -> None:
    """23:30 of 1 May in Tokyo is 14:30 UTC. 23:30 UTC of the day before is already 1 May there."""
    excluded = {"country": "DE", "dates": ["2026-05-01"]}
    spec = Spec(cron="30 8,23 * * *", timezone="Asia/Tokyo", exclude={"holidays": excluded})
    ticks = spec.between(utc("2026-04-30T00:00"), utc("2026-05-02T00:00"))
    assert ticks == [utc("2026-04-30T14:30"), utc("2026-05-01T23:30")]


def test_holidays_of_several_countries_are_excluded() -> None:
    spec = spec_without(["DE", {"country": "GB", "subdivision": "ENG"}])
    assert spec.next(utc("2026-05-01")) == utc("2026-05-02T07:00")
    assert spec.next(utc("2026-05-25")) == utc("2026-05-26T07:00")
    assert [document.country for document in spec.exclude.holidays] == ["DE", "GB"]


# --- written down -----------------------------------------------------------------------------------------------


def test_dates_are_part_of_the_json() -> None:
    spec = spec_without("DE-BY")
    data = spec.to_dict()["exclude"]["holidays"]
    assert data == [
        {
            "country": "DE",
            "subdivision": "BY",
            "first_year": RELEASE - YEARS_BEHIND,
            "last_year": RELEASE + YEARS_AHEAD,
            "dates": list(spec.exclude.holidays[0].dates or ()),
            "source": LIBRARY,
        }
    ]
    assert "subdivision" not in spec_without("DE").to_dict()["exclude"]["holidays"][0]


def test_stored_spec_is_read_without_the_library(request: pytest.FixtureRequest) -> None:
    """A worker without the extra must be able to run what the API stored."""
    spec = spec_without("DE-BY")
    text = spec.to_json()
    request.getfixturevalue("no_library")
    assert Spec.from_json(text) == spec
    assert Spec.from_json(text).next(utc("2026-05-01")) == utc("2026-05-02T07:00")


def test_stored_spec_is_not_changed_by_a_later_release(request: pytest.FixtureRequest) -> None:
    spec = spec_without("DE-BY")
    text = spec.to_json()
    request.getfixturevalue("other_library")
    assert Spec.from_json(text) == spec
    assert written("DE-BY").dates == ("2026-01-02",)


def test_stored_spec_with_empty_dates_is_not_looked_up_again(no_library: None) -> None:
    """An empty list is a valid answer."""
    document = written({"country": "DE", "dates": []})
    assert document.dates == ()
    assert Spec.from_json(spec_without({"country": "DE", "dates": []}).to_json()).exclude.holidays == (document,)


def test_changed_copy_of_a_spec_is_not_looked_up_again(no_library: None) -> None:
    """Nor is an empty list in the document that the copy is made from."""
    spec = spec_without({"country": "DE", "dates": []})
    assert replace(spec, timezone="UTC").exclude == spec.exclude


def test_dates_can_be_listed_without_the_library(no_library: None) -> None:
    spec = spec_without({"country": "Narnia", "subdivision": "East", "dates": ["2026-05-01"], "source": "the lion"})
    assert spec.next(utc("2026-05-01")) == utc("2026-05-02T07:00")
    assert spec.exclude.holidays[0].source == "the lion"


# --- refused ----------------------------------------------------------------------------------------------------


def test_missing_library_error_has_the_install_command(no_library: None) -> None:
    with pytest.raises(InvalidSpec, match="the holidays library is not installed") as caught:
        spec_without("DE")
    assert caught.value.field == "exclude.holidays[0]"
    assert caught.value.hint == "pip install 'tompion[holidays]', or list the dates"


BAD: list[tuple[Any, str, str]] = [
    ("XX", "exclude.holidays[0]", "no holidays are available for 'XX'; expected an ISO 3166 country code"),
    ([""], "exclude.holidays[0]", "no holidays are available for ''; expected an ISO 3166 country code"),
    (["DE", "XX"], "exclude.holidays[1]", "no holidays are available for 'XX'"),
    ("DE-XX", "exclude.holidays[0]", "DE has no subdivision 'XX'; expected one of BB, BE, BW, BY"),
    ({"subdivision": "BY"}, "exclude.holidays[0]", "expected {country, subdivision} or 'DE-BY'"),
    ({"country": "DE", "region": "BY"}, "exclude.holidays[0]", "expected {country, subdivision} or 'DE-BY'"),
    ({"country": 49}, "exclude.holidays[0].country", "49 is not text; expected an ISO code such as DE, BY"),
    ({"country": "DE", "first_year": "2026"}, "exclude.holidays[0].first_year", "'2026'; expected 1970 to 2200"),
    ({"country": "DE", "first_year": 1969}, "exclude.holidays[0].first_year", "1969; expected 1970 to 2200"),
    ({"country": "DE", "first_year": True}, "exclude.holidays[0].first_year", "True; expected 1970 to 2200"),
    (
        {"country": "DE", "first_year": 2030, "last_year": 2029},
        "exclude.holidays[0].last_year",
        "2030 to 2029; expected 1 to 60 years",
    ),
    (
        {"country": "DE", "first_year": 2000, "last_year": 2000 + MAX_YEARS},
        "exclude.holidays[0].last_year",
        "2000 to 2060; expected 1 to 60 years",
    ),
    ({"country": "DE", "dates": "2026-05-01"}, "exclude.holidays[0].dates", "not a list of dates"),
    ({"country": "DE", "dates": [5]}, "exclude.holidays[0].dates", "not a list of dates"),
    ({"country": "DE", "dates": ["1 May"]}, "exclude.holidays[0].dates", "'1 May' is not a date"),
    ({"country": "DE", "dates": ["2026-05-01T09:00"]}, "exclude.holidays[0].dates", "is not a date"),
]


@pytest.mark.parametrize(("excluded", "field", "message"), BAD)
def test_unknown_country_or_subdivision_is_rejected(excluded: Any, field: str, message: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        spec_without(excluded)
    assert caught.value.field == field
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("excluded", "field"),
    [
        ({"country": "DE", "last_year": 2201}, "exclude.holidays[0].last_year"),
        ({"country": "DE", "subdivision": 5}, "exclude.holidays[0].subdivision"),
    ],
)
def test_error_names_the_invalid_part(excluded: Any, field: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        spec_without(excluded)
    assert caught.value.field == field


@pytest.mark.parametrize("name", ["__name__", "registry", "utils", "country_holidays", "HolidaySum"])
def test_other_names_of_the_library_are_not_countries(name: str) -> None:
    """``country_holidays(name)`` calls any attribute of the library: a str, a module, a function."""
    with pytest.raises(InvalidSpec):
        spec_without([name])


def test_other_classes_of_the_library_are_rejected() -> None:
    """Regression: it was accepted, and the spec excluded nothing."""
    with pytest.raises(InvalidSpec):
        spec_without("HolidayBase")


def test_holidays_document_is_looked_up_like_data() -> None:
    assert "2026-05-01" in written([HolidaysDocument("DE")]).dates


def test_all_supported_countries_can_be_looked_up() -> None:
    """Each country has its own code in the library, and all of it must work."""
    supported = holidays.list_supported_countries()
    assert len(supported) > 100
    for country in sorted(supported)[::25]:
        document = written({"country": country, "first_year": 2026, "last_year": 2026})
        assert all(day.startswith("2026") for day in document.dates), country
