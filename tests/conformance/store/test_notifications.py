"""Notifications: written once, leased, fenced, summarised, given up, deleted."""

from __future__ import annotations

from concurrent.futures import Future
from threading import Event
from typing import Any

import pytest

from tests.conformance.store.conftest import SECONDS, Write
from tests.support.rows import NOW_MS, run
from tompion.model.notification import NotificationRow
from tompion.model.run import RunId
from tompion.store.base import Store, Transaction
from tompion.store.postgres.driver import PostgresStore

OPS = ["ops"]


def notification(number: int, **other: Any) -> NotificationRow:
    row = NotificationRow(
        f"msg_{number}", "ops", "failed", "default", "report", '{"n":1}', "PENDING", 0, NOW_MS, NOW_MS,
        None, None, None,
    )  # fmt: skip
    return row._replace(**other)


def listed(write: Write, **filters: Any) -> list[NotificationRow]:
    return [row for row, _ in write(lambda t: t.notification_list("default", 1 << 60, 100, **filters))]


def test_duplicate_notification_is_ignored(write: Write) -> None:
    write(lambda t: t.notification_insert([notification(1), notification(2)]))
    write(lambda t: t.notification_insert([notification(2, about="{}"), notification(3)]))
    assert listed(write) == [notification(3), notification(2), notification(1)]


def test_many_notifications_are_written_in_one_batch(write: Write) -> None:
    write(lambda t: t.notification_insert([notification(number) for number in range(1_200)]))
    assert len(write(lambda t: t.notification_claim_due(OPS, NOW_MS, 5_000))) == 1_200


def test_due_notifications_are_claimed_oldest_first_for_given_rules(write: Write) -> None:
    rows = [
        notification(1, due_ms=300),
        notification(2, due_ms=100),
        notification(3, due_ms=200, rule_name="other"),
        notification(4),
    ]
    write(lambda t: t.notification_insert(rows))
    assert write(lambda t: t.notification_next_due(OPS)) == 100
    assert write(lambda t: t.notification_next_due(["unknown"])) is None
    assert write(lambda t: t.notification_next_due([])) is None
    assert write(lambda t: t.notification_claim_due(OPS, 300, 10)) == [rows[1], rows[0]]
    assert write(lambda t: t.notification_claim_due(["ops", "other"], 300, 2)) == [rows[1], rows[2]]


def test_lease_blocks_other_dispatchers_and_counts_an_attempt(write: Write) -> None:
    write(lambda t: t.notification_insert([notification(1)]))
    write(lambda t: t.notification_lease(["msg_1"], NOW_MS + 100))
    assert write(lambda t: t.notification_claim_due(OPS, NOW_MS + 99, 10)) == []
    assert write(lambda t: t.notification_claim_due(OPS, NOW_MS + 100, 10)) == [
        notification(1, attempts=1, due_ms=NOW_MS + 100)
    ]


def test_postponed_notification_has_no_attempt(write: Write) -> None:
    write(lambda t: t.notification_insert([notification(1)]))
    write(lambda t: t.notification_postpone(["msg_1"], NOW_MS + 100))
    assert listed(write) == [notification(1, due_ms=NOW_MS + 100)]


def test_only_the_last_attempt_settles_a_notification(write: Write) -> None:
    write(lambda t: t.notification_insert([notification(1), notification(2)]))
    write(lambda t: t.notification_lease(["msg_1", "msg_2"], NOW_MS))
    write(lambda t: t.notification_lease(["msg_1"], NOW_MS))
    ends = [("msg_1", 1, "DELIVERED", None, 7, None), ("msg_2", 1, "PENDING", NOW_MS + 9, None, "no answer")]
    assert write(lambda t: t.notification_settle(ends)) == {"msg_2"}
    assert write(lambda t: t.notification_settle([("msg_1", 2, "DELIVERED", None, 8, None)])) == {"msg_1"}
    assert write(lambda t: t.notification_settle([("msg_1", 2, "GIVEN_UP", None, 9, "late")])) == set()
    assert listed(write) == [
        notification(2, attempts=1, due_ms=NOW_MS + 9, last_error="no answer"),
        notification(1, attempts=2, state="DELIVERED", due_ms=None, finished_ms=8),
    ]


def test_summarized_notification_is_not_sent_separately(write: Write) -> None:
    write(lambda t: t.notification_insert([notification(1), notification(2)]))
    write(lambda t: t.notification_summarize(["msg_1"], "msg_9", 5))
    assert write(lambda t: t.notification_claim_due(OPS, NOW_MS, 10)) == [notification(2)]
    (row,) = listed(write, state="SUMMARIZED")
    assert (row.summary_id, row.finished_ms, row.due_ms) == ("msg_9", 5, None)


