"""The `temporal` dialect against a real Temporal server.

The server's documented rule is the one that Foliot's dialect follows: a wall time that does not exist does not run, one
that happens twice runs twice. The server keeps it as long as clocks change on the hour and, east of Greenwich, only
forward; there the two must agree. Where it does not keep it, its answers are pinned here, beside the right ones.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import pytest

import foliot
from tests.conformance.peers.comparing import changes, show
from tests.conformance.peers.corpus import Syntax, draw_expression, draw_places, draw_year, peers_seed
from tests.conformance.peers.examples import read_instant
from tests.conformance.peers.temporal_server import TemporalServer, Window, running_server
from tests.oracle.walk import DAY, HOUR

pytestmark = [pytest.mark.server, pytest.mark.xdist_group("temporal")]

SPECS = 150
WINDOWS_EACH = 2
MOST_TICKS = 400  # the server lists at most 1,000

WEST = frozenset(
    {"UTC", "America/New_York", "America/Los_Angeles", "America/St_Johns", "America/Sao_Paulo", "America/Nuuk"}
)
EAST = frozenset(
    {
        *("Europe/Berlin", "Europe/London", "Europe/Dublin", "Australia/Sydney", "Australia/Lord_Howe", "Asia/Kolkata"),
        *("Pacific/Chatham", "Asia/Beirut", "Africa/Cairo", "Antarctica/Troll"),
    }
)


@pytest.fixture(scope="module")
def server() -> Iterator[TemporalServer]:
    with running_server() as running:
        yield running


def our_ticks(cron: str, zone: str, window: Window) -> list[int]:
    """What Foliot's dialect says."""
    return list(foliot.Spec(cron=cron, timezone=zone, dialect="temporal").compile().between_epochs(*window))


# ---------------------------------------------------------------- where they agree


def draw_cron(rng: random.Random) -> str:
    """An expression that Temporal reads: a sixth field is the year, seconds need all seven."""
    fields = draw_expression(rng, Syntax(open_steps=True)).split()
    while fields[4] == "1-7" or "/" in fields[4].replace("*/", ""):  # see the tests on weekdays below
        fields = draw_expression(rng, Syntax(open_steps=True)).split()
    if rng.random() < 0.2:
        fields.append(draw_year(rng))
        if rng.random() < 0.5:
            fields.insert(0, rng.choice(("0", "30", "*/20", "5-10")))
    return " ".join(fields)


def draw_window(rng: random.Random, cron: str, zones: frozenset[str]) -> tuple[str, Window]:
    """A zone and a window, around a transition more often than not, but none that the server gets wrong."""
    while True:
        [place] = draw_places(rng, 1, zones)
        first = place.instant - rng.randrange(2 * DAY)
        last = first + rng.choice((4 * HOUR, DAY, 5 * DAY, 60 * DAY))
        ticks = foliot.Spec(cron=cron, timezone=place.zone, dialect="temporal").compile().between_epochs(first, last)
        found = list(islice(ticks, MOST_TICKS))
        if len(found) == MOST_TICKS:
            last = found[-1]
        nearby = changes(place.zone, first - DAY, last + DAY)
        if all(change.on_the_hour and (change.is_gap or place.zone in WEST) for change in nearby):
            return place.zone, (first, last)


def test_agrees_with_the_server(server: TemporalServer, capfd: pytest.CaptureFixture[str]) -> None:
    seed = peers_seed()
    rng = random.Random(f"temporal {seed}")
    asked = []
    for number in range(SPECS):
        cron, zones = draw_cron(rng), WEST if number % 2 else EAST
        zone, window = draw_window(rng, cron, zones)
        more = [draw_window(rng, cron, frozenset({zone}))[1] for _ in range(WINDOWS_EACH - 1)]
        asked.append((cron, zone, [window, *more]))
    answered = server.ticks_of_all(asked)
    total = 0
    for (cron, zone, windows), found in zip(asked, answered, strict=True):
        for window, theirs in zip(windows, found, strict=True):
            ours = our_ticks(cron, zone, window)
            total += len(ours)
            where = f"seed {seed}: {cron!r} in {zone}, {show(window[0], zone)} to {show(window[1], zone)}"
            assert theirs == ours, f"{where}: {difference(ours, theirs, zone)}"
    with capfd.disabled():  # the seed is to be seen even when all is well
        sys.stderr.write(f"\ntemporal: FOLIOT_PEERS_SEED={seed}, {SPECS} specs, {total} ticks\n")
    assert total > 1_000


