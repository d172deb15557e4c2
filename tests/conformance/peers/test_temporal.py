"""The `temporal` dialect against a real Temporal server.

Tompion's dialect follows the documented rule of the server: a wall time that does not exist does not run, and one that
happens twice runs twice. The server follows the rule only at some clock changes (see `is_handled_correctly`), and there
both must agree. At the others, the tests pin the wrong answers of the server and the right ones of Tompion.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import pytest

import tompion
from tests.conformance.peers.comparison import Change, changes, format_answer
from tests.conformance.peers.examples import read_instant, table_rows
from tests.oracle.walk import DAY, HOUR
from tests.support.corpus import Syntax, draw_expression, draw_places, draw_year
from tests.support.seeds import suite_seed
from tests.support.temporal_schedules import TemporalServer, Window, running_server

pytestmark = [pytest.mark.server, pytest.mark.xdist_group("temporal")]

SPECS = 150
WINDOWS_EACH = 2
MAX_TICKS = 400  # the server lists at most 1,000

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
    """Return the ticks of Tompion's dialect."""
    return list(tompion.Spec(cron=cron, timezone=zone or None, dialect="temporal").compile().between_epochs(*window))


# ---------------------------------------------------------------- agreement


def draw_cron(rng: random.Random) -> str:
    """Draw an expression for Temporal. A sixth field is the year, and seconds need all seven fields."""
    fields = draw_expression(rng, Syntax(open_steps=True)).split()
    while fields[4] == "1-7":  # the server reads it wrongly, see below
        fields = draw_expression(rng, Syntax(open_steps=True)).split()
    if rng.random() < 0.2:
        fields.append(draw_year(rng))
        if rng.random() < 0.5:
            fields.insert(0, rng.choice(("0", "30", "*/20", "5-10")))
    return " ".join(fields)


def draw_window(rng: random.Random, cron: str, zones: frozenset[str]) -> tuple[str, Window]:
    """Draw a zone and a window, mostly around a clock change that the server handles correctly."""
    while True:
        [place] = draw_places(rng, 1, zones)
        first = place.instant - rng.randrange(2 * DAY)
        last = first + rng.choice((4 * HOUR, DAY, 5 * DAY, 60 * DAY))
        ticks = tompion.Spec(cron=cron, timezone=place.zone, dialect="temporal").compile().between_epochs(first, last)
        first_ticks = list(islice(ticks, MAX_TICKS))
        if len(first_ticks) == MAX_TICKS:
            last = first_ticks[-1]
        if all(is_handled_correctly(place.zone, change) for change in changes(place.zone, first - DAY, last + DAY)):
            return place.zone, (first, last)


def is_handled_correctly(zone: str, change: Change) -> bool:
    """Return whether the server follows its own rule at a clock change."""
    if zone in WEST:
        return change.on_the_hour and not (change.is_gap and change.at_midnight)
    return change.on_the_hour and change.is_gap


@pytest.mark.slow
def test_random_expressions_have_the_ticks_of_the_server(
    server: TemporalServer, capfd: pytest.CaptureFixture[str]
) -> None:
    seed = suite_seed()
    rng = random.Random(f"temporal {seed}")
    queries = []
    for number in range(SPECS):
        cron, zones = draw_cron(rng), WEST if number % 2 else EAST
        zone, window = draw_window(rng, cron, zones)
        more = [draw_window(rng, cron, frozenset({zone}))[1] for _ in range(WINDOWS_EACH - 1)]
        queries.append((cron, zone, [window, *more]))
    answers = server.ticks_of_all(queries)
    total = 0
    for (cron, zone, windows), ticks in zip(queries, answers, strict=True):
        for window, theirs in zip(windows, ticks, strict=True):
            ours = our_ticks(cron, zone, window)
            total += len(ours)
            where = (
                f"seed {seed}: {cron!r} in {zone}, {format_answer(window[0], zone)} to {format_answer(window[1], zone)}"
            )
            assert theirs == ours, f"{where}: {difference(ours, theirs, zone)}"
    with capfd.disabled():  # the seed is printed even if the test passes
        sys.stderr.write(f"\ntemporal: TOMPION_TEST_SEED={seed}, {SPECS} specs, {total} ticks\n")
    assert total > 1_000


