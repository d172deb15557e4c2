"""A call inside a transaction: an insert into a user's table, or a call of a user's function.

Names and values are separate. No part is interpreted as SQL text.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, TypeAlias


class SqlForm(StrEnum):
    """The way in which the server converts an argument that is sent as text."""

    PLAIN = "plain"
    ARRAY = "array"
    RECORD = "record"
    RECORDS = "records"


class SqlArgument(NamedTuple):
    """One value: text, or several texts for an array. Records are JSON.

    ``type`` is declared by the operator. Without one the server uses the type of the column or parameter.
    """

    value: str | tuple[str | None, ...] | None
    type: str | None = None
    form: SqlForm = SqlForm.PLAIN


class SqlCall(NamedTuple):
    """A call: the parts of a name, and its arguments. For a table, ``columns`` names their columns."""

    name: tuple[str, ...]
    arguments: tuple[SqlArgument, ...]
    columns: tuple[str, ...] | None = None


class SqlResult(NamedTuple):
    """The returned value of a call, or the error after which it had no effect."""

    answer: str | None = None
    error: str | None = None


SqlResults: TypeAlias = list[SqlResult]
"""One result per call in order. Calls for which there was no time have none."""
