"""Planted defects in the endings of runs: timeouts, cancellations, lost workers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.planting import Patches, defect
from tompion.config.settings import Settings
from tompion.engine.engine import Engine
from tompion.engine.execution.attempt import Attempt
from tompion.engine.execution.launch_failure import LaunchFailures, failed_attempt
from tompion.engine.execution.launcher import Launcher
from tompion.model.run import Reason
from tompion.model.schedule_state import ScheduleState
from tompion.plan import release
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.decide import Decision
from tompion.store import base


@defect
def zombies_fail_too_soon(patches: Patches) -> None:
    """A run without a worker fails before another instance can claim it."""
    patches.sql("run_list_zombies", "due_ms <= :silent_since_ms", "due_ms <= :silent_since_ms + 50000")


@defect
def a_run_fails_after_its_first_lost_worker(patches: Patches) -> None:
    """A run fails for good when its first worker dies."""
    begin = Engine.__init__

    def hasty(self: Engine, *rest: Any, settings: Settings, **named: Any) -> None:
        begin(self, *rest, settings=replace(settings, max_pickups=1), **named)

    patches.set(Engine, "__init__", hasty)


@defect
def a_run_is_launched_after_too_many_lost_workers(patches: Patches) -> None:
    """A run that has lost the maximum number of workers is launched once more."""
    start = Launcher.start

    def once_more(self: Launcher, launches: Any, now_ms: int) -> None:
        pairs = list(launches)
        start(self, pairs, now_ms)
        for row, compiled in pairs:
            if row.pickups == self._context.settings.max_pickups:
                start(self, [(row._replace(pickups=0), compiled)], now_ms)

    patches.set(Launcher, "start", once_more)


@defect
def deadlines_come_early(patches: Patches) -> None:
    """A run times out after half of its time limit."""
    begin = Attempt.__init__

    def hasty(self: Attempt, row: Any, compiled: CompiledSchedule, started_ms: int) -> None:
        limit_ms = compiled.policy.max_execution_ms
        half = replace(compiled.policy, max_execution_ms=None if limit_ms is None else limit_ms // 2)
        begin(self, row, compiled._replace(policy=half), started_ms)

    patches.set(Attempt, "__init__", hasty)


@defect
def a_cancellation_cancels_every_run(patches: Patches) -> None:
    """Cancelling one run cancels every run of the instance."""

    def cancel_all(self: Launcher, rows: Any) -> None:
        for attempt in list(self.active.values()):
            self.cancel(attempt)

    patches.set(Launcher, "end", cancel_all)


@defect
def terminate_other_starts_nothing(patches: Patches) -> None:
    """The runs in flight are terminated, but the new tick waits anyway."""
    start = Decision._start

    def late(self: Decision, due: Any) -> None:
        (self._wait(due, due.reason) if self.terminate else start(self, due))

    patches.set(Decision, "_start", late)


@defect
def the_last_action_is_dropped(patches: Patches) -> None:
    """A queued run is dropped although one action remains."""
    obstacle = release._drop_reason

    def one_short(state: ScheduleState, *rest: Any, automatic: bool) -> Reason | None:
        return (
            Reason.LIMIT_REACHED if automatic and state.remaining == 1 else obstacle(state, *rest, automatic=automatic)
        )

    patches.set(release, "_drop_reason", one_short)


@defect
def a_cancelled_retry_keeps_its_slot(patches: Patches) -> None:
    """A run that waited for its retry is cancelled, but still counts as in flight."""
    patches.set(base, "without_unheld", lambda states, *_: states)


@defect
def a_run_with_a_worker_is_cancelled_at_once(patches: Patches) -> None:
    """With cancel_other a running run is marked as cancelled at once, and the next one starts beside it."""
    patches.sql("run_give_up_unheld", "owner IS NULL AND", "")


@defect
def a_delete_leaves_retries_waiting(patches: Patches) -> None:
    """A failed run waits for its retry although its schedule was deleted."""
    patches.sql("run_give_up_unheld", "owner IS NULL AND", "owner IS NULL AND ?3 <> 'deleted' AND")


@defect
def a_launch_fails_while_its_target_is_down(patches: Patches) -> None:
    """A launch that does not reach its target fails the run, as in a scheduler without a launch deadline."""
    patches.set(LaunchFailures, "outcome", lambda self, attempt, error: failed_attempt(error)._replace(is_refused=True))
