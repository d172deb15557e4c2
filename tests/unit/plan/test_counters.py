"""Counters after a write: each correction changes only the schedules that it names."""

from __future__ import annotations

from tests.unit.plan.cases import KEY, NOON, NOON_MS, compiled_of, run_of, state_of
from tompion.model.run import RunId, RunState
from tompion.plan.counters import (
    fast_advances_without_duplicates,
    without_deleted,
    without_duplicates,
    without_superseded,
    without_unheld,
)

STATE = state_of(compiled_of(), in_flight=3, waiting=2, starts=9, skipped=4, next_fire_ms=NOON_MS + 60_000)
OTHER = STATE._replace(schedule_key=KEY + 1)


def test_superseded_runs_count_as_skipped() -> None:
    first, second = without_superseded([STATE, OTHER], [run_of(), run_of(NOON + 60)])
    assert first == STATE._replace(waiting=0, skipped=6)
    assert second is OTHER


def test_runs_that_no_instance_held_free_their_slots_now() -> None:
    first, second = without_unheld([STATE, OTHER], [run_of()], NOON_MS)
    assert first == STATE._replace(in_flight=2, next_fire_ms=NOON_MS)
    assert second is OTHER
    idle = STATE._replace(next_fire_ms=None)
    assert without_unheld([idle], [run_of()], NOON_MS)[0].next_fire_ms == NOON_MS
    overdue = STATE._replace(next_fire_ms=NOON_MS - 5)
    assert without_unheld([overdue], [run_of()], NOON_MS)[0].next_fire_ms == NOON_MS - 5


def test_runs_that_are_in_the_ledger_already_are_not_counted_again() -> None:
    started = run_of(state=RunState.ENQUEUED)
    waiting, skipped, new = run_of(NOON + 60), run_of(NOON + 120, state=RunState.SKIPPED), run_of(NOON + 180)
    duplicates = {started.id, waiting.id, skipped.id}
    states = without_duplicates([STATE, OTHER], [started, waiting, skipped, new], duplicates)
    assert states == [STATE._replace(in_flight=2, starts=8, waiting=1), OTHER]


def test_narrow_updates_do_not_count_duplicates() -> None:
    advances = [(KEY, NOON, NOON + 60, NOON_MS, 1, NOON_MS, 5), (KEY + 1, NOON, None, None, 2, NOON_MS, 7)]
    assert fast_advances_without_duplicates(advances, {RunId(KEY, NOON)}) == [
        (KEY, NOON, NOON + 60, NOON_MS, 0, NOON_MS, 4),
        advances[1],
    ]


def test_a_deleted_schedule_has_nothing_waiting() -> None:
    assert without_deleted(STATE, dropped=2, cancelled=1) == STATE._replace(waiting=0, skipped=6, in_flight=2)
