"""Outages of targets: which targets cannot be reached, and when the next launch may call each of them.

While a target is down, its launches do not call it. Their runs wait in the store. When the backoff has passed, one
launch calls the target, and the others wait for its result, in order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tompion.config.settings import Settings
from tompion.errors import TargetUnreachable
from tompion.runtime.clock import wait

MAX_PROBE_S = 2.0
"""A target that has not failed a launch for this long counts as reachable, although the launch has not ended."""
MAX_BACKOFF_DOUBLINGS = 10
FORGET_MS = 600_000
"""An outage is forgotten if no launch has called the target for this long after the backoff."""


class Outage:
    """The outage of one target."""

    __slots__ = ("error", "failures", "probe", "retry_ms")

    def __init__(self) -> None:
        self.failures = 0
        self.retry_ms = 0
        self.error = ""
        self.probe: asyncio.Event | None = None
        """Set when the launch that calls the target again has its result. None while no launch does."""

    def end_probe(self) -> None:
        """Wake the launches that wait for the result of the probe."""
        if self.probe is not None:
            self.probe.set()
            self.probe = None


class TargetOutages:
    """The targets that cannot be reached, with a backoff for each. Instants are milliseconds of the store's clock."""

    def __init__(self, now_ms: Callable[[], int], settings: Settings) -> None:
        self.now_ms = now_ms
        self._backoff_ms = settings.launch_backoff_ms
        self._max_backoff_ms = settings.max_launch_backoff_ms
        self.by_address: dict[str, Outage] = {}

    async def admit(self, address: str, on_wait: Callable[[bool], None]) -> bool:
        """Wait until a launch may call a target. Return whether it is the probe of a target that was down.

        Raises :class:`TargetUnreachable` during the backoff, without a call.
        """
        while (outage := self.by_address.get(address)) is not None:
            if self.now_ms() < outage.retry_ms:
                error = TargetUnreachable(outage.error)
                error.was_called = False
                raise error
            if outage.probe is None:
                outage.probe = asyncio.Event()
                return True
            on_wait(True)
            has_result = await wait(outage.probe, MAX_PROBE_S)
            on_wait(False)
            if not has_result and self.by_address.get(address) is outage:
                self.record_contact(address)
        return False

    def record_contact(self, address: str) -> None:
        """Record that a launch has reached a target."""
        outage = self.by_address.pop(address, None)
        if outage is not None:
            outage.end_probe()

    def record_failure(self, address: str, error: str, retry_after_s: float | None) -> bool:
        """Record that a launch has not reached a target. Return whether this is the first failure.

        Launches that fail at the same time count as one failure.
        """
        now_ms = self.now_ms()
        is_first = address not in self.by_address
        if is_first:
            self._forget_old(now_ms)
        outage = self.by_address.setdefault(address, Outage())
        outage.error = error
        if now_ms >= outage.retry_ms:
            doublings = min(outage.failures, MAX_BACKOFF_DOUBLINGS)
            outage.retry_ms = now_ms + min(self._backoff_ms << doublings, self._max_backoff_ms)
            outage.failures += 1
        if retry_after_s is not None:
            outage.retry_ms = max(outage.retry_ms, now_ms + int(retry_after_s * 1000))
        outage.end_probe()
        return is_first

    def withdraw_probe(self, address: str) -> None:
        """Let another launch call a target, because the launch that was to call it was cancelled."""
        outage = self.by_address.get(address)
        if outage is not None:
            outage.end_probe()

    def retry_ms(self, address: str) -> int:
        """Return when the next launch may call a target."""
        outage = self.by_address.get(address)
        return self.now_ms() if outage is None else outage.retry_ms

    def count(self) -> int:
        """Return the number of targets that cannot be reached."""
        self._forget_old(self.now_ms())
        return len(self.by_address)

    def _forget_old(self, now_ms: int) -> None:
        """Forget the outages of targets that no run is waiting for."""
        for address, outage in list(self.by_address.items()):
            if outage.probe is None and outage.retry_ms < now_ms - FORGET_MS:
                del self.by_address[address]
