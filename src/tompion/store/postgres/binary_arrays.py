"""Columns of rows as binary PostgreSQL arrays, so that one statement handles any number of rows.

The adaptation of lists in psycopg looks at each element. Here the common cases take a few calls into C for a whole
column: one repeated value, only integers, few distinct values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import pack
from typing import Any, ClassVar

from psycopg.abc import AdaptContext
from psycopg.adapt import AdaptersMap, Dumper
from psycopg.pq import Format

_NULL = pack(">i", -1)


class BinaryArray(bytes):
    """An array in the binary format of the server."""

    __slots__ = ()
    oid: ClassVar[int]
    element_oid: ClassVar[int]

    @classmethod
    def of(cls, column: Sequence[Any]) -> BinaryArray:
        """Return a column as an array. ``None`` becomes NULL."""
        if not column:
            return cls(pack(">iii", 0, 0, cls.element_oid))
        return cls(pack(">iiiii", 1, 1, cls.element_oid, len(column), 1) + cls._body(column))

    @classmethod
    def _element(cls, value: Any) -> bytes:
        raise NotImplementedError

    @classmethod
    def _body(cls, column: Sequence[Any]) -> bytes:
        first, size = column[0], len(column)
        if column.count(first) == size:
            return cls._or_null(first) * size
        elements = {value: cls._or_null(value) for value in set(column)}
        return b"".join([elements[value] for value in column])

    @classmethod
    def _or_null(cls, value: Any) -> bytes:
        return _NULL if value is None else cls._element(value)


class BigintArray(BinaryArray):
    """An array of integers."""

    __slots__ = ()
    oid = 1016
    element_oid = 20

    @classmethod
    def _element(cls, value: int) -> bytes:
        return pack(">iq", 8, value)

    @classmethod
    def _body(cls, column: Sequence[Any]) -> bytes:
        size = len(column)
        if None in column or column.count(column[0]) == size:
            return super()._body(column)
        # Each element is its length, always 8, and eight bytes. Each byte position is written for all rows at once.
        values = pack(f">{size}q", *column)
        body = bytearray(12 * size)
        body[3::12] = b"\x08" * size
        for place in range(8):
            body[4 + place :: 12] = values[place::8]
        return bytes(body)


class BooleanArray(BinaryArray):
    """An array of booleans."""

    __slots__ = ()
    oid = 1000
    element_oid = 16

    @classmethod
    def _element(cls, value: bool) -> bytes:
        return pack(">i?", 1, value)


class TextArray(BinaryArray):
    """An array of strings."""

    __slots__ = ()
    oid = 1009
    element_oid = 25

    @classmethod
    def _element(cls, value: str) -> bytes:
        encoded = value.encode()
        return pack(">i", len(encoded)) + encoded


ARRAYS: dict[str, Callable[[Sequence[Any]], BinaryArray]] = {
    "bigint": BigintArray.of,
    "boolean": BooleanArray.of,
    "text": TextArray.of,
}


class _Untyped(Dumper):
    """Dumps integers without a type, so that the server infers it from the statement.

    psycopg would choose a type by the size of each value and prepare the statement again for each combination.
    """

    oid = 0

    def dump(self, obj: int) -> bytes:
        return b"%d" % obj


class _Binary(Dumper):
    """Dumps arrays that are already encoded."""

    format = Format.BINARY

    def __init__(self, cls: type[BinaryArray], context: AdaptContext | None = None) -> None:
        super().__init__(cls, context)
        self.oid = cls.oid

    def dump(self, obj: BinaryArray) -> bytes:
        return obj


def register(adapters: AdaptersMap) -> None:
    """Register the dumpers of parameters on a connection."""
    adapters.register_dumper(int, _Untyped)
    for array in (BigintArray, BooleanArray, TextArray):
        adapters.register_dumper(array, _Binary)
