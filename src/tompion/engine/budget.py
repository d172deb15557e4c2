"""How many missed ticks may start now: a token bucket, an instance's share of what the fleet allows."""

from __future__ import annotations


class Budget:
    """So many a second, and no more than a second's worth at once."""

    def __init__(self, rate_per_s: int) -> None:
        """Take the rate of the whole fleet."""
        self._rate = rate_per_s
        self._tokens = float(rate_per_s)
        self._at: float | None = None
        self.instances = 1

    def available(self, now: float) -> int:
        """Return what may be used at a moment (of a clock that only moves forward)."""
        rate = self._rate / max(1, self.instances)
        if self._at is not None:
            self._tokens = min(max(1.0, rate), self._tokens + (now - self._at) * rate)
        self._at = now
        return int(self._tokens)

    def use(self, number: int) -> None:
        """Take from the bucket."""
        self._tokens -= number
