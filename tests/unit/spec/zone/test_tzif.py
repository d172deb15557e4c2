"""Time zone files: tabulated transitions, every form of the footer's rule, and damaged files."""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from importlib.resources import files

import pytest

from tompion.errors import MalformedZoneFile
from tompion.spec.calendar.days import HORIZON
from tompion.spec.zone.tzif import Transition, read_transitions

HOUR = 3600


def utc(text: str) -> int:
    return int(datetime.fromisoformat(text + "+00:00").timestamp())


def block(transitions: list[tuple[int, int]], offsets: list[int], *, width: int, version: bytes = b"2") -> bytes:
    """One data block. ``transitions`` are pairs of an instant and an index into ``offsets``."""
    header = struct.pack(">4sc15x6l", b"TZif", version, 0, 0, 0, len(transitions), len(offsets), 4)
    instants = b"".join(struct.pack(">q" if width == 8 else ">l", instant) for instant, _index in transitions)
    indexes = bytes(index for _instant, index in transitions)
    types = b"".join(struct.pack(">lBB", offset, 0, 0) for offset in offsets)
    return header + instants + indexes + types + b"XYZ\0"


def zone_file(
    footer: str = "", transitions: list[tuple[int, int]] | None = None, offsets: list[int] | None = None
) -> bytes:
    changes = transitions or []
    types = offsets or [0]
    old = [(instant, index) for instant, index in changes if -(1 << 31) <= instant < 1 << 31]
    return block(old, types, width=4) + block(changes, types, width=8) + b"\n" + footer.encode() + b"\n"


def changes_in(year: int, footer: str) -> list[tuple[str, int]]:
    """The changes that a footer alone makes in one year, as UTC text and offset."""
    _offset, changes = read_transitions(zone_file(footer))
    texts = [(datetime.fromtimestamp(instant, UTC), offset) for instant, offset in changes]
    return [(f"{moment:%Y-%m-%dT%H:%M:%S}", offset) for moment, offset in texts if moment.year == year]


# ---------------------------------------------------------------- the footer's rule


@pytest.mark.parametrize(
    ("footer", "offset"),
    [
        ("UTC0", 0),
        ("EST5", -5 * HOUR),
        ("MSK-3", 3 * HOUR),
        ("<+0545>-5:45", 5 * HOUR + 45 * 60),
        ("<-0930>9:30", -9 * HOUR - 30 * 60),
        ("ABC+1:02:03", -(HOUR + 2 * 60 + 3)),
        ("<+14>-14", 14 * HOUR),
        ("<-00>0", 0),
    ],
)
def test_footer_without_dst_is_one_offset(footer: str, offset: int) -> None:
    assert read_transitions(zone_file(footer)) == (offset, [])


