"""A process that runs an engine and kills itself: ``python -m tests.conformance.engine.crashing_engine URL MOMENT``.

The moment is inside the transaction that claims a run, or right after its commit, before the engine has the answer.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from tests.conformance.engine.kit import START_S, UNTIL_DUE_S
from tests.conformance.engine.users import DECLARED, SETTINGS, HookedStore
from tompion.engine.engine import Engine
from tompion.executors.options import ExecutorEnv
from tompion.executors.postgres import PostgresExecutor
from tompion.store.postgres.driver import PostgresStore
from tompion.testing.clock import ManualClock

BEFORE, AFTER = "before", "after"


def kill_self() -> None:
    """Kill this process with SIGKILL."""
    os.kill(os.getpid(), signal.SIGKILL)


async def main(url: str, moment: str) -> None:
    """Run an engine at the time of a tick."""
    clock = ManualClock(START_S + UNTIL_DUE_S)
    store = HookedStore(PostgresStore(url, clock=clock))
    if moment == BEFORE:
        store.before_commit = kill_self
    else:
        store.after_commit = kill_self
    engine = Engine(store, {"postgres": PostgresExecutor(DECLARED, ExecutorEnv())}, clock=clock, settings=SETTINGS)
    await engine.start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