def difference(ours: list[int], theirs: list[int], zone: str) -> str:
    """The first ticks that only one of the two has."""
    only_ours = [show(tick, zone) for tick in ours if tick not in theirs][:5]
    only_theirs = [show(tick, zone) for tick in theirs if tick not in ours][:5]
    return f"only Foliot {only_ours}, only the server {only_theirs}"


# Facts about cron strings that surprise those who come from cron; the server and Foliot's dialect share them.
SHARED = {
    "0 0 13 * 5": ["2025-06-13"],  # Friday the 13th: both day fields must match
    "0 0 * * 5#3": ["2025-06-06", "2025-06-13", "2025-06-20", "2025-06-27"],  # '#' begins a comment: every Friday
    "0 0 1 * * 2025": ["2025-06-01"],  # the sixth field is the year
    "0 0 * * 6-7": ["2025-06-01", "2025-06-07", "2025-06-08", "2025-06-14", "2025-06-15", "2025-06-21", "2025-06-22",
                    "2025-06-28", "2025-06-29"],
    "0 0 */10 jun sund": ["2025-06-01"],  # names may be cut, to two letters for a weekday
    # a step without an end reaches 7, which is Sunday
    "0 0 1-14 * 1/2": ["2025-06-01", "2025-06-02", "2025-06-04", "2025-06-06", "2025-06-08", "2025-06-09", "2025-06-11",
                       "2025-06-13"],
    "0 0 1-14 * 5/2": ["2025-06-01", "2025-06-06", "2025-06-08", "2025-06-13"],
}  # fmt: skip


@pytest.mark.parametrize(("cron", "days"), SHARED.items(), ids=list(SHARED))
def test_reads_cron_strings_as_the_server_does(server: TemporalServer, cron: str, days: list[str]) -> None:
    june = read_instant("2025-06-01T00:00Z"), read_instant("2025-06-30T23:59:59Z")
    expected = [read_instant(f"{day}T00:00Z") for day in days]
    assert server.ticks(cron, "UTC", june) == expected
    assert our_ticks(cron, "UTC", june) == expected


def test_nth_weekday_needs_foliots_own_dialect() -> None:
    """What the Temporal dialect must take for a comment is the third Friday in Foliot's own."""
    tick = foliot.Spec(cron="0 0 * * 5#3").next(read_instant("2025-06-01T00:00Z"))
    assert tick is not None
    assert tick.isoformat() == "2025-06-20T00:00:00+00:00"


# ---------------------------------------------------------------- where the server is wrong


@dataclass(frozen=True)
class Loss:
    """A window in which the server breaks its own rule: every so many seconds there should be a tick."""

    name: str
    cron: str
    zone: str
    first: str
    last: str
    every: int
    theirs: str  # wall times of the server's answer, in its order

    @property
    def window(self) -> Window:
        return read_instant(self.first), read_instant(self.last)

    @property
    def right(self) -> list[int]:
        """Offsets are multiples of the step on both sides of the change, so that wall time means real time."""
        first, last = self.window
        return list(range(first, last + 1, self.every))


LOSSES = [
    Loss("berlin-quarter-hours", "*/15 * * * *", "Europe/Berlin", "2025-10-25T23:45Z", "2025-10-26T03:00Z", 900,
         "01:45+02 02:00+02 02:15+01 03:30+01 03:45+01 04:00+01"),
    Loss("london-minutes", "* * * * *", "Europe/London", "2025-10-25T23:58Z", "2025-10-26T02:10Z", 60,
         "00:58+01 00:59+01 01:00+01 01:01+00 02:02+00 02:03+00 02:04+00 02:05+00 02:06+00 02:07+00 02:08+00 02:09+00 "
         "02:10+00"),
    Loss("sydney-hours", "0 * * * *", "Australia/Sydney", "2025-04-05T12:00Z", "2025-04-05T20:00Z", 3600,
         "23:00+11 00:00+11 01:00+11 02:00+11 03:00+10 04:00+10 05:00+10 06:00+10"),
    Loss("dublin-hours", "0 * * * *", "Europe/Dublin", "2025-10-25T22:00Z", "2025-10-26T05:00Z", 3600,
         "23:00+01 00:00+01 01:00+01 02:00+00 03:00+00 04:00+00 05:00+00"),
    Loss("lord-howe-ten-minutes", "*/10 * * * *", "Australia/Lord_Howe", "2025-04-05T14:00Z", "2025-04-05T16:30Z", 600,
         "01:00+11 01:10+11 01:20+11 01:30+10:30 02:40+10:30 02:50+10:30 03:00+10:30"),
    Loss("troll-half-hours", "*/30 * * * *", "Antarctica/Troll", "2025-10-25T22:00Z", "2025-10-26T05:00Z", 1800,
         "00:00+02 00:30+02 01:00+02 01:30+00 02:00+00 02:30+00 03:00+00 03:30+00 04:00+00 04:30+00 05:00+00"),
    Loss("st-johns-2010", "*/20 * * * *", "America/St_Johns", "2010-11-07T01:10Z", "2010-11-07T05:50Z", 1200,
         "22:40-02:30 23:00-02:30 23:20-02:30 23:40-02:30 00:00-02:30 00:20-03:30 00:40-03:30 00:00-03:30 01:20-03:30 "
         "01:40-03:30 02:00-03:30 02:20-03:30"),
    Loss("st-johns-2006", "*/10 * * * *", "America/St_Johns", "2006-04-02T03:10Z", "2006-04-02T04:50Z", 600,
         "23:40-03:30 23:50-03:30 00:00-03:30 02:00-02:30 02:10-02:30 02:20-02:30"),
]  # fmt: skip


