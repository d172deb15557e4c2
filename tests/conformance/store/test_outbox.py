"""Notices: written once, leased, fenced, summarised, given up, forgotten."""

from __future__ import annotations

from concurrent.futures import Future
from threading import Event
from typing import Any

import pytest

from tests.conformance.store.conftest import SECONDS, Write
from tests.conformance.store.samples import NOW_MS, run
from tompion.model.notification import NotificationRow
from tompion.model.run import RunId
from tompion.store.base import Store, Transaction
from tompion.store.postgres.driver import PostgresStore

OPS = ["ops"]


def notice(number: int, **other: Any) -> NotificationRow:
    made = NotificationRow(
        f"msg_{number}", "ops", "failed", "default", "report", '{"n":1}', "PENDING", 0, NOW_MS, NOW_MS,
        None, None, None,
    )  # fmt: skip
    return made._replace(**other)


def listed(write: Write, **given: Any) -> list[NotificationRow]:
    return [row for row, _ in write(lambda t: t.notices_page("default", 1 << 60, 100, **given))]


def test_what_happened_is_told_once(write: Write) -> None:
    write(lambda t: t.insert_notices([notice(1), notice(2)]))
    write(lambda t: t.insert_notices([notice(2, about="{}"), notice(3)]))
    assert listed(write) == [notice(3), notice(2), notice(1)]


def test_many_are_written_at_once(write: Write) -> None:
    write(lambda t: t.insert_notices([notice(number) for number in range(1_200)]))
    assert len(write(lambda t: t.due_notices(OPS, NOW_MS, 5_000))) == 1_200


def test_the_oldest_are_due_first_and_only_of_those_who_are_asked_for(write: Write) -> None:
    rows = [notice(1, due_ms=300), notice(2, due_ms=100), notice(3, due_ms=200, notification="other"), notice(4)]
    write(lambda t: t.insert_notices(rows))
    assert write(lambda t: t.next_notice(OPS)) == 100
    assert write(lambda t: t.next_notice(["nobody"])) is None
    assert write(lambda t: t.next_notice([])) is None
    assert write(lambda t: t.due_notices(OPS, 300, 10)) == [rows[1], rows[0]]
    assert write(lambda t: t.due_notices(["ops", "other"], 300, 2)) == [rows[1], rows[2]]


def test_a_lease_keeps_others_away_and_counts(write: Write) -> None:
    write(lambda t: t.insert_notices([notice(1)]))
    write(lambda t: t.lease_notices(["msg_1"], NOW_MS + 100))
    assert write(lambda t: t.due_notices(OPS, NOW_MS + 99, 10)) == []
    assert write(lambda t: t.due_notices(OPS, NOW_MS + 100, 10)) == [notice(1, attempts=1, due_ms=NOW_MS + 100)]


def test_who_is_put_off_has_not_been_tried(write: Write) -> None:
    write(lambda t: t.insert_notices([notice(1)]))
    write(lambda t: t.put_off_notices(["msg_1"], NOW_MS + 100))
    assert listed(write) == [notice(1, due_ms=NOW_MS + 100)]


def test_only_the_last_try_says_how_it_ended(write: Write) -> None:
    write(lambda t: t.insert_notices([notice(1), notice(2)]))
    write(lambda t: t.lease_notices(["msg_1", "msg_2"], NOW_MS))
    write(lambda t: t.lease_notices(["msg_1"], NOW_MS))
    ends = [("msg_1", 1, "DELIVERED", None, 7, None), ("msg_2", 1, "PENDING", NOW_MS + 9, None, "no answer")]
    assert write(lambda t: t.settle_notices(ends)) == {"msg_2"}
    assert write(lambda t: t.settle_notices([("msg_1", 2, "DELIVERED", None, 8, None)])) == {"msg_1"}
    assert write(lambda t: t.settle_notices([("msg_1", 2, "GIVEN_UP", None, 9, "late")])) == set()
    assert listed(write) == [
        notice(2, attempts=1, due_ms=NOW_MS + 9, last_error="no answer"),
        notice(1, attempts=2, state="DELIVERED", due_ms=None, finished_ms=8),
    ]


