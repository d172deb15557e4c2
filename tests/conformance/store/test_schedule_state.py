"""Schedule states: claimed in order, written completely."""

from __future__ import annotations

from tests.conformance.store.conftest import Write, each
from tests.support.rows import NOW_MS, backfill, run, state
from tompion.model.rows import DueNow


def test_claim_returns_the_oldest_due_states_within_bounds_and_limit(write: Write) -> None:
    fires = {1: 300, 2: 100, 3: 200, 4: 100, 5: None, 6: 400, 7: 99}
    write(lambda t: each(t.state_insert, *(state(key, fire) for key, fire in fires.items())))

    def claimed(after: int, until: int, limit: int) -> list[int]:
        return [row[0] for row in write(lambda t: t.state_claim_due(after, until, limit))]

    assert claimed(99, 300, 10) == [2, 4, 3, 1]
    assert claimed(99, 300, 3) == [2, 4, 3]
    assert claimed(0, 99, 10) == [7]
    assert claimed(400, 1000, 10) == []


def test_state_is_written_completely(write: Write) -> None:
    full = state(
        1, 5, version=2, cursor_s=3, next_nominal_s=4, paused=True, pause_until_ms=6, closed=True, in_flight=7,
        waiting=8, remaining=9, last_start_ms=10, failures=11, carry="all", carry_until_s=12, skips="13,14", starts=15,
        successes=16, failed=17, skipped=18, missed=19, last_end_ms=20, hints="[null,null]",
    )  # fmt: skip
    bare, huge = state(2), state(3, 2**60, cursor_s=-(2**40))
    write(lambda t: each(t.state_insert, *map(state, (1, 2, 3, 4))))
    write(lambda t: t.state_update([full, bare, huge]))
    assert write(lambda t: t.state_get([3, 1, 2, 2])) == {1: full, 2: bare, 3: huge}
    assert write(lambda t: t.state_lock([3, 1])) == {1: full, 3: huge}
    write(lambda t: t.state_update([full._replace(carry=None, remaining=None, paused=False)]))
    assert write(lambda t: t.state_get([1]))[1] == full._replace(carry=None, remaining=None, paused=False)


def test_empty_lists_of_keys_do_nothing(write: Write) -> None:
    assert write(lambda t: t.state_lock([])) == {}
    assert write(lambda t: t.state_get([1])) == {}
    assert write(lambda t: t.state_update([])) is None


def test_update_does_not_insert_a_missing_state(write: Write) -> None:
    write(lambda t: t.state_update([state(1)]))
    assert write(lambda t: t.state_get([1])) == {}


def test_deleted_state_is_gone(write: Write) -> None:
    write(lambda t: t.state_insert(state(1)))
    write(lambda t: t.state_delete(1))
    assert write(lambda t: t.state_get([1])) == {}


def test_empty_store_has_no_work_due(write: Write) -> None:
    assert write(lambda t: t.work_due(NOW_MS, NOW_MS)) == DueNow(False, False, False, False, False, None)


def test_work_due_is_reported_by_kind(write: Write) -> None:
    def due(now_ms: int, edge_ms: int) -> DueNow:
        result: DueNow = write(lambda t: t.work_due(now_ms, edge_ms))
        return result

    write(lambda t: each(t.state_insert, state(1, 100), state(2, 500)))
    write(lambda t: t.run_insert([run(1, 1, due_ms=200, state="PLANNED"), run(1, 2, due_ms=300)]))
    write(lambda t: t.backfill_insert(backfill(1, 1, next_ms=400)))
    assert due(99, 0) == DueNow(False, False, False, False, False, 100)
    assert due(100, 100) == DueNow(True, False, False, False, False, 200)
    assert due(200, 101) == DueNow(False, True, True, False, False, 300)
    assert due(300, 101) == DueNow(False, True, True, True, False, 400)
    assert due(400, 101) == DueNow(False, True, True, True, True, 500)
    assert due(500, 101) == DueNow(True, True, True, True, True, None)


def test_fast_writes_change_only_their_columns(write: Write) -> None:
    full = state(1, 5, failures=3, waiting=2, successes=4, starts=6, skips="9", in_flight=1)
    write(lambda t: each(t.state_insert, full, state(2, 5)))
    write(lambda t: t.state_advance_fast([(1, 60, 120, 120_000, 2, 60_001, 7)]))
    stepped = full._replace(
        cursor_s=60, next_nominal_s=120, next_fire_ms=120_000, in_flight=2, last_start_ms=60_001, starts=7
    )
    assert write(lambda t: t.state_get([1, 2])) == {1: stepped, 2: state(2, 5)}
    write(lambda t: t.state_count_successes([(1, 0, 6)]))
    assert write(lambda t: t.state_get([1, 2])) == {
        1: stepped._replace(in_flight=0, successes=6, failures=0),
        2: state(2, 5),
    }
    write(lambda t: t.state_advance_fast([]))
    write(lambda t: t.state_count_successes([]))


def test_states_with_runs_in_flight_are_listed(write: Write) -> None:
    write(lambda t: each(t.state_insert, state(1), state(2, in_flight=3), state(3, in_flight=1)))
    assert sorted(write(lambda t: t.state_list_in_flight())) == [(2, 3), (3, 1)]
