"""Backfills, calendars, workflows, pauses, audit, requests, instances."""

from __future__ import annotations

import pytest

from tests.conformance.store.conftest import SECONDS, Write, each
from tests.support.rows import NOW_MS, audit, backfill, calendar, workflow
from tompion.errors import StoreError
from tompion.model.rows import InstanceRow, RequestRow
from tompion.store.base import Store


def test_numbers_are_unique(write: Write) -> None:
    numbers = [write(lambda t: t.number_next()), *write(lambda t: [t.number_next(), t.number_next()])]
    assert numbers == sorted(set(numbers))
    assert numbers[0] > 0


def test_backfills_are_stored_and_listed(write: Write) -> None:
    rows = [backfill(1, 1), backfill(2, 1, state="DONE", next_ms=None, finished_ms=9), backfill(3, 2)]
    write(lambda t: each(t.backfill_insert, *rows))
    assert write(lambda t: t.backfill_get(2)) == rows[1]
    assert write(lambda t: t.backfill_get(9)) is None
    assert write(lambda t: t.backfill_list(1, 10)) == [rows[1], rows[0]]
    assert write(lambda t: t.backfill_list(1, 1)) == [rows[1]]
    assert write(lambda t: t.backfill_list(1, 10, unfinished=True)) == [rows[0]]


def test_progress_of_a_finished_backfill_is_not_changed(write: Write) -> None:
    row = backfill(1, 1)
    write(lambda t: t.backfill_insert(row))
    moved = row._replace(cursor_s=60, done=1, next_ms=NOW_MS + 5)
    write(lambda t: t.backfill_update(moved))
    assert write(lambda t: t.backfill_get(1)) == moved
    over = moved._replace(state="CANCELLED", next_ms=None, finished_ms=7)
    write(lambda t: t.backfill_update(over))
    write(lambda t: t.backfill_update(moved))
    assert write(lambda t: t.backfill_get(1)) == over


def test_backfills_become_due_in_order_and_can_be_made_due(write: Write) -> None:
    rows = [backfill(1, 1, next_ms=300), backfill(2, 2, next_ms=100), backfill(3, 3, next_ms=100)]
    done = backfill(4, 1, state="DONE", next_ms=None)
    write(lambda t: each(t.backfill_insert, *rows, done))
    assert write(lambda t: t.backfill_list_due(200, 10)) == rows[1:]
    assert write(lambda t: t.backfill_list_due(300, 1)) == rows[1:2]
    write(lambda t: t.backfill_wake([1, 2], 200))
    assert [row.next_ms for row in write(lambda t: t.backfill_list_due(200, 10))] == [100, 100, 200]
    assert write(lambda t: t.backfill_get(4)) == done


def test_calendars_have_versions(write: Write) -> None:
    rows = [calendar("b"), calendar("a"), calendar("a", 2), calendar("B")]
    write(lambda t: each(t.calendar_insert, *rows))
    assert write(lambda t: t.calendar_get("default", "a")) == rows[2]
    assert write(lambda t: t.calendar_get("default", "a", 1)) == rows[1]
    assert write(lambda t: t.calendar_get("default", "a", 3)) is None
    assert write(lambda t: t.calendar_get("other", "a")) is None
    assert write(lambda t: t.calendar_list("default", "", 10)) == [rows[3], rows[2], rows[0]]
    assert write(lambda t: t.calendar_list("default", "B", 1)) == [rows[2]]


def test_users_of_a_calendar_are_listed(write: Write) -> None:
    write(lambda t: each(lambda key: t.calendar_use_replace(key, "default", ["a", "b"]), 2, 1))
    assert write(lambda t: t.calendar_list_users("default", "a", 10)) == [1, 2]
    assert write(lambda t: t.calendar_list_users("default", "a", 1)) == [1]
    write(lambda t: t.calendar_use_replace(1, "default", ["b"]))
    write(lambda t: t.calendar_use_replace(2, "default", []))
    assert write(lambda t: t.calendar_list_users("default", "a", 10)) == []
    assert write(lambda t: t.calendar_list_users("default", "b", 10)) == [1]


def test_workflows_have_versions(write: Write) -> None:
    rows = [workflow("w"), workflow("w", 2)]
    write(lambda t: each(t.workflow_insert, *rows))
    assert write(lambda t: t.workflow_get("default", "w")) == rows[1]
    assert write(lambda t: t.workflow_get("default", "w", 1)) == rows[0]
    assert write(lambda t: t.workflow_get("default", "x")) is None
    names = [("default", "w"), ("default", "x"), ("other", "w")]
    assert write(lambda t: t.workflow_list_newest(names)) == {("default", "w"): 2}
    assert write(lambda t: t.workflow_list_newest([])) == {}


def test_targets_are_paused_and_resumed(write: Write) -> None:
    pause = {"namespace": "default", "kind": "queue", "target": "q", "paused_by": "me", "note": None, "paused_ms": 1}
    write(lambda t: t.target_pause(**pause))
    write(lambda t: t.target_pause(**{**pause, "note": "again"}))
    assert write(lambda t: t.target_list_paused()) == {("default", "queue", "q")}
    assert write(lambda t: t.target_resume("default", "workflow", "q")) is False
    assert write(lambda t: t.target_resume("default", "queue", "q")) is True
    assert write(lambda t: t.target_resume("default", "queue", "q")) is False
    assert write(lambda t: t.target_list_paused()) == set()


