"""Instants and wall times as datetimes. The store and the engine have them as numbers since the epoch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

When = datetime | str | int | float
"""An instant as callers write it: an aware datetime, ISO text with an offset, or seconds since the epoch."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a wall time has no zone


def datetime_s(seconds: float) -> datetime:
    """Return an instant in seconds as an aware datetime."""
    return EPOCH + timedelta(seconds=seconds)


def datetime_ms(milliseconds: float) -> datetime:
    """Return an instant in milliseconds as an aware datetime."""
    return EPOCH + timedelta(milliseconds=milliseconds)


def wall_datetime(local_s: int) -> datetime:
    """Return a wall time as a naive datetime."""
    return _NAIVE_EPOCH + timedelta(seconds=local_s)
