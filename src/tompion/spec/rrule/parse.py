"""Parses and checks the text of an RRULE. ``rrule.compiler`` compiles it.

Accepted are the rule alone (``FREQ=DAILY``), the rule as an iCalendar line (``RRULE:FREQ=DAILY``), and that line with a
``DTSTART`` line before it. Names and values may be in either case. An unknown part, a value out of range and a
combination that RFC 5545 forbids are rejected with the position, the expected text and, if there is a likely one, the
way out. Nothing is ignored, and nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import NoReturn, TypedDict, cast

from tompion.errors import InvalidSpec
from tompion.spec.calendar.days import DAY

FREQUENCIES = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY")
SUB_DAILY = frozenset(FREQUENCIES[4:])
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")

MAX_TEXT_CHARS = 8_192
"""Maximum length of the text. Every list of the RFC in full is shorter."""

MAX_COUNT = 100_000
"""The largest COUNT. Its last occurrence is found by counting once."""

MAX_INTERVAL = 999_999_999
"""The largest INTERVAL. In seconds it is 31 years."""

EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
MIN_START = (date.min.toordinal() - EPOCH_ORDINAL) * DAY
MAX_START = (date.max.toordinal() - EPOCH_ORDINAL) * DAY


class RruleParts(TypedDict, total=False):
    """The written parts under the names of the RFC. Lists are sorted and have no duplicates.

    A weekday is a pair: its ordinal (0 for every one, negative from the end) and its two letters. ``UNTIL`` is kept as
    written.
    """

    FREQ: str
    INTERVAL: int
    COUNT: int
    UNTIL: str
    WKST: str
    BYSECOND: tuple[int, ...]
    BYMINUTE: tuple[int, ...]
    BYHOUR: tuple[int, ...]
    BYDAY: tuple[tuple[int, str], ...]
    BYMONTHDAY: tuple[int, ...]
    BYYEARDAY: tuple[int, ...]
    BYWEEKNO: tuple[int, ...]
    BYMONTH: tuple[int, ...]
    BYSETPOS: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RruleText:
    """A parsed rule: its parts, and the wall times of its start and its UNTIL.

    ``timezone`` is the TZID of DTSTART, ``UTC`` if it ends in Z. ``until_utc``: UNTIL is an instant, not a wall time.
    """

    parts: RruleParts
    start: int | None
    timezone: str | None
    until: int | None
    until_utc: bool


# name → smallest and largest value, and whether the value may count from the end
_LISTS = {
    "BYSECOND": (0, 60, False),
    "BYMINUTE": (0, 59, False),
    "BYHOUR": (0, 23, False),
    "BYMONTHDAY": (1, 31, True),
    "BYYEARDAY": (1, 366, True),
    "BYWEEKNO": (1, 53, True),
    "BYMONTH": (1, 12, False),
    "BYSETPOS": (1, 366, True),
}
_NUMBERS = {"INTERVAL": MAX_INTERVAL, "COUNT": MAX_COUNT}
_NAMES = ("FREQ", *_NUMBERS, "UNTIL", "WKST", "BYDAY", *_LISTS)
_OTHER_LINES = {
    "EXDATE": "list the dates under exclude.dates",
    "EXRULE": "describe the exception under exclude.calendars",
    "RDATE": "list the additional times under times",
}

_LINE = re.compile(r"[^\r\n]+")
_PROPERTY = re.compile(r"(DTSTART|RRULE|EXDATE|EXRULE|RDATE)(?=[;:])([^:]*):", re.IGNORECASE)
_PARAMETER = re.compile(r"(TZID|VALUE)=\"?([^\";=]+)\"?", re.IGNORECASE)
_DATE = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})(?:T([0-9]{2})([0-9]{2})([0-9]{2})(Z?))?", re.IGNORECASE)
_NUMBER = re.compile(r"([+-]?)([0-9]{1,9})")
_WEEKDAY = re.compile(r"([+-]?[0-9]{1,2})?([A-Z]{2})")


def read_rrule(text: str, start: int | None = None) -> RruleText:
    """Read a rule, with or without its DTSTART line. ``start`` is the wall time that replaces a missing one."""
    if len(text) > MAX_TEXT_CHARS:
        _reject(f"the text has {len(text)} characters", MAX_TEXT_CHARS, f"at most {MAX_TEXT_CHARS}")
    rule: _RuleReader | None = None
    written: _When | None = None
    timezone: str | None = None
    for name, parameters, value, position in _lines(text):
        if name in _OTHER_LINES:
            _reject(f"{name} is not part of a rule", position, "RRULE and DTSTART", _OTHER_LINES[name])
        at = position + (len(name) + len(parameters) + 1 if name else 0)
        if name == "DTSTART":
            if written is not None:
                _reject("a second DTSTART", position, "one DTSTART and one RRULE")
            written, timezone = _read_start(parameters, value, position + len(name), at)
            continue
        if rule is not None:
            hint = "add the second rule to the list as a separate entry"
            _reject("a second rule", position, "one RRULE", hint)
        if parameters:
            _reject("RRULE has parameters", position + len(name), "RRULE: followed by the rule")
        rule = _RuleReader(value, at)
    if rule is None:
        _reject("the rule is missing", len(text), "FREQ=…", "for example FREQ=WEEKLY;BYDAY=MO,FR")
    start = start if written is None else written.local
    if start is not None and not MIN_START <= start < MAX_START:
        raise InvalidSpec(f"the start {start} is not a date", field="rrules", expected="a year from 1 to 9999")
    rule.check_combinations(start)
    until = rule.until
    return RruleText(
        rule.parts, start, timezone, None if until is None else until.end, until_utc=until is not None and until.utc
    )


def with_start_defaults(parts: RruleParts, start: int) -> RruleParts:
    """Add the parts that a rule leaves open and its start decides: the days, if no part selects any, and times."""
    whole = parts.copy()
    frequency = parts["FREQ"]
    day = date.fromordinal(start // DAY + EPOCH_ORDINAL)
    if not any(name in parts for name in ("BYWEEKNO", "BYYEARDAY", "BYMONTHDAY", "BYDAY")):
        if frequency == "WEEKLY":
            whole["BYDAY"] = ((0, WEEKDAYS[day.weekday()]),)
        elif frequency in {"MONTHLY", "YEARLY"}:
            whole["BYMONTHDAY"] = (day.day,)
            if frequency == "YEARLY":
                whole.setdefault("BYMONTH", (day.month,))
    if frequency not in SUB_DAILY:
        whole.setdefault("BYHOUR", (start % DAY // 3600,))
    if frequency not in {"MINUTELY", "SECONDLY"}:
        whole.setdefault("BYMINUTE", (start % 3600 // 60,))
    if frequency != "SECONDLY":
        whole.setdefault("BYSECOND", (start % 60,))
    return whole


def positions_to_indexes(numbers: Iterable[int], size: int) -> list[int]:
    """Return the indexes of positions among ``size`` items. Positions count from 1, or backwards from -1."""
    return sorted({number - 1 if number > 0 else size + number for number in numbers if -size <= number <= size})


@lru_cache(maxsize=256)
def positions_mask(numbers: tuple[int, ...], size: int) -> int:
    """Return the indexes of positions as a mask."""
    return mask_of(positions_to_indexes(numbers, size), size)


def mask_of(indexes: Iterable[int], length: int = 60) -> int:
    """Return a mask with these bits. Bits outside of its length are ignored."""
    mask = 0
    for index in indexes:
        if 0 <= index < length:
            mask |= 1 << index
    return mask


@lru_cache(maxsize=1_024)
def nth_mask(numbered: tuple[tuple[int, int], ...], weekday: int, size: int) -> int:
    """Return the n-th weekdays among ``size`` days as a mask. ``weekday`` is the weekday of the first day.

    ``numbered`` has pairs of n, negative from the end, and a weekday, 0 for Monday.
    """
    days = []
    for nth, wanted in numbered:
        if nth > 0:
            days.append((wanted - weekday) % 7 + 7 * (nth - 1))
        else:
            days.append(size - 1 - (weekday + size - 1 - wanted) % 7 + 7 * (nth + 1))
    return mask_of(days, size)


def week_of(day: int, parts: RruleParts) -> int:
    """Return the first day of the week of a day. Weeks begin on the weekday WKST."""
    return day - (day + 3 - WEEKDAYS.index(parts.get("WKST", "MO"))) % 7


def _lines(text: str) -> Iterator[tuple[str, str, str, int]]:
    """Yield property name (empty for a bare rule), parameters, value and position of each line that is not blank."""
    for match in _LINE.finditer(text):
        line = match[0].strip()
        if not line:
            continue
        position = match.start() + len(match[0]) - len(match[0].lstrip())
        property_match = _PROPERTY.match(line)
        if property_match:
            yield property_match[1].upper(), property_match[2], line[property_match.end() :], position
        else:
            yield "", "", line, position


@dataclass(frozen=True, slots=True)
class _When:
    """A date or a date with time. ``utc`` is true if it ends in Z."""

    local: int
    whole_day: bool
    utc: bool

    @property
    def end(self) -> int:
        """The last second that it covers. UNTIL is inclusive, and a date includes its whole day."""
        return self.local + DAY - 1 if self.whole_day else self.local


def _read_when(value: str, position: int, name: str) -> _When:
    """Parse a date, or a date with time."""
    expected = "a date with time such as 20260131T090000, or a date such as 20260131"
    match = _DATE.fullmatch(value)
    if match is None:
        _reject(f"{name} is {_quote(value)}", position, expected)
    year, month, day, hour, minute, second = (int(digits or 0) for digits in match.groups()[:6])
    try:
        # Second 60 is a leap second, which the RFC treats as 59 in systems without leap seconds.
        moment = datetime(year, month, day, hour, minute, min(second, 59) if second <= 60 else second)  # noqa: DTZ001 - a wall time has no zone
    except ValueError:
        _reject(f"{name} {value} does not exist", position, expected)
    local = (moment.toordinal() - EPOCH_ORDINAL) * DAY + moment.hour * 3600 + moment.minute * 60 + moment.second
    return _When(local, whole_day=match[4] is None, utc=bool(match[7]))


def _read_start(parameters: str, value: str, position: int, value_at: int) -> tuple[_When, str | None]:
    """Read the rest of a DTSTART line: its wall time, and the zone if it names one."""
    timezone = None
    for parameter in parameters.split(";")[1:]:
        position += 1
        match = _PARAMETER.fullmatch(parameter)
        if match is None:
            _reject(f"DTSTART has the parameter {_quote(parameter)}", position, "TZID=… or VALUE=…")
        if match[1].upper() == "TZID":
            timezone = match[2]
        elif match[2].upper() not in {"DATE", "DATE-TIME"}:
            _reject(f"DTSTART has the type {_quote(match[2])}", position, "VALUE=DATE or VALUE=DATE-TIME")
        position += len(parameter)
    start = _read_when(value, value_at, "DTSTART")
    if start.utc and timezone not in {None, "UTC"}:
        _reject(f"DTSTART is in {timezone} and in UTC", value_at + len(value) - 1, "a TZID or a Z, not both")
    return start, "UTC" if start.utc else timezone


class _RuleReader:
    """Reads ``NAME=value;NAME=value…`` and remembers the position of each part."""

    def __init__(self, rule: str, position: int) -> None:
        self.parts: RruleParts = {}
        self.until: _When | None = None
        self._positions: dict[str, int] = {}
        self._end = position + len(rule)
        for part in rule.split(";"):
            self._read_part(part, position)
            position += len(part) + 1

    def _read_part(self, part: str, position: int) -> None:
        """Parse one part of a rule, such as ``FREQ=DAILY``."""
        name, equals, value = part.partition("=")
        name = name.upper()
        if name not in _NAMES:
            problem = f"unknown part {_quote(name)}" if name else "a part is missing"
            hint = "RFC 7529 is not supported" if name in {"RSCALE", "SKIP"} else None
            _reject(problem, position, f"one of {', '.join(_NAMES)}", hint)
        if not equals or not value:
            _reject(f"{name} has no value", position + len(part), f"{name}=…")
        if name in self._positions:
            _reject(f"{name} is given twice", position, f"{name} once", "separate several values by commas")
        self._positions[name] = position
        self.parts.update(cast("RruleParts", {name: self._read_value(name, value, position + len(name) + 1)}))

    def _read_value(self, name: str, value: str, position: int) -> object:
        """Return the checked value of a part."""
        if name == "FREQ":
            return _read_word(name, value, position, FREQUENCIES)
        if name == "WKST":
            return _read_word(name, value, position, WEEKDAYS)
        if name == "UNTIL":
            self.until = _read_when(value, position, name)
            return value.upper()
        if name in _NUMBERS:
            return _read_number(name, value, position, (1, _NUMBERS[name], False))
        values = set[object]()
        for item in value.split(","):
            values.add(
                _read_weekday(item, position) if name == "BYDAY" else _read_number(name, item, position, _LISTS[name])
            )
            position += len(item) + 1
        return tuple(sorted(values, key=_calendar_order))

    def check_combinations(self, start: int | None) -> None:
        """Reject combinations that the RFC forbids. The error points at the part to remove."""
        parts = self.parts
        if "FREQ" not in parts:
            _reject("the rule has no FREQ", self._end, f"FREQ={'|'.join(FREQUENCIES)}")
        if "COUNT" in parts and "UNTIL" in parts:
            self._forbid(
                max("COUNT", "UNTIL", key=self._positions.__getitem__), "COUNT and UNTIL are both given", "one"
            )
        if "COUNT" in parts and (start is None or start < 0):
            problem = "COUNT needs a start to count from" if start is None else "COUNT counts from before 1970"
            self._forbid("COUNT", problem, "a DTSTART from 1970 on", "add DTSTART, set start_at, or use UNTIL")
        frequency = parts["FREQ"]
        if "BYWEEKNO" in parts and frequency != "YEARLY":
            self._forbid("BYWEEKNO", f"BYWEEKNO is given with FREQ={frequency}", "FREQ=YEARLY")
        if "BYYEARDAY" in parts and frequency in {"MONTHLY", "WEEKLY", "DAILY"}:
            self._forbid("BYYEARDAY", f"BYYEARDAY is given with FREQ={frequency}", "FREQ=YEARLY", "use FREQ=YEARLY")
        if "BYMONTHDAY" in parts and frequency == "WEEKLY":
            self._forbid("BYMONTHDAY", "BYMONTHDAY is given with FREQ=WEEKLY", "FREQ=MONTHLY", "use FREQ=MONTHLY")
        if any(ordinal for ordinal, _ in parts.get("BYDAY", ())):
            self._check_ordinals(frequency)
        if "BYSETPOS" in parts and not any(name.startswith("BY") and name != "BYSETPOS" for name in parts):
            self._forbid("BYSETPOS", "BYSETPOS is given alone", "another BY… part to select from")

    def _check_ordinals(self, frequency: str) -> None:
        if frequency not in {"YEARLY", "MONTHLY"}:
            hint = "leave the numbers out, or use FREQ=MONTHLY"
            self._forbid("BYDAY", f"BYDAY has a number and FREQ={frequency}", "weekdays without numbers", hint)
        if "BYWEEKNO" in self.parts:
            self._forbid("BYDAY", "BYDAY has a number and BYWEEKNO is given", "weekdays without numbers")

    def _forbid(self, name: str, problem: str, expected: str, hint: str | None = None) -> NoReturn:
        _reject(problem, self._positions[name], expected, hint)


def _read_word(name: str, value: str, position: int, words: tuple[str, ...]) -> str:
    word = value.upper()
    if word not in words:
        _reject(f"{name} is {_quote(value)}", position, f"one of {', '.join(words)}")
    return word


def _read_number(name: str, value: str, position: int, limits: tuple[int, int, bool]) -> int:
    lowest, highest, from_end = limits
    match = _NUMBER.fullmatch(value)
    number = int(match[2]) if match else -1
    if match is None or not lowest <= number <= highest or (match[1] and not from_end):
        expected = f"{lowest} to {highest}" + (f" or -{highest} to -{lowest}" if from_end else "")
        _reject(f"{name} is {_quote(value)}", position, expected)
    return -number if match[1] == "-" else number


def _read_weekday(value: str, position: int) -> tuple[int, str]:
    match = _WEEKDAY.fullmatch(value.upper())
    if match is None or match[2] not in WEEKDAYS or not (match[1] is None or 1 <= abs(int(match[1])) <= 53):
        expected = f"one of {', '.join(WEEKDAYS)}, perhaps after a number from 1 to 53 or -53 to -1"
        _reject(f"BYDAY is {_quote(value)}", position, expected)
    return int(match[1] or 0), match[2]


def _calendar_order(value: object) -> tuple[int, int]:
    """Return a sort key: numbers by value, weekdays from Monday on."""
    if isinstance(value, tuple):
        return value[0], WEEKDAYS.index(value[1])
    assert isinstance(value, int)
    return value, 0


def _quote(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")


def _reject(problem: str, position: int, expected: str, hint: str | None = None) -> NoReturn:
    raise InvalidSpec(problem, field="rrules", position=position, expected=expected, hint=hint)
