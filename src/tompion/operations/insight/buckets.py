"""The equal buckets of time in which statistics and forecasts count."""

from __future__ import annotations

from tompion.errors import InvalidField
from tompion.operations.validation import check_whole


def bucket_length_ms(seconds: int, buckets: int, max_seconds: int, max_buckets: int) -> int:
    """Return the length of one of the buckets of a window. Raises :class:`~tompion.errors.InvalidField`."""
    check_whole("seconds", seconds, 1, max_seconds)
    check_whole("buckets", buckets, 1, max_buckets)
    if buckets > seconds:
        raise InvalidField("buckets", f"{buckets} in {seconds} seconds; expected buckets of at least a second")
    return seconds * 1000 // buckets
