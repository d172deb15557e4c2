"""How often somebody may ask: a bucket for each, which fills up as time passes.

A bucket is of this process: instances behind one address each allow as much.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from tompion.errors import TooManyRequests

REMEMBERED = 10_000


class RateLimiter:
    """Buckets by name; a second's worth fits into each."""

    def __init__(self, per_s: int) -> None:
        """Take how many a second fill a bucket; 0 is no bound."""
        self.per_s = per_s
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def has_turn(self, who: str) -> bool:
        """Take one from a bucket; False if there is none left."""
        if not self.per_s:
            return True
        now = asyncio.get_running_loop().time()
        left, since = self._buckets.pop(who, (float(self.per_s), now))
        left = min(float(self.per_s), left + (now - since) * self.per_s)
        self._buckets[who] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > REMEMBERED:
            self._buckets.popitem(last=False)
        return left >= 1


class NamespaceRateLimiter(RateLimiter):
    """How often a namespace may be asked about, whoever asks: no tenant takes the place of the others.

    Only those count who may do what they ask for: nobody uses up what belongs to another tenant.
    """

    def admit(self, namespace: str) -> None:
        """Take one; raises :class:`~tompion.errors.TooManyRequests`."""
        if not self.has_turn(namespace):
            raise TooManyRequests(
                f"more than {self.per_s} requests per second about the namespace {namespace!r} "
                "(namespace_requests_per_s)"
            )
