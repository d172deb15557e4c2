"""Whom an engine tells something outside: receivers of notices, and a monitor."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from tompion.engine.context import Instance
from tompion.engine.health import Pulse
from tompion.engine.notifications.dispatcher import Courier, Delivering
from tompion.engine.notifications.ping import Pinger, Pinging
from tompion.engine.supervisor import Work
from tompion.model.notification import NoticeRule
from tompion.store.base import Store


@dataclass(frozen=True, slots=True)
class Outside:
    """Who takes notices there, who pings, and where the service is that can say more."""

    courier: Courier | None = None
    pinger: Pinger | None = None
    public_url: str | None = None

    @property
    def rules(self) -> Sequence[NoticeRule]:
        """Return what somebody is to be told."""
        return () if self.courier is None else self.courier.rules

    def loops(self, store: Store, instance: Instance, pulse: Pulse, stopping: asyncio.Event) -> list[Work]:
        """Return the loops that tell, until the engine stops."""
        found: list[Work] = []
        if self.courier is not None:
            found += [Delivering(store, instance, self.courier, rule, stopping).deliver for rule in self.rules]
        if self.pinger is not None:
            found.append(Pinging(store, pulse.problems, self.pinger, instance.probe, stopping).ping)
        return found

    async def aclose(self) -> None:
        """Let go of all connections."""
        for each in (self.courier, self.pinger):
            if each is not None:
                await each.aclose()
