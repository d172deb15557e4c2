"""Schedules and their versions."""

from __future__ import annotations

import pytest

from tests.conformance.store.conftest import SECONDS, Write, each
from tests.support.rows import NOW_MS, audit, backfill, dropped_range, run, schedule, version
from tests.support.rows import state as sample_state
from tompion.errors import StoreError
from tompion.model.rows import DefinitionRow, ScheduleFilter, ScheduleRow
from tompion.store.base import Store, Transaction


def add(write: Write, row: ScheduleRow, **state: object) -> int:
    def work(t: Transaction) -> int:
        key = t.schedule_insert(row)
        t.state_insert(sample_state(key, **{"next_fire_ms": 5, **state}))  # type: ignore[arg-type]  # any field of a state
        return key

    return int(write(work))


def test_schedule_round_trips(write: Write) -> None:
    row = schedule("a", workflow_id="w", user_id="u", labels='{"k":"v"}', description="ä", zones="2026f", purge=True)
    key = write(lambda t: t.schedule_insert(row))
    kept = row._replace(schedule_key=key)
    assert write(lambda t: t.schedule_get("default", "a")) == kept
    assert write(lambda t: t.schedule_get("other", "a")) is None
    changed = kept._replace(
        version=2, token=9, state="paused", paused_by="me", pause_note="n", paused_ms=4, purge=False
    )
    write(lambda t: t.schedule_update(changed))
    assert write(lambda t: t.schedule_list_by_key([key, key, 99])) == {key: changed}
    assert write(lambda t: t.schedule_list_by_key([])) == {}


def test_schedule_id_is_unique_in_a_namespace(store: Store, write: Write) -> None:
    first = write(lambda t: t.schedule_insert(schedule("a")))
    with pytest.raises(StoreError):
        store.write(lambda t: t.schedule_insert(schedule("a"))).result(SECONDS)
    assert write(lambda t: t.schedule_insert(schedule("a", namespace="other"))) != first


def page(write: Write, after: str = "", limit: int = 10, **wanted: str) -> list[str]:
    rows = write(lambda t: t.schedule_list("default", after, limit, ScheduleFilter(**wanted)))
    return [row.schedule_id for row in rows]


def test_pages_of_schedules_are_sorted_by_code_point(write: Write) -> None:
    for name in ("b", "a", "B", "é", "z", "a-b", "ab", "😀"):
        add(write, schedule(name))
    add(write, schedule("other", namespace="other"))
    add(write, schedule("closed", state="closed"))
    order = ["B", "a", "a-b", "ab", "b", "z", "é", "😀"]
    assert page(write) == order
    assert page(write, "ab") == order[4:]
    assert page(write, limit=2) == order[:2]
    assert page(write, state="closed") == ["closed"]


def test_schedules_are_filtered_by_status(write: Write) -> None:
    add(write, schedule("active"))
    add(write, schedule("paused", state="paused"), next_fire_ms=None)
    add(write, schedule("exhausted"), next_fire_ms=None)
    add(write, schedule("finishing"), next_fire_ms=None, in_flight=1)
    add(write, schedule("queueing"), next_fire_ms=None, waiting=1)
    key = add(write, schedule("spreading"), next_fire_ms=None)
    write(lambda t: t.run_insert([run(key, state="PLANNED", queued_ms=5)]))
    assert page(write, state="active") == ["active", "finishing", "queueing", "spreading"]
    assert page(write, state="exhausted") == ["exhausted"]
    assert page(write, state="paused") == ["paused"]


def test_schedules_are_filtered_by_text_and_labels(write: Write) -> None:
    add(write, schedule("a", workflow_id="w", user_id="u", labels='{"team":"x","a.b":"1","say \\"hi\\"":"2"}'))
    add(write, schedule("b", workflow_id="v", labels='{"team":"y"}', description="Nightly REPORT é"))
    assert page(write, workflow_id="w") == ["a"]
    assert page(write, user_id="u") == ["a"]
    assert page(write, label="team", label_value="y") == ["b"]
    assert page(write, label="a.b", label_value="1") == ["a"]
    assert page(write, label='say "hi"', label_value="2") == ["a"]
    assert page(write, label="unknown", label_value="y") == []
    assert page(write, text="report É") == []
    assert page(write, text="report é") == ["b"]
    assert page(write, text="A") == ["a"]
    for text in ("50%", "_", "a_b", "\\"):
        assert page(write, text=text) == [], "they mean themselves"
    add(write, schedule("c", description="50% of a_b\\c"))
    for text in ("50%", "_", "A_b", "\\c"):
        assert page(write, text=text) == ["c"]


