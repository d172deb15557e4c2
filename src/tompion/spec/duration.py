"""Parses and writes durations: ``90s``, ``1h30m``, ``1.5d``, ``PT15M``, or a number of seconds or milliseconds."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction

from tompion.errors import InvalidSpec, display

_UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_PART = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)(ms|[wdhms])", re.ASCII)
_ISO = re.compile(
    r"P(?:(?P<w>\d{1,9})W)?(?:(?P<d>\d{1,9})D)?(?:T(?:(?P<h>\d{1,9})H)?(?:(?P<m>\d{1,9})M)?(?:(?P<s>\d{1,9})S)?)?",
    re.ASCII,
)
MAX_TEXT_CHARS = 100
"""Maximum length of a duration."""

_EXPECTED = "a duration such as 90s, 15m, 1h30m or 1d"
_EXPECTED_MS = "a number of milliseconds, or a duration such as 500ms, 30s or 1h30m"


def parse_duration(value: str | int | timedelta, *, field: str) -> int:
    """Return a duration in whole seconds. Fractions of a second are rejected, not rounded."""
    if isinstance(value, bool):
        raise InvalidSpec(f"{value!r} is not a duration", field=field, expected=_EXPECTED)
    if isinstance(value, int):
        return value
    if isinstance(value, timedelta):
        seconds = Fraction(value // timedelta(microseconds=1), 1_000_000)
    elif isinstance(value, str):
        seconds = _from_text(value, field)
    else:
        raise InvalidSpec(f"{type(value).__name__} is not a duration", field=field, expected=_EXPECTED)
    if seconds.denominator != 1:
        raise InvalidSpec(f"{value} is not a whole number of seconds", field=field, expected="whole seconds")
    return int(seconds)


def parse_duration_ms(value: object, *, field: str) -> object:
    """Return a text with a unit, or a timedelta, in milliseconds. Return any other value as it is."""
    if isinstance(value, timedelta):
        milliseconds = Fraction(value // timedelta(microseconds=1), 1_000)
    elif isinstance(value, str):
        if value.isascii() and value.isdigit():
            raise InvalidSpec(f"{display(value)} has no unit", field=field, expected=_EXPECTED_MS)
        milliseconds = _from_text(value, field) * 1_000
    else:
        return value
    if milliseconds.denominator != 1:
        raise InvalidSpec(f"{value} is not a whole number of milliseconds", field=field, expected=_EXPECTED_MS)
    return int(milliseconds)


def duration_text(seconds: int) -> str:
    """Return the shortest usual spelling, such as ``1h30m``. Inverse of :func:`parse_duration`."""
    if seconds == 0:
        return "0s"
    text = ""
    for unit, size in _UNITS.items():
        if unit != "w" and seconds >= size:
            text += f"{seconds // size}{unit}"
            seconds %= size
    return text


def _from_text(text: str, field: str) -> Fraction:
    """Return the seconds of a duration such as ``90``, ``1h30m`` or ``PT5M``."""
    if len(text) > MAX_TEXT_CHARS:
        raise InvalidSpec(f"a duration of {len(text)} characters", field=field, expected=f"at most {MAX_TEXT_CHARS}")
    if text.isascii() and text.isdigit() and len(text) <= 12:
        return Fraction(int(text))
    iso = _ISO.fullmatch(text)
    if iso is not None and any(iso.groups()):
        return Fraction(sum(int(iso[unit] or 0) * size for unit, size in _UNITS.items()))
    total, position = Fraction(0), 0
    for part in _PART.finditer(text):
        if part.start() != position:
            break
        position = part.end()
        total += Fraction(part[1]) * (Fraction(1, 1000) if part[2] == "ms" else _UNITS[part[2]])
    if not text or position != len(text):
        raise InvalidSpec(f"{display(text)} is not a duration", field=field, position=position, expected=_EXPECTED)
    return total
