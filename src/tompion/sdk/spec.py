"""The public :class:`Spec`: a spec that is validated when it is created, with methods on datetimes.

:class:`Spec` is a :class:`~tompion.model.spec.SpecDocument` with a convenient constructor. The engine works on integer
seconds. Here they are datetimes in UTC, which compare and subtract correctly across clock changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import islice
from math import ceil, floor, isfinite
from typing import Any, Self

from tompion.encoding.instant import datetime_s
from tompion.encoding.strict_json import parse_strict_json
from tompion.errors import InvalidInput, InvalidSpec, InvalidTime, LimitExceeded, display
from tompion.model.spec import (
    CalendarDocument,
    Dialect,
    DstGap,
    DstOverlap,
    DstProfile,
    ExcludeDocument,
    Finding,
    IntervalDocument,
    JitterMode,
    NamedCalendar,
    SpecDocument,
    Tick,
)
from tompion.runtime.clock import SystemClock
from tompion.spec.calendar.days import HORIZON
from tompion.spec.compiler import calendars_by_name, compile_spec, zone_of
from tompion.spec.document import document_json, read_document
from tompion.spec.duration import parse_duration
from tompion.spec.explain.specs import explain
from tompion.spec.icalendar import read_icalendar
from tompion.spec.lint import lint
from tompion.spec.occurrence import occurrences
from tompion.spec.ticks import Ticks
from tompion.spec.zone.tables import TZDATA_VERSION

MAX_BETWEEN = 100_000
"""Default limit of :meth:`Spec.between`."""

__all__ = ["TZDATA_VERSION", "Spec", "read_icalendar"]

Calendars = NamedCalendar | Iterable[NamedCalendar] | Mapping[str, NamedCalendar]
When = datetime | int | float


@dataclass(frozen=True, init=False)
class Spec(SpecDocument):
    """A spec: which ticks exist.

    >>> from tompion import Spec
    >>> spec = Spec(cron="0 9 * * MON-FRI", timezone="Europe/Berlin")
    >>> spec.next(datetime.fromisoformat("2026-03-27T12:00:00+00:00")).isoformat()
    '2026-03-30T07:00:00+00:00'

    Every argument is optional and checked in the constructor, which raises :class:`~tompion.errors.InvalidSpec`. An
    instant is an aware :class:`~datetime.datetime` or a number of seconds since the epoch.

    Methods take ``schedule_id``, on which ``H`` and jitter depend, and ``calendars``, because a spec has only the names
    of its named calendars.
    """

    def __init__(  # noqa: PLR0913 - all fields of a spec, optional and by name
        self,
        *,
        cron: str | Iterable[str] = (),
        calendars: Mapping[str, Any] | CalendarDocument | Iterable[Mapping[str, Any] | CalendarDocument] = (),
        intervals: str | int | timedelta | Mapping[str, Any] | Iterable[object] | IntervalDocument = (),
        rrules: str | Iterable[str] = (),
        times: str | date | Iterable[str | date] = (),
        exclude: Mapping[str, Any] | ExcludeDocument | None = None,
        timezone: str | None = None,
        start_at: str | date | None = None,
        end_at: str | date | None = None,
        jitter_ms: int | str | timedelta = 0,
        jitter_mode: JitterMode = "symmetric",
        jitter_seed: str | None = None,
        dst_gap: DstGap | None = None,
        dst_overlap: DstOverlap = "auto",
        dst_profile: DstProfile | None = None,
        dialect: Dialect = "tompion",
    ) -> None:
        fields = {name: value for name, value in locals().items() if name in SpecDocument.__dataclass_fields__}
        SpecDocument.__init__(self, **read_document(fields))
        if not self.exclude.named:
            self.compile()
        else:  # the store resolves the names later, the rest can be checked now
            self.compile(calendars=[NamedCalendar(name) for name in self.exclude.named])

    @property
    def zone_name(self) -> str:
        """Return the name of the zone in which the spec is evaluated and displayed."""
        return zone_of(self).name

    def compile(self, *, schedule_id: str = "", calendars: Calendars = ()) -> Ticks:
        """Return the compiled form, which works on integer seconds. Equal specs share it."""
        return compile_spec(self, schedule_id=schedule_id, calendars=calendars)

    def next(self, after: When, *, schedule_id: str = "", calendars: Calendars = ()) -> datetime | None:
        """Return the first tick later than ``after``, or ``None``."""
        return _datetime(self.compile(schedule_id=schedule_id, calendars=calendars).next_epoch(_floor_s(after)))

    def prev(self, before: When, *, schedule_id: str = "", calendars: Calendars = ()) -> datetime | None:
        """Return the last tick earlier than ``before``, or ``None``."""
        return _datetime(self.compile(schedule_id=schedule_id, calendars=calendars).prev_epoch(_ceil_s(before)))

    def between(
        self,
        start: When,
        end: When,
        *,
        limit: int = MAX_BETWEEN,
        schedule_id: str = "",
        calendars: Calendars = (),
    ) -> list[datetime]:
        """Return all ticks from ``start`` to ``end``, both included.

        Raise :class:`~tompion.errors.LimitExceeded` if there are more than ``limit``.
        """
        ticks = self.compile(schedule_id=schedule_id, calendars=calendars)
        epochs = list(islice(ticks.between_epochs(_ceil_s(start), _floor_s(end)), _checked_count(limit) + 1))
        if len(epochs) > limit:
            raise LimitExceeded(
                f"more than {limit} ticks between {start} and {end}: use a larger limit= or a shorter range"
            )
        return [datetime_s(epoch) for epoch in epochs]

    def upcoming(
        self, n: int, after: When | None = None, *, schedule_id: str = "", calendars: Calendars = ()
    ) -> list[datetime]:
        """Return the next ``n`` ticks later than ``after`` (default: now)."""
        ticks = self.compile(schedule_id=schedule_id, calendars=calendars)
        return [
            datetime_s(tick) for tick in islice(ticks.between_epochs(_now_or(after) + 1, HORIZON), _checked_count(n))
        ]

    def occurrences(
        self, n: int, after: When | None = None, *, schedule_id: str = "", calendars: Calendars = ()
    ) -> list[Tick]:
        """Return the next ``n`` ticks with their wall time, fire time and DST adjustment."""
        ticks = self.compile(schedule_id=schedule_id, calendars=calendars)
        return list(islice(occurrences(self, ticks, _now_or(after), schedule_id), _checked_count(n)))

    def explain(self) -> str:
        """Return the spec in plain English."""
        return explain(self)

    def lint(
        self,
        *,
        now: When | None = None,
        min_interval: str | int | timedelta | None = None,
        schedule_id: str = "",
        calendars: Calendars = (),
    ) -> list[Finding]:
        """Return likely errors: never fires, DST surprises, uneven steps, shorter than ``min_interval``."""
        min_interval_s = None if min_interval is None else parse_duration(min_interval, field="min_interval")
        if min_interval_s is not None and min_interval_s < 0:
            raise InvalidInput(f"min_interval is {display(min_interval)}: it must not be negative")
        return lint(
            self,
            now=_now_or(now),
            min_interval_s=min_interval_s,
            schedule_id=schedule_id,
            calendars=calendars_by_name(calendars),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as JSON-ready data, without default values."""
        return document_json(self)

    def to_json(self) -> str:
        """Return the spec as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return a spec from the data of :meth:`to_dict`."""
        if not isinstance(data, Mapping):
            raise InvalidSpec(f"{display(data)} is not a spec", expected="a JSON object")
        unknown = [str(name) for name in data if name not in SpecDocument.__dataclass_fields__]
        if unknown:
            raise InvalidSpec(
                f"unknown field {display(unknown[0])}",
                expected=f"one of {', '.join(SpecDocument.__dataclass_fields__)}",
            )
        return cls(**{name: value for name, value in data.items() if value is not None})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return a spec from JSON text."""
        try:
            data = parse_strict_json(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise InvalidSpec(f"not JSON: {error}") from None
        return cls.from_dict(data)


def _checked_count(n: int) -> int:
    """Return the checked number of ticks."""
    if type(n) is not int or n < 0:
        raise InvalidInput(f"{display(n)} ticks: expected a whole number of 0 or more")
    return n


def _now_or(when: When | None) -> int:
    return floor(SystemClock().now()) if when is None else _floor_s(when)


def _datetime(epoch: int | None) -> datetime | None:
    return None if epoch is None else datetime_s(epoch)


def _seconds(when: When) -> float:
    if isinstance(when, datetime):
        if when.tzinfo is None:
            raise InvalidTime(
                f"{when.isoformat()} has no time zone: pass an aware datetime, or seconds since the epoch"
            )
        return when.timestamp()
    if type(when) not in (int, float) or not _is_finite(when):
        raise InvalidTime(f"{display(when)} is not an instant: pass an aware datetime, or seconds since the epoch")
    return when


def _is_finite(number: float) -> bool:
    try:
        return isfinite(number)
    except OverflowError:  # an integer that no float can represent
        return False


def _floor_s(when: When) -> int:
    """Return the last whole second that is not after an instant."""
    return floor(_seconds(when))


def _ceil_s(when: When) -> int:
    """Return the first whole second that is not before an instant."""
    return ceil(_seconds(when))
