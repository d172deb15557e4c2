"""Lists of runs: order and limits."""

from __future__ import annotations

from tests.conformance.store.conftest import Write, each
from tests.support.rows import NOW_MS, dropped_range, held, run, schedule, version
from tompion.model.run import RunRow
from tompion.store.base import FAR_S, Transaction

MINE, OTHER = 7, 8


def times(rows: list[RunRow]) -> list[tuple[int, int, int]]:
    return [(row.schedule_key, row.nominal_s, row.origin) for row in rows]


def left(write: Write) -> list[int]:
    """The nominal times of the runs of the first schedule."""
    return [row.nominal_s for row in write(lambda t: t.run_list_page(1, (FAR_S, 0), 99))]


def test_runs_are_claimed_by_queue_oldest_first(write: Write) -> None:
    write(lambda t: each(t.version_insert, version(1), version(2, action='{"queue":"slow"}')))
    rows = [run(1, at, due_ms=due) for at, due in ((1, 300), (2, 100), (3, 200), (4, 901))]
    slow, planned = run(2, 5, due_ms=50), run(1, 6, due_ms=10, state="PLANNED")
    lapsed = run(1, 7, due_ms=150, attempt=2, owner=OTHER, state="STARTED")
    write(lambda t: t.run_insert([*rows, slow, planned, lapsed]))

    claimed = write(lambda t: t.run_claim(MINE, 900, ["default", "fast"], 3))
    assert sorted(times(claimed)) == [(1, 2, 0), (1, 3, 0), (1, 7, 0)]
    taken = {row.nominal_s: row for row in claimed}
    assert taken[2] == rows[1]._replace(attempt=1, owner=MINE, due_ms=None)
    assert taken[7] == lapsed._replace(attempt=3, owner=MINE, due_ms=None, state="ENQUEUED", pickups=1)
    assert times(write(lambda t: t.run_claim(OTHER, 900, ["default"], 10))) == [(1, 1, 0)]
    assert write(lambda t: t.run_claim(OTHER, 900, ["default"], 10)) == []
    assert write(lambda t: t.run_claim(OTHER, 900, [], 10)) == []
    assert times(write(lambda t: t.run_claim(OTHER, 900, ["slow"], 10))) == [(2, 5, 0)]


def test_suspects_are_claimed_one_by_one_the_least_suspicious_first(write: Write) -> None:
    write(lambda t: each(t.version_insert, version(1), version(2, action='{"queue":"slow"}')))
    lost_once = run(1, 1, due_ms=100, attempt=2, owner=OTHER, pickups=0)
    lost_twice = run(1, 2, due_ms=300, attempt=3, owner=OTHER, pickups=1, state="STARTED")
    lost_often = run(1, 3, due_ms=200, attempt=9, owner=OTHER, pickups=7)
    retried = run(1, 4, due_ms=400, attempt=4, pickups=2, failures=1)
    slow, later = run(2, 5, due_ms=50, pickups=5), run(1, 6, due_ms=901, pickups=5)
    write(lambda t: t.run_insert([lost_once, lost_twice, lost_often, retried, slow, later]))
    assert times(write(lambda t: t.run_claim(MINE, 900, ["default"], 10))) == [(1, 1, 0)]
    claimed = [write(lambda t: t.run_claim_suspect(MINE, 900, ["default"])) for _ in range(4)]
    assert [times(rows) for rows in claimed] == [[(1, 2, 0)], [(1, 4, 0)], [(1, 3, 0)], []]
    assert claimed[0] == [lost_twice._replace(attempt=4, owner=MINE, due_ms=None, state="ENQUEUED", pickups=2)]


def test_remote_worker_holds_one_suspect_at_a_time(write: Write) -> None:
    write(lambda t: t.schedule_insert(schedule("report")))
    write(lambda t: t.version_insert(version(1, action='{"queue":"default","function":"tasks:work"}')))
    suspects = [run(1, at, due_ms=at, attempt=2, pickups=2) for at in (1, 2, 3)]
    write(lambda t: t.run_insert([*suspects, run(1, 4, due_ms=900)]))

    def claim(worker: str, now_ms: int = 900, limit: int = 5) -> list[tuple[int, int, int]]:
        claimed: list[RunRow] = write(
            lambda t: t.run_claim_remote("default", worker, now_ms, now_ms + 100, ["default"], limit)
        )
        return times(claimed)

    assert claim("worker:a", limit=1) == [(1, 4, 0)], "a suspect needs a free place"
    assert claim("worker:a") == [(1, 1, 0)]
    assert claim("worker:a") == []
    assert claim("worker:b") == [(1, 2, 0)]
    assert claim("worker:a", now_ms=1_000) == [(1, 3, 0)], "its first suspect has no lease any more"


