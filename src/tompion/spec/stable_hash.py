"""The hash behind ``H`` and jitter, which must never change.

Both turn the id of a schedule into a number. The function is part of the public contract: changing it would move the
fires of every schedule that uses it. It is the first eight bytes of BLAKE2b over the parts, each preceded by its
length, so that different inputs never have the same bytes.
"""

from __future__ import annotations

from hashlib import blake2b

_BITS = 64


def hash_bits(*parts: str) -> int:
    """Return 64 evenly distributed bits that depend on all parts and nothing else."""
    digest = blake2b(digest_size=_BITS // 8)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(4, "big"))
        digest.update(data)
    return int.from_bytes(digest.digest(), "big")


def hash_number(schedule_id: str, purpose: str, count: int) -> int:
    """Return a number from 0 to ``count - 1`` for a schedule. Different purposes are independent."""
    return hash_bits(purpose, schedule_id) * count >> _BITS
