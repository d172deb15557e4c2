"""Reads and writes spec documents: loose Python or JSON in, one checked shape out.

``read_document`` accepts one string or a list, a timedelta or ``"15m"``, a datetime or ISO text. ``document_json``
writes a document back without defaults. Reading the result gives an equal document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from datetime import date, timedelta
from typing import Any, TypeVar

from tompion.errors import InvalidSpec, display
from tompion.model.spec import (
    ANCHORS,
    CALENDAR_FIELDS,
    DIALECTS,
    DST_GAPS,
    DST_OVERLAPS,
    DST_PROFILES,
    JITTER_MODES,
    CalendarDocument,
    ExcludeDocument,
    HolidaysDocument,
    IntervalDocument,
    SpecDocument,
    WindowDocument,
)
from tompion.spec.calendar.days import HORIZON
from tompion.spec.calendar.structured import check_unicode, read_calendar
from tompion.spec.datetime_text import moment_text, read_day, read_moment
from tompion.spec.duration import duration_text, parse_duration, parse_duration_ms
from tompion.spec.holidays import holidays_json, read_holidays

MAX_SOURCES = 1_000
"""Maximum number of sources of one kind in a spec."""

MAX_DATES = 10_000
"""Maximum number of times, dates or windows in one list."""

MAX_JITTER_MS = 366 * 86_400_000
MAX_SEED = 1_000

T = TypeVar("T")
FIELDS = tuple(field.name for field in fields(SpecDocument))
_DEFAULTS = {name: getattr(SpecDocument(), name) for name in FIELDS}


def read_document(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checked fields of a document. Unknown fields are rejected."""
    for name in data:
        if name not in FIELDS:
            raise InvalidSpec(f"unknown field {name!r}", expected=f"one of {', '.join(FIELDS)}")
    checked: dict[str, Any] = {}
    for name, value in data.items():
        if value is not None and value != ():
            checked[name] = _READERS[name](value)
    _check_completion(checked)
    return checked


def read_spec(data: Mapping[str, Any]) -> SpecDocument:
    """Return the document of loose data. Raises :class:`InvalidSpec`."""
    return SpecDocument(**read_document(data))


def document_json(document: SpecDocument) -> dict[str, Any]:
    """Return a document as JSON-ready data without defaults."""
    data: dict[str, Any] = {}
    for name, default in _DEFAULTS.items():
        value = getattr(document, name)
        if value != default:
            data[name] = _WRITERS.get(name, _plain)(value)
    return data


def _many(
    value: object, read: Callable[[Any, str], T], path: str, limit: int, one: type | tuple[type, ...]
) -> tuple[T, ...]:
    """Read one value or a list of them."""
    if isinstance(value, one):
        value = [value]
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
        raise InvalidSpec(f"{display(value)} is not a list", field=path, expected="one value or a list")
    elements = list(value)
    if len(elements) > limit:
        raise InvalidSpec(f"{len(elements)} elements", field=path, expected=f"at most {limit}")
    return tuple(read(element, f"{path}[{index}]") for index, element in enumerate(elements))


def _text(value: object, path: str) -> str:
    if not isinstance(value, str):
        raise InvalidSpec(f"{display(value)} is not text", field=path, expected="text")
    check_unicode(value, path)
    return value


def _choice(path: str, choices: tuple[str, ...]) -> Callable[[Any], str]:
    def read(value: object) -> str:
        if value not in choices:
            raise InvalidSpec(display(value), field=path, expected=f"one of {', '.join(choices)}")
        return str(value)

    return read


