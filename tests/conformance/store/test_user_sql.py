"""Calls inside a transaction: users' functions and tables, which cannot break the transaction."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.conformance.store.conftest import SECONDS
from tests.support.databases import WORKER, owner_url
from tests.support.rows import workflow
from tests.support.servers.database_pool import temporary_objects
from tompion.errors import StoreError, StoreUnavailable
from tompion.model.sql_call import SqlArgument, SqlCall, SqlForm, SqlResult
from tompion.store.base import Store, Transaction
from tompion.store.postgres import user_sql
from tompion.store.postgres.driver import PostgresStore

pytestmark = pytest.mark.server

CANARY = "canary-4711-hunter2"
SLOW_MS = 100
USERS_SIDE = """
CREATE SCHEMA app;
CREATE TABLE app.jobs (id bigint GENERATED ALWAYS AS IDENTITY, number integer UNIQUE, body jsonb, "50% ""of"" it" text);
CREATE TABLE app.parents (id integer PRIMARY KEY);
CREATE TABLE app.children (
    parent integer CONSTRAINT needs_parent REFERENCES app.parents DEFERRABLE INITIALLY DEFERRED
);
CREATE TYPE app.job AS (kind text, priority integer, args jsonb, at timestamptz);
CREATE FUNCTION app.add(number integer) RETURNS bigint LANGUAGE sql AS
    $$ INSERT INTO app.jobs (number) VALUES (number) RETURNING id $$;
CREATE FUNCTION app.nothing() RETURNS void LANGUAGE sql AS $$ INSERT INTO app.jobs (number) VALUES (7) $$;
CREATE FUNCTION app.some() RETURNS SETOF bigint LANGUAGE sql AS
    $$ INSERT INTO app.jobs (number) VALUES (1), (2) RETURNING id $$;
CREATE FUNCTION app.uuid() RETURNS uuid LANGUAGE sql AS $$ SELECT '7d444840-9dc0-11d1-b245-5ffdce74fad2'::uuid $$;
CREATE FUNCTION app.echo(message text) RETURNS text LANGUAGE sql AS $$ SELECT message $$;
CREATE FUNCTION app.two(OUT a integer, OUT b text) LANGUAGE sql AS $$ SELECT 1, 'two' $$;
CREATE FUNCTION app.slow() RETURNS void LANGUAGE sql AS
    $$ INSERT INTO app.jobs (number) VALUES (8); SELECT pg_sleep(30) $$;
CREATE FUNCTION app.elsewhere() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    SET search_path TO app;
    INSERT INTO jobs (number) VALUES (9);
END $$;
CREATE FUNCTION app.sluggish() RETURNS void LANGUAGE sql AS $$ SELECT pg_sleep(0.05) $$;
CREATE FUNCTION app.derived(message text) RETURNS void LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no %', upper(message); END $$;
CREATE FUNCTION app.deadly() RETURNS void LANGUAGE sql AS $$ SELECT pg_terminate_backend(pg_backend_pid()) $$;
CREATE FUNCTION app.angry(message text) RETURNS void LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no %', message; END $$;
CREATE FUNCTION app.unnamed(message text) RETURNS void LANGUAGE plpgsql AS
    $$ BEGIN EXECUTE 'SELECT ' || quote_ident(left(message, 9)); END $$;
CREATE FUNCTION app.many(jobs app.job[]) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO app.jobs (number, body) SELECT (job).priority, to_jsonb(job) FROM unnest(jobs) AS job;
    RETURN cardinality(jobs);
END $$;
CREATE FUNCTION app.one(job app.job) RETURNS void LANGUAGE sql AS
    $$ INSERT INTO app.jobs (number, body) VALUES ((job).priority, to_jsonb(job)) $$;
CREATE FUNCTION app.texts(given text[]) RETURNS integer LANGUAGE sql AS
    $$ INSERT INTO app.jobs (body) SELECT to_jsonb(each) FROM unnest(given) AS each; SELECT 1 $$;
CREATE FUNCTION app.documents(given jsonb[]) RETURNS integer LANGUAGE sql AS
    $$ INSERT INTO app.jobs (body) SELECT each FROM unnest(given) AS each; SELECT 1 $$;
