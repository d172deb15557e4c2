"""The audit is a hash chain: verification reports every row that was changed, removed or inserted afterwards."""

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
from tompion.model.audit_chain import AuditVerification, chain_row
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


class RollBack(Exception):
    """Rolls the transaction back."""


def seal(bench: Bench) -> None:
    while bench.write(audit.seal):
        pass


def verify_chain(bench: Bench, namespace: str = "default", **page: Any) -> AuditVerification:
    return bench.ask(verify_audit, namespace=namespace, **page)


def verify_after(bench: Bench, *damage: str, namespace: str = "default", **page: Any) -> AuditVerification:
    """Verify the chain after changes by the owner of the database, then roll them back.

    The owner disables the triggers first.
    """
    verifications: list[AuditVerification] = []
    sqlite = isinstance(bench.store, SqliteStore)
    off = (
        [f"DROP TRIGGER {name}" for name in TRIGGERS]
        if sqlite
        else [f"ALTER TABLE {name} DISABLE TRIGGER USER" for name in TABLES]
    )

    def work(transaction: Transaction) -> None:
        for statement in (*off, *damage):
            Bench._execute(transaction, statement)
        verifications.append(verify_audit(bench.session(transaction, namespace), **page))
        raise RollBack

    with owner_bench(bench) as owner, pytest.raises(RollBack):
        owner.write(work)
    return verifications[0]


@contextmanager
def owner_bench(bench: Bench) -> Iterator[Bench]:
    """The same store, opened with the role that owns the tables. No Tompion process needs that role."""
    if not isinstance(bench.store, PostgresStore):
        yield bench
        return
    with closing(PostgresStore(owner_url(bench.store._url), clock=bench.clock)) as store:
        yield Bench(store, bench.clock)


def problem_after(bench: Bench, *damage: str) -> str:
    return verify_after(bench, *damage).problem or ""


@pytest.fixture
def chained(bench: Bench) -> Bench:
    """Ten changes of one schedule, all in the chain, and two in another namespace."""
    bench.create()
    for _ in range(4):
        bench.pause()
        bench.resume()
    bench.trigger()
    bench.ask(crud.create, "other", cron="0 0 * * *", function="tasks:work", namespace="b")
    bench.ask(control.pause, "other", namespace="b")
    seal(bench)
    assert verify_chain(bench).ok
    return bench


def test_every_row_is_in_the_chain_of_its_namespace(chained: Bench) -> None:
    verification, other = verify_chain(chained), verify_chain(chained, "b")
    assert (verification.checked, verification.position, verification.unsealed, verification.more) == (10, 10, 0, False)
    assert (other.checked, other.position) == (2, 2)
    assert len(verification.digest) == 64
    assert verification.digest != other.digest
    assert verify_chain(chained, "empty") == AuditVerification("empty", 0, 0, 0, 0, 0, 0, "", more=False)


def test_new_rows_count_as_unsealed_until_a_sweep(chained: Bench) -> None:
    chained.pause()
    assert (verify_chain(chained).unsealed, verify_chain(chained).position) == (1, 10)
    chained.worker().sweep()
    assert (verify_chain(chained).unsealed, verify_chain(chained).position) == (0, 11)


def test_a_changed_row_is_reported(chained: Bench) -> None:
    changes = {
        "actor": "'eve'", "at_ms": "at_ms + 1", "operation": "'resume'", "after": "NULL", "before": "'{}'",
        "token": "token + 1", "version": "7", "request_id": "'x'", "schedule_id": "'another'", "digest": "'0'",
        "previous": "'0'",
    }  # fmt: skip
    for column, value in changes.items():
        damage = f"UPDATE audit SET {column} = {value} WHERE namespace = 'default' AND position = 4"
        verification = verify_after(chained, damage)
        assert verification.problem is not None, column
        assert "at position 4 of the chain, was changed" in verification.problem
        assert (verification.until, verification.checked, verification.more) == (3, 3, False)
        assert verify_after(chained, damage, namespace="b").ok


def test_a_changed_row_with_a_recomputed_digest_is_reported(chained: Bench) -> None:
    """A forger has to recompute every later digest too."""
    row, following = chained.read(lambda t: t.audit_list_chain("default", 3, 2))
    assert row.position is not None
    assert row.previous is not None
    forged = chain_row(row._replace(actor="eve"), row.position, row.previous)
    damage = f"UPDATE audit SET actor = 'eve', digest = '{forged.digest}' WHERE audit_number = {row.audit_number}"
    assert problem_after(chained, damage) == (
        f"row {following.audit_number}, at position 5 of the chain, does not follow the one before it"
    )


