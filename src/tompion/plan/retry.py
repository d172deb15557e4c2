"""The delay before a failed run is attempted again."""

from __future__ import annotations

from tompion.model.policy import Policy

MAX_BACKOFF_DOUBLINGS = 10
"""The delay of a retry doubles with each failure, at most this many times."""


def retry_delay_ms(policy: Policy, failures: int) -> int:
    """Return the delay before the next attempt: ``retry_delay_ms``, doubled with each failure after the first."""
    return policy.retry_delay_ms << min(failures - 1, MAX_BACKOFF_DOUBLINGS)