def test_what_is_part_of_a_summary_is_not_sent_by_itself(write: Write) -> None:
    write(lambda t: t.insert_notices([notice(1), notice(2)]))
    write(lambda t: t.summarize_notices(["msg_1"], "msg_9", 5))
    assert write(lambda t: t.due_notices(OPS, NOW_MS, 10)) == [notice(2)]
    (found,) = listed(write, state="SUMMARIZED")
    assert (found.summary_id, found.finished_ms, found.due_ms) == ("msg_9", 5, None)


def test_what_nobody_delivers_is_given_up_unless_somebody_just_tries(write: Write) -> None:
    rows = [
        notice(1, created_ms=100),
        notice(2, created_ms=100, last_error="no answer"),
        notice(3, created_ms=100, due_ms=NOW_MS + 1),
        notice(4),
    ]
    write(lambda t: t.insert_notices(rows))
    assert write(lambda t: t.give_up_notices(NOW_MS, NOW_MS, 9)) == 2
    found = {row.notice_id: (row.state, row.last_error) for row in listed(write)}
    assert found["msg_1"] == ("GIVEN_UP", "no instance that runs knows this notification")
    assert found["msg_2"] == ("GIVEN_UP", "no answer")
    assert [found[name][0] for name in ("msg_3", "msg_4")] == ["PENDING", "PENDING"]


def test_only_what_is_over_is_forgotten(write: Write) -> None:
    rows = [notice(1, created_ms=1), notice(2, state="DELIVERED", due_ms=None, finished_ms=100, created_ms=1)]
    write(lambda t: t.insert_notices(rows))
    write(lambda t: t.expire_notices(100, 9))
    assert len(listed(write)) == 2
    write(lambda t: t.expire_notices(101, 9))
    assert listed(write) == [rows[0]]


def test_notices_are_listed_by_namespace_page_by_page(write: Write) -> None:
    rows = [notice(1), notice(2, namespace="other"), notice(3, state="DELIVERED", due_ms=None), notice(4)]
    write(lambda t: t.insert_notices([*rows, notice(5, schedule_id="etl")]))
    page = write(lambda t: t.notices_page("default", 1 << 60, 2))
    assert [row.notice_id for row, _ in page] == ["msg_5", "msg_4"]
    page = write(lambda t: t.notices_page("default", page[-1][1], 10))
    assert [row.notice_id for row, _ in page] == ["msg_3", "msg_1"]
    assert [row.notice_id for row in listed(write, state="DELIVERED")] == ["msg_3"]
    assert [row.notice_id for row in listed(write, schedule_id="etl")] == ["msg_5"]


def test_a_rate_begins_anew_in_each_minute(write: Write) -> None:
    assert write(lambda t: t.notice_rate("ops", "default", 7)) == 0
    write(lambda t: t.add_to_notice_rate("ops", "default", 3))
    assert write(lambda t: t.notice_rate("ops", "default", 7)) == 3
    assert write(lambda t: t.notice_rate("ops", "other", 7)) == 0
    assert write(lambda t: t.notice_rate("ops", "default", 8)) == 0


def test_fire_times_are_found(write: Write) -> None:
    write(lambda t: t.insert_runs([run(1, 60, fire_ms=61_000), run(2, 60, fire_ms=62_000)]))
    wanted = [RunId(1, 60), RunId(2, 60), RunId(3, 60)]
    assert write(lambda t: t.fire_times(wanted)) == {RunId(1, 60): 61_000, RunId(2, 60): 62_000}
    assert write(lambda t: t.fire_times([])) == {}


def test_two_who_deliver_do_not_wait_for_each_other(postgres: PostgresStore) -> None:
    """Whoever comes second takes what the first has not locked."""
    store: Store = postgres
    store.write(lambda t: t.insert_notices([notice(1), notice(2)])).result(SECONDS)
    locked, done = Event(), Event()

    def first(transaction: Transaction) -> list[NotificationRow]:
        found = transaction.due_notices(OPS, NOW_MS, 1)
        locked.set()
        assert done.wait(SECONDS)
        return found

    holding: Future[list[NotificationRow]] = store.write(first)
    assert locked.wait(SECONDS)
    try:
        assert store.write(lambda t: t.due_notices(OPS, NOW_MS, 10)).result(SECONDS) == [notice(2)]
    finally:
        done.set()
    assert holding.result(SECONDS) == [notice(1)]


@pytest.mark.parametrize("method", ["lease_notices", "put_off_notices"])
def test_nothing_is_no_statement(write: Write, method: str) -> None:
    write(lambda t: getattr(t, method)([], NOW_MS))
    assert listed(write) == []
