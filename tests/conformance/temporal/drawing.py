"""Random Temporal schedules, drawn from a seed."""

from __future__ import annotations

import random
from typing import NamedTuple

from google.protobuf.duration_pb2 import Duration
from temporalio.api.schedule.v1 import CalendarSpec, IntervalSpec, Range, ScheduleSpec, StructuredCalendarSpec

import tompion
from tests.conformance.peers.comparison import changes
from tests.conformance.peers.test_temporal import EAST, WEST, is_handled_correctly
from tests.oracle.walk import DAY, HOUR
from tests.support.corpus import Syntax, draw_expression, draw_places, draw_year

JITTERS_S = (0, 0, 1, 30, 90, 600, 4_000, 12 * HOUR)
FIELDS = {"second": (0, 59), "minute": (0, 59), "hour": (0, 23), "day_of_month": (1, 31), "month": (1, 12),
          "day_of_week": (0, 6)}  # fmt: skip


class DrawnSpec(NamedTuple):
    """A spec, and the window in which its times are compared."""

    spec: ScheduleSpec
    first: int
    last: int


def draw(rng: random.Random) -> DrawnSpec:
    """Draw a spec in a time zone, and a window without the clock changes that the server gets wrong."""
    while True:
        [place] = draw_places(rng, 1, WEST if rng.random() < 0.5 else EAST)
        first = place.instant - rng.randrange(2 * DAY)
        last = first + rng.choice((4 * HOUR, DAY, 5 * DAY, 40 * DAY))
        if all(
            is_handled_correctly(place.zone, change) for change in changes(place.zone, first - 2 * DAY, last + 2 * DAY)
        ):
            break
    spec = ScheduleSpec(timezone_name=place.zone)
    while not (spec.cron_string or spec.calendar or spec.structured_calendar or spec.interval):
        _add_sources(rng, spec)
    if rng.random() < 0.3:
        spec.exclude_structured_calendar.append(draw_calendar(rng, whole_days=True))
    if rng.random() < 0.2:
        spec.start_time.FromSeconds(rng.randrange(first - DAY, last))
    if rng.random() < 0.2:
        spec.end_time.FromSeconds(rng.randrange(max(first, spec.start_time.seconds), last + DAY))
    spec.jitter.CopyFrom(Duration(seconds=rng.choice(JITTERS_S)))
    return DrawnSpec(spec, first, last)


def _add_sources(rng: random.Random, spec: ScheduleSpec) -> None:
    if rng.random() < 0.5:
        spec.cron_string.append(draw_cron(rng))
    if rng.random() < 0.4:
        spec.structured_calendar.append(draw_calendar(rng))
    if rng.random() < 0.2:
        hours = f"{rng.randrange(12)}-{rng.randrange(12, 24)}/{rng.randrange(1, 5)}"
        spec.calendar.append(CalendarSpec(hour=hours, minute=rng.choice(("", "*/20", "7")), day_of_week="mon-fri"))
    if rng.random() < 0.2:
        every = rng.choice((90, 600, 3_600, 5 * HOUR, DAY, 17 * DAY))
        phase = Duration(seconds=rng.randrange(every))
        spec.interval.append(IntervalSpec(interval=Duration(seconds=every), phase=phase))


def draw_cron(rng: random.Random) -> str:
    """Draw an expression that both sides read alike. The server misreads the weekdays 1-7."""
    while True:
        fields = draw_expression(rng, Syntax(open_steps=True)).split()
        if fields[4] == "1-7":
            continue
        if rng.random() < 0.2:
            fields.append(draw_year(rng))
        text = " ".join(fields) + rng.choice(("", "", " # a comment"))
        tompion.Spec(cron=text, dialect="temporal")
        return text


def draw_calendar(rng: random.Random, *, whole_days: bool = False) -> StructuredCalendarSpec:
    """Draw a calendar of ranges. A calendar of whole days covers every time of day, but never all weekdays.

    A server whose schedule excludes every time searches until its own deadline.
    """
    calendar = StructuredCalendarSpec(comment=rng.choice(("", "drawn")))
    for name, (low, high) in FIELDS.items():
        times = name in ("second", "minute", "hour")
        if times and whole_days:
            ranges = [Range(start=low, end=high)]
        elif name == "second":
            ranges = [Range(start=rng.choice((0, 0, 0, 30)))]
        elif rng.random() < (0.7 if times else 0.5):
            start = rng.randrange(low, high + 1)
            ranges = [Range(start=start, end=rng.randrange(start, high + 1), step=rng.choice((0, 1, 2, 5)))]
        else:
            ranges = [Range(start=low, end=high)]
        getattr(calendar, name).extend(ranges)
    if whole_days:
        del calendar.day_of_week[:]
        calendar.day_of_week.append(Range(start=rng.randrange(7)))
    return calendar
