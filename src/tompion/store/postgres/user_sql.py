"""Calls of users' functions, and inserts into users' tables, inside one of our transactions.

No call may break the transaction, which covers many schedules. Calls run behind a savepoint and a time limit, first in
batches and, if a batch fails, one by one. Deferred constraints are checked before the commit. All calls of a
transaction share a time limit, so that slow calls delay later transactions and not this one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
from psycopg import sql

from tompion.model.sql_call import SqlArgument, SqlCall, SqlForm, SqlResult, SqlResults

MAX_CALLS_MS = 5_000
"""Time limit for all calls of one transaction, checked between batches."""
MAX_BATCH = 256

_LIMIT = b"""SELECT set_config('statement_timeout', %s::text, true), set_config('lock_timeout', %s::text, true),
    set_config('search_path', %s::text, false)"""
_USUAL = (
    b"""SELECT current_setting('statement_timeout'), current_setting('lock_timeout'), current_setting('search_path')"""
)
_NOW = b"SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
_SAVE = b"SAVEPOINT tompion_call"
_KEEP = b"RELEASE tompion_call"
_UNDO = b"ROLLBACK TO tompion_call"
# Checks deferred constraints as the commit would. The exception restores their mode.
_CHECK = b"""DO $$ BEGIN
    SET CONSTRAINTS ALL IMMEDIATE;
    RAISE EXCEPTION SQLSTATE 'TO000';
EXCEPTION WHEN SQLSTATE 'TO000' THEN NULL; END $$"""

# Messages of these classes name tables, columns and constraints. Others may quote values that were sent.
_NAMING = frozenset({"08", "23", "25", "40", "42", "53", "54", "55", "57"})
_MIN_QUOTED_CHARS = 4
_STRING = re.compile(r'"((?:[^"\\]|\\.)+)"')
_NUMBER_OR_UUID = re.compile(r"\{?([0-9a-f-]{1,36})\}?")

Cursor = psycopg.Cursor[tuple[Any, ...]]
Bound = tuple[bytes, list[Any]]


class UserSql:
    """The calls of one transaction."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._start_ms: int | None = None

    def run_calls(self, calls: Sequence[SqlCall], timeout_ms: int) -> SqlResults:
        """Execute as many calls as fit into the time limit. A call that fails has no effect on the others."""
        answers: SqlResults = []
        usual = self._cursor.execute(_USUAL, prepare=True).fetchall()[0]
        self._limit(f"{timeout_ms}ms", f"{timeout_ms}ms", usual[2])
        for batch in _batches(calls):
            if self._is_out_of_time():
                break
            results = self._execute_batch(batch) or self._execute_each(batch)
            answers += results
            if len(results) < len(batch):
                break
        self._limit(*usual)
        return answers

    def _execute_batch(self, calls: Sequence[SqlCall]) -> SqlResults:
        """Execute calls behind one savepoint. If one fails, undo all and return nothing."""
        if len(calls) == 1:
            return []
        self._cursor.execute(_SAVE, prepare=False)
        try:
            results = self._pipeline([_statement(call) for call in calls])
            self._cursor.execute(_CHECK, prepare=False)
        except (psycopg.Error, UnicodeError) as error:
            self._undo(error)
            return []
        self._cursor.execute(_KEEP, prepare=False)
        return results

    def _pipeline(self, bound: Sequence[Bound]) -> SqlResults:
        """Send calls of the same kind in a pipeline."""
        kinds: dict[bytes, list[int]] = {}
        for index, (text, _) in enumerate(bound):
            kinds.setdefault(text, []).append(index)
        results = [SqlResult()] * len(bound)
        for text, indexes in kinds.items():
            self._cursor.executemany(text, [bound[index][1] for index in indexes], returning=True)
            for index in indexes:
                results[index] = self._result()
                self._cursor.nextset()
        return results

    def _execute_each(self, calls: Sequence[SqlCall]) -> SqlResults:
        answers: SqlResults = []
        for call in calls:
            answers.append(self._execute_one(call))
            if answers[-1].error is not None and self._is_out_of_time():
                break
        return answers

    def _execute_one(self, call: SqlCall) -> SqlResult:
        self._cursor.execute(_SAVE, prepare=False)
        try:
            text, values = _statement(call)
            self._cursor.execute(text, values)
            result = self._result()
            self._cursor.execute(_CHECK, prepare=False)
        except (psycopg.Error, UnicodeError) as error:
            self._undo(error)
            return SqlResult(error=_error_message(error, call))
        self._cursor.execute(_KEEP, prepare=False)
        return result

    def _result(self) -> SqlResult:
        rows = self._cursor.fetchall() if self._cursor.pgresult is not None and self._cursor.pgresult.nfields else []
        number = _NUMBER_OR_UUID.fullmatch(str(rows[0][0])) if rows else None
        return SqlResult(answer=None if number is None else number[1])

    def _undo(self, error: Exception) -> None:
        """Roll back to the savepoint, unless the connection itself has failed."""
        if self._cursor.connection.closed:
            raise error
        self._cursor.execute(_UNDO, prepare=False)
        self._cursor.execute(_KEEP, prepare=False)

    def _limit(self, timeout: str, lock_timeout: str, search_path: str) -> None:
        """Set the time limits of calls. Restore the search path, which a function may have changed for the session."""
        self._cursor.execute(_LIMIT, [timeout, lock_timeout, search_path], prepare=True)

    def _is_out_of_time(self) -> bool:
        now_ms = int(self._cursor.execute(_NOW, prepare=True).fetchall()[0][0])
        if self._start_ms is None:
            self._start_ms = now_ms
        return now_ms - self._start_ms > MAX_CALLS_MS


