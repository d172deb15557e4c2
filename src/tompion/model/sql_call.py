"""A call that is part of a transaction: a row for somebody's table, or a call of somebody's function.

Names are names and values are values: there is nothing in it that a database would read as a statement.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, TypeAlias


class SqlForm(StrEnum):
    """How the server makes an argument of what travels as text."""

    PLAIN = "plain"
    ARRAY = "array"
    RECORD = "record"
    RECORDS = "records"


class SqlArgument(NamedTuple):
    """One value: text, or texts where it is an array; records are JSON.

    ``type`` is what an operator has declared; without one the server takes that of the column or the parameter.
    """

    value: str | tuple[str | None, ...] | None
    type: str | None = None
    form: SqlForm = SqlForm.PLAIN


class SqlCall(NamedTuple):
    """A call: the parts of a name, and its arguments; those of a table go to ``columns``."""

    name: tuple[str, ...]
    arguments: tuple[SqlArgument, ...]
    columns: tuple[str, ...] | None = None


class SqlResult(NamedTuple):
    """What became of a call: what it answered, or why it had no effect at all."""

    answer: str | None = None
    error: str | None = None


Answers: TypeAlias = list[SqlResult]
"""One for each call, in their order; those that there was no time for have none."""
