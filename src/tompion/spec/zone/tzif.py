"""Reads a compiled time zone file (TZif, RFC 9636) of the ``tzdata`` package.

A file has the transitions that were known when it was built, and a *footer*: a rule in the POSIX ``TZ`` notation for
everything after them. Here both become one list of ``(instant, offset)``, with the rule expanded up to the end of the
range, so that no other module has to evaluate a rule.
"""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from tompion.errors import MalformedZoneFile
from tompion.spec.calendar.days import DAY, HORIZON, LAST_YEAR, days_from_civil

_HEADER = struct.Struct(">4sc15x6l")
_LOCAL_TYPE = struct.Struct(">lBB")

_NAME = r"(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)"
_CLOCK = r"(?::[0-5]\d(?::[0-5]\d)?)?"
_OFFSET = rf"[+-]?(?:2[0-4]|[01]?\d){_CLOCK}"
_TIME = rf"[+-]?(?:16[0-7]|1[0-5]\d|\d{{1,2}}){_CLOCK}"
_NUMBER = r"(?:36[0-5]|3[0-5]\d|[12]?\d?\d)"
_RULE = rf"(?:M(?:1[0-2]|0?[1-9])\.[1-5]\.[0-6]|J(?!0+[/,]|0+$){_NUMBER}|{_NUMBER})"
_FOOTER = re.compile(
    rf"{_NAME}(?P<standard>{_OFFSET})"
    rf"(?:{_NAME}(?P<daylight>{_OFFSET})?"
    rf",(?P<begin>{_RULE})(?:/(?P<begin_time>{_TIME}))?"
    rf",(?P<end>{_RULE})(?:/(?P<end_time>{_TIME}))?)?",
    re.ASCII,
)

Transition = tuple[int, int]
"""An instant, and the offset from UTC in seconds from then on."""


class _Block(NamedTuple):
    instants: tuple[int, ...]
    offsets: list[int]
    first_offset: int
    end: int


def read_transitions(data: bytes) -> tuple[int, list[Transition]]:
    """Return the offset at the Unix epoch and all changes of offset after it, up to the end of the range."""
    try:
        first = _read_block(data, 0, width=4)
        block = _read_block(data, first.end, width=8)
        start, footer, end = data[block.end : block.end + 1], data[block.end + 1 : -1], data[-1:]
        if (start, end) != (b"\n", b"\n") or len(data) < block.end + 2:
            raise MalformedZoneFile("the time zone file is truncated")
        changes = list(zip(block.instants, block.offsets, strict=True))
        since = changes[-1][0] if changes else -(1 << 62)
        if footer:
            changes += [change for change in _expand_footer(footer.decode("ascii")) if change[0] > since]
    except (struct.error, IndexError, ValueError) as error:
        raise MalformedZoneFile(f"not a time zone file: {error}") from None
    return _from_epoch_on(block.first_offset, changes)


def _from_epoch_on(offset: int, changes: list[Transition]) -> tuple[int, list[Transition]]:
    later: list[Transition] = []
    for index, (instant, after) in enumerate(changes):
        if index + 1 < len(changes) and changes[index + 1][0] == instant:
            continue  # undone in the same instant: a footer with daylight time all year does this
        if instant <= 0:
            offset = after
        elif instant < HORIZON and after != (later[-1][1] if later else offset):
            later.append((instant, after))
    return offset, later


def _read_block(data: bytes, start: int, *, width: int) -> _Block:
    magic, _version, is_utc, is_standard, leaps, times, types, letters = _HEADER.unpack_from(data, start)
    if magic != b"TZif" or not types:
        raise MalformedZoneFile("not a TZif file")
    position = start + _HEADER.size
    instants = struct.unpack_from(f">{times}{'q' if width == 8 else 'l'}", data, position)
    position += times * width
    indexes = data[position : position + times]
    position += times
    offsets = [_LOCAL_TYPE.unpack_from(data, position + index * _LOCAL_TYPE.size)[0] for index in range(types)]
    position += types * _LOCAL_TYPE.size + letters + leaps * (width + 4) + is_standard + is_utc
    return _Block(instants, [offsets[index] for index in indexes], offsets[0], position)


def _expand_footer(footer: str) -> list[Transition]:
    """Return the transitions of the rule in the footer, in order."""
    match = _FOOTER.fullmatch(footer)
    if match is None:
        raise MalformedZoneFile(f"footer {footer!r} is not a POSIX time zone rule")
    standard = -_seconds(match["standard"])
    if match["begin"] is None:
        return [(-(1 << 61), standard)]
    daylight = -_seconds(match["daylight"]) if match["daylight"] else standard + 3600
    begin_time, end_time = (_seconds(match[name] or "2") for name in ("begin_time", "end_time"))
    changes = []
    for year in range(1968, LAST_YEAR + 3):
        changes.append((_rule_day(match["end"], year) * DAY + end_time - daylight, standard))
        changes.append((_rule_day(match["begin"], year) * DAY + begin_time - standard, daylight))
    # If daylight time ends and begins in one instant, the beginning comes last.
    return sorted(changes, key=lambda change: (change[0], change[1] != standard))


def _rule_day(rule: str, year: int) -> int:
    """Return the day (since the epoch) of a rule such as ``M3.5.0`` in ``year``."""
    if rule.startswith("M"):
        month, week, weekday = (int(part) for part in rule[1:].split("."))
        first = days_from_civil(year, month, 1)
        length = days_from_civil(year + month // 12, month % 12 + 1, 1) - first
        day = (weekday - (first + 4)) % 7 + 7 * (week - 1)
        return first + (day if day < length else day - 7)
    new_year = days_from_civil(year, 1, 1)
    if not rule.startswith("J"):
        return new_year + int(rule)
    number = int(rule[1:])
    leap = days_from_civil(year + 1, 1, 1) - new_year == 366
    return new_year + number - 1 + (leap and number >= 60)


def _seconds(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    hours, minutes, seconds = ([int(part) for part in text.lstrip("+-").split(":")] + [0, 0])[:3]
    return sign * (hours * 3600 + minutes * 60 + seconds)
