"""Live changes as Server-Sent Events: one look at the store for everybody who listens, while somebody does."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, NamedTuple, TypeVar

from tompion.api.rest.long_poll import wake
from tompion.contract.json import encode
from tompion.errors import LimitExceeded, TompionError
from tompion.model.insight import Update
from tompion.model.schedule import Run
from tompion.operations.insight.change_feed import RECENT_MS, FeedPage, FeedPosition, poll_changes
from tompion.operations.runner import OperationRunner
from tompion.runtime.clock import pause

T = TypeVar("T")
EVERY_S = 1.0
"""How long the store is left alone at most; not every change is announced."""
REST_S = 0.2
"""How long it is left alone at least."""
ALIVE_S = 15.0
"""After which silence a comment says that the stream is alive."""
WAITING = 1_000
"""How many events wait for a slow listener; then it is told to begin anew."""
LISTENERS, LISTENERS_OF_ONE = 1_000, 100
RECHECK_S = 2.0
"""For how long whoever was let in is believed."""
HELLO, RESET = b"event: hello\ndata: {}\n\n", b"event: reset\ndata: {}\n\n"
ALIVE = b": alive\n\n"


class SseListener(NamedTuple):
    """Who listens, and to what."""

    namespace: str
    actor: str


class QueuedEvent(NamedTuple):
    """What was told to a namespace, or to everybody, and when by the clock of the loop."""

    at_s: float
    namespace: str | None
    event: bytes


class ChangeStream:
    """Looks on, and tells whoever listens.

    Whoever begins to listen is told what has changed lately: it may have read before that, and would miss it.
    """

    def __init__(self, runner: OperationRunner) -> None:
        """Take what to look at."""
        self._runner = runner
        self._listeners: dict[asyncio.Queue[bytes | None], SseListener] = {}
        self._looking: asyncio.Task[None] | None = None
        self._lately: deque[QueuedEvent] = deque(maxlen=WAITING)
        self.closed = False

    async def events(
        self, namespace: str, actor: str, may_still: Callable[[], Awaitable[None]]
    ) -> AsyncIterator[bytes]:
        """Yield the changes in a namespace from shortly before now on, until nobody listens or the service ends.

        ``may_still`` raises once whoever listens may no longer do so: keys are revoked, and tokens end.
        """
        if len(self._listeners) >= LISTENERS:
            raise LimitExceeded(f"{LISTENERS} listen already; ask again later")
        if sum(each.actor == actor for each in self._listeners.values()) >= LISTENERS_OF_ONE:
            raise LimitExceeded(f"{LISTENERS_OF_ONE} listen already as {actor}; end some of them")
        waiting: asyncio.Queue[bytes | None] = asyncio.Queue(WAITING)
        self._listeners[waiting] = SseListener(namespace, actor)
        if self._looking is None:
            self._lately.clear()
            self._looking = asyncio.create_task(self._look_on())
        since_s = asyncio.get_running_loop().time() - RECENT_MS / 1000
        for told in self._lately:
            if told.at_s >= since_s and told.namespace in (None, namespace):
                waiting.put_nowait(told.event)
        return self._told(waiting, may_still)

    def close(self) -> None:
        """End every stream; whoever waits for something else is to give up soon."""
        self.closed = True
        for waiting in self._listeners:
            _empty(waiting)
            waiting.put_nowait(None)

    async def _told(
        self, waiting: asyncio.Queue[bytes | None], may_still: Callable[[], Awaitable[None]]
    ) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        asked_s = loop.time()
        try:
            yield HELLO
            while True:
                getting = await _tried(waiting.get(), ALIVE_S)
                if not getting.done():
                    yield ALIVE
                    continue
                event = getting.result()
                if event is None:
                    return
                if loop.time() - asked_s > RECHECK_S:
                    await may_still()
                    asked_s = loop.time()
                yield event
        except TompionError:
            return
        finally:
            self._leave(waiting)

    def _leave(self, waiting: asyncio.Queue[bytes | None]) -> None:
        self._listeners.pop(waiting, None)
        if not self._listeners and self._looking is not None:
            self._looking.cancel()
            self._looking = None

    async def _look_on(self) -> None:
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        unsubscribe = self._runner.store.subscribe(lambda: wake(loop, changed))
        seen: FeedPosition | None = None
        try:
            while True:
                changed.clear()
                looked = await self._looked(seen)
                if looked is not None:
                    seen = looked.seen
                    self._tell(looked)
                await _tried(changed.wait(), EVERY_S)
                await pause(REST_S)
        finally:
            unsubscribe()

    async def _looked(self, seen: FeedPosition | None) -> FeedPage | None:
        """Look once; a store that cannot be used just now is looked at later."""
        try:
            sent = self._runner.send(
                partial(poll_changes, seen=seen), namespace="", actor="live", writes=False, walled=False
            )
            return await asyncio.wrap_future(sent)
        except TompionError:
            return None

    def _tell(self, looked: FeedPage) -> None:
        now_s = asyncio.get_running_loop().time()
        events = [QueuedEvent(now_s, namespace, _event(update)) for namespace, update in looked.updates]
        if looked.behind:
            self._lately.append(QueuedEvent(now_s, None, RESET))
        self._lately.extend(events)
        for waiting, listener in self._listeners.items():
            if looked.behind:
                _begin_anew(waiting)
            for told in events:
                if told.namespace != listener.namespace:
                    continue
                if waiting.full():
                    _begin_anew(waiting)
                    break
                waiting.put_nowait(told.event)


async def _tried(awaited: Coroutine[Any, Any, T], seconds: float) -> asyncio.Task[T]:
    """Wait for something, no longer than so; whoever stops waiting leaves nothing behind."""
    task = asyncio.ensure_future(awaited)
    try:
        await asyncio.wait([task], timeout=seconds)
    finally:
        task.cancel()
    return task


def _begin_anew(waiting: asyncio.Queue[bytes | None]) -> None:
    _empty(waiting)
    waiting.put_nowait(RESET)


def _empty(waiting: asyncio.Queue[bytes | None]) -> None:
    while not waiting.empty():
        waiting.get_nowait()


def _event(update: Update) -> bytes:
    kind = "run" if isinstance(update, Run) else "edit"
    return f"event: {kind}\ndata: {json.dumps(encode(update))}\n\n".encode()
