"""What every step of one instance shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tompion.config.settings import Settings
from tompion.engine.limits import AdaptiveConcurrencyLimit
from tompion.engine.notifications.outbox import NotificationOutbox
from tompion.engine.schedule_cache import ScheduleCache
from tompion.engine.telemetry.events import EngineEvents
from tompion.executors.base import unsigned
from tompion.model.notification import NotificationRule
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.context import DecisionContext, is_target_paused
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
        self.sign: Callable[[str], str] = unsigned
        self.notifications = NotificationOutbox(self)
        self.limits = DueLimits(
            settings.misfire_grace_ms,
            settings.max_catchup_per_tick,
            settings.max_buffer,
            settings.max_span_ticks,
            settings.lookahead_ms,
        )

    def notify(self, schedules: Sequence[NotificationRule], public_url: str | None) -> None:
        """Take what somebody outside is to be told."""
        self.notifications = NotificationOutbox(self, schedules, public_url)

    def contexts(self, now_ms: int, paused_targets: set[tuple[str, str, str]]) -> DecisionContexts:
        """Return the world of this moment for any rule."""
        return DecisionContexts(self, now_ms, paused_targets)


class DecisionContexts:
    """The world of one moment, for each rule: almost always one of two."""

    def __init__(self, instance: EngineContext, now_ms: int, paused_targets: set[tuple[str, str, str]]) -> None:
        """Take the moment."""
        settings = instance.settings
        self._queues = instance.queues
        self._paused = paused_targets
        self._ours = DecisionContext(now_ms, instance.number, instance.limits, settings.max_buffer)
        self._others = self._ours._replace(owner=None)

    def of(self, compiled: CompiledSchedule) -> DecisionContext:
        """Return the world that a schedule is decided in."""
        context = self._ours if compiled.action.queue in self._queues else self._others
        if self._paused and is_target_paused(compiled, self._paused):
            return context._replace(target_paused=True)
        return context
