"""The benchmark of the time engine runs with the same cases for all libraries. Speed is not asserted."""

import json
from collections import Counter
from datetime import UTC, datetime
from random import Random
from sys import getsizeof

import pytest

import tompion
from bench.spec.__main__ import QUICK, SEED, exit_code, main, measure
from bench.spec.caches import clear_all, clear_all_but_fields, clear_expressions, engine_caches
from bench.spec.expressions import SHAPES, Shape, distinct_expressions, draw_expression
from bench.spec.libraries import croniter_next, cronsim_next, moment_of, reusable
from bench.spec.memory import bytes_each
from bench.spec.report import WIDTH, Report, Row, Section, Target, as_json, as_text
from bench.spec.timing import Rounds, Spread, Turn, contest, spread
from bench.spec.workload import ZONES, Case, Workload, agree, build_workload
from tompion.spec.calendar.cron import parse_cron
from tompion.spec.zone.tables import load_zone


@pytest.fixture(scope="module")
def report() -> Report:
    return measure(QUICK, SEED)


# --- the workload -----------------------------------------------------------------------------------------------


def test_a_full_run_has_its_expressions() -> None:
    expressions = distinct_expressions(Random(1), 600)
    assert len(set(expressions)) == 600
    assert expressions == distinct_expressions(Random(1), 600)
    assert expressions != distinct_expressions(Random(2), 600)


@pytest.mark.parametrize("shape", SHAPES, ids=[shape.name for shape in SHAPES])
def test_every_shape_can_be_compiled(shape: Shape) -> None:
    random = Random(3)
    for _expression in range(50):
        assert tompion.compile_spec(shape.draw(random)).next_epoch(0) is not None


def test_the_shares_of_the_shapes_add_up_to_100_percent() -> None:
    assert sum(shape.percent for shape in SHAPES) == 100
    random = Random(4)
    assert len({draw_expression(random) for _expression in range(500)}) < 500, "expressions repeat"


def test_half_of_the_cases_are_in_utc_and_no_zone_is_missing() -> None:
    work = build_workload(5, 30, 2, 150)
    zones = Counter(case.zone for cases in work.rounds for case in cases)
    assert work.cases == 300
    assert set(zones) == set(ZONES)
    assert 100 < zones["UTC"] < 200
    assert len(work.expressions) + work.expressions_left_out == 30


def test_both_forms_of_an_instant_are_the_same() -> None:
    for cases in build_workload(6, 20, 1, 40).rounds:
        for case in cases:
            assert case.moment.timestamp() == case.after
            assert case.moment.utcoffset() == moment_of(case.after, case.zone).utcoffset()


def test_a_case_on_which_the_libraries_differ_is_omitted() -> None:
    """In New York's autumn night croniter fires `30 1` in both passes. After the first, the others wait a day."""
    after = int(datetime(2025, 11, 2, 5, 45, tzinfo=UTC).timestamp())
    moment = moment_of(after, "America/New_York")
    iterator = reusable("30 1 * * *")
    assert iterator is not None
    assert cronsim_next("30 1 * * *", moment) == tompion.compile_spec("30 1 * * *", "America/New_York").next_epoch(
        after
    )
    assert cronsim_next("30 1 * * *", moment) != croniter_next(iterator, moment)
    assert not agree(Case("30 1 * * *", "America/New_York", after, moment))
    assert agree(Case("30 1 * * *", "UTC", after, moment_of(after, "UTC")))


@pytest.mark.parametrize("expression", ["0 9 LW * *", "0 9 * * 5L", "nonsense"])
def test_an_expression_that_one_library_rejects_is_omitted(expression: str) -> None:
    assert reusable(expression) is None


# --- the caches -------------------------------------------------------------------------------------------------


def size_of(name: str) -> int:
    cache: object = engine_caches()[name]
    return int(cache.cache_info().currsize)  # type: ignore[attr-defined]  # functools gives its caches no public type


def test_a_cold_start_clears_every_cache() -> None:
    zone = load_zone("Europe/Berlin")
    compiled = tompion.compile_spec("17 4 * * 2", "Europe/Berlin")
    assert tompion.compile_spec("17 4 * * 2", "Europe/Berlin") is compiled
    clear_all()
    assert {name: size_of(name) for name in engine_caches()} == dict.fromkeys(engine_caches(), 0)
    assert tompion.compile_spec("17 4 * * 2", "Europe/Berlin") is not compiled
    assert load_zone("Europe/Berlin") is zone, "zone tables stay"


