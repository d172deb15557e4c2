"""Counters of schedule states, corrected by what writing a decision turned up.

A decision counts the runs that it wants to write. Only the store learns how many waiting runs gave way, how many runs
in flight were held by no instance, and which runs were in the ledger already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from tompion.model.run import IN_FLIGHT, OPEN, RunId, RunRow
from tompion.model.schedule_state import FastAdvanceRow, ScheduleState


def without_superseded(states: list[ScheduleState], superseded: Iterable[RunRow]) -> list[ScheduleState]:
    """Return the states without the waiting runs that gave way to a newer one."""
    counts = Counter(run.schedule_key for run in superseded)
    return [
        state._replace(waiting=state.waiting - count, skipped=state.skipped + count)
        if (count := counts[state.schedule_key])
        else state
        for state in states
    ]


def without_unheld(states: list[ScheduleState], cancelled: Iterable[RunRow], now_ms: int) -> list[ScheduleState]:
    """Return the states without runs that were cancelled because no instance held them.

    Each of them frees a slot, so the engine must look at the schedule now.
    """
    counts = Counter(run.schedule_key for run in cancelled)
    return [
        state._replace(
            in_flight=state.in_flight - count,
            next_fire_ms=now_ms if state.next_fire_ms is None else min(state.next_fire_ms, now_ms),
        )
        if (count := counts[state.schedule_key])
        else state
        for state in states
    ]


def without_duplicates(
    states: list[ScheduleState], runs: Iterable[RunRow], duplicates: Collection[RunId]
) -> list[ScheduleState]:
    """Return the states without the runs that were in the ledger already, because they were counted then."""
    present = [run for run in runs if run.id in duplicates]
    in_flight = Counter(run.schedule_key for run in present if run.state in IN_FLIGHT)
    waiting = Counter(run.schedule_key for run in present if run.state in OPEN - IN_FLIGHT)
    return [
        state._replace(
            in_flight=state.in_flight - in_flight[state.schedule_key],
            starts=state.starts - in_flight[state.schedule_key],
            waiting=state.waiting - waiting[state.schedule_key],
        )
        for state in states
    ]


def fast_advances_without_duplicates(
    advances: Sequence[FastAdvanceRow], duplicates: Collection[RunId]
) -> list[FastAdvanceRow]:
    """Return the narrow updates without the runs that were in the ledger already."""
    return [
        (key, cursor, nominal, fire, in_flight - 1, last, starts - 1)
        if RunId(key, cursor) in duplicates
        else (key, cursor, nominal, fire, in_flight, last, starts)
        for key, cursor, nominal, fire, in_flight, last, starts in advances
    ]


def without_deleted(state: ScheduleState, dropped: int, cancelled: int) -> ScheduleState:
    """Return the state of a deleted schedule: nothing waits, and runs that no instance held are over."""
    return state._replace(waiting=0, skipped=state.skipped + dropped, in_flight=state.in_flight - cancelled)
