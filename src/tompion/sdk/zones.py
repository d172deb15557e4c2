"""Conversion between instants and wall times, with the pinned time zone data."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from tompion.spec.datetime_text import first_instant, read_moment
from tompion.spec.zone.tables import load_zone


def local_time(when: datetime, zone: str | None) -> datetime:
    """Return an instant in a zone, with its offset there. ``None`` is UTC."""
    offset = load_zone(zone).offset_at(int(when.timestamp()))
    return when.astimezone(timezone(timedelta(seconds=offset)))


def instant_at(wall: datetime, zone: str | None) -> datetime:
    """Return the first instant at which a zone shows a wall time. In a gap, it is the first instant after it."""
    seconds = first_instant(read_moment(wall.isoformat(), field="time"), load_zone(zone))
    return datetime.fromtimestamp(seconds, UTC)
