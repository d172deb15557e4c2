"""Running a program on an event loop of its own, and leaving it even if somebody's coroutine will not end.

``asyncio.run`` cancels whatever is left and waits for it without end: a function that swallows its cancellation would
keep a stopped process alive for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
LINGER_S = 1.0
"""How long what is left may take to end."""


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end; what it leaves behind is cancelled, and given a moment."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        try:
            return runner.run(main)
        finally:
            _leave(loop)


def _leave(loop: asyncio.AbstractEventLoop) -> None:
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if not left:
        return
    _, stubborn = loop.run_until_complete(asyncio.wait(left, timeout=LINGER_S))
    for task in stubborn:
        asyncio.tasks._unregister_task(task)  # noqa: SLF001 - or the runner waits for it
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001 - we know