CREATE FUNCTION app.late(parent integer) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO app.children VALUES (parent);
    INSERT INTO app.parents VALUES (parent);
END $$;
"""


GRANTED = f"""
GRANT USAGE ON SCHEMA app TO {WORKER};
GRANT ALL ON ALL TABLES IN SCHEMA app TO {WORKER};
GRANT ALL ON ALL SEQUENCES IN SCHEMA app TO {WORKER};
"""
"""Grants that the worker role needs for users' tables. Functions are public by default."""


@pytest.fixture
def users(postgres: PostgresStore, migrated_url: str) -> Iterator[psycopg.Connection[Any]]:
    """The user's own connection, and what is there of his."""
    with temporary_objects(owner_url(migrated_url), USERS_SIDE + GRANTED, "DROP SCHEMA app CASCADE") as connection:
        yield connection


def function(name: str, *arguments: SqlArgument | str | None) -> SqlCall:
    values = [value if isinstance(value, SqlArgument) else SqlArgument(value) for value in arguments]
    return SqlCall(("app", name), tuple(values))


def row(table: str = "jobs", **columns: str | None) -> SqlCall:
    return SqlCall(("app", table), tuple(map(SqlArgument, columns.values())), tuple(columns))


def execute_calls(postgres: PostgresStore, *calls: SqlCall, timeout_ms: int = 5_000) -> list[SqlResult]:
    """Carry out calls in a transaction that writes something of ours before and after."""

    def work(transaction: Transaction) -> list[SqlResult]:
        transaction.workflow_insert(workflow("before"))
        answers = transaction.execute_calls(calls, timeout_ms)
        transaction.workflow_insert(workflow("after"))
        return answers

    answers = postgres.write(work).result(SECONDS)
    assert postgres.read(lambda t: t.workflow_get("default", "before")).result(SECONDS) is not None
    assert postgres.read(lambda t: t.workflow_get("default", "after")).result(SECONDS) is not None
    return answers


def numbers(users: psycopg.Connection[Any]) -> list[int]:
    return [columns[0] for columns in users.execute("SELECT number FROM app.jobs ORDER BY id").fetchall()]


def bodies(users: psycopg.Connection[Any]) -> list[Any]:
    return [columns[0] for columns in users.execute("SELECT body FROM app.jobs ORDER BY id").fetchall()]


def test_call_inserts_a_row(postgres: PostgresStore, users: psycopg.Connection[Any]) -> None:
    document = json.dumps({"a": [1, None]})
    assert execute_calls(postgres, row(number="5", body=document, **{'50% "of" it': "100 %s"})) == [SqlResult()]
    rows = users.execute("""SELECT number, body, "50% ""of"" it" FROM app.jobs""").fetchall()
    assert rows == [(5, {"a": [1, None]}, "100 %s")]


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (function("add", "5"), "1"),
        (function("nothing"), None),
        (function("some"), "1"),
        (function("uuid"), "7d444840-9dc0-11d1-b245-5ffdce74fad2"),
        (function("echo", CANARY), None),
        (function("two"), None),
        (function("add", SqlArgument("5", "integer")), "1"),
        (function("add", SqlArgument(None, "integer")), "1"),
    ],
)
def test_function_result_is_stored_if_it_is_a_number_or_uuid(
    postgres: PostgresStore, users: psycopg.Connection[Any], call: SqlCall, answer: str | None
) -> None:
    """A number or a UUID identifies the job. Other results may be confidential."""
    assert execute_calls(postgres, call) == [SqlResult(answer)]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            function(
                "many",
                SqlArgument('[{"kind": "a", "priority": 1}, {"args": {"x": 1}}]', "app.job", SqlForm.RECORDS),
            ),
            [{"kind": "a", "priority": 1, "args": None, "at": None},
             {"kind": None, "priority": None, "args": {"x": 1}, "at": None}],
        ),
        (
            function("one", SqlArgument('{"kind": "a", "priority": 1}', "app.job", SqlForm.RECORD)),
            [{"kind": "a", "priority": 1, "args": None, "at": None}],
        ),
        (function("texts", SqlArgument(("a", None, '{"b",'), "text", SqlForm.ARRAY)), ["a", None, '{"b",']),
        (function("documents", SqlArgument(('{"a": 1}', '"b"'), "jsonb", SqlForm.ARRAY)), [{"a": 1}, "b"]),
        (function("documents", SqlArgument((), "jsonb", SqlForm.ARRAY)), []),
    ],
)  # fmt: skip
def test_arguments_can_be_arrays_and_records(
    postgres: PostgresStore, users: psycopg.Connection[Any], call: SqlCall, expected: list[Any]
) -> None:
    assert [called.error for called in execute_calls(postgres, call)] == [None]
    assert bodies(users) == expected


