"""The next changes of a zone's clocks, and what they do to the ticks of a spec."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from itertools import islice, takewhile

from foliot.model.spec import SpecDocument
from foliot.model.tick import ClockChange, Tick
from foliot.spec.compiled import zone_of
from foliot.spec.occurrence import clock_text, occurrences, utc_datetime
from foliot.spec.ticks import Ticks

HOUR_S = 3_600
MOST_TICKS = 12
"""How many ticks around a change are shown."""


def clock_changes(spec: SpecDocument, ticks: Ticks, after: int, schedule_id: str = "") -> Iterator[ClockChange]:
    """Yield the changes of the clocks later than ``after``, each with the ticks in the hours that it disturbs."""
    zone = zone_of(spec)
    segment = zone.segment_at(after)
    for at, old, new in zip(zone.starts[segment:], zone.offsets[segment:], zone.offsets[segment + 1 :], strict=False):
        width = abs(new - old)
        if width == 0:
            continue
        around = occurrences(spec, ticks, at - max(width, HOUR_S) - 1, schedule_id)
        found = tuple(islice(_until(around, utc_datetime(at + max(width, HOUR_S))), MOST_TICKS))
        before, shown = _local(at, old), _local(at, new)
        yield ClockChange(utc_datetime(at), before, shown, found, _text(before, shown, found, forward=new > old))


def _until(ticks: Iterator[Tick], end: datetime) -> Iterator[Tick]:
    return takewhile(lambda tick: tick.at <= end, ticks)


def _local(at: int, offset: int) -> datetime:
    return utc_datetime(at).astimezone(timezone(timedelta(seconds=offset)))


def _text(before: datetime, after: datetime, ticks: tuple[Tick, ...], *, forward: bool) -> str:
    turned = f"clocks go {'forward' if forward else 'back'} from {clock_text(before)} to {clock_text(after)}"
    moved = [tick for tick in ticks if tick.moved]
    if not ticks:
        return f"{turned}; no tick fires near it"
    if not moved and forward:
        return f"{turned}; the ticks go on in real time, and the times in between are left out"
    if not moved:
        return f"{turned}; no tick is moved or repeated"
    if any(tick.moved == "second_pass" for tick in moved):
        return f"{turned}; ticks of the repeated time fire twice"
    return f"{turned}; {moved[0].reason}"
