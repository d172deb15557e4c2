"""Whether an engine really works, and telling so to somebody outside who would miss it.

A process that hangs cannot say so.  Somebody else notices: it is told again and again that all is well, and raises the
alarm when that stops.
"""

from __future__ import annotations

import asyncio

from tompion.engine.context import EngineContext


class EngineHealth:
    """When an engine last looked for work, and what keeps it from doing so."""

    def __init__(self, instance: EngineContext) -> None:
        """Begin with an engine that has not begun."""
        self._instance = instance
        self._loop: asyncio.AbstractEventLoop | None = None
        self._beaten_s = 0.0
        self._error: str | None = None

    def begin(self) -> None:
        """Note that the engine starts, in this event loop."""
        self._loop = asyncio.get_running_loop()
        self._beaten_s = self._loop.time()

    def beat(self) -> None:
        """Note that the engine has looked for work, and done what was due."""
        assert self._loop is not None
        self._beaten_s, self._error = self._loop.time(), None

    def stumble(self, error: Exception) -> None:
        """Note why it could not."""
        self._error = f"{type(error).__name__}: {error}"

    def problems(self) -> list[str]:
        """Return what keeps the engine from working; nothing, if it works."""
        if self._loop is None:
            return ["the engine has not started"]
        found = []
        silent_s = self._loop.time() - self._beaten_s
        if silent_s * 1000 > self._instance.settings.stalled_after_ms:
            found.append(f"the engine has not looked for work for {silent_s:.0f} s ({self._error or 'it hangs'})")
        if abs(self._instance.skew_ms) > self._instance.settings.max_clock_skew_ms:
            found.append(f"this clock is {self._instance.skew_ms} ms off the database's: nothing is fired here")
        return found
