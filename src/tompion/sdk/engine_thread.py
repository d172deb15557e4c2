"""An engine in a background thread, for programs without an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future

from tompion.engine.engine import Engine
from tompion.runtime import event_loop
from tompion.sdk.remote_worker import RemoteWorker


class EngineThread:
    """An engine in a background thread with its own event loop. The constructor returns when it runs."""

    def __init__(self, build: Callable[[], Engine | RemoteWorker]) -> None:
        self._started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = threading.Thread(target=self._run, args=(build,), name="tompion-engine", daemon=True)
        self._grace_s: float | None = None
        self._thread.start()
        self._loop, self._stopped = self._started.result()

    def stop(self, grace_s: float | None = None, wait_s: float | None = None) -> bool:
        """Stop gracefully. Return whether it has stopped within ``wait_s``."""
        self._grace_s = grace_s
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(wait_s)
        return not self._thread.is_alive()

    def _run(self, build: Callable[[], Engine | RemoteWorker]) -> None:
        event_loop.run(self._serve(build))

    async def _serve(self, build: Callable[[], Engine | RemoteWorker]) -> None:
        stopped = asyncio.Event()
        try:
            engine = build()
            await engine.start()
        except BaseException as error:  # noqa: BLE001 - the thread that started this one raises it
            self._started.set_exception(error)
            return
        self._started.set_result((asyncio.get_running_loop(), stopped))
        await stopped.wait()
        await engine.stop(self._grace_s)
