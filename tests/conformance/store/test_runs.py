"""Runs: every write names what it expects, and other rows are not changed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.store.conftest import Write
from tests.support.rows import NOW_MS, change, held, run
from tompion.model.run import FINAL, RunId, RunRow
from tompion.store.base import FAR_S, Transaction

MINE, OTHER = 7, 8


def stored(write: Write, row: RunRow) -> RunRow:
    result: RunRow | None = write(lambda t: t.run_get(row.id))
    assert result is not None
    return result


def test_inserted_runs_round_trip(write: Write) -> None:
    full = run(
        1, 60, 3, source="trigger", state="STARTED", reason="retry", version=2, attempt=4, failures=5, fire_ms=6,
        due_ms=7, owner=8, decided_ms=9, local_s=10, dst_adjustment="gap", overlap="skip", payload='{"ä":"😀"}',
        request_id="r", started_ms=11, finished_ms=None, cancel_requested=True, error="e", result="", execution_id="x",
        queued_ms=12,
    )  # fmt: skip
    bare = run(1, 61, due_ms=None)
    assert write(lambda t: t.run_insert([full, bare])) == set()
    assert [stored(write, full), stored(write, bare)] == [full, bare]
    assert write(lambda t: t.run_get(RunId(1, 62))) is None
    assert write(lambda t: t.run_insert([])) == set()


def test_existing_run_is_reported_and_not_changed(write: Write) -> None:
    first = [run(1, 60), run(1, 120)]
    write(lambda t: t.run_insert(first))
    again = [run(1, 120, attempt=5), run(1, 180), run(1, 120, 9), run(1, 60, attempt=5)]
    assert write(lambda t: t.run_insert(again)) == {first[0].id, first[1].id}
    assert stored(write, first[1]).attempt == 0
    assert stored(write, again[1]) == again[1]
    assert stored(write, again[2]) == again[2]


def test_run_added_by_the_same_transaction_counts_as_existing(write: Write) -> None:
    write(lambda t: t.run_insert([run(1, 60)]))

    def twice(t: Transaction) -> set[RunId]:
        t.run_terminate_in_flight([(1, 1)], NOW_MS)
        t.run_insert([run(1, 120)])
        return t.run_insert([run(1, 60), run(1, 120), run(1, 180)])

    assert write(twice) == {RunId(1, 60), RunId(1, 120)}


def test_fast_insert_creates_a_normal_run(write: Write) -> None:
    write(lambda t: t.run_insert([run(1, 60)]))
    starts = [(1, 60, 2, 60_000, MINE, NOW_MS, 3_660), (2, 60, 3, 60_500, MINE, NOW_MS, None)]
    assert write(lambda t: t.run_insert_fast(starts)) == {RunId(1, 60)}
    assert write(lambda t: t.run_insert_fast([])) == set()
    assert stored(write, run(1, 60)) == run(1, 60)
    assert stored(write, run(2, 60)) == run(2, 60, version=3, attempt=1, fire_ms=60_500, due_ms=None, owner=MINE)


def test_wide_insert_equals_single_inserts(write: Write) -> None:
    """Stores have their own ways with many rows, and any number may be left over."""
    size = 1_203
    there = [run(1, at) for at in range(0, size, 401)]
    write(lambda t: t.run_insert(there))
    rows = [run(1, at, attempt=1, payload=f'"{at}"') for at in range(size)]
    assert write(lambda t: t.run_insert(rows)) == {row.id for row in there}
    rows_by_id = {row.id: row for row in there}
    assert write(lambda t: t.run_list_page(1, (FAR_S, 0), size)) == [
        rows_by_id.get(row.id, row) for row in reversed(rows)
    ]
    starts = [(2, at, 1, at * 1000, MINE, NOW_MS, at) for at in range(size)]
    assert write(lambda t: t.run_insert_fast(starts)) == set()
    expected = [run(2, at, attempt=1, owner=MINE, due_ms=None, local_s=at) for at in range(size)]
    assert write(lambda t: t.run_list_page(2, (FAR_S, 0), size)) == expected[::-1]
    assert write(lambda t: t.run_insert_fast(starts[5:])) == {row.id for row in expected[5:]}
    finished = write(lambda t: t.run_finish_fast([(2, at, 0, 1, 5, 6) for at in range(size)]))
    assert finished == {row.id for row in expected}


def test_settle_requires_the_fence_and_a_run_in_flight(write: Write) -> None:
    rows = [run(1, at, attempt=2, owner=MINE, started_ms=5, execution_id="x") for at in (1, 2, 3)]
    buffered = run(1, 4, state="BUFFERED", attempt=2)
    write(lambda t: t.run_insert([*rows, buffered]))
    changes = [change(rows[0]), change(rows[1], fence=1), change(buffered), change(run(9), fence=0)]
    assert write(lambda t: t.run_settle(changes)) == {rows[0].id}
    done = stored(write, rows[0])
    assert done == rows[0]._replace(state="SUCCESS", due_ms=None, owner=None, finished_ms=NOW_MS)
    assert [stored(write, run_row) for run_row in (rows[1], buffered)] == [rows[1], buffered]
    retried = change(rows[2], state="ENQUEUED", reason="retry", attempt=3, failures=1, due_ms=9, owner=OTHER,
                     started_ms=6, finished_ms=None, error="e", result="r", execution_id="y")  # fmt: skip
    assert write(lambda t: t.run_settle([retried])) == {rows[2].id}
    assert stored(write, rows[2]) == rows[2]._replace(
        reason="retry", attempt=3, failures=1, due_ms=9, owner=OTHER, started_ms=6, error="e", result="r",
        execution_id="y",
    )  # fmt: skip


def test_fast_finish_settles_like_a_normal_success(write: Write) -> None:
    rows = [run(1, at, attempt=2, owner=MINE, started_ms=5, due_ms=None) for at in (1, 2, 3)]
    retried = run(1, 4, attempt=2, owner=MINE, reason="retry", error="e", cancel_requested=True)
    write(lambda t: t.run_insert([*rows, retried]))
    write(lambda t: t.run_settle([change(rows[0], started_ms=7)]))
    finish = [(*rows[1].id, 2, 7, NOW_MS), (*rows[2].id, 1, 7, NOW_MS), (*retried.id, 2, None, NOW_MS)]
    assert write(lambda t: t.run_finish_fast(finish)) == {rows[1].id, retried.id}
    assert write(lambda t: t.run_finish_fast(finish)) == set()
    assert write(lambda t: t.run_finish_fast([])) == set()
    assert stored(write, rows[1]) == stored(write, rows[0])._replace(nominal_s=2, fire_ms=2_000)
    assert stored(write, rows[2]) == rows[2]
    over: dict[str, Any] = {
        "state": "SUCCESS",
        "reason": None,
        "error": None,
        "cancel_requested": False,
        "finished_ms": NOW_MS,
    }
    assert stored(write, retried) == retried._replace(owner=None, due_ms=None, **over)


@pytest.mark.parametrize("reason", ["retry", "target_paused"])
def test_settle_clears_an_outdated_reason(write: Write, reason: str) -> None:
    row = run(1, attempt=1, reason=reason)
    write(lambda t: t.run_insert([row]))
    write(lambda t: t.run_settle([change(row, state="FAILED")]))
    assert stored(write, row).reason is None


def test_settle_without_a_reason_keeps_the_existing_one(write: Write) -> None:
    row = run(1, attempt=1, reason="catch_up")
    write(lambda t: t.run_insert([row]))
    write(lambda t: t.run_settle([change(row)]))
    assert stored(write, row).reason == "catch_up"


def test_settle_clears_the_cancel_request(write: Write) -> None:
    row = run(1, attempt=1, cancel_requested=True)
    write(lambda t: t.run_insert([row]))
    write(lambda t: t.run_settle([change(row, state="CANCELLED")]))
    assert not stored(write, row).cancel_requested


@pytest.mark.parametrize("state", sorted(FINAL))
def test_final_states_are_final(write: Write, state: str) -> None:
    row = run(1, state=state, attempt=1, owner=MINE, due_ms=1, finished_ms=NOW_MS)
    write(lambda t: t.run_insert([row]))
    for work in (
        lambda t: t.run_settle([change(row, state="FAILED")]),
        lambda t: t.run_release_waiting([change(row, state="ENQUEUED")]),
        lambda t: t.run_mark_started([held(row)], 5),
        lambda t: t.run_release_expired([held(row)], 5),
        lambda t: t.run_hand_back([held(row)], 5),
        lambda t: t.run_check_held([held(row)]),
        lambda t: t.run_claim(OTHER, NOW_MS, ["default"], 10),
        lambda t: t.run_readopt(MINE, [held(row)]),
        lambda t: t.run_list_in_flight([(1, 9)]),
        lambda t: t.run_list_waiting(1, 9),
        lambda t: t.run_give_up_unheld([(1, 9)], "deleted", 5),
        lambda t: t.run_cancel_in_flight([(1, 9)]),
        lambda t: t.run_terminate_in_flight([(1, 9)], 5),
        lambda t: t.run_supersede([(1, None)], 5),
        lambda t: t.run_drop_waiting(1, "deleted", 5),
        lambda t: t.run_list_zombies(NOW_MS, 10),
    ):
        assert not write(work)
    write(lambda t: t.run_hold_planned([1], NOW_MS))
    write(lambda t: t.run_unhold_planned([1], NOW_MS))
    assert stored(write, row) == row


def test_only_waiting_runs_are_released(write: Write) -> None:
    rows = [run(1, at, state=state) for at, state in enumerate(("PLANNED", "BUFFERED", "ENQUEUED"))]
    write(lambda t: t.run_insert(rows))
    start = {"state": "ENQUEUED", "attempt": 1, "due_ms": 9, "owner": MINE, "finished_ms": None}
    changes = [change(row, **start) for row in rows]
    assert write(lambda t: t.run_release_waiting(changes)) == {rows[0].id, rows[1].id}
    assert write(lambda t: t.run_release_waiting(changes)) == set()
    assert stored(write, rows[1]) == rows[1]._replace(state="ENQUEUED", attempt=1, due_ms=9, owner=MINE, queued_ms=None)
    assert stored(write, rows[2]) == rows[2]


def test_only_the_owner_with_the_last_fence_can_start_check_and_hand_back(write: Write) -> None:
    row = run(1, attempt=3, owner=MINE, due_ms=None)
    write(lambda t: t.run_insert([row]))
    stale = held(row, 2)
    for work in (
        lambda t: t.run_mark_started([stale], 5),
        lambda t: t.run_release_expired([stale], 5),
        lambda t: t.run_hand_back([stale], 5),
        lambda t: t.run_check_held([stale]),
        lambda t: t.run_check_held([]),
        lambda t: t.run_release_expired([], 5),
    ):
        assert not write(work)
    assert stored(write, row) == row
    assert write(lambda t: t.run_check_held([held(row), stale])) == {row.id: False}
    assert write(lambda t: t.run_mark_started([held(row)], 5)) == {row.id}
    assert write(lambda t: t.run_mark_started([held(row)], 6)) == set()
    assert stored(write, row) == row._replace(state="STARTED", started_ms=5)
    write(lambda t: t.run_cancel_in_flight([(1, 1)]))
    assert write(lambda t: t.run_check_held([held(row)])) == {row.id: True}
    assert write(lambda t: t.run_hand_back([held(row)], 50)) == {row.id}
    assert stored(write, row)[10:12] == (50, None)


def test_runs_of_an_expired_lease_become_claimable(write: Write) -> None:
    rows = [run(1, 1, attempt=2, owner=MINE, due_ms=None), run(1, 2, attempt=1, owner=MINE, due_ms=None)]
    waiting = run(1, 3, attempt=1, due_ms=900)
    write(lambda t: t.run_insert([*rows, waiting]))
    gone = [held(rows[0]), held(rows[1], 7), held(waiting)]
    assert write(lambda t: t.run_release_expired(gone, 500)) == {rows[0].id}
    assert stored(write, rows[0]) == rows[0]._replace(due_ms=500)
    assert [stored(write, run_row) for run_row in (rows[1], waiting)] == [rows[1], waiting]


def test_runs_in_flight_are_listed_newest_first(write: Write) -> None:
    rows = [run(1, at, state="STARTED" if at % 2 else "SUCCESS") for at in range(1, 9)]
    write(lambda t: t.run_insert([*rows, run(1, 7, 3), run(2, 1)]))
    runs = write(lambda t: t.run_list_in_flight([(1, 3), (2, 1), (3, 5)]))
    assert sorted(row.id for row in runs) == [(1, 5, 0), (1, 7, 0), (1, 7, 3), (2, 1, 0)]
    assert write(lambda t: t.run_list_in_flight([])) == []


def test_supersede_keeps_runs_with_another_overlap_policy(write: Write) -> None:
    rows = [run(1, 1, state="BUFFERED"), run(1, 2, state="BUFFERED"), run(2, 3, state="BUFFERED")]
    others = [
        run(1, 4, state="BUFFERED", overlap="buffer_all"),
        run(1, 5, state="PLANNED"),
        run(3, 6, state="BUFFERED"),
    ]
    write(lambda t: t.run_insert(rows + others))
    assert sorted(run_row[:2] for run_row in write(lambda t: t.run_supersede([(1, None), (2, None)], 99))) == [
        (1, 1), (1, 2), (2, 3),
    ]  # fmt: skip
    expected: dict[str, Any] = {"state": "SKIPPED", "reason": "superseded", "due_ms": None, "finished_ms": 99,
                                "queued_ms": None}  # fmt: skip
    assert stored(write, rows[0]) == rows[0]._replace(**expected)
    assert [stored(write, run_row) for run_row in others] == others
    assert [run_row.id[:2] for run_row in write(lambda t: t.run_supersede([(1, "buffer_all")], 99))] == [(1, 4)]
    assert write(lambda t: t.run_supersede([], 99)) == []


def test_drop_waiting_skips_all_waiting_runs_of_one_schedule(write: Write) -> None:
    waiting = [run(1, 1, state="BUFFERED", overlap="skip"), run(1, 2, state="PLANNED")]
    others = [run(1, 3), run(2, 4, state="BUFFERED")]
    write(lambda t: t.run_insert(waiting + others))
    assert write(lambda t: t.run_drop_waiting(1, "deleted", 99)) == 2
    assert stored(write, waiting[0]) == waiting[0]._replace(
        state="SKIPPED", reason="deleted", due_ms=None, queued_ms=None, finished_ms=99
    )
    assert [stored(write, run_row) for run_row in others] == others


def test_cancel_requests_the_end_and_terminate_ends_runs(write: Write) -> None:
    flying = [run(1, 1, attempt=1, owner=MINE), run(1, 2, attempt=1, owner=OTHER, state="STARTED")]
    unclaimed, waiting, foreign = run(1, 3), run(1, 4, state="BUFFERED", attempt=1), run(2, 5, attempt=1)
    write(lambda t: t.run_insert([*flying, waiting, foreign]))
    cancelled = [row._replace(cancel_requested=True) for row in flying]
    assert sorted(write(lambda t: t.run_cancel_in_flight([(1, 2)]))) == cancelled
    write(lambda t: t.run_insert([unclaimed]))
    ended = write(lambda t: t.run_terminate_in_flight([(1, 3), (3, 1)], 99))
    over: dict[str, Any] = {"state": "TERMINATED", "reason": "superseded", "due_ms": None, "finished_ms": 99}
    assert sorted(ended) == [row._replace(**over) for row in [*cancelled, unclaimed]]
    assert [stored(write, run_row) for run_row in (waiting, foreign)] == [waiting, foreign]
    assert write(lambda t: t.run_cancel_in_flight([])) == []


def test_unheld_runs_are_given_up(write: Write) -> None:
    held_runs = [
        run(1, 1, attempt=1, owner=MINE, due_ms=None),
        run(1, 2, attempt=1, state="STARTED", due_ms=5, execution_id="elsewhere"),
    ]
    idle = [
        run(1, 3, due_ms=9),
        run(1, 4, attempt=2, failures=1, reason="retry", due_ms=99),
        run(1, 5, attempt=1, owner=OTHER, due_ms=5, state="STARTED"),
    ]
    others = [run(1, 6, state="BUFFERED"), run(2, 7)]
    write(lambda t: t.run_insert([*held_runs, *idle, *others]))
    ended = write(lambda t: t.run_give_up_unheld([(1, 5), (3, 1)], "superseded", 77))
    over: dict[str, Any] = {"state": "CANCELLED", "reason": "superseded", "due_ms": None, "finished_ms": 77}
    assert sorted(ended) == [row._replace(**over) for row in idle]
    assert [stored(write, run_row) for run_row in (*held_runs, *others)] == [*held_runs, *others]
    assert write(lambda t: t.run_give_up_unheld([], "superseded", 77)) == []


def test_held_planned_runs_become_due_again(write: Write) -> None:
    due = run(1, 1, state="PLANNED", fire_ms=100, due_ms=100)
    later = run(1, 2, state="PLANNED", fire_ms=300, due_ms=300)
    foreign = run(2, 3, state="PLANNED", due_ms=100)
    write(lambda t: t.run_insert([due, later, foreign]))
    write(lambda t: t.run_hold_planned([1], 200))
    assert [stored(write, run_row).due_ms for run_row in (due, later, foreign)] == [None, 300, 100]
    write(lambda t: t.run_unhold_planned([1, 2], 250))
    assert [stored(write, run_row).due_ms for run_row in (due, later, foreign)] == [250, 300, 100]
    write(lambda t: t.run_hold_planned([1], 400))
    write(lambda t: t.run_unhold_planned([1], 250))
    assert [stored(write, run_row).due_ms for run_row in (due, later)] == [250, 300]
