"""The SQL call of a run: declared names and values."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.support.executors import launch_of
from tompion.errors import InvalidField, LaunchRefused
from tompion.executors.base import Accepted, Completed
from tompion.executors.options import ExecutorEnv
from tompion.executors.postgres import PostgresExecutor
from tompion.model.sql_call import SqlArgument, SqlCall, SqlForm

SITE = ExecutorEnv(public_url="https://tompion.example")
DECLARED = {
    "functions": [
        "plain", "app.typed(text, jsonb, integer)", "rows(app.job[])", "row(app.job)", "texts(text[])",
        "documents(jsonb[])", "moment(timestamp with time zone)", "none()",
    ],
    "tables": {"jobs": None, "app.jobs": ["key", "body"]},
}  # fmt: skip


def executor(**changes: Any) -> PostgresExecutor:
    return PostgresExecutor({**DECLARED, **changes}, SITE)


def call_of(options: dict[str, Any], *, dag: Any = None, payload: Any = None) -> SqlCall:
    return executor().call(dag, launch_of(options, payload=payload))


def arguments(function: str, *values: Any, payload: Any = None) -> list[SqlArgument]:
    return list(call_of({"function": function, "args": list(values)}, dag=["step"], payload=payload).arguments)


def test_columns_of_a_table_are_filled() -> None:
    columns = {"key": "$key", "body": {"n": "$attempt", "text": "$$key", "list": ["$run_id", None, 1.5]}}
    call = call_of({"table": "app.jobs", "columns": columns})
    launch = launch_of({})
    assert (call.name, call.columns) == (("app", "jobs"), ("key", "body"))
    key, body = call.arguments
    assert key == SqlArgument(launch.idempotency_key)
    assert isinstance(body.value, str)
    assert json.loads(body.value) == {"n": 1, "text": "$key", "list": [launch.run_id, None, 1.5]}


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("text", "text"),
        ("$$5", "$5"),
        ("", ""),
        (5, "5"),
        (True, "true"),
        (None, None),
        ("$schedule_id", "report"),
        ("$user_id", "u1"),
        ("$attempt", "1"),
        ("$namespace", "default"),
        ("$source", "schedule"),
        ("$scheduled_for", "2027-01-15T08:01:00+00:00"),
        ("$token", "7-1800000060-0.1.signed"),
        ("$dag", '["step"]'),
        ("$payload", '"me"'),
        (["$payload"], '["me"]'),
        ("$callback", '{"url": "https://tompion.example/api/v1/callbacks", "token": "7-1800000060-0.1.signed"}'),
    ],
)
def test_placeholders_are_replaced(option: Any, expected: str | None) -> None:
    """A placeholder for a document is JSON even if the value is text, as a JSON column requires."""
    assert arguments("plain", option, payload="me") == [SqlArgument(expected)]


def test_delivery_id_and_meta_are_available() -> None:
    launch = launch_of({"function": "plain", "args": ["$delivery_id", "$meta"]})
    first, second = executor().call(None, launch).arguments
    assert first.value == launch.delivery_id
    assert isinstance(second.value, str)
    assert json.loads(second.value) == launch.meta


def test_no_payload_is_null() -> None:
    assert arguments("plain", "$payload") == [SqlArgument(None)]


def test_declared_types_are_applied() -> None:
    typed = [SqlArgument("a", "text"), SqlArgument('"b"', "jsonb"), SqlArgument("5", "integer")]
    assert arguments("app.typed", "a", "b", 5) == typed
    assert arguments("rows", [{"kind": "$source"}]) == [
        SqlArgument('[{"kind": "schedule"}]', "app.job", SqlForm.RECORDS)
    ]
    assert arguments("rows", None) == [SqlArgument(None, "app.job[]")]
    assert arguments("row", {"kind": "a"}) == [SqlArgument('{"kind": "a"}', "app.job", SqlForm.RECORD)]
    assert arguments("texts", ["a", None, 5]) == [SqlArgument(("a", None, "5"), "text", SqlForm.ARRAY)]
    assert arguments("documents", ["a", {"b": 1}]) == [SqlArgument(('"a"', '{"b": 1}'), "jsonb", SqlForm.ARRAY)]
    moment = SqlArgument("2027-01-15T08:01:00+00:00", "timestamp with time zone")
    assert arguments("moment", "$scheduled_for") == [moment]
    assert arguments("none") == []


def test_the_done_option_selects_the_outcome() -> None:
    postgres_executor = executor()
    assert postgres_executor.outcome_of_call(launch_of({}), "5") == Completed(execution_id="5")
    assert postgres_executor.outcome_of_call(launch_of({"done": "taken"}), None) == Completed()
    assert postgres_executor.outcome_of_call(launch_of({"done": "reported"}), "5") == Accepted("5")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "neither a function nor a table"),
        ({"function": "other"}, "'other' is not declared"),
        ({"function": "typed", "args": []}, "'typed' is not declared"),
        ({"function": "app.typed", "args": ["a"]}, "takes 3 arguments"),
        ({"function": "plain(); DROP TABLE jobs"}, "is not declared"),
        ({"function": ["plain"]}, "is not declared"),
        ({"function": "plain", "args": {"a": 1}}, "args is not a list"),
        ({"function": "plain", "columns": {}}, "'columns' is not known"),
        ({"function": "texts", "args": ["a"]}, "must be a list"),
        ({"function": "plain", "args": ["$colour"]}, "is not a placeholder"),
        ({"function": "plain", "args": [{"a": ["$colour"]}]}, "is not a placeholder"),
        ({"function": "plain", "done": "perhaps"}, "done"),
        ({"table": "schedule_runs", "columns": {"a": 1}}, "is not declared"),
        ({"table": "jobs"}, "columns"),
        ({"table": "jobs", "columns": {}}, "columns"),
        ({"table": "jobs", "columns": {"": 1}}, "not declared"),
        ({"table": "app.jobs", "columns": {"secret": 1}}, "'secret' of app.jobs is not declared"),
        ({"table": "jobs", "function": "plain", "columns": {"a": 1}}, "'function' is not known"),
    ],
)
def test_invalid_options_are_rejected(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(LaunchRefused, match=problem):
        call_of(options)


@pytest.mark.parametrize(
    "configured",
    [
        {},
        {"tables": [], "functions": []},
        {"tables": "jobs"},
        {"tables": [5]},
        {"tables": ["a b"]},
        {"tables": ["a.b.c"]},
        {"tables": {"jobs": "key"}},
        {"tables": {"jobs": []}},
        {"functions": "f"},
        {"functions": [None]},
        {"functions": ["f", "f(text)"]},
        {"functions": ["f(text"]},
        {"functions": ["f(text; DROP TABLE jobs)"]},
        {"functions": ["f(jsonb[][])"]},
        {"functions": ["f(text,)"]},
        {"tables": ["jobs"], "colour": 1},
        {"tables": ["jobs"], "timeout_ms": 99},
        {"tables": ["jobs"], "timeout_ms": 60_000},
    ],
)
def test_invalid_configurations_are_rejected(configured: dict[str, Any]) -> None:
    with pytest.raises(InvalidField, match=r"executors\.postgres"):
        PostgresExecutor(configured, SITE)


def test_a_run_without_a_transaction_is_rejected() -> None:
    with pytest.raises(LaunchRefused, match="postgresql://"):
        asyncio.run(executor().run(None, launch_of({"function": "plain"})))
