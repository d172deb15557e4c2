"""The lease of an instance: registration, renewal, release.

An instance has a number in the store and one lease for all runs that it owns. Heartbeats renew the lease while the
process lives. If the lease has expired, other instances claim the runs, and this instance registers again under a new
number. Every transaction that claims runs first locks the lease, so no run can be claimed under an expired lease.

A process that stood still may have lost its lease without knowing it. It counts the time since its last heartbeat by
the monotonic clock, and launches nothing if that is longer than the lease.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from secrets import token_hex

from tompion.engine.context import EngineContext
from tompion.engine.store_future import await_store
from tompion.model.callback_token import CALLBACKS, signer
from tompion.runtime.clock import monotonic_s
from tompion.store.base import Store, Transaction

MAX_MISSED_HEARTBEATS = 3
"""An instance is considered dead after this many missed heartbeats."""


class Lease:
    """The lease of one instance.

    ``drop_runs`` cancels all runs that are executed here and returns how many were held. It is called when the lease
    is lost.
    """

    def __init__(
        self, store: Store, context: EngineContext, name: str, release: str, drop_runs: Callable[[], int]
    ) -> None:
        self._store = store
        self._context = context
        self._name = name
        self._release = release
        self._drop_runs = drop_runs
        self._registering = asyncio.Lock()

    async def register(self) -> None:
        """Register a new instance with a new lease."""
        ttl_ms = self._context.settings.lock_ttl_ms

        def register(transaction: Transaction) -> tuple[int, str, bool]:
            now_ms = transaction.now_ms()
            number = transaction.instance_insert(
                self._name,
                self._release,
                now_ms,
                now_ms + ttl_ms,
                self._context.queues,
                tzdata=self._context.schedules.tzdata,
            )
            return number, transaction.secret_get_or_create(CALLBACKS, token_hex(32)), transaction.supports_calls

        sent_s = asyncio.get_running_loop().time()
        self._context.number, secret, self._context.supports_calls = await await_store(self._store.write(register))
        self._store.hold_presence(self._context.number)
        self._context.sign = signer(secret)
        self._context.lease_until_s = sent_s + ttl_ms / 1000

    async def renew(self) -> int:
        """Renew the lease, or register again if it was lost. Return the number of live instances."""
        settings, number, skew_ms = self._context.settings, self._context.number, self._context.skew_ms

        def renew(transaction: Transaction) -> tuple[bool, int, list[str]]:
            now_ms = transaction.now_ms()
            held = transaction.lease_renew(number, now_ms, skew_ms, now_ms + settings.lock_ttl_ms)
            live = transaction.instance_count_live(now_ms - MAX_MISSED_HEARTBEATS * settings.heartbeat_ms)
            return held, live, transaction.schedule_list_zones()

        sent_s = asyncio.get_running_loop().time()
        held, live, zones = await await_store(self._store.write(renew))
        self._context.has_outdated_zones |= any(map(self._context.schedules.is_outdated, zones))
        if held:
            self._extend(sent_s)
            self._context.concurrency.on_lease_renewed()
        else:
            await self.replace(number)
        return live

    def renew_in_thread(self) -> None:
        """Renew the lease from a thread, while the event loop is blocked. A lost lease is left to the event loop."""
        number, settings = self._context.number, self._context.settings

        def renew(transaction: Transaction) -> bool:
            now_ms = transaction.now_ms()
            return transaction.lease_renew(number, now_ms, self._context.skew_ms, now_ms + settings.lock_ttl_ms)

        sent_s = monotonic_s()
        if self._store.write(renew).result() and self._context.number == number:
            self._extend(sent_s)

    def _extend(self, sent_s: float) -> None:
        until_s = sent_s + self._context.settings.lock_ttl_ms / 1000
        self._context.lease_until_s = max(self._context.lease_until_s, until_s)

    async def replace(self, number: int) -> None:
        """Drop all runs and register again, after the lease of an instance number was lost."""
        async with self._registering:
            if self._context.number != number:  # another task of this process has already done it
                return
            dropped = self._drop_runs()
            self._context.concurrency.on_lease_lost(dropped)
            self._context.events.count("leases_lost", dropped)
            self._context.events.warn(
                f"no heartbeat for longer than lock_ttl_ms: other instances take over {dropped} runs. This instance "
                f"registers again, limited to {self._context.concurrency.limit} concurrent runs at first"
            )
            self._store.drop_presence(number)
            await self.register()

    async def release(self) -> None:
        """End the lease: all runs that are left can be claimed at once."""

        def release(transaction: Transaction) -> None:
            now_ms = transaction.now_ms()
            transaction.instance_stop(self._context.number, now_ms, now_ms)
            transaction.notify()

        await await_store(self._store.write(release))
        self._store.drop_presence(self._context.number)