def _read_interval(value: object, path: str) -> IntervalDocument:
    """Return a checked interval."""
    if isinstance(value, IntervalDocument):
        value = {"every": value.every_s, "offset": value.offset_s, "anchor": value.anchor}
    elif isinstance(value, str):
        every_text, slash, phase = value.partition("/")
        value = {"every": every_text, "offset": phase if slash else 0}
    elif isinstance(value, int | timedelta) and not isinstance(value, bool):
        value = {"every": value}
    if not isinstance(value, Mapping) or "every" not in value or not set(value) <= {"every", "offset", "anchor"}:
        raise InvalidSpec(
            f"{display(value)} is not an interval", field=path, expected="{every, offset, anchor} or '15m/5m'"
        )
    offset, anchor = value.get("offset"), value.get("anchor")
    every = parse_duration(value["every"], field=f"{path}.every")
    offset = 0 if offset is None else parse_duration(offset, field=f"{path}.offset")
    anchor = "epoch" if anchor is None else anchor
    if every > HORIZON:
        raise InvalidSpec(display(value["every"]), field=f"{path}.every", expected=f"at most {HORIZON} seconds")
    if every < 1:
        raise InvalidSpec(display(value["every"]), field=f"{path}.every", expected="1s or more")
    if anchor not in ANCHORS:
        raise InvalidSpec(display(anchor), field=f"{path}.anchor", expected="epoch or completion")
    if not 0 <= offset < every:
        raise InvalidSpec(f"{display(value['offset'])}", field=f"{path}.offset", expected="less than the interval")
    if anchor == "completion" and offset:
        raise InvalidSpec("an offset after completion", field=f"{path}.offset", expected="no offset")
    return IntervalDocument(every, offset, anchor)


def _check_completion(checked: Mapping[str, Any]) -> None:
    """Reject a fixed delay in a union, because its ticks depend on the ends of runs."""
    intervals = checked.get("intervals", ())
    sources = sum(len(checked.get(name, ())) for name in ("cron", "calendars", "intervals", "rrules", "times"))
    if sources > 1 and any(interval.anchor == "completion" for interval in intervals):
        raise InvalidSpec(
            "a fixed delay (anchor 'completion') with other sources",
            field="intervals",
            expected="it as the only source",
            hint="use two schedules",
        )


def _read_time(value: object, path: str) -> str:
    text = _read_moment_text(value, path)
    moment = read_moment(text, field=path)
    if moment.fraction:
        raise InvalidSpec(f"{text!r} is not a whole second", field=path, expected="whole seconds")
    return text


def _read_moment_text(value: object, path: str) -> str:
    if not isinstance(value, str | date):
        raise InvalidSpec(f"{display(value)} is not a date or time", field=path, expected="ISO text or a datetime")
    return moment_text(value, field=path)


def _read_date(value: object, path: str) -> str:
    text = value if isinstance(value, str) else _read_moment_text(value, path)
    read_day(text, field=path)
    return text


def _read_window(value: object, path: str) -> WindowDocument:
    if isinstance(value, WindowDocument):
        value = {"from": value.begin, "to": value.end, "note": value.note}
    if not isinstance(value, Mapping) or not {"from", "to"} <= set(value) <= {"from", "to", "note"}:
        raise InvalidSpec(f"{display(value)} is not a window", field=path, expected="{from, to, note}")
    begin, end = (_read_moment_text(value[name], f"{path}.{name}") for name in ("from", "to"))
    return WindowDocument(begin, end, _text(value.get("note", ""), f"{path}.note"))


def _read_exclude(value: object) -> ExcludeDocument:
    """Return checked exclusions."""
    names = tuple(field.name for field in fields(ExcludeDocument))
    if isinstance(value, ExcludeDocument):
        value = {name: getattr(value, name) for name in names}
    if not isinstance(value, Mapping):
        raise InvalidSpec(
            f"{display(value)} is not an object", field="exclude", expected=f"an object with {', '.join(names)}"
        )
    for name in value:
        if name not in names:
            raise InvalidSpec(f"unknown field {name!r}", field="exclude", expected=f"one of {', '.join(names)}")
    path = "exclude."

    def entries(name: str) -> object:
        return () if value.get(name) is None else value[name]

    return ExcludeDocument(
        calendars=_many(
            entries("calendars"),
            lambda element, where: read_calendar(element, field=where),
            path + "calendars",
            MAX_SOURCES,
            (Mapping, CalendarDocument),
        ),
        dates=_many(entries("dates"), _read_date, path + "dates", MAX_DATES, (str, date)),
        windows=_many(entries("windows"), _read_window, path + "windows", MAX_DATES, (Mapping, WindowDocument)),
        holidays=_many(
            entries("holidays"), read_holidays, path + "holidays", MAX_SOURCES, (str, Mapping, HolidaysDocument)
        ),
        named=_many(entries("named"), _text, path + "named", MAX_SOURCES, str),
    )


