"""A function blocks the event loop for longer than the lease, and a thread keeps the lease."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from tests.support.waiting import SECONDS
from tompion.config.settings import Settings
from tompion.engine.engine import Engine
from tompion.engine.telemetry.events import EngineEvents, Event
from tompion.runtime.clock import SystemClock
from tompion.store.sqlite.driver import SqliteStore

SETTINGS = Settings(heartbeat_ms=60, lock_ttl_ms=600_000)


def test_thread_renews_the_lease_while_the_event_loop_is_blocked(tmp_path: Path) -> None:
    """Regression: other instances took over the runs of a process whose function blocked its loop."""
    store, reported, events = SqliteStore(tmp_path / "tompion.db"), threading.Event(), list[Event]()

    def listen(event: Event) -> None:
        events.append(event)
        if event.kind == "warning":
            reported.set()

    engine = Engine(store, {}, clock=SystemClock(), settings=SETTINGS, events=EngineEvents(listen), watch_loop=True)
    renewed = threading.Semaphore(0)
    renew = engine.lease.renew_in_thread

    def renew_and_signal() -> None:
        renew()
        renewed.release()

    engine.lease.renew_in_thread = renew_and_signal  # type: ignore[method-assign]  # a wrapper that signals

    def heartbeat_ms() -> int:
        rows = store.write(lambda t: t.instance_list("default", 1)).result(SECONDS)
        return rows[0].heartbeat_ms

    async def block() -> None:
        await engine.start()
        before_ms, before_s = heartbeat_ms(), engine.context.lease_until_s
        assert reported.wait(SECONDS), "nothing was reported while this function blocks the loop"
        assert all(renewed.acquire(timeout=SECONDS) for _ in range(3))
        assert heartbeat_ms() > before_ms
        assert engine.context.lease_until_s > before_s
        await engine.stop(0)

    try:
        asyncio.run(block())
    finally:
        store.close()
    warning = next(event.text for event in events if event.kind == "warning")
    assert "the event loop has been blocked" in warning
    assert "assert reported.wait(SECONDS)" in warning, "the log shows the line that blocks"
    assert engine.events.counts["event_loop_blocked"] == 1
