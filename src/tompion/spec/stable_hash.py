"""Spreading schedules by a hash, the same for ever.

``H`` in a cron field and jitter both turn a schedule's id into a number.  The function is part of what is promised to
users: changing it would move the fires of every schedule that uses it.  It is the first eight bytes of BLAKE2b over
the parts, each preceded by its length, so that no two different inputs are ever the same bytes.
"""

from __future__ import annotations

from hashlib import blake2b

_BITS = 64


def hashed_fraction(*parts: str) -> int:
    """Return 64 evenly spread bits that depend on all parts and nothing else."""
    digest = blake2b(digest_size=_BITS // 8)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(4, "big"))
        digest.update(data)
    return int.from_bytes(digest.digest(), "big")


def hashed_number(schedule_id: str, purpose: str, count: int) -> int:
    """Return a number from 0 to ``count - 1`` for a schedule; different purposes are independent."""
    return hashed_fraction(purpose, schedule_id) * count >> _BITS
