"""Parses dates and times to integers.

A time with an offset is an instant. One without is a wall time in the zone of the spec. A date alone is a whole day.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import NamedTuple

from tompion.encoding.instant import EPOCH
from tompion.errors import InvalidSpec, display
from tompion.spec.calendar.days import DAY
from tompion.spec.zone.tables import Zone

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}|\d{8}|\d{4}-?W\d{2}(?:-?\d)?", re.ASCII)
_ODD_SEPARATOR = re.compile(r"\d{4}-\d{2}-\d{2}[^T ]", re.ASCII)
_EXPECTED = "an ISO 8601 date or time such as 2026-03-29, 2026-03-29T09:00 or 2026-03-29T09:00+02:00"


class Moment(NamedTuple):
    """Whole seconds, and their kind: ``instant`` (UTC), ``wall`` or ``day`` (the wall time of its midnight)."""

    seconds: int
    kind: str
    fraction: bool = False


def moment_text(value: str | date | datetime, *, field: str) -> str:
    """Return a date or time as ISO text. Text is checked and returned unchanged."""
    if isinstance(value, datetime) and value.fold and value.tzinfo is None:
        raise InvalidSpec(
            f"{value} with fold=1", field=field, hint="add an offset, because ISO text cannot express fold"
        )
    text = value.isoformat() if isinstance(value, date) else value
    if not isinstance(text, str):
        raise InvalidSpec(f"{value!r} is not a date or time", field=field, expected=_EXPECTED)
    read_moment(text, field=field)
    return text


def read_moment(text: str, *, field: str, expected: str = _EXPECTED) -> Moment:
    """Read an ISO date or time."""
    if not text.isprintable() or _ODD_SEPARATOR.match(text):  # the standard library accepts any separator
        raise InvalidSpec(f"{display(text)} is not a date or time", field=field, expected=expected)
    try:
        value = datetime.fromisoformat(text)
        if value.tzinfo is not None:
            since = value.astimezone(UTC) - EPOCH
            return Moment(since.days * DAY + since.seconds, "instant", bool(since.microseconds))
    except (ValueError, OverflowError):
        raise InvalidSpec(f"{display(text)} is not a date or time", field=field, expected=expected) from None
    since = value.replace(tzinfo=UTC) - EPOCH
    kind = "day" if _DATE.fullmatch(text) else "wall"
    return Moment(since.days * DAY + since.seconds, kind, bool(since.microseconds))


def read_day(text: str, *, field: str) -> int:
    """Read an ISO date as the number of days since the epoch."""
    moment = read_moment(text, field=field, expected="a date such as 2026-12-25")
    if moment.kind != "day":
        raise InvalidSpec(f"{display(text)} is not a date", field=field, expected="a date such as 2026-12-25")
    return moment.seconds // DAY


def first_instant(moment: Moment, zone: Zone) -> int:
    """Return the first instant that is not before a moment."""
    if moment.kind == "instant":
        return moment.seconds + moment.fraction
    local = moment.seconds + moment.fraction
    return _instants(local, zone)[0]


def last_instant(moment: Moment, zone: Zone) -> int:
    """Return the last instant that is not after a moment. A day includes all of its instants."""
    if moment.kind == "instant":
        return moment.seconds
    if moment.kind == "day":
        return _instants(moment.seconds + DAY, zone)[0] - 1
    return _instants(moment.seconds, zone)[-1]


def _instants(local: int, zone: Zone) -> list[int]:
    """Return every instant at which a wall time occurs. If it is in a gap, return the first instant after it."""
    instants: list[int] = []
    for segment in range(zone.segment_at(local - 2 * DAY), zone.segment_at(local + 2 * DAY) + 1):
        instant = local - zone.offsets[segment]
        if zone.begin_of(segment) <= instant < zone.end_of(segment):
            instants.append(instant)
        elif not instants and instant < zone.begin_of(segment):
            return [zone.begin_of(segment)]
    return instants
