"""The benchmark of the engine runs and its figures add up. Speed is not asserted."""

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bench.engine import baseline, burst, idle, idle_figures, noisy_tenant
from bench.engine.__main__ import FULL, QUICK, main
from bench.engine.child import ChildFailed, in_child
from bench.engine.fill import Due, fill
from bench.engine.measures import (
    FASTER,
    Bench,
    Burst,
    Bursts,
    Turn,
    baseline_section,
    burst_once,
    percentile,
    steady_once,
    turn_of,
)
from bench.engine.peers.progress import silent
from bench.engine.peers.runner import SQLITE
from bench.engine.profiling import Profiles, watched
from bench.engine.report import P50, P99, RATE, RATIO, WIDTH, Goal, Report, Row, Section, as_json, as_text, environment
from bench.engine.stores import Stores, path_of, size_of
from bench.spec.report import Target
from tompion.bootstrap.store import open_store

TINY = QUICK._replace(burst=30, steady=5, seconds=2, timeout_s=120, stored=200, few=20, looks=3, rest_s=0.2)
AGAIN_S = 3
"""Seconds between two bursts. On a busy machine the first one takes longer than a second."""


@pytest.fixture
def stores() -> Iterator[Stores]:
    with Stores() as stores:
        yield stores


@pytest.fixture
def url(stores: Stores) -> str:
    return stores.migrated(SQLITE)


def rows_of(url: str, query: str) -> list[tuple[int, ...]]:
    with closing(sqlite3.connect(path_of(url))) as connection:
        return connection.execute(query).fetchall()


# --- the measurements -------------------------------------------------------------------------------------------


