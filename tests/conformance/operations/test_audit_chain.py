"""The audit is a chain: what somebody changes, removes or slips in behind everybody's back is found and named."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.databases import owner_url
from tests.support.operations import BEGIN, Bench, open_transaction
from tompion.config.settings import DAY_MS, Settings
from tompion.engine.steps import audit
from tompion.errors import InvalidField, StoreError, TompionError
from tompion.model.audit import AuditVerification, chain_row
from tompion.operations.context import OperationContext
from tompion.operations.resources import api_keys, calendars, targets, workflows
from tompion.operations.schedules import control, crud, hints, history
from tompion.operations.verify.audit_chain import MAX_ROWS, verify_audit
from tompion.operations.verify.namespace import NamespaceVerifier
from tompion.store.base import Transaction
from tompion.store.postgres.driver import PostgresStore
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.clock import ManualClock

TABLES = ("audit", "audit_heads")
TRIGGERS = ("audit_append_only", "audit_no_removal", "audit_heads_append_only", "audit_heads_no_removal")
COPY = "at_ms, namespace, schedule_id, actor, operation, token, version, request_id, before, after"


class Undone(Exception):
    """Nothing of it is to be kept."""


def seal(bench: Bench) -> None:
    while bench.write(audit.seal):
        pass


def proof(bench: Bench, namespace: str = "default", **given: Any) -> AuditVerification:
    return bench.ask(verify_audit, namespace=namespace, **given)


def after(bench: Bench, *damage: str, namespace: str = "default", **given: Any) -> AuditVerification:
    """What is said after somebody who owns the database has changed the audit; then it is as it was.

    The triggers are the first thing to go.
    """
    found: list[AuditVerification] = []
    sqlite = isinstance(bench.store, SqliteStore)
    off = (
        [f"DROP TRIGGER {name}" for name in TRIGGERS]
        if sqlite
        else [f"ALTER TABLE {name} DISABLE TRIGGER USER" for name in TABLES]
    )

    def work(transaction: Transaction) -> None:
        for statement in (*off, *damage):
            Bench._execute(transaction, statement)
        found.append(verify_audit(bench.session(transaction, namespace), **given))
        raise Undone

    with owned(bench) as owner, pytest.raises(Undone):
        owner.write(work)
    return found[0]


@contextmanager
def owned(bench: Bench) -> Iterator[Bench]:
    """The same store for whoever owns its tables, which is more than any process needs to be."""
    if not isinstance(bench.store, PostgresStore):
        yield bench
        return
    with closing(PostgresStore(owner_url(bench.store._url), clock=bench.clock)) as store:
        yield Bench(store, bench.clock)


def problem(bench: Bench, *damage: str) -> str:
    return after(bench, *damage).problem or ""


@pytest.fixture
def told(bench: Bench) -> Bench:
    """Ten changes of one schedule, all in the chain, and two in another namespace."""
    bench.create()
    for _ in range(4):
        bench.pause()
        bench.resume()
    bench.trigger()
    bench.ask(crud.create, "other", cron="0 0 * * *", function="tasks:work", namespace="b")
    bench.ask(control.pause, "other", namespace="b")
    seal(bench)
    assert proof(bench).ok
    return bench


def test_every_row_is_in_the_chain_of_its_namespace(told: Bench) -> None:
    found, other = proof(told), proof(told, "b")
    assert (found.checked, found.position, found.unsealed, found.more) == (10, 10, 0, False)
    assert (other.checked, other.position) == (2, 2)
    assert len(found.digest) == 64
    assert found.digest != other.digest
    assert proof(told, "empty") == AuditVerification("empty", 0, 0, 0, 0, 0, 0, "", more=False)


def test_new_rows_are_counted_until_they_are_in_it(told: Bench) -> None:
    told.pause()
    assert (proof(told).unsealed, proof(told).position) == (1, 10)
    told.worker().sweep()
    assert (proof(told).unsealed, proof(told).position) == (0, 11)


def test_a_row_that_was_changed(told: Bench) -> None:
    changes = {
        "actor": "'eve'", "at_ms": "at_ms + 1", "operation": "'resume'", "after": "NULL", "before": "'{}'",
        "token": "token + 1", "version": "7", "request_id": "'x'", "schedule_id": "'another'", "digest": "'0'",
        "previous": "'0'",
    }  # fmt: skip
    for column, value in changes.items():
        damage = f"UPDATE audit SET {column} = {value} WHERE namespace = 'default' AND position = 4"
        found = after(told, damage)
        assert found.problem is not None, column
        assert "at position 4 of the chain, was changed" in found.problem
        assert (found.until, found.checked, found.more) == (3, 3, False)
        assert after(told, damage, namespace="b").ok


def test_a_row_that_was_changed_with_its_digest(told: Bench) -> None:
    """Whoever can compute one digest has to compute all that follow."""
    row, following = told.read(lambda t: t.audit_list_chain("default", 3, 2))
    assert row.position is not None
    assert row.previous is not None
    forged = chain_row(row._replace(actor="eve"), row.position, row.previous)
    damage = f"UPDATE audit SET actor = 'eve', digest = '{forged.digest}' WHERE audit_number = {row.audit_number}"
    assert problem(told, damage) == (
        f"row {following.audit_number}, at position 5 of the chain, does not follow the one before it"
    )


def test_rows_that_were_removed(told: Bench) -> None:
    removed = {
        "position = 1": "the row at position 1 of the chain is missing",
        "position = 4": "the row at position 4 of the chain is missing",
        "position BETWEEN 4 AND 6": "the rows at positions 4 to 6 of the chain are missing",
        "position = 10": "the row at position 10 of the chain is missing",
        "position > 0": "the rows at positions 1 to 10 of the chain are missing",
    }
    delete = "DELETE FROM audit WHERE namespace = 'default' AND"
    assert {which: problem(told, f"{delete} {which}") for which in removed} == removed


def test_a_row_that_was_removed_and_its_place_filled(told: Bench) -> None:
    moved = [
        f"UPDATE audit SET position = {n} WHERE namespace = 'default' AND position = {n + 1}" for n in range(4, 10)
    ]
    found = problem(told, "DELETE FROM audit WHERE namespace = 'default' AND position = 4", *moved)
    assert "at position 4 of the chain, was changed" in found


def test_a_row_that_was_slipped_in(told: Bench) -> None:
    places = range(10, 3, -1)
    moved = [f"UPDATE audit SET position = {n + 1} WHERE namespace = 'default' AND position = {n}" for n in places]
    slipped_in = (
        f"INSERT INTO audit ({COPY}, position, previous, digest) "
        f"SELECT {COPY}, 4, previous, digest FROM audit WHERE namespace = 'default' AND position = 3"
    )
    assert "at position 4 of the chain, was changed" in problem(told, *moved, slipped_in)


def test_an_end_that_was_changed(told: Bench) -> None:
    damaged = {
        "UPDATE audit_heads SET position = 9": "is at position 10, after the end of the chain",
        "UPDATE audit_heads SET digest = 'x'": (
            "the row at position 10 of the chain is not the one that the head of the chain names"
        ),
        "DELETE FROM audit_heads": "is at position 1, after the end of the chain",
        "UPDATE audit_heads SET gone_position = 3": "does not follow the one before it",
    }
    for damage, told_of_it in damaged.items():
        assert told_of_it in problem(told, damage)


def test_the_database_refuses(told: Bench) -> None:
    told.pause()
    refused = [
        "UPDATE audit SET actor = 'eve'",
        "UPDATE audit SET digest = 'x' WHERE position = 3",
        "UPDATE audit SET position = NULL",
        "DELETE FROM audit",
        "DELETE FROM audit WHERE position = 10",
        "DELETE FROM audit WHERE position IS NULL",
        "UPDATE audit SET actor = 'eve', position = 11 WHERE position IS NULL",
        "UPDATE audit_heads SET position = position - 1",
        "UPDATE audit_heads SET gone_position = position + 1",
        "DELETE FROM audit_heads",
    ]
    if not isinstance(told.store, SqliteStore):
        refused += ["TRUNCATE audit", "TRUNCATE audit_heads"]
    with owned(told) as owner:
        for statement in refused:
            with pytest.raises(StoreError, match="append-only"):
                owner.execute(statement)
            with pytest.raises(StoreError, match=r"append-only|permission denied"):
                told.execute(statement)
    with pytest.raises(StoreError):  # a place is taken once
        told.execute(f"INSERT INTO audit ({COPY}, position) SELECT {COPY}, position FROM audit WHERE position = 3")
    assert (proof(told).ok, proof(told).checked, proof(told).unsealed) == (True, 10, 1)


def test_what_is_older_than_its_retention_goes_and_the_rest_is_proved(told: Bench, clock: ManualClock) -> None:
    settings = Settings(audit_retention_ms=200 * DAY_MS)
    day_s = 86_400
    clock.set(BEGIN + 100 * day_s)
    told.ask(workflows.put_workflow, "flow", {"function": "tasks:a"})
    told.ask(workflows.put_workflow, "flow", {"function": "tasks:b"})
    seal(told)
    worker = told.worker(settings=settings)
    clock.set(BEGIN + 199 * day_s)
    worker.sweep()
    assert proof(told).gone == 0
    clock.set(BEGIN + 201 * day_s)
    worker.sweep()
    found = proof(told)
    assert (found.ok, found.gone, found.checked, found.position) == (True, 10, 2, 12)
    assert proof(told, "b").gone == 2
    assert len(told.ask(history.history, limit=100).items) == 2
    told.ask(workflows.put_workflow, "flow", {"function": "tasks:c"})
    seal(told)
    assert (proof(told).ok, proof(told).checked, proof(told, after=5).after) == (True, 3, 10)
    gone = "DELETE FROM audit WHERE namespace = 'default' AND position = 11"
    assert problem(told, gone) == "the row at position 11 of the chain is missing"


def test_without_a_retention_the_audit_stays(told: Bench, clock: ManualClock) -> None:
    clock.set(BEGIN + 10_000 * 86_400)
    told.worker().sweep()
    assert (proof(told).ok, proof(told).gone, proof(told).checked) == (True, 0, 10)


def test_a_long_audit_is_walked_page_by_page(told: Bench) -> None:
    pages = [proof(told, after=after, limit=4) for after in (0, 4, 8)]
    assert [(page.checked, page.until, page.more) for page in pages] == [(4, 4, True), (4, 8, True), (2, 10, False)]
    damage = "UPDATE audit SET actor = 'eve' WHERE namespace = 'default' AND position = 6"
    assert after(told, damage, limit=4).ok
    assert not after(told, damage, after=4, limit=4).ok
    whole = NamespaceVerifier(told.store, "default", Settings()).audit()
    assert (whole.ok, whole.checked, whole.after, whole.until) == (True, 10, 0, 10)


def test_where_to_begin_is_checked(bench: Bench) -> None:
    refused: list[dict[str, Any]] = [
        {"limit": 0},
        {"limit": MAX_ROWS + 1},
        {"limit": True},
        {"after": -1},
        {"after": 1 << 63},
    ]
    for given in refused:
        with pytest.raises(InvalidField, match=next(iter(given))):
            proof(bench, **given)


def test_a_thousand_changes_are_a_thousand_rows(bench: Bench) -> None:
    """Whatever is asked, each change that is accepted is one row, and what is refused leaves none."""
    draw = random.Random(8)
    bench.create("s0")
    asked: list[Callable[[OperationContext], object]] = [
        lambda session: control.pause(session, "s0", note=str(draw.random())),
        lambda session: control.resume(session, "s0"),
        lambda session: control.trigger(session, "s0"),
        lambda session: crud.patch(session, "s0", description=str(draw.random())),
        lambda session: workflows.put_workflow(session, "flow", {"function": f"tasks:f{draw.randrange(10**6)}"}),
        lambda session: crud.upsert(session, "s1", cron="@daily", function=f"tasks:f{draw.randrange(10**6)}"),
        lambda session: control.skip(session, "s0", note=str(draw.random())),
        lambda session: hints.hint(session, "a0", interval_ms=draw.randrange(60_000, 600_000), ttl_ms=3_600_000),
        lambda session: calendars.put_calendar(session, {"name": "c", "dates": [f"20{draw.randrange(30, 99)}-01-01"]}),
        lambda session: targets.pause_target(session, queue="q", note=str(draw.random())),
        lambda session: targets.resume_target(session, queue="q"),
        lambda session: api_keys.create_key(session, "ci"),
        lambda session: crud.patch(session, "s0", cron="never"),
        lambda session: control.pause(session, "nobody"),
    ]

    def written(transaction: Transaction, change: Callable[[OperationContext], object]) -> int:
        before = transaction.audit_last_number()
        change(bench.session(transaction))
        return len(transaction.audit_list_after(before, 10))

    bench.create("a0", intervals="60s", adaptive=True, max_interval_ms=600_000)
    accepted, refused = 2, 0
    while accepted < 1_000:
        change = draw.choice(asked)
        try:
            rows = bench.write(partial(written, change=change))
        except TompionError:
            refused += 1
            continue
        assert rows <= 1  # whoever resumes twice changes nothing
        accepted += rows
    seal(bench)
    found = proof(bench)
    assert refused > 100
    assert (found.ok, found.checked, found.position) == (True, 1_000, 1_000)


def test_a_row_that_commits_late_comes_later_in_the_chain(postgres: Bench) -> None:
    """It has taken its number before others that are in the chain already: nothing is left out, or done twice."""
    postgres.create("early")
    with open_transaction(postgres.store, lambda t: control.pause(postgres.session(t), "early")):
        postgres.create("late")
        seal(postgres)
        assert proof(postgres).checked == 2
    seal(postgres)
    found = proof(postgres)
    assert (found.ok, found.checked, found.unsealed) == (True, 3, 0)
    numbers = [row.audit_number for row in postgres.read(lambda t: t.audit_list_chain("default", 0, 10))]
    assert numbers != sorted(numbers)


def test_whoever_writes_waits_for_nobody_who_seals(postgres: Bench) -> None:
    postgres.create()
    seal(postgres)
    postgres.trigger()
    with open_transaction(postgres.store, audit.seal):
        postgres.pause()
        postgres.create("other")
        assert postgres.write(audit.seal) is False  # another is at it: this one passes over
    seal(postgres)
    assert (proof(postgres).ok, proof(postgres).checked) == (True, 4)


def test_many_write_and_many_seal(bench: Bench) -> None:
    names = [f"s{number}" for number in range(8)]
    for name in names:
        bench.create(name)

    def write(name: str) -> None:
        for _ in range(5):
            bench.pause(name)
            bench.resume(name)

    def seal_often() -> None:
        for _ in range(10):
            bench.write(audit.seal)

    if isinstance(bench.store, SqliteStore):  # this one works on the thread of its caller
        for name in names:
            write(name)
            bench.write(audit.seal)
    else:
        with ThreadPoolExecutor(12) as threads:
            done = [threads.submit(write, name) for name in names]
            done += [threads.submit(seal_often) for _ in range(4)]
            for each in done:
                each.result()
    seal(bench)
    found = proof(bench)
    assert (found.ok, found.checked, found.unsealed) == (True, 88, 0)


def test_many_write_to_one_file(tmp_path: Path) -> None:
    """Two processes share an SQLite file; each seals."""
    stores = [SqliteStore(tmp_path / "shared.db") for _ in range(2)]
    benches = [Bench(store, ManualClock(BEGIN)) for store in stores]
    benches[0].create()

    def work(bench: Bench) -> None:
        for _ in range(10):
            bench.pause()
            bench.resume()
            bench.write(audit.seal)

    with ThreadPoolExecutor(2) as threads:
        for each in [threads.submit(work, bench) for bench in benches]:
            each.result()
    seal(benches[0])
    found = proof(benches[1])
    rows = benches[0].read(lambda t: len(t.audit_list_after(0, 1_000)))
    assert (found.ok, found.checked, found.unsealed) == (True, rows, 0)
    for store in stores:
        store.close()
