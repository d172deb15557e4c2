"""Rate limits: token buckets by name.

The buckets belong to this process. Each instance behind one address allows the full rate.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from tompion.errors import TooManyRequests

MAX_BUCKETS = 10_000


class RateLimiter:
    """Token buckets by name. Each holds the tokens of one second. ``per_s`` 0 is no limit."""

    def __init__(self, per_s: int) -> None:
        self.per_s = per_s
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> bool:
        """Take a token from a bucket. Return ``False`` if it is empty."""
        if not self.per_s:
            return True
        now = asyncio.get_running_loop().time()
        tokens, since = self._buckets.pop(name, (float(self.per_s), now))
        tokens = min(float(self.per_s), tokens + (now - since) * self.per_s)
        self._buckets[name] = (tokens - 1 if tokens >= 1 else tokens, now)
        if len(self._buckets) > MAX_BUCKETS:
            self._buckets.popitem(last=False)
        return tokens >= 1


class NamespaceRateLimiter(RateLimiter):
    """The rate limit of each namespace, so that no tenant slows down the others.

    Only requests of authorised callers count. Others cannot use up the rate of a namespace.
    """

    def admit(self, namespace: str) -> None:
        """Take a token. Raises :class:`~tompion.errors.TooManyRequests`."""
        if not self.take(namespace):
            raise TooManyRequests(
                f"more than {self.per_s} requests per second for namespace {namespace!r} (namespace_requests_per_s)"
            )
