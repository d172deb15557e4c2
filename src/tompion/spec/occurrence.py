"""Ticks as users see them: instants with their wall time, and the effect of DST."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

from tompion.encoding.instant import datetime_ms, datetime_s, wall_datetime
from tompion.model.spec import SpecDocument, Tick
from tompion.spec.calendar.days import HORIZON
from tompion.spec.compiler import zone_of
from tompion.spec.datetime_text import first_instant, read_moment
from tompion.spec.jitter import fire_ms_of
from tompion.spec.ticks import Ticks, Trace
from tompion.spec.zone.tables import Zone


def local_datetime(epoch: int, zone: Zone) -> datetime:
    """Return an instant in the zone's local time."""
    offset = timedelta(seconds=zone.offset_at(epoch))
    return datetime_s(epoch).astimezone(timezone(offset))


def occurrences(spec: SpecDocument, ticks: Ticks, after: int, schedule_id: str = "") -> Iterator[Tick]:
    """Yield the ticks later than ``after`` with their wall time, DST adjustment and fire time."""
    zone = zone_of(spec)
    start = None if spec.start_at is None else first_instant(read_moment(spec.start_at, field="start_at"), zone)
    for tick in ticks.between_epochs(after + 1, HORIZON):
        local = tick + zone.offset_at(tick)
        trace = ticks.trace(tick) or Trace(local, "")
        fire_ms = fire_ms_of(spec, ticks, tick, schedule_id, start)
        yield Tick(
            at=datetime_s(tick),
            local=local_datetime(tick, zone),
            wall=wall_datetime(trace.local if trace.dst_adjustment == "gap" else local),
            dst_adjustment=trace.dst_adjustment,
            reason=_reason(trace, local_datetime(tick, zone)),
            fire_at=datetime_ms(fire_ms),
        )


def _reason(trace: Trace, local: datetime) -> str:
    wall = clock_text(wall_datetime(trace.local))
    if trace.dst_adjustment == "gap":
        return f"{wall} does not exist that day (clocks go forward), so it fires at {clock_text(local)}"
    if trace.dst_adjustment == "second_pass":
        return f"the second {wall} of that day (clocks go back)"
    if trace.dst_adjustment == "first_pass":
        return f"the first of two {wall} that day (clocks go back)"
    return ""


def clock_text(when: datetime) -> str:
    """Return the time of day, without seconds if they are 0."""
    return f"{when:%H:%M:%S}".removesuffix(":00")