def test_audit_is_listed_newest_first(write: Write) -> None:
    rows = [audit("a", "create", after="{}"), audit("a", "edit", before="{}", after='{"x":1}', request_id="r")]
    write(lambda t: each(t.audit_insert, *rows, audit("b", "create")))
    results = write(lambda t: t.audit_list("default", "a", NOW_MS, 10))
    assert [row._replace(audit_number=0) for row in results] == rows[::-1]
    assert write(lambda t: t.audit_list("default", "a", NOW_MS, 1)) == results[:1]
    assert write(lambda t: t.audit_list("default", "a", results[0].audit_number, 10)) == results[1:]


def test_response_to_a_request_id_is_stored_once(store: Store, write: Write) -> None:
    answer = RequestRow("create", "f", '{"token":1}')
    write(lambda t: t.request_insert("default", "r", answer, 100))
    assert write(lambda t: t.request_get("default", "r")) == answer
    assert write(lambda t: t.request_get("other", "r")) is None
    with pytest.raises(StoreError):
        store.write(lambda t: t.request_insert("default", "r", answer, 100)).result(SECONDS)
    assert write(lambda t: t.request_expire(100, 9)) == 0
    assert write(lambda t: t.request_get("default", "r")) == answer
    assert write(lambda t: t.request_expire(101, 9)) == 1
    assert write(lambda t: t.request_get("default", "r")) is None


def test_instance_registers_renews_and_stops(write: Write) -> None:
    first, second = write(lambda t: [t.instance_insert(name, "1.0", 100, 300) for name in ("a", "b")])
    assert write(lambda t: t.lease_renew(first, 200, -5, 400))
    assert write(lambda t: t.instance_count_live(99)) == 2
    assert write(lambda t: t.instance_count_live(100)) == 1
    write(lambda t: t.instance_stop(first, 250, None))
    assert write(lambda t: t.instance_count_live(0)) == 1
    rows = [
        InstanceRow(second, "b", "1.0", "[]", 100, 100, None, 0, 300),
        InstanceRow(first, "a", "1.0", "[]", 100, 200, 250, -5, None),
    ]
    assert write(lambda t: t.instance_list("a", 10)) == rows
    assert write(lambda t: t.instance_list("a", 1)) == rows[:1]
    write(lambda t: t.instance_expire(250))
    assert write(lambda t: t.instance_list("a", 10)) == rows
    write(lambda t: t.instance_expire(251))
    assert write(lambda t: t.instance_list("a", 10)) == rows[:1]


def test_served_queues_are_counted(write: Write) -> None:
    """Instances have a lease. Remote workers have none and do not count as instances."""
    engine = write(lambda t: t.instance_insert("engine", "1.0", 100, 300, ["default"]))
    worker = write(lambda t: t.instance_insert("worker", "", 100, None, ["reports", "default"], "a"))
    assert write(lambda t: t.queue_list_served("a", 99)) == {"default": 2, "reports": 1}
    assert write(lambda t: t.queue_list_served("b", 99)) == {"default": 1}
    assert write(lambda t: t.instance_count_live(99)) == 1
    assert write(lambda t: t.worker_touch("a", worker, 200, ["reports"])) == "worker"
    assert write(lambda t: t.worker_touch("a", engine, 200, ["reports"])) is None
    assert write(lambda t: t.queue_list_served("a", 150)) == {"reports": 1}
    assert [row.instance_id for row in write(lambda t: t.instance_list("b", 10))] == [engine]
    assert [row.instance_id for row in write(lambda t: t.instance_list("a", 10))] == [worker, engine]
    assert write(lambda t: t.worker_touch("b", worker, 210, ["other"])) is None
    write(lambda t: t.worker_remove("b", worker, 220))
    assert write(lambda t: t.queue_list_served("a", 150)) == {"reports": 1}, (
        "a worker of another namespace must not be removed"
    )
    write(lambda t: t.worker_remove("a", worker, 250))
    assert write(lambda t: t.queue_list_served("a", 0)) == {"default": 1}
    assert write(lambda t: t.worker_touch("a", worker, 260, ["reports"])) is None


def test_expired_lease_cannot_be_renewed(write: Write) -> None:
    first, second = write(lambda t: [t.instance_insert(name, "1.0", 100, 300) for name in ("a", "b")])
    assert write(lambda t: t.lease_renew(second, 200, 0, 400))
    assert write(lambda t: t.lease_expire(299, 0)) == set()
    assert write(lambda t: t.lease_expire(300, first)) == set()
    assert write(lambda t: t.lease_expire(300, 0)) == {first}
    assert write(lambda t: t.lease_hold(first))
    assert write(lambda t: t.work_due(300, 0)).unleased
    write(lambda t: t.lease_end([first]))
    assert write(lambda t: t.lease_expire(300, 0)) == set()
    assert not write(lambda t: t.lease_hold(first))
    assert not write(lambda t: t.lease_renew(first, 300, 0, 500))
    write(lambda t: t.instance_stop(first, 310, 310))
    assert write(lambda t: t.lease_expire(399, 0)) == set()
    assert write(lambda t: t.lease_hold(second))
    assert write(lambda t: t.work_due(300, 0))[3:] == (False, False, 400)
