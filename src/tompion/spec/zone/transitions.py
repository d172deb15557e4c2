"""The next changes of a zone's clocks, and what they do to the ticks of a spec."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import islice, takewhile

from tompion.model.spec import ClockChange, NamedCalendar, SpecDocument, Tick
from tompion.spec.compiler import compile_spec, zone_of
from tompion.spec.explain.words import joined
from tompion.spec.occurrence import clock_text, occurrences, utc_datetime
from tompion.spec.ticks import Ticks

HOUR_S = 3_600
MAX_TICKS = 12
"""How many ticks around a change are shown."""


def clock_changes(
    spec: SpecDocument, ticks: Ticks, after: int, schedule_id: str = "", calendars: Sequence[NamedCalendar] = ()
) -> Iterator[ClockChange]:
    """Yield the changes of the clocks later than ``after``, each with the ticks in the hours that it disturbs."""
    zone = zone_of(spec)
    kept = replace(spec, dst_gap="shift")  # by which is seen what fires nowhere
    segment = zone.segment_at(after)
    for at, old, new in zip(zone.starts[segment:], zone.offsets[segment:], zone.offsets[segment + 1 :], strict=False):
        width = abs(new - old)
        if width == 0:
            continue
        around = occurrences(spec, ticks, at - max(width, HOUR_S) - 1, schedule_id)
        found = tuple(islice(_until(around, utc_datetime(at + max(width, HOUR_S))), MAX_TICKS))
        before, shown = _local(at, old), _local(at, new)
        lost: list[str] = []
        if new > old and not found:
            moved = occurrences(kept, compile_spec(kept, schedule_id=schedule_id, calendars=calendars), at - 1)
            lost = [clock_text(tick.wall) for tick in _until(moved, utc_datetime(at + width)) if tick.dst_adjustment]
        yield ClockChange(utc_datetime(at), before, shown, found, _text(before, shown, found, lost, forward=new > old))


def _until(ticks: Iterator[Tick], end: datetime) -> Iterator[Tick]:
    return takewhile(lambda tick: tick.at <= end, ticks)


def _local(at: int, offset: int) -> datetime:
    return utc_datetime(at).astimezone(timezone(timedelta(seconds=offset)))


def _text(before: datetime, after: datetime, ticks: tuple[Tick, ...], lost: Sequence[str], *, forward: bool) -> str:
    turned = f"clocks go {'forward' if forward else 'back'} from {clock_text(before)} to {clock_text(after)}"
    moved = [tick for tick in ticks if tick.dst_adjustment]
    if lost:
        verb = "does" if len(lost) == 1 else "do"
        return f"{turned}; {joined(lost)} {verb} not exist that day, and nothing fires instead"
    if not ticks:
        return f"{turned}; no tick fires near it"
    if not moved and forward:
        return f"{turned}; the ticks go on in real time, and the times in between are left out"
    if not moved:
        return f"{turned}; no tick is moved or repeated"
    if any(tick.dst_adjustment == "second_pass" for tick in moved):
        return f"{turned}; ticks of the repeated time fire twice"
    return f"{turned}; {moved[0].reason}"
