"""The time engine against a brute-force oracle that walks every second (see ``tests/oracle``).

First the oracle is checked against facts that were worked out by hand. Then it checks the engine at more than a hundred
thousand instants. Then it checks engines with planted defects, and must detect each of them.

``TOMPION_TEST_SEED`` selects other cases. Every failure names the seed.
"""

import sys
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

import tompion
from tests.oracle import brute
from tests.oracle.brute import Spec, iso, ticks_of
from tests.oracle.cron import numbers, parse_cron
from tests.oracle.judge import Engine
from tests.oracle.places import REQUIRED, Place, transitions
from tests.oracle.rounds import (
    ROUNDS_PER_BLOCK,
    Disagreed,
    Tally,
    build_engine,
    place_of_round,
    run_round,
)
from tests.oracle.walk import DAY, HOUR, Walk, load_zone, moment_of, offset_at, walk_seconds
from tests.support.seeds import new_seed, suite_seed

CASES = 100_000
CHUNKS = 4
BLOCKS_PER_CHUNK = 2

# ---------------------------------------------------------------- the oracle against facts worked out by hand


def instant(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def walk_from(zone_name: str, start: str, hours: int) -> Walk:
    return walk_seconds(zone_name, instant(start), instant(start) + hours * HOUR)


FACTS: list[tuple[str, str, int, dict[str, Any], list[str]]] = [
    # 02:30 does not exist in New York on 2025-03-09: once at 03:00 EDT
    ("America/New_York", "2025-03-09T05:00Z", 24, {"cron": "30 2 * * *"}, ["2025-03-09T07:00:00Z"]),
    # moved by the length of the gap: 03:30 EDT
    ("America/New_York", "2025-03-09T05:00Z", 24, {"cron": "30 2 * * *", "dst_gap": "shift"}, ["2025-03-09T07:30:00Z"]),
    ("America/New_York", "2025-03-09T05:00Z", 23, {"cron": "30 2 * * *", "dst_gap": "skip"}, []),
    # several lost times and the regular 03:00 are one tick
    ("America/New_York", "2025-03-09T05:00Z", 12, {"cron": "0,20,40 2,3 * * *"}, [
        "2025-03-09T07:00:00Z", "2025-03-09T07:20:00Z", "2025-03-09T07:40:00Z",
    ]),
    # a minute field that starts with * is of class wildcard: the lost hour stays lost
    ("America/New_York", "2025-03-09T05:00Z", 23, {"cron": "*/30 2 * * *"}, []),
    # 01:30 happens twice on 2025-11-02
    ("America/New_York", "2025-11-02T04:00Z", 12, {"cron": "30 1 * * *"}, ["2025-11-02T05:30:00Z"]),
    ("America/New_York", "2025-11-02T04:00Z", 12, {"cron": "30 1 * * *", "dst_profile": "quartz"}, [
        "2025-11-02T06:30:00Z",
    ]),
    ("America/New_York", "2025-11-02T04:00Z", 12, {"cron": "30 1 * * *", "dst_profile": "temporal"}, [
        "2025-11-02T05:30:00Z", "2025-11-02T06:30:00Z",
    ]),
    ("America/New_York", "2025-11-02T04:00Z", 12, {"cron": "*/30 1 * * *"}, [
        "2025-11-02T05:00:00Z", "2025-11-02T05:30:00Z", "2025-11-02T06:00:00Z", "2025-11-02T06:30:00Z",
    ]),
    # Lord Howe moves by half an hour: 02:15 is lost on 2025-10-05, clocks go from 02:00 to 02:30 (+11)
    ("Australia/Lord_Howe", "2025-10-04T14:00Z", 12, {"cron": "15 2 * * *"}, ["2025-10-04T15:30:00Z"]),
    ("Australia/Lord_Howe", "2025-10-04T14:00Z", 12, {"cron": "15 2 * * *", "dst_gap": "shift"}, [
        "2025-10-04T15:45:00Z",
    ]),
    ("Australia/Lord_Howe", "2025-10-04T14:00Z", 3, {"cron": "*/15 * * * *"}, [
        "2025-10-04T14:00:00Z", "2025-10-04T14:15:00Z", "2025-10-04T14:30:00Z", "2025-10-04T14:45:00Z",
        "2025-10-04T15:00:00Z", "2025-10-04T15:15:00Z", "2025-10-04T15:30:00Z", "2025-10-04T15:45:00Z",
        "2025-10-04T16:00:00Z", "2025-10-04T16:15:00Z", "2025-10-04T16:30:00Z", "2025-10-04T16:45:00Z",
    ]),
    # midnight does not exist in São Paulo on 2018-11-04: 01:00 -02
    ("America/Sao_Paulo", "2018-11-04T01:00Z", 20, {"cron": "0 0 * * *"}, ["2018-11-04T03:00:00Z"]),
    # Apia had no 30 December 2011: no DST, no policy catches up
    ("Pacific/Apia", "2011-12-29T18:00Z", 40, {"cron": "0 9 * * *"}, ["2011-12-29T19:00:00Z", "2011-12-30T19:00:00Z"]),
    ("Pacific/Apia", "2011-12-29T18:00Z", 40, {"cron": "0 9 30 12 *", "dst_gap": "shift"}, []),
    # three hours at Casey are still DST: 2009-10-18 02:00 to 05:00 (+11)
    ("Antarctica/Casey", "2009-10-17T12:00Z", 20, {"cron": "30 4 * * *"}, ["2009-10-17T18:00:00Z"]),
    # a quarter of an hour in Kathmandu, 1986-01-01 00:00 to 00:15
    ("Asia/Kathmandu", "1985-12-31T12:00Z", 20, {"cron": "5 0 * * *"}, ["1985-12-31T18:30:00Z"]),
    # a lost wall time is excluded by the time it named, not by the one it was moved to
    ("America/New_York", "2025-03-09T05:00Z", 23, {
        "cron": "30 2 * * *", "exclude": {"calendars": [{"hour": "2"}]},
    }, []),
    ("America/New_York", "2025-03-09T05:00Z", 23, {
        "cron": "30 2 * * *", "exclude": {"calendars": [{"hour": "3"}]},
    }, ["2025-03-09T07:00:00Z"]),
    # the end of a window is exclusive, and a date as end includes that day
    ("UTC", "2025-06-01T00:00Z", 72, {
        "cron": "0 */12 * * *", "exclude": {"windows": [{"from": "2025-06-01T12:00:00", "to": "2025-06-02T12:00:00"}]},
    }, ["2025-06-01T00:00:00Z", "2025-06-02T12:00:00Z", "2025-06-03T00:00:00Z", "2025-06-03T12:00:00Z"]),
    ("UTC", "2025-06-01T00:00Z", 72, {
        "cron": "0 */12 * * *", "exclude": {"windows": [{"from": "2025-06-01", "to": "2025-06-02"}]},
    }, ["2025-06-03T00:00:00Z", "2025-06-03T12:00:00Z"]),
    # intervals have no zone, start and end are inclusive, equal instants are one tick
    ("Asia/Kathmandu", "2025-01-01T00:00Z", 24, {
        "intervals": [{"every": "6h", "offset": "1h"}], "cron": ["45 18 * * *"],
        "start_at": "2025-01-01T07:00:00Z", "end_at": "2025-01-01T13:00:00Z",
    }, ["2025-01-01T07:00:00Z", "2025-01-01T13:00:00Z"]),
]  # fmt: skip


@pytest.mark.parametrize(("zone_name", "start", "hours", "spec", "expected"), FACTS)
def test_oracle_matches_facts_worked_out_by_hand(
    zone_name: str, start: str, hours: int, spec: Spec, expected: list[str]
) -> None:
    ticks = ticks_of({"timezone": zone_name, **spec}, walk_from(zone_name, start, hours))
    assert [iso(tick) for tick in ticks.instants] == expected


DAY_FACTS = [
    ("0 0 L * *", "2024-02-01", "2024-03-31", "2024-02-29 2024-03-31"),
    ("0 0 L-2 * *", "2025-02-01", "2025-03-31", "2025-02-26 2025-03-29"),
    ("0 0 LW * *", "2025-05-01", "2025-08-31", "2025-05-30 2025-06-30 2025-07-31 2025-08-29"),
    ("0 0 1W * *", "2025-02-01", "2025-06-30", "2025-02-03 2025-03-03 2025-04-01 2025-05-01 2025-06-02"),
    ("0 0 31W * *", "2025-08-01", "2025-10-31", "2025-08-29 2025-10-31"),
    ("0 0 * * FRI#5", "2025-01-01", "2025-08-31", "2025-01-31 2025-05-30 2025-08-29"),
    ("0 0 * * 5L", "2025-01-01", "2025-03-31", "2025-01-31 2025-02-28 2025-03-28"),
    ("0 0 13 * FRI", "2025-06-08", "2025-06-21", "2025-06-13 2025-06-20"),
    ("0 0 16 * FRI", "2025-06-08", "2025-06-21", "2025-06-13 2025-06-16 2025-06-20"),
    ("0 0 13 * +FRI", "2025-01-01", "2026-03-31", "2025-06-13 2026-02-13 2026-03-13"),
    ("0 0 */2 * FRI", "2025-06-08", "2025-06-30", "2025-06-13 2025-06-27"),
    ("0 0 29 2 *", "2095-01-01", "2108-01-01", "2096-02-29 2104-02-29"),
    ("0 0 30 2 *", "1970-01-01", "2000-01-01", ""),
    ("0 0 * * 7", "2025-06-01", "2025-06-10", "2025-06-01 2025-06-08"),
    ("0 0 * * FRI-MON", "2025-06-02", "2025-06-08", "2025-06-02 2025-06-06 2025-06-07 2025-06-08"),
    ("0 0 30-2 * ?", "2025-06-29", "2025-07-04", "2025-06-30 2025-07-01 2025-07-02"),
    ("0 0 0 1 JAN * 2025/3", "2020-01-01", "2032-12-31", "2025-01-01 2028-01-01 2031-01-01"),
]


@pytest.mark.parametrize(("text", "first", "last", "expected"), DAY_FACTS)
def test_oracle_names_the_right_days(text: str, first: str, last: str, expected: str) -> None:
    rule = parse_cron(text)
    begin, end = date.fromisoformat(first), date.fromisoformat(last)
    days = [begin + timedelta(days=count) for count in range((end - begin).days + 1)]
    assert [day.isoformat() for day in days if rule.names_day(day)] == expected.split()


@pytest.mark.parametrize(
    ("text", "field", "expected"),
    [
        ("22-2", "hour", {22, 23, 0, 1, 2}),
        ("22-2/2", "hour", {22, 0, 2}),
        ("5/20", "minute", {5, 25, 45}),
        ("10-20/5,3", "minute", {3, 10, 15, 20}),
        ("NOV-feb", "month", {11, 12, 1, 2}),
        ("5-7", "day_of_week", {5, 6, 0}),
        ("0-7", "day_of_week", set(range(7))),
        ("7-1", "day_of_week", {0, 1}),
    ],
)
def test_oracle_reads_fields(text: str, field: str, expected: set[int]) -> None:
    assert numbers(text, field) == expected


@pytest.mark.parametrize(
    ("text", "dialect", "wildcard"),
    [
        ("0 9 * * *", "tompion", False),
        ("0-59 9 * * *", "tompion", False),
        ("*/15 9 * * *", "tompion", True),
        ("0 */2 * * *", "tompion", True),
        ("* 0 9 * * *", "tompion", True),
        ("0 9 * * * 2025", "temporal", False),
    ],
)
def test_oracle_classifies_fields_for_dst(text: str, dialect: str, *, wildcard: bool) -> None:
    assert parse_cron(text, dialect).wildcard is wildcard


@pytest.mark.parametrize(
    ("zone_name", "start"),
    [
        ("America/New_York", "2025-03-08T12:00Z"),
        ("America/New_York", "2025-11-01T12:00Z"),
        ("Australia/Lord_Howe", "2026-04-04T00:00Z"),
        ("Pacific/Apia", "2011-12-29T12:00Z"),
    ],
)
def test_a_walk_agrees_with_fold(zone_name: str, start: str) -> None:
    """The walk converts instants to wall times. PEP 495's `fold` converts the other way, and must agree."""
    walk, zone = walk_from(zone_name, start, 40), load_zone(zone_name)
    for wall in range(walk.first_wall + DAY // 2, walk.last_wall - DAY // 2, 17):
        moment = moment_of(wall)
        by_fold = {moment.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
        exist = sorted(
            int(instant.timestamp()) for instant in by_fold if instant.astimezone(zone).replace(tzinfo=None) == moment
        )
        walked = [instants[wall] for instants in (walk.first_shown, walk.shown_again) if wall in instants]
        assert walked == exist
        assert (walk.gap_around(wall) is not None) == (not exist)


# ---------------------------------------------------------------- the engine against the oracle


def rounds_of_chunk(chunk: int) -> Iterable[int]:
    """Yield the rounds of the chunk, then more as long as it needs them."""
    block = chunk * BLOCKS_PER_CHUNK
    yield from range(block * ROUNDS_PER_BLOCK, (block + BLOCKS_PER_CHUNK) * ROUNDS_PER_BLOCK)
    beyond = CHUNKS * BLOCKS_PER_CHUNK * ROUNDS_PER_BLOCK
    yield from range(beyond + chunk, beyond + 1000, CHUNKS)


def own_rounds(chunk: int) -> list[int]:
    return list(rounds_of_chunk(chunk))[: BLOCKS_PER_CHUNK * ROUNDS_PER_BLOCK]


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_engine_agrees_with_the_oracle(chunk: int, capfd: pytest.CaptureFixture[str]) -> None:
    seed = suite_seed()
    with capfd.disabled():  # print the seed also on success
        sys.stderr.write(f"\noracle chunk {chunk}: TOMPION_TEST_SEED={seed}\n")
    tally = Tally()
    for number in rounds_of_chunk(chunk):
        if tally.rounds >= len(own_rounds(chunk)) and tally.cases * CHUNKS >= CASES:
            break
        tally.add(run_round(seed, number))
    assert tally.cases * CHUNKS >= CASES, f"too few cases with seed {seed}"
    assert_every_rule_was_hit(tally, seed, chunk)


def assert_every_rule_was_hit(tally: Tally, seed: int, chunk: int) -> None:
    """Check that the random cases touched every rule."""
    places = [place for number in own_rounds(chunk) if (place := place_of_round(seed, number)) is not None]
    for place in places:
        assert tally.zones[place.zone_name] > 200, (seed, place)
    for hit in ("gap catch_up", "gap skip", "gap shift", "overlap first", "overlap second", "overlap both"):
        assert tally.hits[hit] > 0, (seed, hit)
    for hit in ("excluded by calendar", "excluded by date", "excluded by window", "cut by start or end"):
        assert tally.hits[hit] > 0, (seed, hit)
    for name, choices in (
        ("dst_profile", (None, "vixie", "temporal", "quartz", "airflow")),
        ("dst_gap", (None, "catch_up", "skip", "shift")),
        ("dst_overlap", (None, "auto", "first", "second", "both")),
    ):
        for choice in choices:
            assert tally.settings[f"{name}={choice}"] > 0, (seed, name, choice)
    if any(lost_a_day(place) for place in places):
        assert tally.hits["lost day"] > 0, seed


def lost_a_day(place: Place) -> bool:
    zone = load_zone(place.zone_name)
    return offset_at(place.centre, zone) - offset_at(place.centre - 1, zone) == DAY


def test_the_chunks_together_visit_every_required_place() -> None:
    seed = suite_seed()
    numbers_of_all = [number for chunk in range(CHUNKS) for number in own_rounds(chunk)]
    assert len(set(numbers_of_all)) == len(numbers_of_all)
    places = [place_of_round(seed, number) for number in numbers_of_all]
    visited = [place for place in places if place is not None]
    assert {place.zone_name for place in visited} >= set(REQUIRED)
    assert len(REQUIRED) >= 20
    assert len(visited) < len(places), "no round walks days"
    assert any(place.centre > instant("2038-01-19T00:00Z") for place in visited), "none after the tabulated years"
    assert instant("2011-12-30T10:00Z") in {place.centre for place in visited}, "Apia's lost day"
    assert "2018" in {iso(place.centre)[:4] for place in visited if place.zone_name == "America/Sao_Paulo"}
    on_transitions = [
        place for place in visited if place.centre in transitions(place.zone_name, int(iso(place.centre)[:4]))
    ]
    assert len(on_transitions) > len(visited) / 2


# ---------------------------------------------------------------- engines with planted defects


class DefectiveEngine:
    """An engine with one wrong answer."""

    def __init__(self, engine: Engine, spoil_next: int = 0, spoil_prev: int = 0) -> None:
        self.engine, self.spoil_next, self.spoil_prev = engine, spoil_next, spoil_prev

    def next_epoch(self, after: int, /) -> int | None:
        return self.engine.next_epoch(after + self.spoil_next)

    def prev_epoch(self, before: int, /) -> int | None:
        return self.engine.prev_epoch(before + self.spoil_prev)

    def between_epochs(self, start: int, end: int, /) -> Iterable[int]:
        return self.engine.between_epochs(start, end)


def with_other_spec(**other: Any) -> Callable[[Spec], Engine]:
    """An engine that reads another spec than the given one."""
    return lambda spec: build_engine({**spec, **other})


def without(key: str) -> Callable[[Spec], Engine]:
    return lambda spec: build_engine({name: value for name, value in spec.items() if name != key})


def with_other_cron(change: Callable[[str], str]) -> Callable[[Spec], Engine]:
    """An engine that misreads a field of five-field cron strings."""

    def build(spec: Spec) -> Engine:
        crons = spec.get("cron", [])
        texts = [crons] if isinstance(crons, str) else crons
        return build_engine({**spec, "cron": [change(text) if len(text.split()) == 5 else text for text in texts]})

    return build


def or_as_and(text: str) -> str:
    *others, day_of_week = text.split()
    return " ".join([*others, "+" + day_of_week.removeprefix("+")])


def first_list_element_only(text: str) -> str:
    """Read only the first element of each list."""
    return " ".join(field.split(",")[0] for field in text.split())


WRONG_ENGINES: dict[str, Callable[[Spec], Engine]] = {
    "drops second passes": with_other_spec(dst_overlap="first"),
    "drops first passes": with_other_spec(dst_overlap="second"),
    "doubles what is ambiguous": with_other_spec(dst_overlap="both"),
    "never catches up": with_other_spec(dst_gap="skip"),
    "catches up what it should shift": with_other_spec(dst_gap="catch_up"),
    "ignores exclusions": without("exclude"),
    "ignores the start": without("start_at"),
    "ignores the end": without("end_at"),
    "ignores calendars": without("calendars"),
    "ignores one-shots": without("times"),
    "reads OR as AND": with_other_cron(or_as_and),
    "sees only the first element of a list": with_other_cron(first_list_element_only),
    "next may return its argument": lambda spec: DefectiveEngine(build_engine(spec), spoil_next=-1),
    "next leaves out the next second": lambda spec: DefectiveEngine(build_engine(spec), spoil_next=1),
    "prev may return its argument": lambda spec: DefectiveEngine(build_engine(spec), spoil_prev=1),
    "prev leaves out the second before": lambda spec: DefectiveEngine(build_engine(spec), spoil_prev=-1),
}

SEED_OF_MUTANTS = 1
ROUNDS_FOR_MUTANTS = range(8)
"""Gaps in New York, London and at Lord Howe, overlaps in Berlin, Dublin and on Chatham, a walk of days."""


def detect(build: Callable[[Spec], Engine]) -> Disagreed | None:
    for number in ROUNDS_FOR_MUTANTS:
        try:
            run_round(SEED_OF_MUTANTS, number, build)
        except Disagreed as found:
            return found
    return None


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG_ENGINES)
def test_a_planted_defect_is_detected(name: str) -> None:
    assert detect(WRONG_ENGINES[name]) is not None


def test_a_missing_limit_of_three_hours_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """An oracle without the limit must disagree with the engine where a day was lost."""
    places = {number: place_of_round(SEED_OF_MUTANTS, number) for number in own_rounds(1)}
    number = next(number for number, place in places.items() if place is not None and lost_a_day(place))
    run_round(SEED_OF_MUTANTS, number)
    monkeypatch.setattr(brute, "LONGEST_DST_GAP", 25 * HOUR)
    with pytest.raises(Disagreed):
        run_round(SEED_OF_MUTANTS, number)


def test_a_disagreement_can_be_reproduced() -> None:
    """The report has a minimal spec, and a line of Python that reproduces the wrong answer."""
    with pytest.raises(Disagreed) as caught:
        run_round(SEED_OF_MUTANTS, 1, WRONG_ENGINES["drops second passes"])
    disagreement = caught.value.disagreement
    assert set(disagreement.spec) <= {"cron", "calendars", "times", "timezone", "dst_overlap", "dst_profile", "dialect"}
    assert f"--seed {SEED_OF_MUTANTS} --round 1" in str(caught.value)
    assert disagreement.call in str(disagreement)
    assert disagreement.got not in disagreement.expected


def test_a_rejected_spec_is_a_disagreement() -> None:
    def refuse(_: Spec) -> Engine:
        raise tompion.InvalidSpec("no")

    with pytest.raises(Disagreed, match="rejected"):
        run_round(SEED_OF_MUTANTS, 0, refuse)


def test_the_seed_can_be_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOMPION_TEST_SEED", "42")
    assert suite_seed() == 42
    monkeypatch.delenv("TOMPION_TEST_SEED")
    assert len({suite_seed() for _ in range(5)}) == 1
    assert len({new_seed() for _ in range(5)}) > 1
