"""``asyncio.run`` that does not hang on tasks that ignore cancellation.

``asyncio.run`` cancels the remaining tasks and waits for them without a limit. A function that swallows its
cancellation would keep a stopped process alive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
MAX_CANCEL_S = 1.0
"""Time that cancelled tasks have to end."""


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine, then cancel the remaining tasks and wait for them briefly."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        try:
            return runner.run(main)
        finally:
            _cancel_remaining(loop)


def _cancel_remaining(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if not tasks:
        return
    _, stubborn = loop.run_until_complete(asyncio.wait(tasks, timeout=MAX_CANCEL_S))
    for task in stubborn:
        asyncio.tasks._unregister_task(task)  # noqa: SLF001 - otherwise the runner waits for it
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001 - no warning: it is expected
