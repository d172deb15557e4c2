"""Runs as rows of a user's table, or as calls of a user's function, in the database that records them.

A workflow names a table and the values of its columns, or a function and its arguments.  Tables and functions must be
declared by the operator, everything else is a value.  ``$key`` and the like are placeholders for fields of the run.
``$$`` at the start of a text is a literal ``$``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tompion.errors import InvalidField, LaunchRefused, display
from tompion.executors.base import Accepted, Completed, RunContext, TransactionalExecutor
from tompion.executors.options import ExecutorEnv, check_settings, check_workflow_options, int_setting
from tompion.executors.queue_message import callback_info
from tompion.model.sql_call import SqlArgument, SqlCall, SqlForm

SETTINGS = ("functions", "tables", "timeout_ms")
CALL_OPTIONS = ("function", "args", "done")
ROW_OPTIONS = ("table", "columns", "done")
MIN_TIMEOUT_MS, MAX_TIMEOUT_MS = 100, 10_000
JSON_PLACEHOLDERS = frozenset({"$dag", "$meta", "$payload", "$callback"})
"""Placeholders for JSON. The others are text."""
JSON_TYPES = frozenset({"json", "jsonb"})
TEXT_TYPES = frozenset({"text", "varchar", "character varying"})

_NAME = re.compile(r"[^\s().\"%\x00]+(?:\.[^\s().\"%\x00]+)?")
_SIGNATURE = re.compile(rf"({_NAME.pattern})(?:\((.*)\))?")
_TYPE = re.compile(r"[a-z_][a-z0-9_]*(?: [a-z]+)*(?:\.[a-z_][a-z0-9_]*)?(?:\[\])?")


class SqlValue(NamedTuple):
    """The value of an option after substitution. With ``is_json``, it is sent as JSON even if it is text."""

    value: Any
    is_json: bool


class PostgresExecutor(TransactionalExecutor):
    """Builds the SQL call for a run."""

    def __init__(self, configured: Mapping[str, Any], env: ExecutorEnv) -> None:
        check_settings(configured, "postgres", *SETTINGS)
        self._functions = _functions(configured.get("functions", ()))
        self._tables = _tables(configured.get("tables", ()))
        if not self._functions and not self._tables:
            raise InvalidField("executors.postgres", "declare the functions or tables that workflows may use")
        default_ms = TransactionalExecutor.timeout_ms
        self.timeout_ms: int = int_setting(configured, "postgres", "timeout_ms", default_ms, MIN_TIMEOUT_MS)
        if self.timeout_ms > MAX_TIMEOUT_MS:
            raise InvalidField("executors.postgres.timeout_ms", f"{self.timeout_ms}; at most {MAX_TIMEOUT_MS}")
        self._env = env

    def call(self, dag: Any, run_context: RunContext) -> SqlCall:
        """Return the insert or the function call for a run."""
        table = run_context.options.get("table")
        check_workflow_options(run_context.options, *(CALL_OPTIONS if table is None else ROW_OPTIONS))
        self.outcome_of_call(run_context, None)  # rejects an invalid option done
        values = {
            "$dag": lambda: dag,
            "$callback": lambda: callback_info(run_context, self._env),
            **_run_values(run_context),
        }
        return self._function(run_context, values) if table is None else self._row(table, run_context, values)

    def outcome_of_call(self, run_context: RunContext, answer: str | None) -> Completed | Accepted:
        """Return completed, or accepted if the consumer of the queue will report."""
        done = run_context.options.get("done", "taken")
        if done == "taken":
            return Completed(execution_id=answer)
        if done == "reported":
            return Accepted(answer)
        raise LaunchRefused("the workflow's option done is neither 'taken' nor 'reported'")

    def _function(self, run_context: RunContext, values: RunValues) -> SqlCall:
        """Return the call of a declared function."""
        name, args = run_context.options.get("function"), run_context.options.get("args", [])
        if not isinstance(name, str) or name not in self._functions:
            raise _undeclared_error("function", "functions", name)
        if not isinstance(args, list):
            raise LaunchRefused("the workflow's option args is not a list")
        types = self._functions[name]
        if types is None:
            arguments = [_argument(_option_value(arg, values), None) for arg in args]
        elif len(types) != len(args):
            raise LaunchRefused(f"the function {name} takes {len(types)} arguments, and the workflow has {len(args)}")
        else:
            arguments = [
                _argument(_option_value(arg, values), sql_type) for arg, sql_type in zip(args, types, strict=True)
            ]
        return SqlCall(tuple(name.split(".")), tuple(arguments))

    def _row(self, name: Any, run_context: RunContext, values: RunValues) -> SqlCall:
        """Return the insert into a declared table."""
        columns = run_context.options.get("columns")
        if not isinstance(name, str) or name not in self._tables:
            raise _undeclared_error("table", "tables", name)
        if not isinstance(columns, dict) or not columns:
            raise LaunchRefused("the workflow's option columns is not an object of values by column")
        allowed = self._tables[name]
        for column in columns:
            if not column or "\x00" in column or (allowed is not None and column not in allowed):
                raise LaunchRefused(
                    f"the column {display(column)} of {name} is not declared (executors.postgres.tables)"
                )
        arguments = [_argument(_option_value(value, values), None) for value in columns.values()]
        return SqlCall(tuple(name.split(".")), tuple(arguments), tuple(columns))


RunValues = Mapping[str, Callable[[], Any]]


def _run_values(run_context: RunContext) -> dict[str, Callable[[], Any]]:
    """Return the values of the placeholders, computed on use."""
    return {
        "$meta": lambda: run_context.meta,
        "$payload": lambda: run_context.payload,
        "$key": lambda: run_context.idempotency_key,
        "$delivery_id": lambda: run_context.delivery_id,
        "$run_id": lambda: run_context.run_id,
        "$token": lambda: run_context.token,
        "$scheduled_for": run_context.run_at.isoformat,
        "$namespace": lambda: run_context.namespace,
        "$schedule_id": lambda: run_context.schedule_id,
        "$user_id": lambda: run_context.user_id,
        "$source": lambda: run_context.source,
        "$attempt": lambda: run_context.attempt,
    }


def _option_value(option: Any, values: RunValues) -> SqlValue:
    """Return the value of an option. Lists, objects and JSON placeholders are documents."""
    if isinstance(option, str) and option.startswith("$"):
        return SqlValue(_placeholder_value(option, values), option in JSON_PLACEHOLDERS)
    return SqlValue(_substitute(option, values), isinstance(option, list | dict))


def _substitute(option: Any, values: RunValues) -> Any:
    if isinstance(option, str) and option.startswith("$"):
        return _placeholder_value(option, values)
    if isinstance(option, list):
        return [_substitute(item, values) for item in option]
    if isinstance(option, dict):
        return {name: _substitute(item, values) for name, item in option.items()}
    return option


def _placeholder_value(text: str, values: RunValues) -> Any:
    if text.startswith("$$"):
        return text[1:]
    compute = values.get(text)
    if compute is None:
        expected = ", ".join(sorted(values))
        raise LaunchRefused(f"{display(text)} is not a placeholder; expected one of {expected}, or $$ for a $")
    return compute()


def _argument(sql_value: SqlValue, sql_type: str | None) -> SqlArgument:
    """Return a value as text, which the server casts to its type."""
    value = sql_value.value
    if sql_type is None:
        return SqlArgument(_text(value, is_json=sql_value.is_json))
    if sql_type.endswith("[]") and value is not None:
        return _array_argument(value, sql_type)
    if isinstance(value, dict) and sql_type not in JSON_TYPES | TEXT_TYPES:
        return SqlArgument(json.dumps(value), sql_type, SqlForm.RECORD)
    return SqlArgument(_text(value, is_json=sql_value.is_json or sql_type in JSON_TYPES), sql_type)


def _array_argument(value: Any, sql_type: str) -> SqlArgument:
    """Return a list as an array. A list with objects becomes records, unless the elements are JSON."""
    element_type = sql_type.removesuffix("[]")
    if not isinstance(value, list):
        raise LaunchRefused(f"an argument of the type {sql_type} must be a list")
    if element_type not in JSON_TYPES and any(isinstance(item, dict) for item in value):
        return SqlArgument(json.dumps(value), element_type, SqlForm.RECORDS)
    texts = tuple(_text(item, is_json=element_type in JSON_TYPES) for item in value)
    return SqlArgument(texts, element_type, SqlForm.ARRAY)


def _text(value: Any, *, is_json: bool) -> str | None:
    if value is None or (isinstance(value, str) and not is_json):
        return value
    return json.dumps(value)


# --- declarations of the operator -----------------------------------------------------------------------------------


def _functions(configured: Any) -> dict[str, tuple[str, ...] | None]:
    """Return the declared functions, with argument types if they are declared: ``pgmq.send(text, jsonb)``."""
    if isinstance(configured, str) or not isinstance(configured, list | tuple):
        raise InvalidField("executors.postgres.functions", "expected a list such as ['pgmq.send(text, jsonb)']")
    functions: dict[str, tuple[str, ...] | None] = {}
    for signature in configured:
        match = _SIGNATURE.fullmatch(signature) if isinstance(signature, str) else None
        if match is None or match[1] in functions:
            problem = "is declared twice" if match else "is not a name such as pgmq.send, or pgmq.send(text, jsonb)"
            raise InvalidField("executors.postgres.functions", f"{display(signature)} {problem}")
        functions[match[1]] = None if match[2] is None else _types(match[2])
    return functions


def _types(text: str) -> tuple[str, ...]:
    types = tuple(part.strip() for part in text.split(",")) if text.strip() else ()
    for kind in types:
        if not _TYPE.fullmatch(kind):
            raise InvalidField("executors.postgres.functions", f"{display(kind)} is not a type such as jsonb or text[]")
    return types


def _tables(configured: Any) -> dict[str, frozenset[str] | None]:
    """Return the declared tables, with the writable columns if they are declared."""
    if isinstance(configured, str) or not isinstance(configured, list | tuple | Mapping):
        raise InvalidField("executors.postgres.tables", "expected a list such as ['app.jobs']")
    tables: dict[str, frozenset[str] | None] = {}
    for name in configured:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidField("executors.postgres.tables", f"{display(name)} is not a name such as jobs, or app.jobs")
        columns = configured[name] if isinstance(configured, Mapping) else None
        if columns is not None and not _are_names(columns):
            raise InvalidField(f"executors.postgres.tables.{name}", "expected a list of the writable columns")
        tables[name] = None if columns is None else frozenset(columns)
    return tables


def _are_names(columns: Any) -> bool:
    return isinstance(columns, list | tuple) and bool(columns) and all(isinstance(column, str) for column in columns)


def _undeclared_error(what: str, where: str, name: Any) -> LaunchRefused:
    if name is None:
        return LaunchRefused("the workflow names neither a function nor a table")
    return LaunchRefused(f"the {what} {display(name)} is not declared (executors.postgres.{where})")
