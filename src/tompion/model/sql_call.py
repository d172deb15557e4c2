"""A call that is part of a transaction: a row for somebody's table, or a call of somebody's function.

Names are names and values are values: there is nothing in it that a database would read as a statement.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, TypeAlias


class Form(StrEnum):
    """How the server makes an argument of what travels as text."""

    PLAIN = "plain"
    ARRAY = "array"
    RECORD = "record"
    RECORDS = "records"


class Argument(NamedTuple):
    """One value: text, or texts where it is an array; records are JSON.

    ``type`` is what an operator has declared; without one the server takes that of the column or the parameter.
    """

    value: str | tuple[str | None, ...] | None
    type: str | None = None
    form: Form = Form.PLAIN


class Call(NamedTuple):
    """A call: the parts of a name, and its arguments; those of a table go to ``columns``."""

    name: tuple[str, ...]
    arguments: tuple[Argument, ...]
    columns: tuple[str, ...] | None = None


class Called(NamedTuple):
    """What became of a call: what it answered, or why it had no effect at all."""

    answer: str | None = None
    error: str | None = None


Answers: TypeAlias = list[Called]
"""One for each call, in their order; those that there was no time for have none."""
