"""Zone tables: equal to those of another implementation, and built only from the pinned package."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest
import tzdata
import whenever

from tompion import InvalidSpec, Spec, UnknownZone
from tompion.spec.calendar.days import DAY, HORIZON
from tompion.spec.zone.tables import DISTURBED, FOREVER, TZDATA_VERSION, Zone, load_zone, zone_names

HOUR = 3600


def utc(text: str) -> int:
    return int(datetime.fromisoformat(text + "+00:00").timestamp())


@pytest.fixture
def whenever_reads_the_package() -> Iterator[None]:
    """Without this, `whenever` reads the machine's own database first, which may be years older."""
    before = whenever.get_tzpath()
    whenever.reset_tzpath(())
    whenever.clear_tzcache()
    yield
    whenever.reset_tzpath(before)
    whenever.clear_tzcache()


def changes_by_whenever(name: str) -> list[tuple[int, int]]:
    """The offset at the epoch, then every change of it (not of the abbreviation alone) before 2201."""
    moment: whenever.ZonedDateTime | None = whenever.Instant.from_timestamp(0).to_tz(name)
    rows: list[tuple[int, int]] = []
    while moment is not None and moment.timestamp() < HORIZON:
        offset = int(moment.offset.total("seconds"))
        if not rows or offset != rows[-1][1]:
            rows.append((moment.timestamp(), offset))
        moment = moment.next_transition()
    return rows


# ---------------------------------------------------------------- the tables


def test_zone_tables_equal_those_of_whenever(whenever_reads_the_package: None) -> None:
    names = sorted(zone_names())
    assert len(names) > 590
    different = []
    for name in names:
        zone = load_zone(name)
        if list(zip((0, *zone.starts), zone.offsets, strict=True)) != changes_by_whenever(name):
            different.append(name)
    assert different == []


def test_comparison_with_whenever_is_not_empty(whenever_reads_the_package: None) -> None:
    """The comparison above would prove nothing if both sides were empty."""
    rows = changes_by_whenever("Europe/Berlin")
    assert rows[0] == (0, HOUR)
    assert (utc("2026-03-29T01:00:00"), 2 * HOUR) in rows
    assert rows[-1] == (utc("2200-10-26T01:00:00"), HOUR)


def test_zone_names_are_those_of_the_package() -> None:
    listed = files("tzdata").joinpath("zones").read_text(encoding="utf-8").split()
    assert zone_names() == set(listed)
    assert {"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT-14"} <= zone_names()
    assert tzdata.IANA_VERSION == TZDATA_VERSION


def test_assumptions_of_the_dst_layer_hold_for_every_zone() -> None:
    """Clock changes are days apart and at most a day wide, and no clock is a day away from Greenwich."""
    for name in sorted(zone_names()):
        zone = load_zone(name)
        assert len(zone.offsets) == len(zone.starts) + 1
        assert all(0 < start < HORIZON for start in zone.starts), name
        assert all(after - before >= 2 * DAY for before, after in pairwise(zone.starts)), name
        assert all(0 < abs(after - before) <= DAY for before, after in pairwise(zone.offsets)), name
        assert all(abs(offset) < DAY for offset in zone.offsets), name
        assert list(zone.local_highs) == sorted(set(zone.local_highs)), name


def test_pieces_of_every_zone_are_sorted() -> None:
    for name in sorted(zone_names()):
        zone = load_zone(name)
        assert all(before < after for before, after in pairwise(zone.cuts)), name
        assert zone.cuts[0] == 0
        assert zone.cuts[-1] == HORIZON
        assert len(zone.cut_offsets) == len(zone.cut_limits) == len(zone.cuts) + 1
        assert zone.cut_limits[0] == zone.cut_limits[-1] == DISTURBED


def disturbed_spans(zone: Zone) -> list[tuple[int, int]]:
    """The spans where adding the offset is not enough: both passes of a repeated hour, and the hour after a gap."""
    spans = []
    for start, (before, after) in zip(zone.starts, pairwise(zone.offsets), strict=True):
        width = abs(after - before)
        spans.append((start - width if after < before else start, start + width))
    return spans


