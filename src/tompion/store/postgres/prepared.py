"""The statements of the PostgreSQL dialect, with the types of their array parameters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from tompion.store.base import Params
from tompion.store.postgres.binary_arrays import ARRAYS, BinaryArray
from tompion.store.sql_loader import load_queries

PACKAGE = "tompion.store.postgres"

_POSITIONAL = re.compile(r"%s::(\w+)\[\]")
_NAMED = re.compile(r"%\((\w+)\)s::(\w+)\[\]")
_PART = re.compile(r"(\w+)_(\d)")


class Statement(NamedTuple):
    """One statement: its text, the array types for many rows, and the list parameters."""

    text: bytes
    columns: tuple[str, ...]
    lists: tuple[tuple[str, str], ...]

    def arrays(self, rows: Sequence[Sequence[Any]]) -> list[BinaryArray]:
        """Return rows as one array per column."""
        return [ARRAYS[kind](column) for kind, column in zip(self.columns, zip(*rows, strict=True), strict=True)]

    def bound(self, params: Params) -> Params:
        """Return parameters with lists as arrays. ``held_2`` is the second column of the list of rows ``held``."""
        if not self.lists:
            return params
        bound = dict(params)
        for name, kind in self.lists:
            if name in params:
                bound[name] = ARRAYS[kind](params[name])
            else:
                part = _PART.fullmatch(name)
                assert part is not None, name
                bound[name] = ARRAYS[kind]([row[int(part[2]) - 1] for row in params[part[1]]])
        return bound


@cache
def load_statements() -> dict[str, Statement]:
    """Return the statements by name."""
    statements = {}
    for name, text in load_queries(PACKAGE).items():
        lists = tuple(dict.fromkeys(_NAMED.findall(text)))
        statements[name] = Statement(text.encode(), tuple(_POSITIONAL.findall(text)), lists)
    return statements


@cache
def optimistic_run_insert() -> Statement:
    """Return ``run_insert_fast`` without its ON CONFLICT clause: a row that exists already is an error."""
    statement = load_statements()["run_insert_fast"]
    return statement._replace(text=statement.text.rpartition(b"ON CONFLICT")[0])


@cache
def all_in_flight_query() -> bytes:
    """Return ``run_list_in_flight`` for all schedules: one statement, so that states and runs are consistent."""
    text = load_statements()["run_list_in_flight"].text
    busy = load_statements()["state_list_in_flight"].text.rpartition(b"\nSELECT")[2]
    some = b"unnest(%s::bigint[], %s::bigint[]) AS of (busy_key, busy)"
    assert some in text
    return text.replace(some, b"(SELECT" + busy + b") AS of (busy_key, busy)")