def _read_jitter(value: object) -> int:
    value = parse_duration_ms(value, field="jitter_ms")
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_JITTER_MS:
        raise InvalidSpec(
            display(value), field="jitter_ms", expected=f"a whole number of milliseconds from 0 to {MAX_JITTER_MS}"
        )
    return value


def _read_seed(value: object) -> str:
    seed = _text(value, "jitter_seed")
    if len(seed) > MAX_SEED:
        raise InvalidSpec(f"{len(seed)} characters", field="jitter_seed", expected=f"at most {MAX_SEED}")
    return seed


def _read_calendars(value: object) -> tuple[CalendarDocument, ...]:
    return _many(
        value,
        lambda element, path: read_calendar(element, field=path),
        "calendars",
        MAX_SOURCES,
        (Mapping, CalendarDocument),
    )


_READERS: dict[str, Callable[[Any], Any]] = {
    "cron": lambda value: _many(value, _text, "cron", MAX_SOURCES, str),
    "calendars": _read_calendars,
    "intervals": lambda value: _many(
        value, _read_interval, "intervals", MAX_SOURCES, (str, int, timedelta, Mapping, IntervalDocument)
    ),
    "rrules": lambda value: _many(value, _text, "rrules", MAX_SOURCES, str),
    "times": lambda value: _many(value, _read_time, "times", MAX_DATES, (str, date)),
    "exclude": _read_exclude,
    "timezone": lambda value: _text(value, "timezone"),
    "start_at": lambda value: _read_moment_text(value, "start_at"),
    "end_at": lambda value: _read_moment_text(value, "end_at"),
    "jitter_ms": _read_jitter,
    "jitter_mode": _choice("jitter_mode", JITTER_MODES),
    "jitter_seed": _read_seed,
    "dst_gap": _choice("dst_gap", DST_GAPS),
    "dst_overlap": _choice("dst_overlap", DST_OVERLAPS),
    "dst_profile": _choice("dst_profile", DST_PROFILES),
    "dialect": _choice("dialect", DIALECTS),
}


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _calendar_json(calendar: CalendarDocument) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for name in CALENDAR_FIELDS:
        value = getattr(calendar, name)
        if isinstance(value, str):
            data[name] = value
        elif value is not None:
            data[name] = [{"start": values.start, "end": values.end, "step": values.step} for values in value]
    if calendar.comment:
        data["comment"] = calendar.comment
    return data


def _interval_json(interval: IntervalDocument) -> dict[str, Any]:
    data: dict[str, Any] = {"every": duration_text(interval.every_s)}
    if interval.offset_s:
        data["offset"] = duration_text(interval.offset_s)
    if interval.anchor != "epoch":
        data["anchor"] = interval.anchor
    return data


def _exclude_json(exclude: ExcludeDocument) -> dict[str, Any]:
    data: dict[str, Any] = {
        "calendars": [_calendar_json(calendar) for calendar in exclude.calendars],
        "dates": list(exclude.dates),
        "windows": [
            {"from": window.begin, "to": window.end} | ({"note": window.note} if window.note else {})
            for window in exclude.windows
        ],
        "holidays": [holidays_json(holidays) for holidays in exclude.holidays],
        "named": list(exclude.named),
    }
    return {name: value for name, value in data.items() if value}


_WRITERS: dict[str, Callable[[Any], Any]] = {
    "calendars": lambda calendars: [_calendar_json(calendar) for calendar in calendars],
    "intervals": lambda intervals: [_interval_json(interval) for interval in intervals],
    "exclude": _exclude_json,
}
