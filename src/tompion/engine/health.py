"""Engine health: when the engine last looked for work, and the problems that stop it."""

from __future__ import annotations

import asyncio

from tompion.engine.context import EngineContext


class EngineHealth:
    """Health of one engine."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._loop: asyncio.AbstractEventLoop | None = None
        self._passed_s = 0.0
        self._overdue_since_s: float | None = None
        self._error: str | None = None

    def start(self) -> None:
        """Record that the engine starts in the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._passed_s = self._loop.time()

    def record_pass(self) -> None:
        """Record that the engine has looked for work and done it."""
        assert self._loop is not None
        self._passed_s, self._error = self._loop.time(), None

    def record_overdue(self, is_overdue: bool) -> None:
        """Record whether ticks were due longer ago than the grace period when the engine looked for work."""
        assert self._loop is not None
        if not is_overdue:
            self._overdue_since_s = None
        elif self._overdue_since_s is None:
            self._overdue_since_s = self._loop.time()

    @property
    def overdue_s(self) -> float:
        """Return how long the engine has had overdue ticks."""
        since_s = self._overdue_since_s
        return 0.0 if since_s is None or self._loop is None else self._loop.time() - since_s

    def record_error(self, error: Exception) -> None:
        """Record why the engine could not look for work."""
        self._error = f"{type(error).__name__}: {error}"

    def problems(self) -> list[str]:
        """Return the problems that stop the engine. The list is empty if it works."""
        if self._loop is None:
            return ["the engine has not started"]
        problems = []
        silent_s = self._loop.time() - self._passed_s
        if silent_s * 1000 > self._context.settings.stalled_after_ms:
            problems.append(f"the engine has not looked for work for {silent_s:.0f} s ({self._error or 'it hangs'})")
        elif self._error is not None:
            problems.append(f"the engine cannot fire schedules: {self._error}")
        if self.overdue_s * 1000 > self._context.settings.overloaded_after_ms:
            problems.append(
                f"the engine is overloaded: for {self.overdue_s:.0f} s, ticks have been later than the grace period"
            )
        if abs(self._context.skew_ms) > self._context.settings.max_clock_skew_ms:
            problems.append(
                f"the clock of this machine differs from the database's by {self._context.skew_ms} ms: no schedule "
                "fires here"
            )
        return problems
