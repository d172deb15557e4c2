"""Instants as callers write them: aware datetimes, ISO text with an offset, or seconds since the epoch."""

from __future__ import annotations

from datetime import datetime

from tompion.encoding.instant import When
from tompion.errors import InvalidField, display

_FIRST_S, _LAST_S = -62_135_596_800, 253_402_300_799  # a datetime holds the years 1 to 9999


def epoch_ms(field: str, when: When) -> int:
    """Return an instant in milliseconds.  Raises :class:`~tompion.errors.InvalidField`."""
    if isinstance(when, str):
        try:
            when = datetime.fromisoformat(when)
        except ValueError:
            raise InvalidField(
                field, f"{display(when)} is not a time; expected ISO 8601 such as 2026-03-29T02:30:00Z"
            ) from None
    if isinstance(when, datetime):
        if when.tzinfo is None:
            raise InvalidField(field, f"{when.isoformat()} has no offset; add one, such as Z")
        milliseconds = round(when.timestamp() * 1000)
        if not _FIRST_S * 1000 <= milliseconds <= _LAST_S * 1000 + 999:  # because of its offset or its fraction
            raise InvalidField(field, f"{when.isoformat()} lies outside the years 1 to 9999, in UTC")
        return milliseconds
    if type(when) not in (int, float) or not _FIRST_S <= when <= _LAST_S:
        raise InvalidField(
            field, f"{display(when)} is not an instant; expected seconds since 1970, up to the year 9999"
        )
    return round(when * 1000)


def epoch_s(field: str, when: When) -> int:
    """Return an instant in whole seconds, rounded down."""
    return epoch_ms(field, when) // 1000
