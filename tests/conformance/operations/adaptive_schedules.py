"""Helpers that the tests of adaptive schedules share."""

from __future__ import annotations

from typing import Any

from tests.support.operations import Bench, Worker, shown
from tompion.model.hint import Outlook
from tompion.model.run import RunState
from tompion.operations.schedules import hints


def hint(bench: Bench, schedule_id: str = "report", **fields: Any) -> Outlook:
    """Send a hint."""
    return bench.ask(hints.hint, schedule_id, **fields)


def run_for(bench: Bench, worker: Worker, until: str, state: RunState = RunState.SUCCESS) -> str | None:
    """Start the due run, end it at a time of day, and return the time of the next run."""
    assert worker.tick()
    bench.go(until)
    worker.settle(state)
    following = bench.get().next_run_at
    return None if following is None else shown(following)


def next_run(outlook: Outlook) -> str | None:
    """The time of day of the next run."""
    return None if outlook.next_run_at is None else shown(outlook.next_run_at)
