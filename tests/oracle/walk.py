"""Reads the wall clock of a zone, second by second.

A *wall second* is the time of a wall clock as a number: the seconds from 1970-01-01 00:00:00 in local time. An
*instant* is a number of seconds since the Unix epoch. A walk visits every instant of a window, reads the local time
from ``zoneinfo`` and stores it. Afterwards every wall second of the window

* occurred once: it exists
* occurred twice: it is ambiguous (clocks were set back), and both instants are known
* never occurred: it is lost in a gap (clocks were set forward), and the gap is known

Zone data comes from the PyPI ``tzdata`` package only. The machine's own copy is never read.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cache, cached_property
from importlib import resources
from zoneinfo import ZoneInfo

HOUR = 3600
DAY = 86400

RANGE_START = 0
RANGE_END = int(datetime(2201, 1, 1, tzinfo=UTC).timestamp())
"""Ticks exist in [RANGE_START, RANGE_END), and nowhere else."""

MARGIN = 8 * HOUR
"""How much further than the window a walk reaches on both sides. No overlap since 1970 repeats more than 4 h, so both
passes of every wall second that is shown inside the window lie inside the walk."""

FIRST_DAY = date(1970, 1, 1)


@cache
def load_zone(name: str) -> ZoneInfo:
    """The zone, from the PyPI package and from nowhere else."""
    with resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


@cache
def all_zone_names() -> list[str]:
    return resources.files("tzdata").joinpath("zones").read_text().split()


def offset_at(instant: int, zone: ZoneInfo) -> int:
    """Seconds that the zone's wall clock is ahead of UTC at this instant."""
    offset = datetime.fromtimestamp(instant, zone).utcoffset()
    assert offset is not None
    return offset.days * DAY + offset.seconds


def wall_of(moment: datetime) -> int:
    """The wall second of a naive datetime."""
    return (moment.toordinal() - FIRST_DAY.toordinal()) * DAY + moment.hour * HOUR + moment.minute * 60 + moment.second


def midnight(day: date) -> int:
    """The wall second at which this date begins."""
    return (day.toordinal() - FIRST_DAY.toordinal()) * DAY


def moment_of(wall: int) -> datetime:
    """A wall second as a naive datetime."""
    return datetime(1970, 1, 1) + timedelta(seconds=wall)


def day_of(wall: int) -> date:
    return moment_of(wall).date()


@dataclass(frozen=True)
class Gap:
    """Wall seconds [lost_from, lost_until) were never shown: at `resumes_at` the clock jumped over them."""

    lost_from: int
    lost_until: int
    resumes_at: int

    @property
    def length(self) -> int:
        return self.lost_until - self.lost_from


@dataclass
class Walk:
    """The wall clock of one zone. It is known for instants in [start, end)."""

    zone_name: str
    start: int
    end: int
    first_shown: dict[int, int] = field(default_factory=dict)
    """wall second -> the instant at which it was shown, for the first time."""
    shown_again: dict[int, int] = field(default_factory=dict)
    """wall second -> the instant at which it was shown a second time; only ambiguous ones."""
    gaps: list[Gap] = field(default_factory=list)
    jumps: list[int] = field(default_factory=list)
    """Instants at which the offset changed, forward or back."""
    seconds_of_day: list[int] | None = None
    """None: every second was walked. A list: only these seconds of each day were looked at (see `walk_days`)."""

    @cached_property
    def first_wall(self) -> int:
        return min(self.first_shown)

    @cached_property
    def last_wall(self) -> int:
        return max(self.first_shown)

    @cached_property
    def days(self) -> list[date]:
        """Every date of the walk, lost ones included."""
        return list(_every_day(day_of(self.first_wall), day_of(self.last_wall)))

    def wall_at(self, instant: int) -> int:
        return instant + offset_at(instant, load_zone(self.zone_name))

    def gap_around(self, wall: int) -> Gap | None:
        return next((gap for gap in self.gaps if gap.lost_from <= wall < gap.lost_until), None)


def walk_seconds(zone_name: str, start: int, end: int) -> Walk:
    """Walk every second of [start, end), and of a margin around it."""
    start, end = max(start, RANGE_START), min(end, RANGE_END)
    walk = Walk(zone_name, start, end)
    zone = load_zone(zone_name)
    previous_wall = None
    for instant in range(start - MARGIN, end + MARGIN):
        wall = instant + offset_at(instant, zone)
        if wall not in walk.first_shown:
            walk.first_shown[wall] = instant
        else:
            assert wall not in walk.shown_again, f"{zone_name} shows {moment_of(wall)} three times"
            walk.shown_again[wall] = instant
        if previous_wall is not None and wall != previous_wall + 1:
            walk.jumps.append(instant)
            if wall > previous_wall:
                walk.gaps.append(Gap(previous_wall + 1, wall, resumes_at=instant))
        previous_wall = wall
    return walk


def walk_days(zone_name: str, first_day: date, last_day: date, seconds_of_day: Iterable[int]) -> Walk:
    """Walk every day for years, looking only at a few wall times of each day.

    Meant for what depends on the date alone (L, W, #, leap years): the times of day must be ones that the zone shows
    exactly once on every day, and that is checked.
    """
    zone = load_zone(zone_name)
    offsets = {offset_at(midnight(day), zone) for day in _every_day(first_day, last_day)}
    start, end = max(midnight(first_day) + DAY, RANGE_START), min(midnight(last_day), RANGE_END)
    walk = Walk(zone_name, start, end, seconds_of_day=sorted(seconds_of_day))
    for day in _every_day(first_day - timedelta(days=1), last_day + timedelta(days=1)):
        for second in walk.seconds_of_day or []:
            wall = midnight(day) + second
            instants = [wall - offset for offset in offsets if wall - offset + offset_at(wall - offset, zone) == wall]
            assert len(instants) == 1, f"{zone_name} does not show {moment_of(wall)} exactly once"
            walk.first_shown[wall] = instants[0]
    return walk


def _every_day(first_day: date, last_day: date) -> Iterable[date]:
    return (first_day + timedelta(days=count) for count in range((last_day - first_day).days + 1))
