"""What every step of one instance shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tompion.config.settings import Settings
from tompion.engine.limits import AdaptiveConcurrencyLimit
from tompion.engine.notifications.outbox import NotificationOutbox
from tompion.engine.schedule_cache import ScheduleCache
from tompion.engine.telemetry.events import EngineEvents
from tompion.executors.base import no_token
from tompion.model.notification import NotificationRule
from tompion.plan.context import DecisionContexts
from tompion.plan.due_ticks import DueLimits

if TYPE_CHECKING:
    from tompion.engine.telemetry.tracing import Tracing


class EngineContext:
    """One engine: its number in the store, its settings, what it serves and what it remembers."""

    def __init__(
        self, settings: Settings, probe: EngineEvents, queues: frozenset[str] = frozenset({"default"})
    ) -> None:
        """Take what the instance obeys and serves."""
        self.settings = settings
        self.probe = probe
        self.queues = queues
        self.schedules = ScheduleCache()
        self.appetite = AdaptiveConcurrencyLimit(settings.max_threads, settings.max_active_launches)
        self.number = 0
        self.can_call = False
        self.skew_ms = 0
        self.tracing: Tracing | None = None
        self.sign: Callable[[str], str] = no_token
        self.notifications = NotificationOutbox(self)
        self.limits = DueLimits(
            settings.misfire_grace_ms,
            settings.max_catchup_per_tick,
            settings.max_buffer,
            settings.max_dropped_range_ticks,
            settings.lookahead_ms,
        )

    def notify(self, schedules: Sequence[NotificationRule], public_url: str | None) -> None:
        """Take what somebody outside is to be told."""
        self.notifications = NotificationOutbox(self, schedules, public_url)

    def contexts(self, now_ms: int, paused_targets: set[tuple[str, str, str]]) -> DecisionContexts:
        """Return the world of this moment for any rule."""
        return DecisionContexts(
            now_ms, self.limits, self.settings.max_buffer, paused_targets, owner=self.number, queues=self.queues
        )