def _batches(calls: Sequence[SqlCall]) -> Iterator[Sequence[SqlCall]]:
    """Split calls into batches, each at most as long as all before it, so that a slow call is noticed early."""
    done = 0
    while done < len(calls):
        size = min(max(done, 1), MAX_BATCH)
        yield calls[done : done + size]
        done += size


def _statement(call: SqlCall) -> Bound:
    """Return the statement of a call and its parameters."""
    name = _quote(*call.name)
    arguments = ", ".join(map(_placeholder, call.arguments))
    if call.columns is None:
        text = f"SELECT answer::text FROM {name}({arguments}) AS answer LIMIT 1"  # noqa: S608 - names are quoted
    else:
        columns = ", ".join(map(_quote, call.columns))
        text = f"INSERT INTO {name} ({columns}) VALUES ({arguments})"  # noqa: S608 - names are quoted
    values = [
        list(argument.value) if isinstance(argument.value, tuple) else argument.value for argument in call.arguments
    ]
    return text.encode(), values


def _quote(*parts: str) -> str:
    return sql.Identifier(*parts).as_string(None).replace("%", "%%")


def _placeholder(argument: SqlArgument) -> str:
    """Return the placeholder of a value with its cast. Types come from the operator."""
    kind = argument.type
    if kind is None:
        return "%s"
    if argument.form is SqlForm.ARRAY:
        return f"%s::text[]::{kind}[]"
    if argument.form is SqlForm.RECORD:
        return f"jsonb_populate_record(NULL::{kind}, %s::jsonb)"
    if argument.form is SqlForm.RECORDS:
        return f"ARRAY(SELECT jsonb_populate_recordset(NULL::{kind}, %s::jsonb))"
    return f"%s::{kind}"


def _error_message(error: Exception, call: SqlCall) -> str:
    """Return the error message without sent values. A message that may quote them is omitted."""
    state = getattr(error, "sqlstate", None) or ""
    kind = f"{type(error).__name__}{f' ({state})' if state else ''}"
    message = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    if message is None or state[:2] not in _NAMING or _quotes(message, call):
        return f"PostgreSQL: {kind}; see the server's log for the message, which may contain sent values"
    return f"PostgreSQL: {message} ({kind})"


def _quotes(message: str, call: SqlCall) -> bool:
    """Return whether a message quotes a value of a call, or a part of one, and not only a name."""
    names = {*call.name, *(call.columns or ())}
    sent = [text for argument in call.arguments for text in _texts(argument)]
    parts = {part for text in sent for part in (text, *_STRING.findall(text)) if len(part) >= _MIN_QUOTED_CHARS}
    quoted = {part for part in _STRING.findall(message) if part not in names}
    return any(part in message for part in parts - names) or any(part in text for part in quoted for text in sent)


def _texts(argument: SqlArgument) -> list[str]:
    values = argument.value if isinstance(argument.value, tuple) else (argument.value,)
    return [text for text in values if text is not None]