def test_undisturbed_pieces_are_exact() -> None:
    for name in sorted(zone_names()):
        zone = load_zone(name)
        calm = [
            (begin, limit)
            for begin, limit in zip(zone.cuts, zone.cut_limits[1:], strict=True)
            if limit != DISTURBED and limit > begin
        ]
        spans = disturbed_spans(zone)
        edges = [0, *(edge for span in spans for edge in span), HORIZON]
        between = [(begin, end) for begin, end in zip(edges[::2], edges[1::2], strict=True) if begin < end]
        assert calm == between, name


def test_offset_of_an_undisturbed_piece_equals_its_segment() -> None:
    for name in ("Europe/Berlin", "America/New_York", "Pacific/Apia", "Australia/Lord_Howe", "UTC"):
        zone = load_zone(name)
        for begin, offset, limit in zip(zone.cuts, zone.cut_offsets[1:], zone.cut_limits[1:], strict=True):
            if limit != DISTURBED:
                assert offset == zone.offset_at(begin) == zone.offset_at(int(limit) - 1), (name, begin)


# ---------------------------------------------------------------- look-ups


@pytest.mark.parametrize(
    ("name", "instant", "offset"),
    [
        ("UTC", "2026-01-01T00:00:00", 0),
        ("Europe/Berlin", "2026-03-29T00:59:59", HOUR),
        ("Europe/Berlin", "2026-03-29T01:00:00", 2 * HOUR),
        ("Europe/Berlin", "2199-07-01T00:00:00", 2 * HOUR),
        ("Europe/Berlin", "1970-01-01T00:00:00", HOUR),
        ("America/New_York", "2025-11-02T05:59:59", -4 * HOUR),
        ("America/New_York", "2025-11-02T06:00:00", -5 * HOUR),
        ("Asia/Kathmandu", "1985-12-31T18:29:59", 5 * HOUR + 1800),
        ("Asia/Kathmandu", "1985-12-31T18:30:00", 5 * HOUR + 2700),
        ("Africa/Monrovia", "1971-01-01T00:00:00", -2670),
        ("Pacific/Kiritimati", "2026-01-01T00:00:00", 14 * HOUR),
    ],
)
def test_offset_changes_exactly_at_the_transition(name: str, instant: str, offset: int) -> None:
    assert load_zone(name).offset_at(utc(instant)) == offset


def test_segments_are_contiguous() -> None:
    zone = load_zone("Europe/London")
    for segment in range(1, len(zone.offsets)):
        begin = zone.begin_of(segment)
        assert begin == zone.end_of(segment - 1)
        assert zone.segment_at(begin) == segment
        assert zone.segment_at(begin - 1) == segment - 1
        assert zone.offset_at(begin) == zone.offsets[segment]
    assert zone.begin_of(0) == -FOREVER
    assert zone.end_of(len(zone.starts)) == FOREVER


def test_zone_without_changes_is_one_segment() -> None:
    zone = load_zone("Etc/GMT-14")
    assert (zone.starts, zone.offsets) == ((), (14 * HOUR,))
    assert zone.segment_at(-1) == zone.segment_at(HORIZON) == 0
    assert (zone.begin_of(0), zone.end_of(0)) == (-FOREVER, FOREVER)


def test_no_name_is_utc_and_zones_are_cached() -> None:
    assert load_zone(None) is load_zone("UTC")
    assert load_zone("Europe/Berlin") is load_zone("Europe/Berlin")


def test_repr_has_the_tzdata_release() -> None:
    assert repr(load_zone("Asia/Tokyo")) == f"Zone('Asia/Tokyo', tzdata {tzdata.IANA_VERSION})"


# ---------------------------------------------------------------- fingerprints

TABLE = [(100 * DAY, HOUR), (300 * DAY, 0)]


def test_fingerprint_does_not_depend_on_the_name() -> None:
    assert Zone("A", 0, TABLE).fingerprint == Zone("B", 0, list(TABLE)).fingerprint
    assert load_zone("US/Eastern").fingerprint == load_zone("America/New_York").fingerprint


@pytest.mark.parametrize(
    ("first_offset", "table"),
    [
        (1, TABLE),
        (0, TABLE[:1]),
        (0, [*TABLE, (500 * DAY, HOUR)]),
        (0, [(100 * DAY + 1, HOUR), (300 * DAY, 0)]),
        (0, [(100 * DAY, HOUR + 1), (300 * DAY, 0)]),
    ],
)
def test_fingerprint_changes_with_the_table(first_offset: int, table: list[tuple[int, int]]) -> None:
    assert Zone("A", first_offset, table).fingerprint != Zone("A", 0, TABLE).fingerprint


