"""Cron strings in three dialects, parsed without guessing.

========== ======================================= =============================================
dialect     fields                                  day of month and day of week
========== ======================================= =============================================
tompion     5, 6 = seconds first, 7 = and year last OR if neither begins with ``*``/``?``, ``+`` = AND
quartz      6 = seconds first, 7 = and year last    one of them must be ``?``
temporal    5, 6 = *year* last, 7 = seconds, year   always AND
========== ======================================= =============================================

A string that could mean two things (six fields that end in a year) is rejected with an error that shows how to write
either.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from tompion.errors import InvalidSpec
from tompion.model.spec import Dialect, IntervalDocument
from tompion.spec.calendar.days import ALL_YEARS, Days, select_days
from tompion.spec.calendar.fields import (
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    HOUR,
    MINUTE,
    MONTH,
    SECOND,
    YEAR,
    Field,
    FieldKind,
    parse_field,
    whole_field,
)
from tompion.spec.calendar.times import DayTimes, select_times
from tompion.spec.duration import parse_duration

MAX_TEXT_CHARS = 1_000
"""Maximum length of a cron string."""

INTERNED_RULES = 4_096

SHORTHANDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

_KINDS: dict[tuple[Dialect, int], tuple[FieldKind, ...]] = {
    ("tompion", 5): (MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK),
    ("tompion", 6): (SECOND, MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK),
    ("tompion", 7): (SECOND, MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK, YEAR),
    ("quartz", 6): (SECOND, MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK),
    ("quartz", 7): (SECOND, MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK, YEAR),
    ("temporal", 5): (MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK),
    ("temporal", 6): (MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK, YEAR),
    ("temporal", 7): (SECOND, MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK, YEAR),
}
_ANY_YEAR = whole_field(YEAR)
_ZONE_PREFIX = re.compile(r"(?:CRON_)?TZ=(\S*)\s*")
_COMMENT = re.compile(r"(?:^|\s)#.*$", re.DOTALL)


class ClockFields:
    """The time fields of a rule, with the table of times unless it depends on an ``H``."""

    __slots__ = ("hashed", "hour", "minute", "second", "times", "wildcard")

    def __init__(self, second: Field, minute: Field, hour: Field) -> None:
        self.second: Field = second
        self.minute: Field = minute
        self.hour: Field = hour
        self.wildcard: bool = second.starred or minute.starred or hour.starred
        self.hashed: bool = second.hashed or minute.hashed or hour.hashed
        self.times: DayTimes | None = None if self.hashed else select_times(second.mask, minute.mask, hour.mask)

    def times_for(self, schedule_id: str) -> DayTimes:
        """Return the times of day, with every ``H`` resolved for a schedule."""
        return self.times or select_times(
            self.second.mask_for(schedule_id), self.minute.mask_for(schedule_id), self.hour.mask_for(schedule_id)
        )


class DateFields:
    """The date fields of a rule, with the table of days unless it depends on an ``H``.

    With ``either``, a day that matches one of the two day fields matches.
    """

    __slots__ = ("day_of_month", "day_of_week", "days", "either", "hashed", "month", "year")

    def __init__(self, day_of_month: Field, month: Field, day_of_week: Field, year: Field, either: bool) -> None:
        self.day_of_month: Field = day_of_month
        self.month: Field = month
        self.day_of_week: Field = day_of_week
        self.year: Field = year
        self.either: bool = either
        self.hashed: bool = day_of_month.hashed or month.hashed or day_of_week.hashed
        self.days: Days | None = None if self.hashed else self._select("")

    def days_for(self, schedule_id: str) -> Days:
        """Return the days, with every ``H`` resolved for a schedule."""
        return self.days or self._select(schedule_id)

    def _select(self, schedule_id: str) -> Days:
        return select_days(
            self.day_of_month.mask_for(schedule_id),
            self.day_of_month.rules,
            self.day_of_week.mask_for(schedule_id),
            self.day_of_week.rules,
            self.month.mask_for(schedule_id),
            # every year, including the last hours of the range, where it is already 2201 in the east
            ALL_YEARS if self.year is _ANY_YEAR or self.year.full else self.year.mask,
            self.either,
        )


class CronRule(NamedTuple):
    """A parsed cron string: its time and date fields, which many rules share, and its zone if it names one."""

    clock: ClockFields
    dates: DateFields
    zone: str | None = None

    @property
    def fields(self) -> tuple[Field, ...]:
        """All seven fields in the order of a cron string."""
        clock, dates = self.clock, self.dates
        return (
            *(clock.second, clock.minute, clock.hour),
            *(dates.day_of_month, dates.month, dates.day_of_week, dates.year),
        )

    @property
    def second(self) -> Field:
        """The second field, ``0`` if the string has none."""
        return self.clock.second

    @property
    def minute(self) -> Field:
        """The minute field."""
        return self.clock.minute

    @property
    def hour(self) -> Field:
        """The hour field."""
        return self.clock.hour

    @property
    def day_of_month(self) -> Field:
        """The day-of-month field."""
        return self.dates.day_of_month

    @property
    def month(self) -> Field:
        """The month field."""
        return self.dates.month

    @property
    def day_of_week(self) -> Field:
        """The day-of-week field."""
        return self.dates.day_of_week

    @property
    def year(self) -> Field:
        """The year field, ``*`` if the string has none."""
        return self.dates.year

    @property
    def either_day(self) -> bool:
        """True if a match of one of the two day fields is enough."""
        return self.dates.either

    @property
    def wildcard(self) -> bool:
        """The DST class: true if second, minute or hour begins with ``*``."""
        return self.clock.wildcard

    @property
    def hashed(self) -> bool:
        """True if an ``H`` makes the rule depend on the schedule's id."""
        return self.clock.hashed or self.dates.hashed


