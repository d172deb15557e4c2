"""Times as people write them: ``now``, ``2h``, ``3d ago``, ``tomorrow 9:00``, a date, or ISO 8601."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from tompion.cli.output.tables import now
from tompion.errors import InvalidSpec, InvalidTime, display

if TYPE_CHECKING:
    from tompion.cli.connection import Api

TIME_HELP = "2h, tomorrow 9:00, or ISO 8601"
_DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}
_DAY = re.compile(r"(yesterday|today|tomorrow)(?: (\d{1,2}:\d{2}(?::\d{2})?))?", re.ASCII)
_DURATION = re.compile(r"(in |\+|-)?([\d.]+[a-z][\da-z.]*)( ago)?", re.ASCII)
_WALL = re.compile(r"\d{4}-\d{2}-\d{2}(?:[tT ]\d{2}:\d{2}(?::\d{2})?)?", re.ASCII)


class ScheduleZone:
    """Zone of a schedule. It is read when a time first needs it."""

    def __init__(self, api: Api, schedule_id: str) -> None:
        self._api = api
        self._schedule_id = schedule_id

    def __call__(self) -> str:
        """Return the name of the zone."""
        return self._api.get(self._schedule_id).definition.spec.timezone or "UTC"


def resolve_time(text: str | None, zone: Callable[[], str], *, past: bool = False) -> Any:
    """Return a time as ISO 8601 with an offset. A text that is no time is returned unchanged, and the API rejects it.

    A wall time is in the zone. A duration is from now, or with ``past`` before now.
    """
    when = None if text is None else _read(text.strip().lower(), zone, past)
    return text if when is None else when.isoformat()


def resolve_fields(fields: dict[str, Any], zone: Callable[[], str]) -> dict[str, Any]:
    """Return the fields of a spec with times relative to now replaced. Other texts are the spec's own."""
    names = ("times", "start_at", "end_at")
    return fields | {name: _resolve_relative(fields[name], zone) for name in names if name in fields}


def utc() -> str:
    """Return the zone of times that belong to no schedule."""
    return "UTC"


def no_zone() -> str:
    """Reject a time that depends on a zone, because there are several schedules."""
    problem = "a date or time of day depends on the time zone, and the schedules may have several"
    raise InvalidTime(f"{problem}; add an offset such as Z, or use a duration such as 2h")


def _resolve_relative(value: Any, zone: Callable[[], str]) -> Any:
    if isinstance(value, list):
        return [_resolve_relative(item, zone) for item in value]
    if not isinstance(value, str) or _WALL.fullmatch(value):
        return value
    return resolve_time(value, zone)


def _read(text: str, zone: Callable[[], str], past: bool) -> datetime | None:
    """Return the instant of a text such as ``now``, ``tomorrow 9:00`` or ``2h``, or ``None`` if it has another form."""
    present = now().replace(microsecond=0)
    if text == "now":
        return present
    if match := _DAY.fullmatch(text):
        from tompion.sdk.zones import instant_at, local_time

        name = zone()
        day = local_time(present, name).date() + timedelta(days=_DAYS[match[1]])
        return instant_at(datetime.combine(day, _time_of_day(match[2] or "0:00")), name)
    if match := _DURATION.fullmatch(text):
        is_past = match[1] == "-" or bool(match[3]) or (past and match[1] is None)
        return _from_now(present, match[2], past=is_past)
    if _WALL.fullmatch(text):
        from tompion.sdk.zones import instant_at

        try:
            wall = datetime.fromisoformat(text.upper())
        except ValueError:
            return None
        return instant_at(wall, zone())
    return None


def _from_now(present: datetime, duration: str, *, past: bool) -> datetime | None:
    from tompion.spec.duration import parse_duration

    try:
        seconds = parse_duration(duration, field="time")
        return present - timedelta(seconds=seconds) if past else present + timedelta(seconds=seconds)
    except (InvalidSpec, OverflowError):
        return None


def _time_of_day(text: str) -> time:
    try:
        return time.fromisoformat(f"0{text}" if text[1] == ":" else text)
    except ValueError:
        raise InvalidTime(f"{display(text)} is not a time of day; expected 9:00 or 17:30") from None
