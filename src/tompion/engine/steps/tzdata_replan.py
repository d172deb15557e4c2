"""New zone tables: exactly the schedules whose zone has changed are aimed anew, and the difference is written down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from tompion.engine.context import EngineContext
from tompion.engine.lease import answer_of
from tompion.engine.steps import audit
from tompion.model.rows import ScheduleRow
from tompion.model.schedule_state import ScheduleState
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.edit import advance_to_next, replan_adaptive
from tompion.plan.stored_definition import is_outdated, zones_text
from tompion.runtime import clock
from tompion.store.base import Store, Transaction

REPLAN_BATCH = 1_000
RETRY_S = 1.0
"""How long to wait after the store has failed."""


Moved = list[tuple[str, int | None, int | None]]
"""Schedules that now tick at other times: their ids, and the next tick before and after."""


class ReplanStep:
    """The step that follows an upgrade of the time zone data."""

    def __init__(self, instance: EngineContext) -> None:
        """Take the instance."""
        self._instance = instance

    def outdated(self, transaction: Transaction) -> list[str]:
        """Return the zone tables that schedules were planned with and that are others now; usually none."""
        return [zones for zones in transaction.schedule_list_zones() if is_outdated(zones)]

    def some_of(self, transaction: Transaction, zones: str) -> Moved:
        """Aim some of the schedules of one zone anew; an empty answer says that none are left."""
        keys = transaction.schedule_list_in_zone(zones, REPLAN_BATCH)
        states = transaction.state_lock(keys)
        rows = transaction.schedule_list_by_key(states)
        schedules = self._instance.schedules.of(transaction, states.values())
        moved: Moved = []
        for key, state in states.items():
            if key in schedules:
                after = self._aimed(transaction, state, schedules[key], rows[key])
                moved.append((rows[key].schedule_id, state.next_nominal_s, after.next_nominal_s))
        return moved

    def tell(self, moved: Moved) -> None:
        """Say which schedules now tick at other times."""
        probe = self._instance.probe
        for schedule_id, before, now in moved:
            probe.count("replanned")
            probe.tell("replanned", schedule_id, f"new time zone data: next tick {_time(before)} → {_time(now)}")

    def _aimed(
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
    """Aims schedules anew whose zone tables are others than when they were planned, some at a time, and ends."""

    def __init__(
        self, store: Store, step: ReplanStep, failed: Callable[[str, Exception], None], stopping: asyncio.Event
    ) -> None:
        """Take the step, whom to tell what went wrong, and what says that the engine stops."""
        self._store = store
        self._step = step
        self._failed = failed
        self._stopping = stopping

    async def replan(self) -> None:
        """Do so until none is left."""
        while not self._stopping.is_set():
            try:
                outdated = await answer_of(self._store.read(self._step.outdated))
                if not outdated:
                    return
                self._step.tell(await answer_of(self._store.write(partial(self._step.some_of, zones=outdated[0]))))
            except Exception as error:  # noqa: BLE001 - an engine that stops by itself is the worst that can happen
                self._failed("cannot aim schedules anew just now, trying again", error)
                await clock.wait(self._stopping, RETRY_S)


def _time(tick_s: int | None) -> str:
    return "none" if tick_s is None else f"{datetime.fromtimestamp(tick_s, UTC):%Y-%m-%d %H:%M:%SZ}"
