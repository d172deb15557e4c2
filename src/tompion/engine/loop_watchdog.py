"""Watches the event loop from a thread: a function that blocks it must not cost the instance its lease.

An ``async`` function that computes or waits without ``await`` blocks every task of the process, heartbeats included.
Other instances would take over all of its runs, although the process is alive. The thread renews the lease while the
loop is blocked, and logs where it is. After :data:`MAX_BLOCKED_LEASES` leases the loop counts as dead.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback

from tompion.engine.context import EngineContext
from tompion.engine.lease import Lease

MAX_INTERVAL_S = 5.0
"""Longest interval between two checks."""
CHECKS_PER_HEARTBEAT = 3
MAX_BLOCKED_LEASES = 10
"""A loop that is blocked for this many times ``lock_ttl_ms`` loses its lease."""


class LoopWatchdog:
    """Renews the lease of an engine while its event loop is blocked."""

    def __init__(self, context: EngineContext, lease: Lease) -> None:
        self._context = context
        self._lease = lease
        self._over = threading.Event()
        self._answered = threading.Event()
        self._interval_s = min(MAX_INTERVAL_S, context.settings.heartbeat_ms / 1000 / CHECKS_PER_HEARTBEAT)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread_id = 0

    def start(self) -> None:
        """Watch the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread_id = threading.get_ident()
        threading.Thread(target=self._watch, name="tompion-loop-watchdog", daemon=True).start()

    def stop(self) -> None:
        """Stop watching."""
        self._over.set()
        self._answered.set()  # it may be waiting for the loop

    def _watch(self) -> None:
        while not self._over.wait(self._interval_s):
            self._answered.clear()
            if not self._ping():
                return
            if not self._answered.wait(self._interval_s) and not self._over.is_set():
                self._keep_lease()

    def _ping(self) -> bool:
        """Let the event loop answer. Return False if it is closed."""
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(self._answered.set)
        except RuntimeError:
            return False
        return True

    def _keep_lease(self) -> None:
        """Report the blocked loop, and renew the lease until the loop answers."""
        events = self._context.events
        events.count("event_loop_blocked")
        frame = sys._current_frames().get(self._thread_id)  # noqa: SLF001 - the only way to see another thread's stack
        stack = "" if frame is None else "".join(traceback.format_stack(frame)[-5:])
        events.warn(
            "the event loop has been blocked for more than "
            f"{self._interval_s:g} s: no run starts or ends meanwhile. A thread renews the lease. Call blocking code "
            f"in a plain function, which runs in a thread. The loop is at:\n{stack}"
        )
        limit = MAX_BLOCKED_LEASES * self._context.settings.lock_ttl_ms / 1000 / self._interval_s
        rounds = 0
        while not self._answered.is_set() and not self._over.is_set() and rounds < limit:
            try:
                self._lease.renew_in_thread()
            except Exception as error:  # noqa: BLE001 - the thread must survive any error
                events.report_failure("cannot renew the lease, will retry", error)
            rounds += 1
            self._answered.wait(self._interval_s)
        while not self._answered.is_set() and not self._over.is_set():
            self._answered.wait(self._interval_s)
