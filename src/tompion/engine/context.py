"""State that all steps of one engine share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING

from tompion.config.settings import Settings
from tompion.engine.limits import AdaptiveConcurrencyLimit, CatchupRateLimiter
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
    """One engine: its instance number in the store, its settings, queues, caches and limits."""

    def __init__(  # noqa: PLR0913 - the optional parts have defaults
        self,
        settings: Settings,
        events: EngineEvents,
        queues: frozenset[str] = frozenset({"default"}),
        *,
        tracing: Tracing | None = None,
        notification_rules: Sequence[NotificationRule] = (),
        public_url: str | None = None,
    ) -> None:
        self.settings = settings
        self.events = events
        self.queues = queues
        self.tracing = tracing
        self.schedules: ScheduleCache = ScheduleCache()
        self.concurrency: AdaptiveConcurrencyLimit = AdaptiveConcurrencyLimit(
            settings.max_threads, settings.max_active_launches
        )
        self.catchup_rate: CatchupRateLimiter = CatchupRateLimiter(settings.catchup_rate_per_s)
        self.number = 0
        self.lease_until_s = inf
        """When the lease ends at the latest, by the monotonic clock of the event loop."""
        self.supports_calls = False
        self.skew_ms = 0
        self.has_outdated_zones = False
        self.sign: Callable[[str], str] = no_token
        self.notifications: NotificationOutbox = NotificationOutbox(self, notification_rules, public_url)
        self.due_limits: DueLimits = DueLimits(
            settings.misfire_grace_ms,
            settings.max_catchup_per_tick,
            settings.max_buffer,
            settings.max_dropped_range_ticks,
            settings.lookahead_ms,
            settings.tick_ms,
        )

    def decision_contexts(self, now_ms: int, paused_targets: set[tuple[str, str, str]]) -> DecisionContexts:
        """Return the decision contexts of one instant."""
        return DecisionContexts(
            now_ms, self.due_limits, self.settings.max_buffer, paused_targets, owner=self.number, queues=self.queues
        )
