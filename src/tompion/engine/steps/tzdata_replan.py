"""Other time zone tables: schedules that were planned with them are replanned, and the difference is recorded.

In a rolling restart the instance with the older tables steps back: it neither replans nor fires a schedule that was
planned with other tables than its own, as long as an instance with newer tables lives.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from tompion.encoding.instant import datetime_s
from tompion.engine.context import EngineContext
from tompion.engine.signals import EngineSignals
from tompion.engine.steps import audit
from tompion.engine.steps.result import Replanned
from tompion.engine.store_future import await_store
from tompion.engine.telemetry.events import EngineEvents
from tompion.model.rows import ScheduleRow
from tompion.model.schedule_state import ScheduleState
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.edit import advance_to_next, replan_adaptive
from tompion.runtime.clock import wait
from tompion.store.base import Store, Transaction

REPLAN_BATCH = 1_000
RETRY_S = 1.0
"""Delay after a store error."""


class ReplanStep:
    """Replans schedules whose next tick was planned with other time zone tables."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    def outdated(self, transaction: Transaction) -> list[str]:
        """Return the zone tables that schedules were planned with and that this instance must replace."""
        outdated = [zones for zones in transaction.schedule_list_zones() if self._context.schedules.is_outdated(zones)]
        return [] if outdated and self.steps_back(transaction) else outdated

    def steps_back(self, transaction: Transaction) -> bool:
        """Return whether an instance with newer tables lives. It replans, and fires, what this instance must not."""
        return transaction.instance_has_newer_tables(transaction.now_ms(), self._context.schedules.tzdata)

    def replan_some(self, transaction: Transaction, zones: str) -> list[Replanned]:
        """Replan one batch of schedules with the same zone tables.

        The next tick of a damaged schedule is unknown. Only its zone tables are updated.
        """
        keys = transaction.schedule_list_in_zone(zones, REPLAN_BATCH)
        states = transaction.state_lock(keys)
        rows = transaction.schedule_list_by_key(keys)
        schedules = self._context.schedules.of(transaction, states.values())
        replanned = []
        for key, row in rows.items():
            if row.zones != zones:  # another instance has replanned it meanwhile
                continue
            if key in schedules:
                after, change = self.replan(transaction, states[key], schedules[key], row)
                transaction.state_update([after])
                replanned += change
            else:
                transaction.schedule_update(row._replace(zones=self._context.schedules.current_zones(zones)))
        return replanned

    def replan(
        self, transaction: Transaction, state: ScheduleState, compiled: CompiledSchedule, row: ScheduleRow
    ) -> tuple[ScheduleState, list[Replanned]]:
        """Return a locked state, replanned, and the difference. Its row is updated and audited."""
        after = state._replace(zone_tables=compiled.zone_tables)
        if not state.closed and compiled.allowed_seconds is not None:
            after = replan_adaptive(after, compiled, transaction.now_ms())
        elif not state.closed and not compiled.is_sequential:
            after = advance_to_next(after, compiled, state.cursor_s)
        if row.zones == compiled.zones and after.next_nominal_s == state.next_nominal_s:
            return after, []
        note = {"cursor_s": state.cursor_s, "next_nominal_s": [state.next_nominal_s, after.next_nominal_s]}
        changed = row._replace(zones=compiled.zones)
        audit.save_change(transaction, row, changed, "zone_data", transaction.now_ms(), ("zones",), note)
        replanned = Replanned(
            schedule_id=row.schedule_id,
            before_s=state.next_nominal_s,
            after_s=after.next_nominal_s,
            degraded=compiled.degraded,
        )
        return after, [replanned]


def report_replanned(events: EngineEvents, replanned: Iterable[Replanned]) -> None:
    """Count and report replanned schedules, and warn about those whose time zone is gone."""
    for change in replanned:
        events.count("replanned")
        text = f"new time zone data: next tick {_time(change.before_s)} → {_time(change.after_s)}"
        events.emit("replanned", change.schedule_id, text)
        if change.degraded is not None:
            events.warn(f"{change.schedule_id}: {change.degraded}")


class ReplanLoop:
    """Replans outdated schedules batch by batch: after the start, and when a heartbeat has found some."""

    def __init__(self, store: Store, context: EngineContext, signals: EngineSignals) -> None:
        self._store = store
        self._context = context
        self._step = ReplanStep(context)
        self._events = context.events
        self._stopping = signals.stopping

    async def replan(self) -> None:
        """Replan outdated schedules until the engine stops."""
        heartbeat_s = self._context.settings.heartbeat_ms / 1000
        self._context.has_outdated_zones = True
        while not self._stopping.is_set():
            try:
                if self._context.has_outdated_zones and await self._replan_batch():
                    continue
            except Exception as error:  # noqa: BLE001 - the loop must survive any error
                self._events.report_failure("cannot replan schedules, will retry", error)
                await wait(self._stopping, RETRY_S)
            else:
                self._context.has_outdated_zones = False  # the next heartbeat looks again
                await wait(self._stopping, heartbeat_s)

    async def _replan_batch(self) -> bool:
        """Replan one batch. Return whether there may be more."""
        outdated = await await_store(self._store.read(self._step.outdated))
        if outdated:
            replan = partial(self._step.replan_some, zones=outdated[0])
            report_replanned(self._events, await await_store(self._store.write(replan)))
        return bool(outdated)


def _time(tick_s: int | None) -> str:
    return "none" if tick_s is None else f"{datetime_s(tick_s):%Y-%m-%d %H:%M:%SZ}"