def test_a_warm_start_keeps_fields_and_days() -> None:
    clear_all()
    compiled, rule = tompion.compile_spec("17 4 * * 2", "Europe/Berlin"), parse_cron("17 4 * * 2")
    fields, days = size_of("parse_field"), size_of("select_days")
    clear_expressions()
    assert size_of("parse_field") == fields > 0
    assert size_of("select_days") == days > 0
    assert tompion.compile_spec("17 4 * * 2", "Europe/Berlin") is not compiled
    assert parse_cron("17 4 * * 2") is not rule


def test_clearing_all_but_fields_keeps_parsed_fields() -> None:
    tompion.compile_spec("17 4 * * 2", "Europe/Berlin")
    clear_all_but_fields()
    assert {name for name in engine_caches() if size_of(name)} == {"parse_field"}


# --- the sums ---------------------------------------------------------------------------------------------------


def test_libraries_alternate_and_ratios_are_computed_per_round() -> None:
    """The second round is five times as slow for both, as on a busy machine, and the ratio does not change."""
    order: list[str] = []

    def turn(name: str, nanoseconds: list[float]) -> Turn:
        def take(number: int) -> float:
            order.append(name)
            return nanoseconds[number]

        return take

    rounds = contest({"fast": turn("fast", [100, 500, 100]), "slow": turn("slow", [900, 5_000, 1_100])}, 3)
    assert order == ["fast", "slow", "slow", "fast", "fast", "slow"]
    assert rounds.times_faster("fast", "slow") == Spread(10, 9.5, 10.5)
    assert rounds.microseconds("slow") == pytest.approx(1.1)


def test_the_spread_of_one_round_is_its_value() -> None:
    assert spread([3.0]) == Spread(3, 3, 3)
    assert Rounds({"a": [10], "b": [40]}).times_faster("a", "b").middle == 4


def test_memory_counts_retained_objects() -> None:
    pairs = [(str(number), "UTC") for number in range(500)]
    assert bytes_each(pairs, lambda pair: bytes(len(pair[1]) * 500)) == pytest.approx(1500 + getsizeof(b""), abs=20)
    assert bytes_each(pairs, lambda pair: pair) < 20


@pytest.mark.parametrize(
    ("target", "good", "bad"), [(Target("≥", 25), 25, 24.9), (Target(">", 1), 1.01, 1), (Target("≤", 200), 200, 201)]
)
def test_a_target_is_compared_with_the_ratio_first(target: Target, good: float, bad: float) -> None:
    assert target.reached_by(good)
    assert not target.reached_by(bad)
    assert Row("", bad, "µs", target=target).reached is False
    assert Row("", good, "µs", Spread(bad, bad, bad), target).reached is False, "a ratio counts before the value"


def test_a_missed_target_is_an_error_only_in_strict_mode() -> None:
    work = Workload([], [], 0, 0)
    missed = Report(work, [Section("", [Row("late", 300, "B", target=Target("≤", 200)), Row("info", 1, "µs")])])
    reached = Report(work, [Section("", [Row("good", 100, "B", target=Target("≤", 200))])])
    assert [exit_code(item, strict=strict) for item in (missed, reached) for strict in (False, True)] == [0, 1, 0, 0]
    assert "✗" in as_text(missed)
    assert "✓" in as_text(reached)


# --- a whole run ------------------------------------------------------------------------------------------------


def test_a_full_run_measures_every_section(report: Report) -> None:
    rows = [row for section in report.sections for row in section.rows]
    assert report.workload.cases == QUICK.rounds * QUICK.cases
    assert len(report.sections) == 5
    assert len({row.label for section in report.sections for row in section.rows}) >= len(rows) - 2
    assert all(row.value > 0 for row in rows)
    assert all(row.ratio.low <= row.ratio.high for row in rows if row.ratio is not None)
    assert [str(row.target.limit) for row in rows if row.target is not None] == ["25", "40", "1", "5", "200"]
    assert report.missed == [row for row in rows if row.reached is False]


def test_the_table_fits_a_terminal(report: Report) -> None:
    text = as_text(report)
    assert max(len(line) for line in text.splitlines()) <= WIDTH
    assert all(row.label in text for section in report.sections for row in section.rows)


def test_json_has_the_same_figures(report: Report) -> None:
    data = json.loads(json.dumps(as_json(report)))
    assert data["targets_missed"] == len(report.missed)
    assert data["workload"]["cases"] == report.workload.cases
    labels = [[row["label"] for row in section["rows"]] for section in data["sections"]]
    assert labels == [[row.label for row in section.rows] for section in report.sections]


def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--rounds", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["workload"]["rounds"] == 1
    with pytest.raises(SystemExit) as stopped:
        main(["--rounds", "0"])
    assert stopped.value.code == 2