@lru_cache(maxsize=INTERNED_RULES)
def parse_cron(text: str, dialect: Dialect = "tompion") -> CronRule | IntervalDocument:
    """Parse a cron string. ``@every`` gives an interval. Raises :class:`InvalidSpec`."""
    try:
        return _parse(text, dialect)
    except InvalidSpec as error:
        raise error.located(field="cron", text=text) from None


def _parse(text: str, dialect: Dialect) -> CronRule | IntervalDocument:
    if len(text) > MAX_TEXT_CHARS:
        raise InvalidSpec(f"{len(text)} characters", expected=f"at most {MAX_TEXT_CHARS}")
    body, shift, zone = text, 0, None
    if "=" in text:
        body, shift, zone = _without_zone(text, dialect)
    if "#" in body:
        body = body[: body.index("#")] if dialect == "temporal" else _COMMENT.sub("", body)
    if "@" in body and body.lstrip().startswith("@"):
        return _parse_shorthand(body, shift, zone, dialect)
    return _parse_fields(body, shift, zone, dialect)


def _without_zone(text: str, dialect: Dialect) -> tuple[str, int, str | None]:
    """Split off a ``CRON_TZ=`` or ``TZ=`` prefix."""
    start = len(text) - len(text.lstrip())
    match = _ZONE_PREFIX.match(text, start)
    if match is None:
        return text, 0, None
    if dialect == "quartz":
        raise InvalidSpec(
            "a time zone prefix", position=start, hint="this dialect has no zone prefix: set timezone instead"
        )
    if not match[1]:
        raise InvalidSpec("no time zone", position=match.start(1), expected="a zone after '='")
    return text[match.end() :], match.end(), match[1]


def _parse_shorthand(body: str, shift: int, zone: str | None, dialect: Dialect) -> CronRule | IntervalDocument:
    """Parse a name such as ``@daily``, or ``@every`` with a duration."""
    position = shift + body.index("@")
    words = body.split()
    name = words[0].lower()
    shorthands = ", ".join(SHORTHANDS)
    if dialect == "quartz":
        raise InvalidSpec("a shorthand", position=position, expected="6 or 7 fields", hint="Quartz has no @ names")
    if name == "@every" and len(words) == 2:
        return _parse_every(words[1], body.index(words[1], body.index("@") + 6) + shift, zone)
    if name == "@every":
        raise InvalidSpec("@every takes one duration", position=position, expected="such as @every 1h30m")
    if name == "@reboot":
        raise InvalidSpec(
            "@reboot is not a time",
            position=position,
            expected=shorthands,
            hint="trigger the schedule when your service starts",
        )
    if name not in SHORTHANDS or len(words) != 1:
        raise InvalidSpec(
            f"{body.strip()[:40]!r} is not a shorthand", position=position, expected=f"{shorthands}, @every"
        )
    return _parse_fields(SHORTHANDS[name], shift, zone, "tompion")


