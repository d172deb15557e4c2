"""Watches the other instances: the runs of a process that has ended are taken over before its lease expires.

The store knows which processes have ended (see :meth:`~tompion.store.base.Store.find_absent`). A process that is only
slow or frozen is not one of them. One whose connection was closed connects again and renews its lease at once, so an
instance counts as dead after it was absent twice without a heartbeat. Its lease is then cut short. Everything else is
the takeover of an expired lease, with the same fence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from tompion.engine.context import EngineContext
from tompion.engine.lease import Lease
from tompion.engine.signals import EngineSignals
from tompion.engine.store_future import await_store
from tompion.runtime.clock import wait
from tompion.store.base import Store, Transaction

CHECK_S = 1.0
"""Interval of the checks while there are other instances."""
ALONE_CHECK_S = 2.0
"""Interval of the checks while there is no other instance."""
CONFIRM_S = 2.0
"""An instance that was absent for this long without a heartbeat is dead."""


class InstanceWatch:
    """Cuts the leases of instances whose process has ended."""

    def __init__(self, store: Store, context: EngineContext, lease: Lease, signals: EngineSignals) -> None:
        self._store = store
        self._context = context
        self._lease = lease
        self._signals = signals
        self._absent: dict[tuple[int, int], float] = {}
        self.checks = 0
        """Number of checks so far."""

    async def watch(self) -> None:
        """Check the other instances until the engine stops."""
        while not self._signals.stopping.is_set():
            try:
                await self._check()
            except Exception as error:  # noqa: BLE001 - the loop must survive any error
                self._context.events.report_failure("cannot check the other instances, will retry", error)
            self.checks += 1
            is_alone = self._context.catchup_rate.instances == 1 and not self._absent
            await wait(self._signals.stopping, ALONE_CHECK_S if is_alone else CHECK_S)

    async def _check(self) -> None:
        if not self._store.is_present(self._context.number):
            await self._lease.renew()  # its connection was closed, so others could take this process for a dead one
        absent = await await_store(self._store.find_absent(self._context.number))
        now_s = asyncio.get_running_loop().time()
        self._absent = {key: self._absent.get(key, now_s) for key in absent.items()}
        dead = {key[0]: key[1] for key, since_s in self._absent.items() if now_s - since_s >= CONFIRM_S}
        if dead:
            await self._cut(dead)

    async def _cut(self, heartbeats: Mapping[int, int]) -> None:
        """End the leases of dead instances, unless one has sent a heartbeat since."""

        def cut(transaction: Transaction) -> list[str]:
            now_ms = transaction.now_ms()
            names = [transaction.lease_cut(number, ms, now_ms) for number, ms in heartbeats.items()]
            return [name for name in names if name is not None]

        names = await await_store(self._store.write(cut))
        self._context.events.count("instances_found_dead", len(names))
        for name in names:
            self._context.events.warn(f"the process of instance {name!r} has ended: its runs are taken over")
        if names:
            self._signals.wake.set()