def test_undelivered_notification_is_given_up_unless_an_attempt_is_running(write: Write) -> None:
    rows = [
        notification(1, created_ms=100),
        notification(2, created_ms=100, last_error="no answer"),
        notification(3, created_ms=100, due_ms=NOW_MS + 1),
        notification(4),
    ]
    write(lambda t: t.notification_insert(rows))
    assert write(lambda t: t.notification_give_up(NOW_MS, NOW_MS, 9)) == 2
    outcomes = {row.notification_id: (row.state, row.last_error) for row in listed(write)}
    assert outcomes["msg_1"] == ("GIVEN_UP", "no running engine is configured with this notification rule")
    assert outcomes["msg_2"] == ("GIVEN_UP", "no answer")
    assert [outcomes[name][0] for name in ("msg_3", "msg_4")] == ["PENDING", "PENDING"]


def test_only_finished_notifications_are_deleted(write: Write) -> None:
    rows = [
        notification(1, created_ms=1),
        notification(2, state="DELIVERED", due_ms=None, finished_ms=100, created_ms=1),
    ]
    write(lambda t: t.notification_insert(rows))
    write(lambda t: t.notification_expire(100, 9))
    assert len(listed(write)) == 2
    write(lambda t: t.notification_expire(101, 9))
    assert listed(write) == [rows[0]]


def test_notifications_are_listed_by_namespace_in_pages(write: Write) -> None:
    rows = [
        notification(1),
        notification(2, namespace="other"),
        notification(3, state="DELIVERED", due_ms=None),
        notification(4),
    ]
    write(lambda t: t.notification_insert([*rows, notification(5, schedule_id="etl")]))
    page = write(lambda t: t.notification_list("default", 1 << 60, 2))
    assert [row.notification_id for row, _ in page] == ["msg_5", "msg_4"]
    page = write(lambda t: t.notification_list("default", page[-1][1], 10))
    assert [row.notification_id for row, _ in page] == ["msg_3", "msg_1"]
    assert [row.notification_id for row in listed(write, state="DELIVERED")] == ["msg_3"]
    assert [row.notification_id for row in listed(write, schedule_id="etl")] == ["msg_5"]


def test_rate_counter_restarts_each_minute(write: Write) -> None:
    assert write(lambda t: t.notification_rate_lock("ops", "default", 7)) == 0
    write(lambda t: t.notification_rate_add("ops", "default", 3))
    assert write(lambda t: t.notification_rate_lock("ops", "default", 7)) == 3
    assert write(lambda t: t.notification_rate_lock("ops", "other", 7)) == 0
    assert write(lambda t: t.notification_rate_lock("ops", "default", 8)) == 0


def test_fire_times_of_runs_are_listed(write: Write) -> None:
    write(lambda t: t.run_insert([run(1, 60, fire_ms=61_000), run(2, 60, fire_ms=62_000)]))
    wanted = [RunId(1, 60), RunId(2, 60), RunId(3, 60)]
    assert write(lambda t: t.run_list_fire_times(wanted)) == {RunId(1, 60): 61_000, RunId(2, 60): 62_000}
    assert write(lambda t: t.run_list_fire_times([])) == {}


def test_concurrent_dispatchers_do_not_block_each_other(postgres: PostgresStore) -> None:
    """The second dispatcher claims what the first has not locked."""
    store: Store = postgres
    store.write(lambda t: t.notification_insert([notification(1), notification(2)])).result(SECONDS)
    locked, done = Event(), Event()

    def first(transaction: Transaction) -> list[NotificationRow]:
        rows = transaction.notification_claim_due(OPS, NOW_MS, 1)
        locked.set()
        assert done.wait(SECONDS)
        return rows

    holding: Future[list[NotificationRow]] = store.write(first)
    assert locked.wait(SECONDS)
    try:
        assert store.write(lambda t: t.notification_claim_due(OPS, NOW_MS, 10)).result(SECONDS) == [notification(2)]
    finally:
        done.set()
    assert holding.result(SECONDS) == [notification(1)]


@pytest.mark.parametrize("method", ["notification_lease", "notification_postpone"])
def test_empty_batches_send_no_statement(write: Write, method: str) -> None:
    write(lambda t: getattr(t, method)([], NOW_MS))
    assert listed(write) == []