def test_removed_rows_are_reported(chained: Bench) -> None:
    removed = {
        "position = 1": "the row at position 1 of the chain is missing",
        "position = 4": "the row at position 4 of the chain is missing",
        "position BETWEEN 4 AND 6": "the rows at positions 4 to 6 of the chain are missing",
        "position = 10": "the row at position 10 of the chain is missing",
        "position > 0": "the rows at positions 1 to 10 of the chain are missing",
    }
    delete = "DELETE FROM audit WHERE namespace = 'default' AND"
    assert {which: problem_after(chained, f"{delete} {which}") for which in removed} == removed


def test_a_removed_row_is_reported_after_renumbering(chained: Bench) -> None:
    moved = [
        f"UPDATE audit SET position = {n} WHERE namespace = 'default' AND position = {n + 1}" for n in range(4, 10)
    ]
    problem = problem_after(chained, "DELETE FROM audit WHERE namespace = 'default' AND position = 4", *moved)
    assert "at position 4 of the chain, was changed" in problem


def test_an_inserted_row_is_reported(chained: Bench) -> None:
    places = range(10, 3, -1)
    moved = [f"UPDATE audit SET position = {n + 1} WHERE namespace = 'default' AND position = {n}" for n in places]
    slipped_in = (
        f"INSERT INTO audit ({COPY}, position, previous, digest) "
        f"SELECT {COPY}, 4, previous, digest FROM audit WHERE namespace = 'default' AND position = 3"
    )
    assert "at position 4 of the chain, was changed" in problem_after(chained, *moved, slipped_in)


def test_a_changed_head_is_reported(chained: Bench) -> None:
    damaged = {
        "UPDATE audit_heads SET position = 9": "is at position 10, after the end of the chain",
        "UPDATE audit_heads SET digest = 'x'": (
            "the row at position 10 of the chain is not the one that the head of the chain names"
        ),
        "DELETE FROM audit_heads": "is at position 1, after the end of the chain",
        "UPDATE audit_heads SET gone_position = 3": "does not follow the one before it",
    }
    for damage, message in damaged.items():
        assert message in problem_after(chained, damage)


def test_the_database_rejects_updates_and_deletes(chained: Bench) -> None:
    chained.pause()
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
    if not isinstance(chained.store, SqliteStore):
        refused += ["TRUNCATE audit", "TRUNCATE audit_heads"]
    with owner_bench(chained) as owner:
        for statement in refused:
            with pytest.raises(StoreError, match="append-only"):
                owner.execute(statement)
            with pytest.raises(StoreError, match=r"append-only|permission denied"):
                chained.execute(statement)
    with pytest.raises(StoreError):  # a position is unique
        chained.execute(f"INSERT INTO audit ({COPY}, position) SELECT {COPY}, position FROM audit WHERE position = 3")
    assert (verify_chain(chained).ok, verify_chain(chained).checked, verify_chain(chained).unsealed) == (True, 10, 1)


def test_expired_rows_are_deleted_and_the_rest_verifies(chained: Bench, clock: ManualClock) -> None:
    settings = Settings(audit_retention_ms=200 * DAY_MS)
    day_s = 86_400
    clock.set(BEGIN + 100 * day_s)
    chained.ask(workflows.put_workflow, "flow", {"function": "tasks:a"})
    chained.ask(workflows.put_workflow, "flow", {"function": "tasks:b"})
    seal(chained)
    worker = chained.worker(settings=settings)
    clock.set(BEGIN + 199 * day_s)
    worker.sweep()
    assert verify_chain(chained).gone == 0
    clock.set(BEGIN + 201 * day_s)
    worker.sweep()
    verification = verify_chain(chained)
    assert (verification.ok, verification.gone, verification.checked, verification.position) == (True, 10, 2, 12)
    assert verify_chain(chained, "b").gone == 2
    assert len(chained.ask(history.history, limit=100).items) == 2
    chained.ask(workflows.put_workflow, "flow", {"function": "tasks:c"})
    seal(chained)
    assert (verify_chain(chained).ok, verify_chain(chained).checked, verify_chain(chained, after=5).after) == (
        True,
        3,
        10,
    )
    gone = "DELETE FROM audit WHERE namespace = 'default' AND position = 11"
    assert problem_after(chained, gone) == "the row at position 11 of the chain is missing"


def test_without_a_retention_no_row_is_deleted(chained: Bench, clock: ManualClock) -> None:
    clock.set(BEGIN + 10_000 * 86_400)
    chained.worker().sweep()
    assert (verify_chain(chained).ok, verify_chain(chained).gone, verify_chain(chained).checked) == (True, 0, 10)