RULES = [
    # M month.week.weekday. The default time is 02:00.
    (2025, "EST5EDT,M3.2.0,M11.1.0", [("2025-03-09T07:00:00", -4 * HOUR), ("2025-11-02T06:00:00", -5 * HOUR)]),
    (2026, "EST5EDT,M3.2.0,M11.1.0", [("2026-03-08T07:00:00", -4 * HOUR), ("2026-11-01T06:00:00", -5 * HOUR)]),
    # week 5 is the last one, be it the fourth or the fifth
    (2025, "CET-1CEST,M3.5.0,M10.5.0/3", [("2025-03-30T01:00:00", 2 * HOUR), ("2025-10-26T01:00:00", HOUR)]),
    (2026, "CET-1CEST,M3.5.0,M10.5.0/3", [("2026-03-29T01:00:00", 2 * HOUR), ("2026-10-25T01:00:00", HOUR)]),
    (2026, "AAA0BBB,M2.5.6/0,M12.5.4/0", [("2026-02-28T00:00:00", HOUR), ("2026-12-30T23:00:00", 0)]),
    # the south: daylight time ends before it begins
    (2025, "AEST-10AEDT,M10.1.0,M4.1.0/3", [("2025-04-05T16:00:00", 10 * HOUR), ("2025-10-04T16:00:00", 11 * HOUR)]),
    # half an hour, and a daylight offset of its own
    (
        2025,
        "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
        [("2025-04-05T15:00:00", 37800), ("2025-10-04T15:30:00", 11 * HOUR)],
    ),
    # 45 minutes past, and quoted names
    (
        2025,
        "<+1245>-12:45<+1345>,M9.5.0/2:45,M4.1.0/3:45",
        [("2025-04-05T14:00:00", 45900), ("2025-09-27T14:00:00", 49500)],
    ),
    # Ireland: winter is the exception, and it is an hour less
    (2025, "IST-1GMT0,M10.5.0,M3.5.0/1", [("2025-03-30T01:00:00", HOUR), ("2025-10-26T01:00:00", 0)]),
    # two hours
    (2025, "<+00>0<+02>-2,M3.5.0/1,M10.5.0/3", [("2025-03-30T01:00:00", 2 * HOUR), ("2025-10-26T01:00:00", 0)]),
    # a time before the day begins
    (2025, "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", [("2025-03-30T01:00:00", -HOUR), ("2025-10-26T01:00:00", -2 * HOUR)]),
    # a time of 24 h, and of more than a day: Thursday + 50 h is Saturday 02:00
    (2025, "EET-2EEST,M4.5.5/0,M10.5.4/24", [("2025-04-24T22:00:00", 3 * HOUR), ("2025-10-30T21:00:00", 2 * HOUR)]),
    (2050, "EET-2EEST,M3.4.4/50,M10.4.4/50", [("2050-03-26T00:00:00", 3 * HOUR), ("2050-10-28T23:00:00", 2 * HOUR)]),
    # as far as RFC 9636 goes, with minutes and seconds
    (2025, "AAA0BBB,M3.1.0/167,M10.1.0/-167", [("2025-03-08T23:00:00", HOUR), ("2025-09-28T00:00:00", 0)]),
    (2025, "AAA0BBB,M3.1.0/1:02:03,M10.1.0/+4", [("2025-03-02T01:02:03", HOUR), ("2025-10-05T03:00:00", 0)]),
    # Jn: 29 February is never counted, so J60 is 1 March in every year
    (2024, "AAA0BBB,J60,J305", [("2024-03-01T02:00:00", HOUR), ("2024-11-01T01:00:00", 0)]),
    (2025, "AAA0BBB,J60,J305", [("2025-03-01T02:00:00", HOUR), ("2025-11-01T01:00:00", 0)]),
    (2024, "AAA0BBB,J59/0,J365/1", [("2024-02-28T00:00:00", HOUR), ("2024-12-31T00:00:00", 0)]),
    (2024, "AAA0BBB,J1/3,J31/4", [("2024-01-01T03:00:00", HOUR), ("2024-01-31T03:00:00", 0)]),
    # n: counted from 0, 29 February included
    (2024, "AAA0BBB,59,304", [("2024-02-29T02:00:00", HOUR), ("2024-10-31T01:00:00", 0)]),
    (2025, "AAA0BBB,59,304", [("2025-03-01T02:00:00", HOUR), ("2025-11-01T01:00:00", 0)]),
    (2025, "AAA0BBB,0/5,M11.1.0", [("2025-01-01T05:00:00", HOUR), ("2025-11-02T01:00:00", 0)]),
    # the rule reaches to the last year of the range
    (2200, "EST5EDT,M3.2.0,M11.1.0", [("2200-03-09T07:00:00", -4 * HOUR), ("2200-11-02T06:00:00", -5 * HOUR)]),
]


@pytest.mark.parametrize(("year", "footer", "expected"), RULES)
def test_footer_is_expanded_exactly(year: int, footer: str, expected: list[tuple[str, int]]) -> None:
    assert changes_in(year, footer) == expected


@pytest.mark.parametrize(
    "footer",
    ["XXX3EDT4,0/0,J365/23", "AAA-1BBB,0/0,J365/25", "<-02>2<+00>0,0/0,J365/26"],
)
def test_dst_that_ends_as_it_begins_lasts_all_year(footer: str) -> None:
    """RFC 9636, section 3.3.2: the form of permanent daylight time. It must give no transition."""
    daylight = {"X": -4 * HOUR, "A": 2 * HOUR, "<": 0}[footer[0]]
    assert read_transitions(zone_file(footer)) == (daylight, [])


# ---------------------------------------------------------------- table and footer together


