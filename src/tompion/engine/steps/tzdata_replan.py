"""New time zone data: schedules whose zone rules changed are replanned, and the difference is recorded."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from tompion.encoding.instant import datetime_s
from tompion.engine.context import EngineContext
from tompion.engine.signals import EngineSignals
from tompion.engine.steps import audit
from tompion.engine.store_future import await_store
from tompion.model.rows import ScheduleRow
from tompion.model.schedule_state import ScheduleState
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.edit import advance_to_next, replan_adaptive
from tompion.plan.stored_definition import is_outdated, zones_text
from tompion.runtime.clock import wait
from tompion.store.base import Store, Transaction

REPLAN_BATCH = 1_000
RETRY_S = 1.0
"""Delay after a store error."""


class Replanned(NamedTuple):
    """A replanned schedule, with its next tick before and after."""

    schedule_id: str
    before_s: int | None
    after_s: int | None


class ReplanStep:
    """Replans schedules after an upgrade of the time zone data."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    def outdated(self, transaction: Transaction) -> list[str]:
        """Return the zone data that schedules were planned with and that has changed since."""
        return [zones for zones in transaction.schedule_list_zones() if is_outdated(zones)]

    def replan_some(self, transaction: Transaction, zones: str) -> list[Replanned]:
        """Replan one batch of schedules with the same zone data. An empty list means that none are left."""
        keys = transaction.schedule_list_in_zone(zones, REPLAN_BATCH)
        states = transaction.state_lock(keys)
        rows = transaction.schedule_list_by_key(states)
        schedules = self._context.schedules.of(transaction, states.values())
        replanned = []
        for key, state in states.items():
            if key in schedules:
                after = self._replan(transaction, state, schedules[key], rows[key])
                replanned.append(Replanned(rows[key].schedule_id, state.next_nominal_s, after.next_nominal_s))
        return replanned

    def report(self, replanned: list[Replanned]) -> None:
        """Count and report replanned schedules."""
        events = self._context.events
        for schedule_id, before_s, after_s in replanned:
            events.count("replanned")
            events.emit("replanned", schedule_id, f"new time zone data: next tick {_time(before_s)} → {_time(after_s)}")

    def _replan(
        self, transaction: Transaction, state: ScheduleState, compiled: CompiledSchedule, row: ScheduleRow
    ) -> ScheduleState:
        after = state
        if not state.closed and compiled.allowed_seconds is not None:
            after = replan_adaptive(state, compiled, transaction.now_ms())
        elif not state.closed and not compiled.is_sequential:
            after = advance_to_next(state, compiled, state.cursor_s)
        transaction.state_update([after])
        note = {"cursor_s": state.cursor_s, "next_nominal_s": [state.next_nominal_s, after.next_nominal_s]}
        changed = row._replace(zones=zones_text(compiled.spec))
        audit.save_change(transaction, row, changed, "zone_data", transaction.now_ms(), ("zones",), note)
        return after


class ReplanLoop:
    """Replans outdated schedules batch by batch after the start, and ends."""

    def __init__(self, store: Store, context: EngineContext, signals: EngineSignals) -> None:
        self._store = store
        self._step = ReplanStep(context)
        self._events = context.events
        self._stopping = signals.stopping

    async def replan(self) -> None:
        """Replan until no schedule is outdated."""
        while not self._stopping.is_set():
            try:
                outdated = await await_store(self._store.read(self._step.outdated))
                if not outdated:
                    return
                replan = partial(self._step.replan_some, zones=outdated[0])
                self._step.report(await await_store(self._store.write(replan)))
            except Exception as error:  # noqa: BLE001 - the loop must survive any error
                self._events.report_failure("cannot replan schedules, will retry", error)
                await wait(self._stopping, RETRY_S)


def _time(tick_s: int | None) -> str:
    return "none" if tick_s is None else f"{datetime_s(tick_s):%Y-%m-%d %H:%M:%SZ}"
