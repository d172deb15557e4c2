"""Signals between the loops of one engine."""

from __future__ import annotations

import asyncio


class EngineSignals:
    """Events and flags that the loops of one engine set for each other."""

    def __init__(self) -> None:
        self.stopping: asyncio.Event = asyncio.Event()
        """The engine stops: claim nothing more."""
        self.wake: asyncio.Event = asyncio.Event()
        """There may be work for the finder."""
        self.store_changed: asyncio.Event = asyncio.Event()
        """The store has announced a change."""
        self.needs_reconcile = False
        """An answer of the store may have been lost: compare the runs of the store with those held here."""
        self.suspects_wait = False
        """Runs that may have killed their workers wait until the one that is active here has an outcome."""
        self.burst = False
        """More ticks are due than one transaction claims, so outcomes wait for a moment."""

    def wake_all(self) -> None:
        """Wake every loop that waits for a change of the store."""
        self.wake.set()
        self.store_changed.set()