def test_a_long_audit_is_verified_in_pages(chained: Bench) -> None:
    pages = [verify_chain(chained, after=verify_after, limit=4) for verify_after in (0, 4, 8)]
    assert [(page.checked, page.until, page.more) for page in pages] == [(4, 4, True), (4, 8, True), (2, 10, False)]
    damage = "UPDATE audit SET actor = 'eve' WHERE namespace = 'default' AND position = 6"
    assert verify_after(chained, damage, limit=4).ok
    assert not verify_after(chained, damage, after=4, limit=4).ok
    whole = NamespaceVerifier(chained.store, "default", Settings()).audit()
    assert (whole.ok, whole.checked, whole.after, whole.until) == (True, 10, 0, 10)


def test_invalid_page_arguments_are_rejected(bench: Bench) -> None:
    refused: list[dict[str, Any]] = [
        {"limit": 0},
        {"limit": MAX_ROWS + 1},
        {"limit": True},
        {"after": -1},
        {"after": 1 << 63},
    ]
    for page in refused:
        with pytest.raises(InvalidField, match=next(iter(page))):
            verify_chain(bench, **page)


def test_every_accepted_change_writes_one_row(bench: Bench) -> None:
    """Each accepted change writes one row, and a rejected request writes none."""
    draw = random.Random(8)
    bench.create("s0")
    operations: list[Callable[[OperationContext], object]] = [
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
        lambda session: control.pause(session, "missing"),
    ]

    def written(transaction: Transaction, change: Callable[[OperationContext], object]) -> int:
        before = transaction.audit_last_number()
        change(bench.session(transaction))
        return len(transaction.audit_list_after(before, 10))

    bench.create("a0", intervals="60s", adaptive=True, max_interval_ms=600_000)
    accepted, refused = 2, 0
    while accepted < 1_000:
        change = draw.choice(operations)
        try:
            rows = bench.write(partial(written, change=change))
        except TompionError:
            refused += 1
            continue
        assert rows <= 1  # a second resume changes nothing
        accepted += rows
    seal(bench)
    verification = verify_chain(bench)
    assert refused > 100
    assert (verification.ok, verification.checked, verification.position) == (True, 1_000, 1_000)


def test_a_late_commit_is_appended_at_the_end_of_the_chain(postgres: Bench) -> None:
    """Its number is lower than numbers already in the chain. No row is left out or chained twice."""
    postgres.create("early")
    with open_transaction(postgres.store, lambda t: control.pause(postgres.session(t), "early")):
        postgres.create("late")
        seal(postgres)
        assert verify_chain(postgres).checked == 2
    seal(postgres)
    verification = verify_chain(postgres)
    assert (verification.ok, verification.checked, verification.unsealed) == (True, 3, 0)
    numbers = [row.audit_number for row in postgres.read(lambda t: t.audit_list_chain("default", 0, 10))]
    assert numbers != sorted(numbers)


def test_writers_do_not_wait_for_a_sealer(postgres: Bench) -> None:
    postgres.create()
    seal(postgres)
    postgres.trigger()
    with open_transaction(postgres.store, audit.seal):
        postgres.pause()
        postgres.create("other")
        assert postgres.write(audit.seal) is False  # another transaction is sealing: this one skips
    seal(postgres)
    assert (verify_chain(postgres).ok, verify_chain(postgres).checked) == (True, 4)


def test_concurrent_writers_and_sealers_build_one_chain(bench: Bench) -> None:
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

    if isinstance(bench.store, SqliteStore):  # runs on the caller's thread
        for name in names:
            write(name)
            bench.write(audit.seal)
    else:
        with ThreadPoolExecutor(12) as threads:
            done = [threads.submit(write, name) for name in names]
            done += [threads.submit(seal_often) for _ in range(4)]
            for future in done:
                future.result()
    seal(bench)
    verification = verify_chain(bench)
    assert (verification.ok, verification.checked, verification.unsealed) == (True, 88, 0)


def test_two_processes_seal_one_sqlite_file(tmp_path: Path) -> None:
    """Two processes share an SQLite file, and both seal."""
    stores = [SqliteStore(tmp_path / "shared.db") for _ in range(2)]
    benches = [Bench(store, ManualClock(BEGIN)) for store in stores]
    benches[0].create()

    def work(bench: Bench) -> None:
        for _ in range(10):
            bench.pause()
            bench.resume()
            bench.write(audit.seal)

    with ThreadPoolExecutor(2) as threads:
        for future in [threads.submit(work, bench) for bench in benches]:
            future.result()
    seal(benches[0])
    verification = verify_chain(benches[1])
    rows = benches[0].read(lambda t: len(t.audit_list_after(0, 1_000)))
    assert (verification.ok, verification.checked, verification.unsealed) == (True, rows, 0)
    for store in stores:
        store.close()
