"""A period of time that is divided into buckets of equal length."""

from __future__ import annotations

from typing import NamedTuple

from tompion.errors import InvalidField, display


class TimeBuckets(NamedTuple):
    """``number`` buckets from ``since_ms`` on, each ``length_ms`` long."""

    since_ms: int
    length_ms: int
    number: int

    @property
    def until_ms(self) -> int:
        """Return the end of the last bucket."""
        return self.start_ms(self.number)

    def start_ms(self, index: int) -> int:
        """Return the start of a bucket."""
        return self.since_ms + index * self.length_ms

    def index_of(self, moment_ms: int) -> int:
        """Return the bucket of a moment. Moments before the first bucket belong to it."""
        return max(0, moment_ms - self.since_ms) // self.length_ms


def check_buckets(seconds: object, buckets: object, max_seconds: int, max_buckets: int) -> None:
    """Raise :class:`~tompion.errors.InvalidField` unless a period and its number of buckets are valid."""
    for name, value, max_value in (("seconds", seconds, max_seconds), ("buckets", buckets, max_buckets)):
        if type(value) is not int or not 1 <= value <= max_value:
            raise InvalidField(name, f"{display(value)}; expected a whole number from 1 to {max_value}")
    if buckets > seconds:  # type: ignore[operator]  # both are whole numbers by now
        raise InvalidField("buckets", f"{buckets} in {seconds} seconds; expected buckets of at least a second")
