"""Runs as rows of somebody's table, or as calls of somebody's function, in the database that records them.

A workflow names a table and what goes into its columns, or a function and its arguments.  It names nothing that the
operator has not declared, and whatever else it says is a value.  ``$key`` and the like stand for what is known of the
run; ``$$`` at the beginning of a text is a ``$``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tompion.errors import InvalidField, LaunchRefused, display
from tompion.executors.base import Accepted, Completed, RunContext, TransactionalExecutor
from tompion.executors.options import ExecutorEnv, known_options, only, whole
from tompion.executors.queue_message import callback_of
from tompion.model.sql_call import SqlArgument, SqlCall, SqlForm

CONFIGURED = ("functions", "tables", "timeout_ms")
CALL_OPTIONS = ("function", "args", "done")
ROW_OPTIONS = ("table", "columns", "done")
LEAST_TIMEOUT_MS, MOST_TIMEOUT_MS = 100, 10_000
DOCUMENTS = frozenset({"$dag", "$meta", "$payload", "$callback"})
"""What stands for JSON, whatever it is; the others stand for text."""
JSON_TYPES = frozenset({"json", "jsonb"})
TEXT_TYPES = frozenset({"text", "varchar", "character varying"})

_NAME = re.compile(r"[^\s().\"%\x00]+(?:\.[^\s().\"%\x00]+)?")
_SIGNATURE = re.compile(rf"({_NAME.pattern})(?:\((.*)\))?")
_TYPE = re.compile(r"[a-z_][a-z0-9_]*(?: [a-z]+)*(?:\.[a-z_][a-z0-9_]*)?(?:\[\])?")


class SqlValue(NamedTuple):
    """What an option says once the run is known; a document is JSON, whatever it is."""

    value: Any
    document: bool


class PostgresExecutor(TransactionalExecutor):
    """Says what the database is to call."""

    def __init__(self, configured: Mapping[str, Any], site: ExecutorEnv) -> None:
        """Take what workflows may name."""
        only(configured, "postgres", *CONFIGURED)
        self._functions = _functions(configured.get("functions", ()))
        self._tables = _tables(configured.get("tables", ()))
        if not self._functions and not self._tables:
            raise InvalidField("executors.postgres", "declare functions or tables; workflows may name no others")
        usual_ms = TransactionalExecutor.timeout_ms
        self.timeout_ms = whole(configured, "postgres", "timeout_ms", usual_ms, LEAST_TIMEOUT_MS)
        if self.timeout_ms > MOST_TIMEOUT_MS:
            raise InvalidField("executors.postgres.timeout_ms", f"{self.timeout_ms}; at most {MOST_TIMEOUT_MS}")
        self._site = site

    def call(self, dag: Any, meta: RunContext) -> SqlCall:
        """Return the row, or the call, that a run is."""
        table = meta.options.get("table")
        known_options(meta.options, *(CALL_OPTIONS if table is None else ROW_OPTIONS))
        self.called(meta, None)
        known = {"$dag": lambda: dag, "$callback": lambda: callback_of(meta, self._site), **_known(meta)}
        return self._function(meta, known) if table is None else self._row(table, meta, known)

    def called(self, meta: RunContext, answer: str | None) -> Completed | Accepted:
        """Return that the run is done, or that whoever takes it from the queue will say so."""
        done = meta.options.get("done", "taken")
        if done == "taken":
            return Completed(execution_id=answer)
        if done == "reported":
            return Accepted(answer)
        raise LaunchRefused("the workflow's option done is neither 'taken' nor 'reported'")

    def _function(self, meta: RunContext, known: Known) -> SqlCall:
        name, given = meta.options.get("function"), meta.options.get("args", [])
        if not isinstance(name, str) or name not in self._functions:
            raise _undeclared("function", "functions", name)
        if not isinstance(given, list):
            raise LaunchRefused("the workflow's option args is a list of what the function is given")
        types = self._functions[name]
        if types is None:
            arguments = [_argument(_resolved(each, known), None) for each in given]
        elif len(types) != len(given):
            raise LaunchRefused(
                f"the function {name} takes {len(types)} arguments, and the workflow gives {len(given)}"
            )
        else:
            arguments = [_argument(_resolved(each, known), kind) for each, kind in zip(given, types, strict=True)]
        return SqlCall(tuple(name.split(".")), tuple(arguments))

    def _row(self, name: Any, meta: RunContext, known: Known) -> SqlCall:
        given = meta.options.get("columns")
        if not isinstance(name, str) or name not in self._tables:
            raise _undeclared("table", "tables", name)
        if not isinstance(given, dict) or not given:
            raise LaunchRefused("the workflow's option columns says what goes into which column")
        allowed = self._tables[name]
        for column in given:
            if not column or "\x00" in column or (allowed is not None and column not in allowed):
                raise LaunchRefused(
                    f"the column {display(column)} of {name} is not declared (executors.postgres.tables)"
                )
        arguments = [_argument(_resolved(each, known), None) for each in given.values()]
        return SqlCall(tuple(name.split(".")), tuple(arguments), tuple(given))


Known = Mapping[str, Callable[[], Any]]


def _known(meta: RunContext) -> dict[str, Callable[[], Any]]:
    """What a workflow may ask for, worked out when it does."""
    return {
        "$meta": lambda: meta.meta,
        "$payload": lambda: meta.payload,
        "$key": lambda: meta.key,
        "$delivery_id": lambda: meta.delivery_id,
        "$run_id": lambda: meta.run_id,
        "$token": lambda: meta.token,
        "$scheduled_for": meta.scheduled_for.isoformat,
        "$namespace": lambda: meta.namespace,
        "$schedule_id": lambda: meta.schedule_id,
        "$user_id": lambda: meta.user_id,
        "$source": lambda: meta.source,
        "$attempt": lambda: meta.attempt,
    }


def _resolved(given: Any, known: Known) -> SqlValue:
    """Return what an option says: a list or an object is a document, and so is what stands for one."""
    if isinstance(given, str) and given.startswith("$"):
        return SqlValue(_stands_for(given, known), given in DOCUMENTS)
    return SqlValue(_filled(given, known), isinstance(given, list | dict))


def _filled(given: Any, known: Known) -> Any:
    if isinstance(given, str) and given.startswith("$"):
        return _stands_for(given, known)
    if isinstance(given, list):
        return [_filled(each, known) for each in given]
    if isinstance(given, dict):
        return {name: _filled(each, known) for name, each in given.items()}
    return given


def _stands_for(text: str, known: Known) -> Any:
    if text.startswith("$$"):
        return text[1:]
    found = known.get(text)
    if found is None:
        expected = ", ".join(sorted(known))
        raise LaunchRefused(f"{display(text)} stands for nothing; expected one of {expected}, or $$ for a $")
    return found()


def _argument(given: SqlValue, kind: str | None) -> SqlArgument:
    """Return a value as it travels: text, for the server to read as what it is to be."""
    value = given.value
    if kind is None:
        return SqlArgument(_text(value, document=given.document))
    element = kind.removesuffix("[]")
    if element != kind and value is not None:
        if not isinstance(value, list):
            raise LaunchRefused(f"an argument of the type {kind} is a list")
        if element not in JSON_TYPES and any(isinstance(each, dict) for each in value):
            return SqlArgument(json.dumps(value), element, SqlForm.RECORDS)
        texts = tuple(_text(each, document=element in JSON_TYPES) for each in value)
        return SqlArgument(texts, element, SqlForm.ARRAY)
    if isinstance(value, dict) and kind not in JSON_TYPES | TEXT_TYPES:
        return SqlArgument(json.dumps(value), kind, SqlForm.RECORD)
    return SqlArgument(_text(value, document=given.document or kind in JSON_TYPES), kind)


def _text(value: Any, *, document: bool) -> str | None:
    if value is None or (isinstance(value, str) and not document):
        return value
    return json.dumps(value)


# --- what the operator has declared -----------------------------------------------------------------------------------


def _functions(configured: Any) -> dict[str, tuple[str, ...] | None]:
    """Read names, each with the types of its arguments if it says so: ``pgmq.send(text, jsonb)``."""
    if isinstance(configured, str) or not isinstance(configured, list | tuple):
        raise InvalidField("executors.postgres.functions", "expected a list such as ['pgmq.send(text, jsonb)']")
    found: dict[str, tuple[str, ...] | None] = {}
    for each in configured:
        read = _SIGNATURE.fullmatch(each) if isinstance(each, str) else None
        if read is None or read[1] in found:
            problem = "is there twice" if read else "is not a name such as pgmq.send, or pgmq.send(text, jsonb)"
            raise InvalidField("executors.postgres.functions", f"{display(each)} {problem}")
        found[read[1]] = None if read[2] is None else _types(read[2])
    return found


def _types(text: str) -> tuple[str, ...]:
    types = tuple(part.strip() for part in text.split(",")) if text.strip() else ()
    for kind in types:
        if not _TYPE.fullmatch(kind):
            raise InvalidField("executors.postgres.functions", f"{display(kind)} is not a type such as jsonb or text[]")
    return types


def _tables(configured: Any) -> dict[str, frozenset[str] | None]:
    """Read names, each with the columns that may be written if it says so."""
    if isinstance(configured, str) or not isinstance(configured, list | tuple | Mapping):
        raise InvalidField("executors.postgres.tables", "expected a list such as ['app.jobs']")
    found: dict[str, frozenset[str] | None] = {}
    for each in configured:
        if not isinstance(each, str) or not _NAME.fullmatch(each):
            raise InvalidField("executors.postgres.tables", f"{display(each)} is not a name such as jobs, or app.jobs")
        columns = configured[each] if isinstance(configured, Mapping) else None
        if columns is not None and not _are_names(columns):
            raise InvalidField(f"executors.postgres.tables.{each}", "expected the columns that may be written")
        found[each] = None if columns is None else frozenset(columns)
    return found


def _are_names(columns: Any) -> bool:
    return isinstance(columns, list | tuple) and bool(columns) and all(isinstance(each, str) for each in columns)


def _undeclared(what: str, where: str, name: Any) -> LaunchRefused:
    if name is None:
        return LaunchRefused("the workflow names neither a function nor a table")
    return LaunchRefused(f"the {what} {display(name)} is not declared here (executors.postgres.{where})")
