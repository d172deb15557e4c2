"""Changes as Server-Sent Events. One poll of the store serves all listeners of this process."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, NamedTuple, TypeVar

from tompion.api.rest.long_poll import set_from_thread
from tompion.contract.json import encode
from tompion.errors import LimitExceeded, TompionError
from tompion.model.insight import Update
from tompion.model.schedule import Run
from tompion.operations.insight.change_feed import RECENT_MS, FeedPage, FeedPosition, poll_changes
from tompion.operations.runner import OperationRunner
from tompion.runtime.clock import pause

T = TypeVar("T")
MAX_POLL_INTERVAL_S = 1.0
"""Not every store reports every change, so it is polled after this time in any case."""
MIN_POLL_INTERVAL_S = 0.2
KEEPALIVE_S = 15.0
"""A comment is sent after this time without an event."""
MAX_QUEUED_EVENTS = 1_000
"""A listener that is further behind gets a ``reset`` event instead and must reload."""
MAX_LISTENERS, MAX_LISTENERS_PER_ACTOR = 1_000, 100
ACCESS_TTL_S = 2.0
"""The access of a listener is checked again after this time."""
HELLO, RESET = b"event: hello\ndata: {}\n\n", b"event: reset\ndata: {}\n\n"
KEEPALIVE = b": alive\n\n"
EventQueue = asyncio.Queue[bytes | None]
"""The events for one listener. ``None`` ends its stream."""


class SseListener(NamedTuple):
    """A connected client."""

    namespace: str
    actor: str


class SentEvent(NamedTuple):
    """An event of a namespace, or of all of them, and its time by the clock of the event loop."""

    at_s: float
    namespace: str | None
    event: bytes


class ChangeStream:
    """Polls the store for changes and sends them to the listeners.

    A new listener first gets the changes of the last seconds, because they may be newer than the data it has read.
    """

    def __init__(self, runner: OperationRunner) -> None:
        self._runner = runner
        self._listeners: dict[EventQueue, SseListener] = {}
        self._poller: asyncio.Task[None] | None = None
        self._recent: deque[SentEvent] = deque(maxlen=MAX_QUEUED_EVENTS)
        self.closed: bool = False

    async def events(
        self, namespace: str, actor: str, check_access: Callable[[], Awaitable[None]]
    ) -> AsyncIterator[bytes]:
        """Return the events of a namespace, until the client disconnects or the service stops.

        ``check_access`` raises when the caller has lost its access, for example because its key was revoked.
        """
        if len(self._listeners) >= MAX_LISTENERS:
            raise LimitExceeded(f"at most {MAX_LISTENERS} clients can listen to events at the same time; retry later")
        if sum(listener.actor == actor for listener in self._listeners.values()) >= MAX_LISTENERS_PER_ACTOR:
            raise LimitExceeded(f"{actor} has {MAX_LISTENERS_PER_ACTOR} event streams already; close some of them")
        queue: EventQueue = asyncio.Queue(MAX_QUEUED_EVENTS)
        self._listeners[queue] = SseListener(namespace, actor)
        if self._poller is None:
            self._recent.clear()
            self._poller = asyncio.create_task(self._poll_forever())
        since_s = asyncio.get_running_loop().time() - RECENT_MS / 1000
        for sent in self._recent:
            if sent.at_s >= since_s and sent.namespace in (None, namespace):
                queue.put_nowait(sent.event)
        return self._stream(queue, check_access)

    def close(self) -> None:
        """End all streams. Long polls end soon after."""
        self.closed = True
        for queue in self._listeners:
            _clear(queue)
            queue.put_nowait(None)

    async def _stream(self, queue: EventQueue, check_access: Callable[[], Awaitable[None]]) -> AsyncIterator[bytes]:
        """Yield the events of a queue and keepalives, until the caller loses access or the feed ends."""
        loop = asyncio.get_running_loop()
        checked_s = loop.time()
        try:
            yield HELLO
            while True:
                getting = await _wait_for(queue.get(), KEEPALIVE_S)
                if not getting.done():
                    yield KEEPALIVE
                    continue
                event = getting.result()
                if event is None:
                    return
                if loop.time() - checked_s > ACCESS_TTL_S:
                    await check_access()
                    checked_s = loop.time()
                yield event
        except TompionError:
            return
        finally:
            self._remove(queue)

    def _remove(self, queue: EventQueue) -> None:
        self._listeners.pop(queue, None)
        if not self._listeners and self._poller is not None:
            self._poller.cancel()
            self._poller = None

    async def _poll_forever(self) -> None:
        """Read changes from the store and send them to all subscribers."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        unsubscribe = self._runner.store.subscribe(lambda: set_from_thread(loop, changed))
        position: FeedPosition | None = None
        try:
            while True:
                changed.clear()
                page = await self._poll(position)
                if page is not None:
                    position = page.seen
                    self._send(page)
                await _wait_for(changed.wait(), MAX_POLL_INTERVAL_S)
                await pause(MIN_POLL_INTERVAL_S)
        finally:
            unsubscribe()

    async def _poll(self, position: FeedPosition | None) -> FeedPage | None:
        """Return the changes after a position, or ``None`` if the store does not answer."""
        try:
            future = self._runner.send(
                partial(poll_changes, seen=position), namespace="", actor="live", writes=False, restricted=False
            )
            return await asyncio.wrap_future(future)
        except TompionError:
            return None

    def _send(self, page: FeedPage) -> None:
        """Queue the events of a page for the listeners of their namespace. Reset a listener whose queue is full."""
        now_s = asyncio.get_running_loop().time()
        events = [SentEvent(now_s, namespace, _encode_event(update)) for namespace, update in page.updates]
        if page.behind:
            self._recent.append(SentEvent(now_s, None, RESET))
        self._recent.extend(events)
        for queue, listener in self._listeners.items():
            if page.behind:
                _reset(queue)
            for sent in events:
                if sent.namespace != listener.namespace:
                    continue
                if queue.full():
                    _reset(queue)
                    break
                queue.put_nowait(sent.event)


async def _wait_for(awaitable: Coroutine[Any, Any, T], seconds: float) -> asyncio.Task[T]:
    """Wait for a coroutine at most so long, and return its task. A task that is not done is cancelled."""
    task = asyncio.ensure_future(awaitable)
    try:
        await asyncio.wait([task], timeout=seconds)
    finally:
        task.cancel()
    return task


def _reset(queue: EventQueue) -> None:
    _clear(queue)
    queue.put_nowait(RESET)


def _clear(queue: EventQueue) -> None:
    while not queue.empty():
        queue.get_nowait()


def _encode_event(update: Update) -> bytes:
    kind = "run" if isinstance(update, Run) else "edit"
    return f"event: {kind}\ndata: {json.dumps(encode(update))}\n\n".encode()
