"""Public holidays, looked up once.

The ``holidays`` library (an extra) is used when a spec is *created*. The dates are stored in the spec, so a later
release of the library never moves a fire. Without a range of years, the dates reach from the year before the pinned
time zone data to ten years after it. The linter reports when they end.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from tompion.errors import InvalidSpec, display
from tompion.model.spec import HolidaysDocument
from tompion.spec.calendar.days import FIRST_YEAR, LAST_YEAR
from tompion.spec.calendar.structured import check_unicode
from tompion.spec.datetime_text import read_day
from tompion.spec.zone.tables import TZDATA_VERSION

YEARS_BEHIND = 1
YEARS_AHEAD = 10
MAX_YEARS = 60
"""Maximum number of years of holidays in one spec."""

_KEYS = ("country", "subdivision", "first_year", "last_year", "dates", "source")


def read_holidays(value: object, path: str) -> HolidaysDocument:
    """Read ``"DE"``, ``"DE-BY"`` or an object, and look up the dates unless they are given."""
    if isinstance(value, HolidaysDocument):
        value = holidays_json(value)
    elif isinstance(value, str):
        code, _dash, part = value.partition("-")
        value = {"country": code, "subdivision": part or None}
    if not isinstance(value, Mapping) or "country" not in value or not set(value) <= set(_KEYS):
        raise InvalidSpec(
            f"{display(value)} is not a country", field=path, expected="{country, subdivision} or 'DE-BY'"
        )
    country, subdivision = value["country"], value.get("subdivision")
    for name, code in (("country", country), ("subdivision", "" if subdivision is None else subdivision)):
        if not isinstance(code, str):
            raise InvalidSpec(
                f"{display(code)} is not text", field=f"{path}.{name}", expected="an ISO code such as DE, BY"
            )
    first, last = _years(value, path)
    if value.get("dates") is not None:
        source = str(value.get("source", ""))
        for name, text in (("country", country), ("subdivision", subdivision or ""), ("source", source)):
            check_unicode(text, f"{path}.{name}")
        return HolidaysDocument(country, subdivision, first, last, _read_dates(value, path), source)
    dates, source = _look_up(country, subdivision, first, last, path)
    return HolidaysDocument(country, subdivision, first, last, dates, source)


def holidays_json(holidays: HolidaysDocument) -> dict[str, Any]:
    """Return holidays as JSON-ready data, including dates."""
    data: dict[str, Any] = {"country": holidays.country}
    if holidays.subdivision is not None:
        data["subdivision"] = holidays.subdivision
    return data | {
        "first_year": holidays.first_year,
        "last_year": holidays.last_year,
        "dates": None if holidays.dates is None else list(holidays.dates),
        "source": holidays.source,
    }


def _years(value: Mapping[str, Any], path: str) -> tuple[int, int]:
    release = int(TZDATA_VERSION[:4])
    first, last = value.get("first_year"), value.get("last_year")
    first = release - YEARS_BEHIND if first is None else first
    last = release + YEARS_AHEAD if last is None else last
    for name, year in (("first_year", first), ("last_year", last)):
        if not isinstance(year, int) or not FIRST_YEAR <= year <= LAST_YEAR:
            raise InvalidSpec(f"{display(year)}", field=f"{path}.{name}", expected=f"{FIRST_YEAR} to {LAST_YEAR}")
    if not 0 <= last - first < MAX_YEARS:
        raise InvalidSpec(f"{first} to {last}", field=f"{path}.last_year", expected=f"1 to {MAX_YEARS} years")
    return first, last


def _read_dates(value: Mapping[str, Any], path: str) -> tuple[str, ...]:
    dates = value["dates"]
    if not isinstance(dates, list | tuple) or not all(isinstance(date, str) for date in dates):
        raise InvalidSpec("not a list of dates", field=f"{path}.dates", expected="dates such as 2026-12-25")
    for date in dates:
        read_day(date, field=f"{path}.dates")
    return tuple(dates)


def _look_up(country: str, subdivision: str | None, first: int, last: int, path: str) -> tuple[tuple[str, ...], str]:
    """Return the holidays of a country and the version of the library."""
    try:
        library = import_module("holidays")
    except ImportError:
        raise InvalidSpec(
            "the holidays library is not installed",
            field=path,
            hint="pip install 'tompion[holidays]', or list the dates",
        ) from None
    supported = library.list_supported_countries()
    if country not in supported:
        raise InvalidSpec(
            f"no holidays are available for {display(country)}",
            field=path,
            expected="an ISO 3166 country code such as DE",
            hint=f"did you mean {country.upper()!r}?" if country.upper() in supported else None,
        )
    if subdivision is not None and subdivision not in supported[country]:
        subdivisions = ", ".join(supported[country]) or "none"
        raise InvalidSpec(
            f"{country} has no subdivision {display(subdivision)}", field=path, expected=f"one of {subdivisions}"
        )
    days = library.country_holidays(country, subdiv=subdivision, years=range(first, last + 1))
    return tuple(day.isoformat() for day in sorted(days)), f"holidays {library.__version__}"