def test_equal_fingerprints_mean_equal_tables() -> None:
    tables: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {}
    for name in sorted(zone_names()):
        zone = load_zone(name)
        assert tables.setdefault(zone.fingerprint, (zone.starts, zone.offsets)) == (zone.starts, zone.offsets)
    assert len(tables) > 300


# ---------------------------------------------------------------- names that are refused

NO_ZONES = [
    "",
    " ",
    "UTC ",
    " UTC",
    "utc",
    "UTC\0",
    "UTC\n",
    "Mars/Phobos",
    "Europe",
    "Europe/",
    "/Europe/Berlin",
    "Europe//Berlin",
    "Europe/Berlin/..",
    "Europe/../Europe/Berlin",
    "../../etc/passwd",
    "..",
    ".",
    "/etc/localtime",
    "/usr/share/zoneinfo/Europe/Berlin",
    "tzdata.zi",
    "zone.tab",
    "iso3166.tab",
    "leapseconds",
    "__init__.py",
    "Europe/__init__.py",
    "posixrules",
    "posix/Europe/Berlin",
    "right/Europe/Berlin",
    "Europe\\Berlin",
    "C:\\Windows",
    "EST5EDT,M3.2.0,M11.1.0",
    "+02:00",
    "UTC+2",
    "Ｅurope/Berlin",
    "\ud800",
    "A" * 10_000,
]


@pytest.mark.parametrize("name", NO_ZONES)
def test_unlisted_zone_name_is_rejected_everywhere(name: str) -> None:
    with pytest.raises(UnknownZone) as caught:
        load_zone(name)
    assert caught.value.field == "timezone"
    assert caught.value.code == "unknown_zone"
    assert "IANA name" in str(caught.value)
    with pytest.raises(InvalidSpec):
        Spec(cron="0 0 * * *", timezone=name)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Europe/Berlim", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("EUROPE/BERLIN", "Europe/Berlin"),
        ("America/New York", "America/New_York"),
        ("New York", "America/New_York"),
        ("Tokyo", "Asia/Tokyo"),
        ("US/Pacfic", "US/Pacific"),
        ("utc", "UTC"),
    ],
)
def test_unknown_zone_has_a_suggestion(written: str, meant: str) -> None:
    with pytest.raises(UnknownZone) as caught:
        load_zone(written)
    assert caught.value.hint == f"did you mean {meant!r}?"


def test_unlike_name_has_no_suggestion() -> None:
    with pytest.raises(UnknownZone) as caught:
        load_zone("Xyzzy/Plugh")
    assert caught.value.hint is None


def test_unknown_zone_in_a_cron_string_is_rejected() -> None:
    with pytest.raises(UnknownZone, match="Mars/Phobos"):
        Spec(cron="CRON_TZ=Mars/Phobos 0 0 * * *")


# ---------------------------------------------------------------- nothing but the package is read

WATCH = """
import os, sys
import tompion
from tompion.spec.zone.tables import load_zone, zone_names

opened = []
sys.addaudithook(lambda event, arguments: opened.append(arguments[0]) if event == "open" else None)
for name in zone_names():
    load_zone(name)
for name in ("Europe/Berlim", "../../etc/passwd", "/etc/localtime"):
    try:
        load_zone(name)
    except tompion.UnknownZone:
        pass
paths = [os.fspath(path) for path in opened if not isinstance(path, int)]
sys.stdout.write("\\n".join(os.fsdecode(path) for path in paths))
"""


def test_loading_every_zone_opens_no_file_outside_the_tzdata_package(tmp_path: Path) -> None:
    """The variables point elsewhere on purpose. zoneinfo would follow them, and the engine must not."""
    environment = os.environ | {"PYTHONTZPATH": str(tmp_path), "TZDIR": str(tmp_path), "TZ": "Asia/Tokyo"}
    done = subprocess.run([sys.executable, "-c", WATCH], capture_output=True, text=True, check=True, env=environment)
    package = Path(tzdata.__file__).parent
    opened = [Path(line) for line in done.stdout.splitlines()]
    data = [
        path for path in opened if path.suffix not in {".py", ".pyc"}
    ]  # importing a module is not looking up a zone
    assert [str(path) for path in data if not path.is_relative_to(package)] == []
    assert len(set(data)) >= len(zone_names())