def test_versions_are_stored_and_ended(write: Write) -> None:
    rows = [version(1, 1, payload='{"a":1}'), version(1, 2, after_s=100), version(2, 1)]
    write(lambda t: each(t.version_insert, *rows))
    write(lambda t: t.version_end(1, 1, 100))
    write(lambda t: t.version_end(1, 1, 200))  # it has ended already
    ended = rows[0]._replace(until_s=100)
    assert write(lambda t: t.version_list(1, 10)) == [rows[1], ended]
    assert write(lambda t: t.version_list(1, 1)) == [rows[1]]
    assert write(lambda t: t.version_get(1, 1)) == ended
    assert write(lambda t: t.version_get(1, 3)) is None


def test_definitions_are_listed_by_schedule_and_version(write: Write) -> None:
    first, second = write(lambda t: [t.schedule_insert(schedule(name)) for name in ("a", "b")])
    write(lambda t: each(t.version_insert, *(version(key, number) for key in (first, second) for number in (1, 2))))
    definitions = write(lambda t: t.version_list_definitions([(first, 2), (second, 1), (second, 9)]))
    row = version(first, 2)
    expected = DefinitionRow(first, 2, "default", "a", row.spec, row.policy, row.action, row.payload, row.calendars)
    assert min(definitions) == expected
    assert [row[:4] for row in sorted(definitions)] == [(first, 2, "default", "a"), (second, 1, "default", "b")]
    assert write(lambda t: t.version_list_definitions([])) == []


def test_closed_schedule_is_purgeable_without_runs_in_flight(write: Write) -> None:
    old = add(write, schedule("old", state="closed", updated_ms=10))
    wanted = add(write, schedule("wanted", state="closed", purge=True))
    add(write, schedule("young", state="closed"))
    add(write, schedule("flying", state="closed", purge=True), in_flight=1)
    add(write, schedule("ahead", state="closed", purge=True), cursor_s=500)
    add(write, schedule("active", updated_ms=10, purge=True))
    assert sorted(write(lambda t: t.schedule_list_purgeable(100, 1000, 10))) == [old, wanted]
    assert len(write(lambda t: t.schedule_list_purgeable(100, 1000, 1))) == 1


def test_purge_keeps_the_audit(write: Write) -> None:
    keys = [add(write, schedule(name)) for name in ("a", "b")]

    def fill(t: Transaction) -> None:
        for key, name in zip(keys, "ab", strict=True):
            t.version_insert(version(key))
            t.run_insert([run(key)])
            t.dropped_range_insert([dropped_range(key, 0, 60)])
            t.backfill_insert(backfill(key, key))
            t.calendar_use_replace(key, "default", ["c"])
            t.audit_insert(audit(name, "create"))

    def left(t: Transaction, key: int) -> list[bool]:
        runs = t.run_list_page(key, (99, 0), 9)
        lists = [t.version_list(key, 9), runs, t.dropped_range_list(key, 0, 99, 9), t.backfill_list(key, 9)]
        users = key in t.calendar_list_users("default", "c", 9)
        return [*map(bool, lists), users, bool(t.state_get([key])), bool(t.schedule_list_by_key([key]))]

    write(fill)
    write(lambda t: t.schedule_purge(keys[0], 9))
    assert write(lambda t: left(t, keys[0])) == [False] * 7
    assert write(lambda t: left(t, keys[1])) == [True] * 7
    assert len(write(lambda t: t.audit_list("default", "a", NOW_MS, 9))) == 1


def test_schedules_are_listed_by_zone_tables(write: Write) -> None:
    first, _none, second = (
        add(write, schedule(name, zones=zones)) for name, zones in (("b", "x"), ("a", ""), ("c", "y"))
    )
    assert sorted(write(lambda t: t.schedule_list_zones())) == ["x", "y"]
    assert write(lambda t: t.schedule_list_in_zone("x", 10)) == [first]
    assert write(lambda t: t.schedule_list_in_zone("y", 10)) == [second]
    assert write(lambda t: t.schedule_list_in_zone("nowhere:1", 10)) == []