def test_every_tick_of_two_bursts_is_measured(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(burst, "AGAIN_S", AGAIN_S)
    monkeypatch.setattr(burst, "HEAD_START_S", 1.0)
    monkeypatch.setattr(burst, "READY_S", 0.5)
    profiles = Profiles()
    with watched(profiles) as watch:
        seen = burst.run_load(url, burst.BURST, 30, 120)
    assert sorted({due - seen.begin for due, _ran in seen.ticks}) == [0, AGAIN_S]
    assert len(seen.ticks) == 60
    assert all(ran >= due for due, ran in seen.ticks)
    assert len(seen.settled_s) == 2
    assert seen.counts["runs_settled"] == 60
    assert rows_of(url, "SELECT count(*) FROM schedule_runs WHERE state = 'SUCCESS'") == [(60,)]
    assert watch.spent["fire"][0] >= 2
    assert any("run_settle" in line for line in watch.lines())
    assert any("executemany" in line for line in profiles.lines())


def test_a_steady_load_is_due_each_second(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(burst, "HEAD_START_S", 1.0)
    monkeypatch.setattr(burst, "READY_S", 0.5)
    seen = burst.run_load(url, burst.STEADY, 5, 2)
    assert {due - seen.begin for due, _ran in seen.ticks} <= {0, 1, 2}
    assert all(ran >= due for due, ran in seen.ticks)


def test_steady_load_counts_due_and_punctual_runs(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    in_time = [(1_000 + number % 2, 1_000 + number % 2 + number / 100) for number in range(10)]
    too_late = [(999, 1_000), (1_001, 1_002.5), (1_002, 1_002.1)]
    seen = burst.Outcome(1_000, [*in_time, *too_late], [2.0], 0.0, {})
    monkeypatch.setattr("bench.engine.measures.in_child", lambda _call, **arguments: seen._asdict())
    turn = steady_once(Bench(stores, TINY, silent), SQLITE)
    assert turn.ticks == 10
    assert turn.rate == 5
    assert turn.p50 == pytest.approx(0.045, abs=0.01)
    assert turn.p99 == pytest.approx(0.09, abs=0.01)


def test_noisy_and_quiet_tenants_are_counted_separately(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(burst, "HEAD_START_S", 1.0)
    monkeypatch.setattr(burst, "READY_S", 0.5)
    monkeypatch.setattr(noisy_tenant, "GRACE_S", 120.0)
    monkeypatch.setattr(noisy_tenant, "KINDS", (SQLITE,))
    turns: list[noisy_tenant.Shared] = []

    def in_child(_call: str, **arguments: Any) -> dict[str, Any]:
        turns.append(noisy_tenant.share(**arguments))
        return turns[-1]._asdict()

    monkeypatch.setattr(noisy_tenant, "in_child", in_child)
    (section,) = noisy_tenant.tenant_sections(Bench(stores, TINY, silent))
    assert [len(turn.late) for turn in turns] == [4, 4]
    assert [turn.others for turn in turns] == [0, 2 * 2 * noisy_tenant.TIMES]
    assert all(late >= 0 for turn in turns for late in turn.late)
    alone, beside = section.rows
    assert alone.figures["times"] is None
    assert beside.figures["times"] == pytest.approx(max(turns[1].late) / max(turns[0].late))


def test_measured_creates_are_rolled_back(url: str) -> None:
    store = open_store(url)
    try:
        assert burst.create_many(store, {"cron": "0 0 1 1 *"}, 5, undo=True) > 0
        assert burst.create_many(store, {"cron": "0 0 1 1 *"}, 3) > 0
    finally:
        store.close()
    assert rows_of(url, "SELECT count(*) FROM schedules") == [(3,)]
    assert burst.create_singly(url, 2) > 0
    assert rows_of(url, "SELECT count(*) FROM schedules") == [(5,)]


def test_baseline_moves_every_row_once(url: str) -> None:
    moment = int(time.time()) - 1
    fill(url, 25, Due(moment, moment))
    assert baseline.run(url, batch=10)["ticks"] == 25
    assert baseline.run(url, batch=10)["ticks"] == 0
    assert rows_of(url, "SELECT count(*), min(nominal_s), max(nominal_s) FROM schedule_runs") == [(25, moment, moment)]
    assert rows_of(url, "SELECT min(next_fire_ms), sum(in_flight), sum(starts) FROM schedule_state") == [
        ((moment + baseline.DAY_S) * 1000, 25, 25)
    ]


def test_filled_rows_can_be_compiled(url: str) -> None:
    moment = int(time.time()) + 7_200
    before = size_of(url)
    assert fill(url, 40, Due(moment, moment + 10)) > 50, "definitions have a size"
    assert size_of(url) > before
    assert rows_of(url, "SELECT count(*) FROM schedule_state WHERE next_fire_ms > 0") == [(40,)]
    seen = idle.rest(url, 0.1, remember=40)
    assert seen.remembered == 40, "each can be compiled"
    assert seen.resident_bytes > 0


def test_idle_queries_are_measured_in_turn_and_write_nothing(stores: Stores) -> None:
    small, large = stores.migrated(SQLITE), stores.migrated(SQLITE)
    moment = int(time.time()) + 7_200
    fill(small, 5, Due(moment, moment))
    fill(large, 50, Due(moment, moment))
    spent = idle.compare(small, large, 4)
    assert list(spent) == list(idle.looks())
    assert all(len(item) == 4 for by_size in spent.values() for item in by_size.values())
    assert rows_of(large, "SELECT count(*) FROM schedule_state WHERE next_fire_ms > 0") == [(50,)]


def test_child_returns_a_result_or_an_error(url: str, tmp_path: Path) -> None:
    assert in_child("baseline", url=url) == {"ticks": 0, "seconds": pytest.approx(0, abs=60)}
    with pytest.raises(ChildFailed, match="no such table"):
        in_child("baseline", url=f"sqlite:///{tmp_path / 'empty.db'}")


def test_the_idle_report_has_its_sections(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle, "LOOK_S", 0.1)
    monkeypatch.setattr(idle_figures, "KINDS", (SQLITE,))
    monkeypatch.setattr(idle_figures, "in_child", lambda _call, **arguments: idle.rest(**arguments)._asdict())
    sections = idle_figures.rest_sections(Bench(stores, TINY._replace(remembered=20), silent), idle=True, memory=True)
    assert [section.title.partition(",")[0] for section in sections] == ["200 stored", "Looking", "Memory and disk"]
    text = as_text(Report(environment(), sections))
    assert "bytes of a rule" in text
    assert len([row for section in sections for row in section.rows if row.goal]) == 4


# --- the sums ---------------------------------------------------------------------------------------------------


def test_the_figures_of_a_burst_are_percentiles() -> None:
    ticks = [(100.0, 100.0 + late / 100) for late in range(1, 101)] + [(106.0, 106.5)]
    turn = turn_of(ticks, 100.0, 100, 2.0)
    assert turn == pytest.approx(Turn(100, 0.5, 0.99, 50, 100))
    with pytest.raises(AssertionError, match="99 of 100"):
        turn_of(ticks[1:], 100.0, 100, 2.0)
    assert percentile([], 50) == 0


def test_share_of_the_baseline_is_computed_per_round() -> None:
    """The second round is slow for both, as on a busy machine, and the share does not change."""
    bursts = Bursts.__new__(Bursts)
    rounds = [Burst(Turn(rate, 0, 0, rate, 1), Turn(2 * rate, 0, 0, rate, 1), 1.0) for rate in (400.0, 40.0, 410.0)]
    bursts.tompion = dict.fromkeys(("sqlite", "postgres"), rounds)
    bursts.baseline = {kind: [1000.0, 100.0, 1000.0] for kind in ("sqlite", "postgres")}
    with Stores() as stores:
        section = baseline_section(Bench(stores, FULL, silent), bursts)
    assert [row.reached for row in section.rows] == [None, True, None] * 2
    assert section.rows[1].figures["of baseline"] == 40
    assert section.rows[2].figures["of baseline"] == 80


def test_a_burst_that_loses_a_tick_fails(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = {"begin": 1.0, "ticks": [[1.0, 1.5]], "settled_s": [1.0], "adding_s": 1.0}
    monkeypatch.setattr("bench.engine.measures.in_child", lambda _call, **_arguments: lost)
    with pytest.raises(AssertionError, match="1 of 30"):
        burst_once(Bench(stores, TINY, silent), SQLITE)


# --- the report -------------------------------------------------------------------------------------------------


def report() -> Report:
    rows = [
        Row("Tompion", {RATE: 20_000, P50: 0.2512, P99: 1.26}),
        Row("the best", {RATE: 700, RATIO: 28.57}, FASTER),
        Row("the other", {RATE: 100, RATIO: 200.0}, FASTER),
        Row("it failed", {}, FASTER),
        Row("idle", {"of a core": 0.12}, Goal(Target("≤", 1), "of a core")),
    ]
    return Report({**environment(), "postgres": 18}, [Section("Races", (RATE, P50, P99, RATIO), rows, ["a note"])])


def test_missed_target_is_reported() -> None:
    text = as_text(report())
    assert "28.6× ≥ 30× ✗" in text
    assert "200× ≥ 30× ✓" in text
    assert "251 ms     1.3 s" in text
    assert "2 of 3 targets reached" in text
    assert "missed: the best (≥ 30×)" in text
    assert max(map(len, text.splitlines())) <= WIDTH + 10


def test_json_has_the_same_figures() -> None:
    data = json.loads(json.dumps(as_json(report())))
    assert data["targets_missed"] == 1
    assert [row.get("reached") for row in data["sections"][0]["rows"]] == [None, False, True, None, True]


def test_command_line() -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--rounds", "0"])
    assert stopped.value.code == 2
    with pytest.raises(SystemExit):
        main(["--only", "nothing"])
