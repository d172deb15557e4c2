"""The next clock changes of a zone, and their effect on the ticks of a spec."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import islice, takewhile

from tompion.encoding.instant import datetime_s
from tompion.model.spec import ClockChange, NamedCalendar, SpecDocument, Tick
from tompion.spec.compiler import compile_spec, zone_of
from tompion.spec.explain.words import join_words
from tompion.spec.occurrence import clock_text, occurrences
from tompion.spec.ticks import Ticks

HOUR_S = 3_600
MAX_TICKS = 12
"""Maximum number of ticks around a change."""


def clock_changes(
    spec: SpecDocument, ticks: Ticks, after: int, schedule_id: str = "", calendars: Sequence[NamedCalendar] = ()
) -> Iterator[ClockChange]:
    """Yield the clock changes later than ``after``, each with the ticks in the hours around it."""
    zone = zone_of(spec)
    shifted = replace(spec, dst_gap="shift")  # shows the ticks that the gap would drop
    segment = zone.segment_at(after)
    for at, old, new in zip(zone.starts[segment:], zone.offsets[segment:], zone.offsets[segment + 1 :], strict=False):
        width = abs(new - old)
        if width == 0:
            continue
        around = occurrences(spec, ticks, at - max(width, HOUR_S) - 1, schedule_id)
        nearby = tuple(islice(_until(around, datetime_s(at + max(width, HOUR_S))), MAX_TICKS))
        before, after_change = _local(at, old), _local(at, new)
        lost: list[str] = []
        if new > old and not nearby:
            moved = occurrences(shifted, compile_spec(shifted, schedule_id=schedule_id, calendars=calendars), at - 1)
            lost = [clock_text(tick.wall) for tick in _until(moved, datetime_s(at + width)) if tick.dst_adjustment]
        text = _text(before, after_change, nearby, lost, forward=new > old)
        yield ClockChange(at=datetime_s(at), before=before, after=after_change, ticks=nearby, text=text)


def _until(ticks: Iterator[Tick], end: datetime) -> Iterator[Tick]:
    return takewhile(lambda tick: tick.at <= end, ticks)


def _local(at: int, offset: int) -> datetime:
    return datetime_s(at).astimezone(timezone(timedelta(seconds=offset)))


def _text(before: datetime, after: datetime, ticks: tuple[Tick, ...], lost: Sequence[str], *, forward: bool) -> str:
    """Describe a clock change and its effect on the ticks."""
    change = f"clocks go {'forward' if forward else 'back'} from {clock_text(before)} to {clock_text(after)}"
    adjusted = [tick for tick in ticks if tick.dst_adjustment]
    if lost:
        verb, pronoun = ("does", "it") if len(lost) == 1 else ("do", "them")
        return f"{change}; {join_words(lost)} {verb} not exist that day, and no tick replaces {pronoun}"
    if not ticks:
        return f"{change}; no tick is near the change"
    if not adjusted and forward:
        return f"{change}; the ticks continue in real time, and the wall times in between are skipped"
    if not adjusted:
        return f"{change}; no tick is moved or repeated"
    if any(tick.dst_adjustment == "second_pass" for tick in adjusted):
        return f"{change}; ticks of the repeated time fire twice"
    return f"{change}; {adjusted[0].reason}"
