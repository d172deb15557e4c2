"""A process that runs an engine and kills itself: ``python -m tests.conformance.engine.suicidal URL MOMENT``.

The moment is inside the transaction that takes a run, or right after its commit, before anybody here knows of that.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from tests.conformance.engine.kit import BEGIN, UNTIL_DUE_S
from tests.conformance.engine.users import DECLARED, SETTINGS, Tapped
from tompion.engine.engine import Engine
from tompion.executors.options import ExecutorEnv
from tompion.executors.postgres import PostgresExecutor
from tompion.store.postgres.driver import PostgresStore
from tompion.testing.clock import ManualClock

BEFORE, AFTER = "before", "after"


def die() -> None:
    """End without a word."""
    os.kill(os.getpid(), signal.SIGKILL)


async def main(url: str, moment: str) -> None:
    """Meet a tick, and die."""
    clock = ManualClock(BEGIN + UNTIL_DUE_S)
    store = Tapped(PostgresStore(url, clock=clock))
    if moment == BEFORE:
        store.before_commit = die
    else:
        store.after_commit = die
    engine = Engine(store, {"postgres": PostgresExecutor(DECLARED, ExecutorEnv())}, clock=clock, settings=SETTINGS)
    await engine.start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