def _parse_every(text: str, position: int, zone: str | None) -> IntervalDocument:
    """Parse the duration of ``@every``, with an optional phase after a slash."""
    if zone is not None:
        raise InvalidSpec("a time zone on @every", position=0, hint="an interval is counted in UTC: drop the prefix")
    every, slash, offset = text.partition("/")
    try:
        every_s = parse_duration(every, field="@every")
    except InvalidSpec as error:
        raise error.located(shift=position) from None
    try:
        offset_s = parse_duration(offset, field="@every") if slash else 0
    except InvalidSpec as error:
        raise error.located(shift=position + len(every) + 1) from None
    if every_s < 1:
        raise InvalidSpec("an interval of 0", position=position, expected="1s or more")
    if offset_s >= every_s:
        raise InvalidSpec(
            f"a phase of {offset}", position=position + len(every) + 1, expected=f"less than the interval of {every}"
        )
    return IntervalDocument(every_s, offset_s)


def _parse_fields(body: str, shift: int, zone: str | None, dialect: Dialect) -> CronRule:
    """Parse the fields of an expression. ``shift`` is the position of ``body`` in the text, for error messages."""
    texts = body.split()
    kinds = _KINDS.get((dialect, len(texts)))
    if kinds is None or (dialect == "tompion" and len(texts) == 6):
        kinds = _field_kinds(texts, body, shift, dialect)
    second = texts.pop(0) if kinds[0] is SECOND else "0"
    year = texts.pop() if kinds[-1] is YEAR else "*"
    minute, hour, day_of_month, month, day_of_week = texts
    try:
        clock = _clock_fields(second, minute, hour, dialect)
        dates = _date_fields(day_of_month, month, day_of_week, year, dialect)
    except InvalidSpec as error:
        raise error.located(shift=shift + _field_column(body, kinds, error, dialect)) from None
    if dialect == "quartz" and (day_of_month == "?") == (day_of_week == "?"):
        raise InvalidSpec(
            "exactly one of day of month and day of week must be '?'",
            position=shift + _columns(body)[3],
            hint="write '?' for the one that does not matter",
        )
    return CronRule(clock, dates, zone)


@lru_cache(maxsize=INTERNED_RULES)
def _clock_fields(second: str, minute: str, hour: str, dialect: Dialect) -> ClockFields:
    return ClockFields(
        parse_field(SECOND, second, dialect), parse_field(MINUTE, minute, dialect), parse_field(HOUR, hour, dialect)
    )


@lru_cache(maxsize=INTERNED_RULES)
def _date_fields(day_of_month: str, month: str, day_of_week: str, year: str, dialect: Dialect) -> DateFields:
    together = dialect == "tompion" and day_of_week.startswith("+")
    by_date = parse_field(DAY_OF_MONTH, day_of_month, dialect)
    months = parse_field(MONTH, month, dialect)
    by_weekday = parse_field(DAY_OF_WEEK, day_of_week[1:] if together else day_of_week, dialect)
    either = dialect == "tompion" and not (together or by_date.unrestricted or by_weekday.unrestricted)
    return DateFields(by_date, months, by_weekday, parse_field(YEAR, year, dialect), either)


def _field_kinds(texts: list[str], body: str, shift: int, dialect: Dialect) -> tuple[FieldKind, ...]:
    """Accept six fields if they are unambiguous. Reject every other unusual count with a way out."""
    if dialect == "tompion" and len(texts) == 6:
        if not re.search(r"\d{4}", texts[5]):
            return _KINDS["tompion", 6]
        raise InvalidSpec(
            "6 fields ending in a year",
            position=shift + body.rindex(texts[5]),
            expected="6 fields that begin with seconds",
            hint="write 7 fields (seconds first, year last), or dialect='temporal'",
        )
    wanted = {
        "tompion": "5 (minute hour day month weekday), 6 (seconds first) or 7 (seconds first, year last)",
        "quartz": "6 (seconds first) or 7 (and year last)",
        "temporal": "5, 6 (year last) or 7 (seconds first, year last)",
    }[dialect]
    hint = None
    if dialect == "quartz" and len(texts) == 5:
        hint = "Quartz begins with seconds: put '0' in front"
    elif not texts:
        hint = "for example '0 9 * * MON-FRI'"
    raise InvalidSpec(
        f"{len(texts)} field{'' if len(texts) == 1 else 's'}",
        position=shift if texts else None,
        expected=wanted,
        hint=hint,
    )


def _field_column(body: str, kinds: tuple[FieldKind, ...], error: InvalidSpec, dialect: Dialect) -> int:
    """Return the column in ``body`` at which the field of an error begins."""
    names = [kind.name for kind in kinds]
    column = _columns(body)[names.index((error.field or "").partition(".")[0])]
    return column + (dialect == "tompion" and body[column] == "+")


def _columns(body: str) -> list[int]:
    """Return the column of each field."""
    return [match.start() for match in re.finditer(r"\S+", body)]