def wall_time(tick: int, zone: str) -> str:
    """Hours and minutes on the wall, and the offset."""
    text = show(tick, zone)
    return f"{text[11:16]}{text[19:]}".removesuffix(":00") if text[19:].count(":") else text


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_server_loses_ticks_and_foliot_does_not(server: TemporalServer, loss: Loss) -> None:
    assert our_ticks(loss.cron, loss.zone, loss.window) == loss.right
    theirs = server.ticks(loss.cron, loss.zone, loss.window)
    assert [wall_time(tick, loss.zone) for tick in theirs] == loss.theirs.split()
    assert len(theirs) < len(loss.right)


def test_server_forgets_the_first_pass_of_a_daily_job(server: TemporalServer) -> None:
    """02:30 happens twice in Berlin on 2025-10-26; by the rule that New York shows, it runs twice."""
    night = read_instant("2025-10-25T12:00Z"), read_instant("2025-10-26T12:00Z")
    both = [read_instant("2025-10-26T00:30Z"), read_instant("2025-10-26T01:30Z")]
    assert our_ticks("30 2 * * *", "Europe/Berlin", night) == both
    assert server.ticks("30 2 * * *", "Europe/Berlin", night) == both[1:]
    night = read_instant("2025-11-01T12:00Z"), read_instant("2025-11-02T12:00Z")
    both = [read_instant("2025-11-02T05:30Z"), read_instant("2025-11-02T06:30Z")]
    assert our_ticks("30 1 * * *", "America/New_York", night) == both
    assert server.ticks("30 1 * * *", "America/New_York", night) == both


def test_server_invents_a_tick_in_a_gap_of_half_an_hour(server: TemporalServer) -> None:
    """At Lord Howe 02:00 becomes 02:30: an hourly job has nothing to do then, and Foliot goes on at 03:00."""
    night = read_instant("2025-10-04T13:30Z"), read_instant("2025-10-04T17:00Z")
    right = [read_instant(f"2025-10-04T{time}Z") for time in ("13:30", "14:30", "16:00", "17:00")]
    assert our_ticks("0 * * * *", "Australia/Lord_Howe", night) == right
    assert server.ticks("0 * * * *", "Australia/Lord_Howe", night) == sorted([*right, read_instant("2025-10-04T15:30Z")])


def test_server_never_gets_past_the_day_that_apia_skipped(server: TemporalServer) -> None:
    """Samoa had no 2011-12-30. The server answers 09:00 on the 29th again and again, up to the limit of its list."""
    window = read_instant("2011-12-28T00:00Z"), read_instant("2012-01-02T00:00Z")
    days = ["2011-12-28", "2011-12-29", "2011-12-30", "2011-12-31", "2012-01-01"]
    right = [read_instant(f"{day}T19:00Z") for day in days]  # 09:00 at -10, and from the 31st on at +14
    assert our_ticks("0 9 * * *", "Pacific/Apia", window) == right
    assert server.ticks("0 9 * * *", "Pacific/Apia", window) == [right[0], *[right[1]] * 999]


def test_server_loses_sunday_from_a_whole_week(server: TemporalServer) -> None:
    """`1-7` is Monday to Sunday, as `2-7` is Tuesday to Sunday; the server makes Monday to Saturday of it."""
    week = read_instant("2025-06-02T00:00Z"), read_instant("2025-06-08T00:00Z")
    days = list(range(week[0], week[1] + 1, DAY))
    assert our_ticks("0 0 * * 1-7", "UTC", week) == days
    assert server.ticks("0 0 * * 1-7", "UTC", week) == days[:-1]
    assert server.ticks("0 0 * * 2-7", "UTC", week) == our_ticks("0 0 * * 2-7", "UTC", week) == days[1:]