def test_footer_applies_after_the_last_tabulated_change() -> None:
    table = [(utc("2000-01-01T00:00:00"), 1), (utc("2030-06-01T00:00:00"), 0)]
    first, changes = read_transitions(zone_file("EST5EDT,M3.2.0,M11.1.0", table, [-5 * HOUR, -3 * HOUR]))
    assert first == -5 * HOUR
    assert changes[:2] == [(utc("2000-01-01T00:00:00"), -3 * HOUR), (utc("2030-06-01T00:00:00"), -5 * HOUR)]
    assert changes[2] == (utc("2031-03-09T07:00:00"), -4 * HOUR), "the end of 2030's daylight time changes nothing"


def test_file_without_a_footer_keeps_its_last_offset() -> None:
    table = [(utc("2000-01-01T00:00:00"), 1)]
    assert read_transitions(zone_file("", table, [0, HOUR])) == (0, [(utc("2000-01-01T00:00:00"), HOUR)])


def test_changes_before_the_epoch_set_the_first_offset() -> None:
    table = [(-100, 1), (0, 2), (1, 3)]
    assert read_transitions(zone_file("", table, [0, 60, 120, 180])) == (120, [(1, 180)])


def test_first_type_applies_before_the_first_change() -> None:
    assert read_transitions(zone_file("", [(500, 0)], [3600, 60])) == (3600, [])
    assert read_transitions(zone_file("", [(500, 1)], [3600, 60])) == (3600, [(500, 60)])


def test_abbreviation_change_alone_is_ignored() -> None:
    table: list[Transition] = [(100, 1), (200, 2), (300, 0)]
    assert read_transitions(zone_file("", table, [0, HOUR, HOUR])) == (0, [(100, HOUR), (300, 0)])


def test_changes_from_2201_on_are_ignored() -> None:
    table = [(HORIZON - 1, 1), (HORIZON, 0)]
    assert read_transitions(zone_file("", table, [0, HOUR])) == (0, [(HORIZON - 1, HOUR)])


def test_64_bit_block_is_used() -> None:
    data = block([(100, 0)], [7], width=4) + block([(1 << 32, 1)], [0, HOUR], width=8) + b"\n\n"
    assert read_transitions(data) == (0, [(1 << 32, HOUR)])


# ---------------------------------------------------------------- what is no time zone file

BERLIN = files("tzdata").joinpath("zoneinfo", "Europe", "Berlin").read_bytes()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"TZif",
        b"not a time zone file at all, but long enough to hold a header of forty-four bytes",
        BERLIN.replace(b"TZif", b"TZiF"),
        block([], [0], width=4, version=b"\0"),  # version 1: no second block
        block([], [], width=4) + block([], [], width=8) + b"\n\n",
        block([], [0], width=4) + block([(100, 5)], [0, 1], width=8) + b"\n\n",
        BERLIN[:20],
        BERLIN[: len(BERLIN) // 2],
        BERLIN[: BERLIN.rindex(b"\nCET")],
        BERLIN[:-4],
    ],
    ids="empty magic text wrong-magic version-1 no-types no-such-type header table before-footer footer".split(),
)
def test_damaged_file_is_rejected(data: bytes) -> None:
    with pytest.raises(MalformedZoneFile):
        read_transitions(data)


@pytest.mark.parametrize(
    "footer",
    [
        "nonsense",
        "EST",
        "E5",
        "EST5EDT",
        "EST5EDT,M3.2.0",
        "EST5EDT,M3.2.0,M11.1.0,M12.1.0",
        "EST5EDT,M3.2,M11.1.0",
        "EST5EDT,M13.1.0,M11.1.0",
        "EST5EDT,M0.1.0,M11.1.0",
        "EST5EDT,M3.0.0,M11.1.0",
        "EST5EDT,M3.6.0,M11.1.0",
        "EST5EDT,M3.1.7,M11.1.0",
        "EST5EDT,J0,J100",
        "EST5EDT,J1,J366",
        "EST5EDT,1,366",
        "EST5EDT,M3.2.0/,M11.1.0",
        "EST5EDT,M3.2.0/2:60,M11.1.0",
        "EST5EDT,M3.2.0/168,M11.1.0",
        "EST25",
        "<EST5",
        "<E>5",
        "EST５",
        "ÉST5",
        "UTC0\nUTC0",
    ],
)
def test_invalid_footer_is_rejected(footer: str) -> None:
    with pytest.raises(MalformedZoneFile):
        read_transitions(zone_file(footer))