def difference(ours: list[int], theirs: list[int], zone: str) -> str:
    """Return the first ticks that only one side has."""
    only_ours = [format_answer(tick, zone) for tick in ours if tick not in theirs][:5]
    only_theirs = [format_answer(tick, zone) for tick in theirs if tick not in ours][:5]
    return f"only Tompion {only_ours}, only the server {only_theirs}"


# Cron strings that mean something else than in cron. The server and Tompion's dialect read them alike.
SHARED = {
    "0 0 13 * 5": ["2025-06-13"],  # Friday the 13th: both day fields must match
    "0 0 * * 5#3": ["2025-06-06", "2025-06-13", "2025-06-20", "2025-06-27"],  # '#' begins a comment: every Friday
    "0 0 1 * * 2025": ["2025-06-01"],  # the sixth field is the year
    "0 0 * * 6-7": ["2025-06-01", "2025-06-07", "2025-06-08", "2025-06-14", "2025-06-15", "2025-06-21", "2025-06-22",
                    "2025-06-28", "2025-06-29"],
    "0 0 */10 jun sund": ["2025-06-01"],  # names may be shortened, to two letters for a weekday
    # a step without an end reaches 7, which is Sunday
    "0 0 1-14 * 1/2": ["2025-06-01", "2025-06-02", "2025-06-04", "2025-06-06", "2025-06-08", "2025-06-09", "2025-06-11",
                       "2025-06-13"],
    "0 0 1-14 * 5/2": ["2025-06-01", "2025-06-06", "2025-06-08", "2025-06-13"],
}  # fmt: skip


@pytest.mark.parametrize(("cron", "days"), SHARED.items(), ids=list(SHARED))
def test_unusual_cron_strings_have_the_ticks_of_the_server(server: TemporalServer, cron: str, days: list[str]) -> None:
    june = read_instant("2025-06-01T00:00Z"), read_instant("2025-06-30T23:59:59Z")
    expected = [read_instant(f"{day}T00:00Z") for day in days]
    assert server.ticks(cron, "UTC", june) == expected
    assert our_ticks(cron, "UTC", june) == expected


READ_ALIKE = [
    *("@hourly", "@daily", "@midnight", "@weekly", "@every 1h", "@every 90m/15m", "@every 1d", "@every 1.5h # comment"),
    *("CRON_TZ=Europe/Berlin 0 9 * * *", "TZ=Asia/Tokyo 0 9 * * *", "0 9 * * * # comment", "0 9 * * *# comment"),
    *("0 0 * * sunda", "0 0 * * su", "0 0 * janu-JULY *", "0 0 * * mon-fri/2", "0 0 * * 3-7/2", "0 0 * * 1-7/3"),
    *("0 0 * * sat-7", "0 0 * * 7-7", "0 0 * * 0,7", "0 0 * * */7", "0 */25 * * *", "5/20 * * * *", "1-5/2,10 8 * * *"),
    *("00 09 * * *", "0  0   * * *", "0 0 * * * 2024/1", "30 0 0 * * * 2000-2100", "0 0 1-31/5 * *", "0 0 * */5 *"),
]
"""Expressions with a tick in the first week of June 2025."""

REJECTED = [
    *("0 0 * * FRI-SUN", "0 22-2 * * *", "0 0 L * *", "0 0 15W * *", "0 0 * * 5L", "0 0 ? * *", "H * * * *"),
    *("60 * * * *", "0 24 * * *", "0 0 0 * *", "0 0 32 * *", "0 0 * 13 *", "0 0 * * 8", "*/0 * * * *", "5/0 * * * *"),
    *("0 0 1, * *", "0 0 ,1 * *", "0 0 * ja *", "0 0 * * s", "0 0 * * sundayx", "a * * * *", "-5 * * * *"),
    *("", "0 0 * *", "* * * * * * * *", "# 0 0 * * *", "0 0 0 * * MON", "@reboot", "@every 0s", "@every 500ms"),
]
"""Expressions that neither side accepts."""