def test_many_calls_keep_the_order_of_their_results(postgres: PostgresStore, users: psycopg.Connection[Any]) -> None:
    calls = [function("add", str(number)) if number % 3 else row(number=str(number)) for number in range(600)]
    answers = execute_calls(postgres, *calls)
    ids = dict(users.execute("SELECT number, id FROM app.jobs").fetchall())
    assert answers == [SqlResult(str(ids[number])) if number % 3 else SqlResult() for number in range(600)]


@pytest.mark.parametrize("bad", [0, 1, 5, 9])
def test_failed_call_has_no_effect_on_others(postgres: PostgresStore, users: psycopg.Connection[Any], bad: int) -> None:
    calls = [row(number=str(number)) for number in range(10)]
    calls[bad] = row("missing", number="1")
    answers = execute_calls(postgres, *calls)
    assert [index for index, called in enumerate(answers) if called.error is not None] == [bad]
    assert answers[bad].error == 'PostgreSQL: relation "app.missing" does not exist (UndefinedTable (42P01))'
    assert numbers(users) == [number for number in range(10) if number != bad]


def test_search_path_changed_by_a_function_is_restored(postgres: PostgresStore, users: psycopg.Connection[Any]) -> None:
    """Regression: the setting lasted until the end of the transaction, so Tompion's own statements failed."""
    assert execute_calls(postgres, function("elsewhere"), row(number="1")) == [SqlResult(), SqlResult()]
    assert numbers(users) == [9, 1]


def test_conflicting_rows_fail_individually(postgres: PostgresStore, users: psycopg.Connection[Any]) -> None:
    """A unique constraint of the user's is his affair: our transaction is not tried again because of it."""
    first, second, third = execute_calls(postgres, row(number="1"), row(number="1"), row(number="2"))
    assert (first.error, third.error) == (None, None)
    assert second.error == (
        'PostgreSQL: duplicate key value violates unique constraint "jobs_number_key" (UniqueViolation (23505))'
    )
    assert numbers(users) == [1, 2]


def test_deferred_constraint_is_checked_before_commit(postgres: PostgresStore, users: psycopg.Connection[Any]) -> None:
    """It would fail the commit, and with it everything else, again and again."""
    users.execute("INSERT INTO app.parents VALUES (1)")
    answers = execute_calls(
        postgres, row("children", parent="1"), row("children", parent="2"), row("children", parent="1")
    )
    assert [called.error is None for called in answers] == [True, False, True]
    assert "needs_parent" in str(answers[1].error)
    assert users.execute("SELECT parent FROM app.children").fetchall() == [(1,), (1,)]


def test_function_may_rely_on_deferred_constraints(postgres: PostgresStore, users: psycopg.Connection[Any]) -> None:
    calls = [function("late", str(number)) for number in range(5)]
    assert execute_calls(postgres, *calls, row("children", parent="9")) == [
        *[SqlResult()] * 5, SqlResult(error='PostgreSQL: insert or update on table "children" violates foreign key '
        'constraint "needs_parent" (ForeignKeyViolation (23503))')
    ]  # fmt: skip