def test_only_own_runs_are_readopted(write: Write) -> None:
    ours, started = run(1, 1, attempt=1, owner=MINE), run(1, 2, attempt=1, owner=MINE, state="STARTED")
    ours, started = ours._replace(due_ms=None), started._replace(due_ms=None)
    exposed = run(1, 3, attempt=2, owner=MINE)
    foreign, unowned = run(1, 4, attempt=1, owner=OTHER, due_ms=None), run(1, 5)
    write(lambda t: t.run_insert([ours, started, exposed, foreign, unowned]))
    candidates = [held(ours), held(started), held(exposed), held(foreign), held(unowned)]
    adopted = write(lambda t: t.run_readopt(MINE, candidates))
    assert sorted(adopted) == [ours._replace(attempt=2), started._replace(attempt=2, state="ENQUEUED")]
    assert write(lambda t: t.run_readopt(MINE, candidates)) == []
    assert write(lambda t: t.run_readopt(MINE, [])) == []


def test_planned_runs_become_due_in_order(write: Write) -> None:
    rows = [run(key, at, state="PLANNED", due_ms=due, fire_ms=due) for key, at, due in
            ((2, 1, 100), (1, 3, 100), (1, 2, 100), (3, 1, 50), (1, 9, 201))]  # fmt: skip
    write(lambda t: t.run_insert([*rows, run(1, 4, due_ms=10)]))
    order = [(3, 1, 0), (1, 2, 0), (1, 3, 0), (2, 1, 0)]
    assert times(write(lambda t: t.run_list_planned_due(200, 10))) == order
    assert times(write(lambda t: t.run_list_planned_due(200, 2))) == order[:2]
    assert times(write(lambda t: t.run_list_planned([1, 2], 200))) == order[1:]
    assert write(lambda t: t.run_list_planned([], 200)) == []


def test_waiting_runs_are_listed_in_start_order(write: Write) -> None:
    rows = [
        run(1, 300, state="BUFFERED"), run(1, 100, state="BUFFERED"), run(1, 50, 4, source="trigger", state="BUFFERED"),
        run(1, 40, 5, source="backfill", state="BUFFERED"), run(2, 10, state="BUFFERED"), run(1, 20),
        run(3, 1, state="BUFFERED"),
    ]  # fmt: skip
    rows[0] = rows[0]._replace(queued_ms=NOW_MS - 1)
    write(lambda t: t.run_insert(rows))
    expected = [(1, 300, 0), (1, 50, 4), (1, 100, 0), (1, 40, 5), (2, 10, 0)]
    assert times(write(lambda t: t.run_list_buffered([1, 2], 10))) == expected
    assert times(write(lambda t: t.run_list_buffered([1, 2], 2))) == [*expected[:2], (2, 10, 0)]


def test_open_runs_are_listed_and_counted(write: Write) -> None:
    rows = [
        run(1, 5, state="STARTED"), run(1, 4), run(1, 3, state="BUFFERED"), run(1, 2, state="PLANNED"),
        run(1, 1, state="SUCCESS", finished_ms=1), run(2, 1),
    ]  # fmt: skip
    write(lambda t: t.run_insert(rows))
    assert times(write(lambda t: t.run_list_waiting(1, 10))) == [(1, 2, 0), (1, 3, 0)]
    assert times(write(lambda t: t.run_list_waiting(1, 1))) == [(1, 2, 0)]
    assert write(lambda t: t.run_count_open(1)) == (2, 1)
    assert write(lambda t: t.run_count_open(9)) == (0, 0)


def test_pages_of_runs_are_newest_first(write: Write) -> None:
    rows = [run(1, 100), run(1, 100, 1, source="trigger"), run(1, 200, state="SKIPPED"), run(1, 300), run(2, 250)]
    write(lambda t: t.run_insert(rows))

    def page(before: tuple[int, int], limit: int = 10, **wanted: str) -> list[tuple[int, int, int]]:
        return times(write(lambda t: t.run_list_page(1, before, limit, **wanted)))

    everything = [(1, 300, 0), (1, 200, 0), (1, 100, 1), (1, 100, 0)]
    assert page((FAR_S, 0)) == everything
    assert page((FAR_S, 0), 3) == everything[:3]
    assert page((100, 1)) == everything[3:]
    assert page((100, 0)) == []
    assert page((FAR_S, 0), state="SKIPPED") == [(1, 200, 0)]
    assert page((FAR_S, 0), source="trigger") == [(1, 100, 1)]
    assert page((FAR_S, 0), source="trigger", state="SKIPPED") == []


