"""Whom an engine tells something outside: receivers of notices, and a monitor."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from tompion.engine.context import EngineContext
from tompion.engine.health import EngineHealth
from tompion.engine.notifications.dispatcher import NotificationDispatcher, NotificationSender
from tompion.engine.notifications.ping import HealthcheckPing, Pinger
from tompion.engine.supervisor import Work
from tompion.model.notification import NotificationRule
from tompion.store.base import Store


@dataclass(frozen=True, slots=True)
class Outside:
    """Who takes notices there, who pings, and where the service is that can say more."""

    courier: NotificationSender | None = None
    pinger: Pinger | None = None
    public_url: str | None = None

    @property
    def rules(self) -> Sequence[NotificationRule]:
        """Return what somebody is to be told."""
        return () if self.courier is None else self.courier.rules

    def loops(self, store: Store, instance: EngineContext, pulse: EngineHealth, stopping: asyncio.Event) -> list[Work]:
        """Return the loops that tell, until the engine stops."""
        found: list[Work] = []
        if self.courier is not None:
            found += [
                NotificationDispatcher(store, instance, self.courier, rule, stopping).deliver for rule in self.rules
            ]
        if self.pinger is not None:
            found.append(HealthcheckPing(store, pulse.problems, self.pinger, instance.probe, stopping).ping)
        return found

    async def aclose(self) -> None:
        """Let go of all connections."""
        for each in (self.courier, self.pinger):
            if each is not None:
                await each.aclose()