def test_slow_call_times_out_and_the_limit_is_restored(postgres: PostgresStore, users: psycopg.Connection[Any]) -> None:
    def work(transaction: Transaction) -> tuple[list[SqlResult], Any]:
        answers = transaction.execute_calls([row(number="1"), function("slow"), row(number="2")], SLOW_MS)
        assert transaction.supports_calls
        limits_row = transaction._cursor.execute(  # type: ignore[attr-defined]  # only this driver has it
            "SELECT current_setting('statement_timeout'), current_setting('lock_timeout')"
        )
        return answers, limits_row.fetchall()

    answers, limits = postgres.write(work).result(SECONDS)
    assert [called.error for called in answers] == [
        None, "PostgreSQL: canceling statement due to statement timeout (QueryCanceled (57014))", None
    ]  # fmt: skip
    assert numbers(users) == [1, 2]
    assert limits == [("30s", "0")]


def test_locked_table_times_out(postgres: PostgresStore, users: psycopg.Connection[Any], migrated_url: str) -> None:
    with psycopg.connect(migrated_url) as other:
        other.execute("LOCK TABLE app.jobs")
        (called,) = execute_calls(postgres, row(number="1"), timeout_ms=SLOW_MS)
    assert "timeout" in str(called.error)


def test_calls_beyond_the_time_limit_are_left_for_later(
    postgres: PostgresStore, users: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_sql, "MAX_CALLS_MS", SLOW_MS)
    answers = execute_calls(postgres, *[function("slow")] * 50, timeout_ms=SLOW_MS)
    assert 1 <= len(answers) <= 3
    assert all(called.error is not None for called in answers)


def test_slow_successful_calls_share_the_time_limit(
    postgres: PostgresStore, users: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_sql, "MAX_CALLS_MS", SLOW_MS)
    answers = execute_calls(postgres, *[function("sluggish")] * 40)
    assert 2 <= len(answers) <= 16
    assert answers == [SqlResult()] * len(answers)


@pytest.mark.parametrize("value", ["a\x00b", "\ud800"])
def test_value_that_no_database_can_store_fails_the_call(
    postgres: PostgresStore, users: psycopg.Connection[Any], value: str
) -> None:
    before, bad, after = execute_calls(postgres, row(number="1"), function("echo", value), row(number="2"))
    assert (before, after) == (SqlResult(), SqlResult())
    assert bad.error is not None
    assert numbers(users) == [1, 2]


def test_lost_connection_ends_the_transaction(postgres: PostgresStore, users: psycopg.Connection[Any]) -> None:
    with pytest.raises(StoreUnavailable):
        execute_calls(postgres, row(number="1"), function("deadly"))
    assert numbers(users) == []


def test_rolled_back_transaction_undoes_calls(postgres: PostgresStore, users: psycopg.Connection[Any]) -> None:
    def work(transaction: Transaction) -> None:
        assert transaction.execute_calls([row(number="1")], SLOW_MS) == [SqlResult()]
        raise StoreError("no")

    with pytest.raises(StoreError, match="no"):
        postgres.write(work).result(SECONDS)
    assert numbers(users) == []


@pytest.mark.parametrize(
    "call",
    [
        row(number=CANARY),
        row(body="{" + CANARY),
        row(number=CANARY, body="{}"),
        function("angry", CANARY),
        function("derived", CANARY),
        function("add", CANARY),
        function("unnamed", CANARY),
        function("echo", SqlArgument(json.dumps({"secret": CANARY}), "integer")),
        row(**{CANARY[:10]: "1"}, body=json.dumps({"secret": CANARY})),
    ],
)
def test_error_messages_contain_no_sent_values(
    postgres: PostgresStore, users: psycopg.Connection[Any], call: SqlCall
) -> None:
    (called,) = execute_calls(postgres, call)
    assert called.error is not None
    message = called.error.replace(f'column "{CANARY[:10]}"', "")  # that one is a name
    assert CANARY[:6] not in message.lower()


def test_store_without_calls_rejects_them(store: Store) -> None:
    if isinstance(store, PostgresStore):
        return

    def work(transaction: Transaction) -> None:
        assert not transaction.supports_calls
        transaction.execute_calls([row(number="1")], SLOW_MS)

    with pytest.raises(StoreError, match="postgresql://"):
        store.write(work).result(SECONDS)