def test_every_accepted_form_has_the_ticks_of_the_server(server: TemporalServer) -> None:
    week = read_instant("2025-06-01T00:00Z"), read_instant("2025-06-07T23:59:59Z")
    answers = server.ticks_of_all([(cron, "", [week]) for cron in READ_ALIKE])
    for cron, [theirs] in zip(READ_ALIKE, answers, strict=True):
        assert theirs, cron
        assert our_ticks(cron, "", week) == theirs, cron


def test_every_form_that_the_server_rejects_is_rejected(server: TemporalServer) -> None:
    for cron in REJECTED:
        assert not server.accepts(cron), cron
        with pytest.raises(tompion.InvalidSpec):
            our_ticks(cron, "", (0, 1))


def test_nth_weekday_is_supported_by_the_own_dialect_only() -> None:
    """In the Temporal dialect `#3` is a comment. In Tompion's own dialect `5#3` is the third Friday."""
    tick = tompion.Spec(cron="0 0 * * 5#3").next(read_instant("2025-06-01T00:00Z"))
    assert tick is not None
    assert tick.isoformat() == "2025-06-20T00:00:00+00:00"


# ---------------------------------------------------------------- errors of the server


@dataclass(frozen=True)
class Slip:
    """A window in which the server breaks its own rule.

    `right` is the answer by that rule: a list of wall times, or the seconds between two ticks from the first instant.
    A step in seconds needs offsets that are multiples of the step.
    """

    name: str
    cron: str
    zone: str
    first: str
    last: str
    right: int | str
    theirs: str

    @property
    def window(self) -> Window:
        return read_instant(self.first), read_instant(self.last)

    @property
    def right_walls(self) -> list[str]:
        if isinstance(self.right, str):
            return self.right.split()
        return walls(list(range(self.window[0], self.window[1] + 1, self.right)), self.zone)


def walls(ticks: list[int], zone: str) -> list[str]:
    """Format ticks as day, wall time and offset: 26T02:30+01."""
    texts = [format_answer(tick, zone) for tick in ticks]
    return [text[8:16] + text[19:22] + text[22:].removesuffix(":00") for text in texts]


