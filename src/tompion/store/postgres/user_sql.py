"""Calls of users' functions, and rows for users' tables, inside a transaction of ours.

None of them may spoil the transaction, which is about many schedules.  They run behind a savepoint and a time limit,
first many together and, if that fails, one by one, and what their deferred constraints would say at the commit is
asked before it.  Together they have a budget: who is slow makes others wait for another transaction, not this one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
from psycopg import sql

from tompion.model.sql_call import Answers, SqlArgument, SqlCall, SqlForm, SqlResult

BUDGET_MS = 5_000
"""How long the calls of one transaction take together, give or take what is under way."""
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
# Deferred constraints are checked as if this were the commit, and the mode in which they are is what it was.
_CHECK = b"""DO $$ BEGIN
    SET CONSTRAINTS ALL IMMEDIATE;
    RAISE EXCEPTION SQLSTATE 'FO000';
EXCEPTION WHEN SQLSTATE 'FO000' THEN NULL; END $$"""

# Messages of these classes name tables, columns and constraints.  Others may quote the values that were sent.
_NAMING = frozenset({"08", "23", "25", "40", "42", "53", "54", "55", "57"})
_QUOTABLE = 4
_STRING = re.compile(r'"((?:[^"\\]|\\.)+)"')
_NUMBER_OR_UUID = re.compile(r"\{?([0-9a-f-]{1,36})\}?")

Cursor = psycopg.Cursor[tuple[Any, ...]]
Bound = tuple[bytes, list[Any]]


class UserSql:
    """The calls of one transaction."""

    def __init__(self, cursor: Cursor) -> None:
        """Take a cursor inside a transaction."""
        self._cursor = cursor
        self._begun_ms: int | None = None

    def carry_out(self, calls: Sequence[SqlCall], timeout_ms: int) -> Answers:
        """Carry out as many calls as there is time for; one that fails has no effect, and no other is touched."""
        answers: Answers = []
        usual = self._cursor.execute(_USUAL, prepare=True).fetchall()[0]
        self._limit(f"{timeout_ms}ms", f"{timeout_ms}ms", usual[2])
        for some in _portions(calls):
            if self._is_over():
                break
            found = self._together(some) or self._one_by_one(some)
            answers += found
            if len(found) < len(some):
                break
        self._limit(*usual)
        return answers

    def _together(self, calls: Sequence[SqlCall]) -> Answers:
        """Carry out calls behind one savepoint; nothing is left of them, and nothing returned, if one fails."""
        if len(calls) == 1:
            return []
        self._cursor.execute(_SAVE, prepare=False)
        try:
            found = self._sent([_bound(call) for call in calls])
            self._cursor.execute(_CHECK, prepare=False)
        except (psycopg.Error, UnicodeError) as error:
            self._undo(error)
            return []
        self._cursor.execute(_KEEP, prepare=False)
        return found

    def _sent(self, bound: Sequence[Bound]) -> Answers:
        """Send calls of the same kind without waiting for each answer."""
        kinds: dict[bytes, list[int]] = {}
        for index, (text, _) in enumerate(bound):
            kinds.setdefault(text, []).append(index)
        found = [SqlResult()] * len(bound)
        for text, indexes in kinds.items():
            self._cursor.executemany(text, [bound[index][1] for index in indexes], returning=True)
            for index in indexes:
                found[index] = self._called()
                self._cursor.nextset()
        return found

    def _one_by_one(self, calls: Sequence[SqlCall]) -> Answers:
        answers: Answers = []
        for call in calls:
            answers.append(self._alone(call))
            if answers[-1].error is not None and self._is_over():
                break
        return answers

    def _alone(self, call: SqlCall) -> SqlResult:
        self._cursor.execute(_SAVE, prepare=False)
        try:
            text, values = _bound(call)
            self._cursor.execute(text, values)
            called = self._called()
            self._cursor.execute(_CHECK, prepare=False)
        except (psycopg.Error, UnicodeError) as error:
            self._undo(error)
            return SqlResult(error=_described(error, call))
        self._cursor.execute(_KEEP, prepare=False)
        return called

    def _called(self) -> SqlResult:
        found = self._cursor.fetchall() if self._cursor.pgresult is not None and self._cursor.pgresult.nfields else []
        number = _NUMBER_OR_UUID.fullmatch(str(found[0][0])) if found else None
        return SqlResult(None if number is None else number[1])

    def _undo(self, error: Exception) -> None:
        """Go back to before the savepoint, unless it is the connection that has failed."""
        if self._cursor.connection.closed:
            raise error
        self._cursor.execute(_UNDO, prepare=False)
        self._cursor.execute(_KEEP, prepare=False)

    def _limit(self, timeout: str, lock_timeout: str, search_path: str) -> None:
        """Set what calls may take; a function may have changed where names are looked up, even after the commit."""
        self._cursor.execute(_LIMIT, [timeout, lock_timeout, search_path], prepare=True)

    def _is_over(self) -> bool:
        now_ms = int(self._cursor.execute(_NOW, prepare=True).fetchall()[0][0])
        if self._begun_ms is None:
            self._begun_ms = now_ms
        return now_ms - self._begun_ms > BUDGET_MS


def _portions(calls: Sequence[SqlCall]) -> Iterator[Sequence[SqlCall]]:
    """Part calls so that each portion is at most as long as all before it: a slow one is noticed early."""
    done = 0
    while done < len(calls):
        size = min(max(done, 1), MAX_BATCH)
        yield calls[done : done + size]
        done += size


def _bound(call: SqlCall) -> Bound:
    """Return the statement of a call, and what is bound to it."""
    name = _quoted(*call.name)
    arguments = ", ".join(map(_placed, call.arguments))
    if call.columns is None:
        text = f"SELECT answer::text FROM {name}({arguments}) AS answer LIMIT 1"  # noqa: S608 - names are quoted
    else:
        columns = ", ".join(map(_quoted, call.columns))
        text = f"INSERT INTO {name} ({columns}) VALUES ({arguments})"  # noqa: S608 - names are quoted
    values = [list(each.value) if isinstance(each.value, tuple) else each.value for each in call.arguments]
    return text.encode(), values


def _quoted(*parts: str) -> str:
    return sql.Identifier(*parts).as_string(None).replace("%", "%%")


def _placed(argument: SqlArgument) -> str:
    """Return where a value goes, and what the server makes of it; types are an operator's words."""
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


def _described(error: Exception, call: SqlCall) -> str:
    """Return what the server says as it may be shown: a message that may quote what was sent is not."""
    state = getattr(error, "sqlstate", None) or ""
    kind = f"{type(error).__name__}{f' ({state})' if state else ''}"
    message = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    if message is None or state[:2] not in _NAMING or _quotes(message, call):
        return f"PostgreSQL: {kind}; its message may quote what was sent, so only the server's log has it"
    return f"PostgreSQL: {message} ({kind})"


def _quotes(message: str, call: SqlCall) -> bool:
    """Whether a message quotes a value of a call, or a part of one, and not just a name."""
    names = {*call.name, *(call.columns or ())}
    sent = [text for each in call.arguments for text in _texts(each)]
    parts = {part for text in sent for part in (text, *_STRING.findall(text)) if len(part) >= _QUOTABLE}
    quoted = {part for part in _STRING.findall(message) if part not in names}
    return any(part in message for part in parts - names) or any(part in text for part in quoted for text in sent)


def _texts(argument: SqlArgument) -> list[str]:
    values = argument.value if isinstance(argument.value, tuple) else (argument.value,)
    return [text for text in values if text is not None]
