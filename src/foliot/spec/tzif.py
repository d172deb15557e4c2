"""Reading one compiled time zone file (TZif, RFC 9636) of the ``tzdata`` package.

A file holds the transitions that were known when it was made, and a *footer*: a rule in the POSIX ``TZ`` notation for
everything after the last of them.  Here both become one plain list of ``(instant, offset)``, the rule expanded up to
the end of the range, so that nothing after this module ever has to look at a rule again.
"""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from foliot.errors import FoliotError
from foliot.spec.days import DAY, HORIZON, LAST_YEAR, days_from_civil

_HEADER = struct.Struct(">4sc15x6l")
_LOCAL_TYPE = struct.Struct(">lBB")

_NAME = r"(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)"
_OFFSET = r"[+-]?\d{1,3}(?::\d{2}(?::\d{2})?)?"
_RULE = r"(?:M\d{1,2}\.\d\.\d|J?\d{1,3})"
_FOOTER = re.compile(
    rf"{_NAME}(?P<standard>{_OFFSET})"
    rf"(?:{_NAME}(?P<daylight>{_OFFSET})?"
    rf",(?P<begin>{_RULE})(?:/(?P<begin_time>{_OFFSET}))?"
    rf",(?P<end>{_RULE})(?:/(?P<end_time>{_OFFSET}))?)?"
)

Transition = tuple[int, int]
"""An instant, and the offset from UTC in seconds that holds from then on."""


class MalformedZoneFile(FoliotError):
    """A file of the time zone package that is not what RFC 9636 describes."""

    code = "malformed_zone_file"


class _Block(NamedTuple):
    instants: tuple[int, ...]
    offsets: list[int]
    first_offset: int
    end: int


def read_transitions(data: bytes) -> tuple[int, list[Transition]]:
    """Return the offset at the Unix epoch and all changes of offset after it, up to the end of the range."""
    first = _read_block(data, 0, width=4)
    block = _read_block(data, first.end, width=8)
    footer = data[block.end :].strip(b"\n").decode("ascii")
    changes = list(zip(block.instants, block.offsets, strict=True))
    since = changes[-1][0] if changes else -(1 << 62)
    if footer:
        changes += [change for change in _expanded(footer) if change[0] > since]
    return _from_epoch_on(block.first_offset, changes)


def _from_epoch_on(offset: int, changes: list[Transition]) -> tuple[int, list[Transition]]:
    later: list[Transition] = []
    for instant, after in changes:
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


def _expanded(footer: str) -> list[Transition]:
    """Write out the footer's rule as transitions, in order."""
    match = _FOOTER.fullmatch(footer)
    if match is None:
        raise MalformedZoneFile(f"footer {footer!r} is not a POSIX time zone rule")
    standard = -_seconds(match["standard"])
    if match["begin"] is None:
        return [(-(1 << 61), standard)]
    daylight = -_seconds(match["daylight"]) if match["daylight"] else standard + 3600
    begin_time, end_time = (_seconds(match[name] or "2") for name in ("begin_time", "end_time"))
    changes = []
    for year in range(1969, LAST_YEAR + 2):
        changes.append((_rule_day(match["begin"], year) * DAY + begin_time - standard, daylight))
        changes.append((_rule_day(match["end"], year) * DAY + end_time - daylight, standard))
    return sorted(changes)


def _rule_day(rule: str, year: int) -> int:
    """Return the day (since the epoch) that a rule such as ``M3.5.0`` names in ``year``."""
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