SLIPS = [
    Slip("berlin-quarter-hours", "*/15 * * * *", "Europe/Berlin", "2025-10-25T23:45Z", "2025-10-26T03:00Z", 900,
         "26T01:45+02 26T02:00+02 26T02:15+01 26T03:30+01 26T03:45+01 26T04:00+01"),
    Slip("berlin-daily", "30 2 * * *", "Europe/Berlin", "2025-10-25T12:00Z", "2025-10-26T12:00Z",
         "26T02:30+02 26T02:30+01", "26T02:30+01"),
    Slip("london-minutes", "* * * * *", "Europe/London", "2025-10-25T23:58Z", "2025-10-26T02:10Z", 60,
         "26T00:58+01 26T00:59+01 26T01:00+01 26T01:01+00 26T02:02+00 26T02:03+00 26T02:04+00 26T02:05+00 26T02:06+00 "
         "26T02:07+00 26T02:08+00 26T02:09+00 26T02:10+00"),
    Slip("dublin-hours", "0 * * * *", "Europe/Dublin", "2025-10-25T23:00Z", "2025-10-26T03:00Z", 3600,
         "26T00:00+01 26T01:00+01 26T02:00+00 26T03:00+00"),
    Slip("sydney-hours", "0 * * * *", "Australia/Sydney", "2025-04-05T14:00Z", "2025-04-05T18:00Z", 3600,
         "06T01:00+11 06T02:00+11 06T03:00+10 06T04:00+10"),
    Slip("cairo-half-past", "30 * * * *", "Africa/Cairo", "2014-09-25T19:30Z", "2014-09-25T22:30Z", 3600,
         "25T22:30+03 25T23:30+03 26T00:30+02"),
    Slip("troll-half-hours", "*/30 * * * *", "Antarctica/Troll", "2025-10-25T22:00Z", "2025-10-26T05:00Z", 1800,
         "26T00:00+02 26T00:30+02 26T01:00+02 26T01:30+00 26T02:00+00 26T02:30+00 26T03:00+00 26T03:30+00 26T04:00+00 "
         "26T04:30+00 26T05:00+00"),
    Slip("lord-howe-autumn", "*/10 * * * *", "Australia/Lord_Howe", "2025-04-05T14:00Z", "2025-04-05T16:30Z", 600,
         "06T01:00+11 06T01:10+11 06T01:20+11 06T01:30+10:30 06T02:40+10:30 06T02:50+10:30 06T03:00+10:30"),
    Slip("lord-howe-spring", "0 * * * *", "Australia/Lord_Howe", "2025-10-04T13:30Z", "2025-10-04T17:00Z",
         "05T00:00+10:30 05T01:00+10:30 05T03:00+11 05T04:00+11",
         "05T00:00+10:30 05T01:00+10:30 05T02:30+11 05T03:00+11 05T04:00+11"),
    Slip("st-johns-autumn-2010", "*/20 * * * *", "America/St_Johns", "2010-11-07T01:50Z", "2010-11-07T05:10Z", 1200,
         "06T23:20-02:30 06T23:40-02:30 07T00:00-02:30 07T00:20-03:30 07T00:40-03:30 07T00:00-03:30 07T01:20-03:30 "
         "07T01:40-03:30"),
    Slip("st-johns-spring-2006", "*/10 * * * *", "America/St_Johns", "2006-04-02T03:10Z", "2006-04-02T04:50Z", 600,
         "01T23:40-03:30 01T23:50-03:30 02T00:00-03:30 02T02:00-02:30 02T02:10-02:30 02T02:20-02:30"),
    Slip("sao-paulo-sunday-2018", "0 4 * * SUN", "America/Sao_Paulo", "2018-11-03T12:00Z", "2018-11-12T00:00Z",
         "04T04:00-02 11T04:00-02", "11T04:00-02"),
    Slip("apia-2011", "0 9 * * *", "Pacific/Apia", "2011-12-28T00:00Z", "2012-01-02T00:00Z",
         "28T09:00-10 29T09:00-10 31T09:00+14 01T09:00+14 02T09:00+14", "28T09:00-10" + 999 * " 29T09:00-10"),
    Slip("whole-week", "0 0 * * 1-7", "UTC", "2025-06-02T00:00Z", "2025-06-08T00:00Z", DAY,
         "02T00:00+00 03T00:00+00 04T00:00+00 05T00:00+00 06T00:00+00 07T00:00+00"),
]  # fmt: skip


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: slip.name)
def test_ticks_follow_the_rule_that_the_server_breaks(server: TemporalServer, slip: Slip) -> None:
    assert walls(our_ticks(slip.cron, slip.zone, slip.window), slip.zone) == slip.right_walls
    assert walls(server.ticks(slip.cron, slip.zone, slip.window), slip.zone) == slip.theirs.split()
    assert slip.theirs.split() != slip.right_walls


def test_every_slip_is_documented() -> None:
    """The document has one row for each slip, with the numbers of ticks on both sides."""
    rows = [cells[:6] for heading, cells in table_rows() if heading == "Temporal's server"]
    assert rows == [
        [
            *(slip.name, slip.cron, slip.zone, f"{slip.first} to {slip.last}"),
            *(str(len(slip.right_walls)), str(len(slip.theirs.split()))),
        ]
        for slip in SLIPS
    ]