def test_tick_states_include_own_and_backfill_runs(write: Write) -> None:
    own = [run(1, 100), run(1, 200, state="FAILED"), run(1, 300, state="SUCCESS"), run(2, 200, state="SKIPPED")]
    others = [
        run(1, 200, 5, source="backfill", state="SUCCESS"), run(1, 200, 6, source="trigger", state="TIMED_OUT"),
        run(1, 400, 5, source="backfill", state="STARTED"), run(1, 500, 7, source="trigger"),
    ]  # fmt: skip
    write(lambda t: t.run_insert([*own, *others]))
    assert write(lambda t: t.run_list_tick_states(1, [100, 200, 400, 500, 600])) == {
        100: {"ENQUEUED"}, 200: {"FAILED", "SUCCESS"}, 400: {"STARTED"}
    }  # fmt: skip
    assert write(lambda t: t.run_list_tick_states(1, [])) == {}


def test_zombies_are_runs_with_a_silent_owner(write: Write) -> None:
    silent = run(1, 1, due_ms=100, owner=MINE, state="STARTED", attempt=1)
    older = run(1, 2, due_ms=50, owner=OTHER, attempt=1)
    write(lambda t: t.run_insert([silent, older, run(1, 3, due_ms=10), run(1, 4, due_ms=101, owner=MINE, attempt=1)]))
    assert write(lambda t: t.run_list_zombies(100, 10)) == [older, silent]
    assert write(lambda t: t.run_list_zombies(100, 1)) == [older]


def test_expire_deletes_old_ended_runs_and_keeps_open_ones(write: Write) -> None:
    over = [run(1, at, state="SUCCESS", finished_ms=at * 10) for at in (1, 2, 3, 4)]
    still_open = run(1, 5)
    write(lambda t: t.run_insert([over[0], still_open, *over[1:]]))
    far = write(lambda t: t.run_expire(0, NOW_MS + 1, 2))
    assert far is not None
    assert left(write) == [5, 4, 3, 2]
    assert write(lambda t: t.run_expire(far, 30, 100)) is None
    assert left(write) == [5, 4, 3]


def test_expire_stops_at_the_first_recent_run(write: Write) -> None:
    old = [run(1, at, decided_ms=at, state="SUCCESS", finished_ms=at) for at in (1, 2)]
    young = [run(1, at, decided_ms=at, state="SUCCESS", finished_ms=at) for at in (50, 60)]
    write(lambda t: t.run_insert([*old, *young]))
    assert write(lambda t: t.run_expire(0, 30, 3)) is None
    assert left(write) == [60, 50]
    assert write(lambda t: t.run_expire(1 << 40, 30, 3)) is None


def test_expire_deletes_old_dropped_ranges(write: Write) -> None:
    dropped_ranges = [
        dropped_range(1, 0, 100)._replace(decided_ms=5),
        dropped_range(1, 100, 200)._replace(decided_ms=6),
    ]
    write(lambda t: t.dropped_range_insert(dropped_ranges))
    write(lambda t: t.dropped_range_expire(6, 9))
    assert write(lambda t: t.dropped_range_list(1, 0, 900, 9)) == [dropped_ranges[1]]


def test_dropped_ranges_that_overlap_a_range_are_listed(write: Write) -> None:
    dropped_ranges = [dropped_range(1, 0, 100), dropped_range(1, 100, 200), dropped_range(1, 300, 400)]
    write(lambda t: t.dropped_range_insert([*dropped_ranges, dropped_range(2, 0, 900)]))
    write(lambda t: t.dropped_range_insert([]))
    assert write(lambda t: t.dropped_range_list(1, 100, 301, 10)) == [dropped_ranges[2], dropped_ranges[1]]
    assert write(lambda t: t.dropped_range_list(1, 0, 900, 1)) == [dropped_ranges[2]]
    assert write(lambda t: t.dropped_range_list(1, 200, 300, 10)) == []


def test_schedules_with_runs_held_for_a_paused_target_are_listed(write: Write) -> None:
    def make(t: Transaction) -> list[int]:
        keys = []
        for name, namespace in (("a", "default"), ("b", "default"), ("c", "other"), ("d", "default")):
            key = t.schedule_insert(schedule(name, namespace=namespace))
            action = '{"workflow_id":"w","queue":"q"}' if name != "b" else '{"queue":"r"}'
            t.version_insert(version(key, action=action))
            t.run_insert([run(key, at, state="BUFFERED" if name != "d" else "ENQUEUED") for at in (1, 2)])
            keys.append(key)
        return keys

    keys = write(make)
    assert write(lambda t: t.run_list_held_for_target("default", "workflow", "w")) == [keys[0]]
    assert write(lambda t: t.run_list_held_for_target("default", "queue", "r")) == [keys[1]]
    assert write(lambda t: t.run_list_held_for_target("default", "workflow", "q")) == []
    assert write(lambda t: t.run_list_held_for_target("other", "queue", "q")) == [keys[2]]
