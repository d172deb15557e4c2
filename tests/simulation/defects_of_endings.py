"""More mistakes planted on purpose: about how runs end, and who gives them up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.planting import Patches, defect
from tompion.config.settings import Settings
from tompion.engine.engine import Engine
from tompion.engine.execution.attempt import Attempt
from tompion.engine.execution.launcher import Launcher
from tompion.model.run import Reason
from tompion.model.schedule_state import ScheduleState
from tompion.plan import release
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.decide import Decision
from tompion.store import base


@defect
def zombies_are_given_up_too_soon(patches: Patches) -> None:
    """A run that anybody may pick up has failed before anybody could."""
    patches.sql("run_list_zombies", "due_ms <= :silent_since_ms", "due_ms <= :silent_since_ms + 50000")


@defect
def a_run_is_given_up_too_soon(patches: Patches) -> None:
    """The first worker that dies is the run's fault."""
    begin = Engine.__init__

    def hasty(self: Engine, *rest: Any, settings: Settings, **named: Any) -> None:
        begin(self, *rest, settings=replace(settings, max_pickups=1), **named)

    patches.set(Engine, "__init__", hasty)


@defect
def a_run_that_was_given_up_is_launched_all_the_same(patches: Patches) -> None:
    """Nobody counts how many workers a run has cost until it has cost one more."""
    start = Launcher.start

    def once_more(self: Launcher, launches: Any, now_ms: int) -> None:
        found = list(launches)
        start(self, found, now_ms)
        for row, compiled in found:
            if row.pickups == self._context.settings.max_pickups:
                start(self, [(row._replace(pickups=0), compiled)], now_ms)

    patches.set(Launcher, "start", once_more)


@defect
def deadlines_come_early(patches: Patches) -> None:
    """Who may take twenty seconds has timed out after ten."""
    begin = Attempt.__init__

    def hasty(self: Attempt, row: Any, compiled: CompiledSchedule, started_ms: int) -> None:
        limit_ms = compiled.policy.max_execution_ms
        half = replace(compiled.policy, max_execution_ms=None if limit_ms is None else limit_ms // 2)
        begin(self, row, compiled._replace(policy=half), started_ms)

    patches.set(Attempt, "__init__", hasty)


@defect
def a_cancellation_hits_everybody(patches: Patches) -> None:
    """Whoever is to be cancelled takes along whatever else is executed here."""

    def everybody(self: Launcher, rows: Any) -> None:
        for attempt in list(self.active.values()):
            self.cancel(attempt)

    patches.set(Launcher, "end", everybody)


@defect
def terminate_other_starts_nothing(patches: Patches) -> None:
    """What is in flight ends by force, and the tick for which it had to go waits all the same."""
    start = Decision._start

    def late(self: Decision, due: Any) -> None:
        (self._wait(due, due.reason) if self.terminate else start(self, due))

    patches.set(Decision, "_start", late)


@defect
def the_last_action_is_dropped(patches: Patches) -> None:
    """Whoever leaves the queue while one action remains finds that there is none."""
    obstacle = release._obstacle

    def one_short(state: ScheduleState, *rest: Any, automatic: bool) -> Reason | None:
        return (
            Reason.LIMIT_REACHED if automatic and state.remaining == 1 else obstacle(state, *rest, automatic=automatic)
        )

    patches.set(release, "_obstacle", one_short)


@defect
def what_is_given_up_keeps_its_slot(patches: Patches) -> None:
    """A run that waited for its retry gives way, and nobody counts it out."""
    patches.set(base, "without_unheld", lambda states, *_: states)


@defect
def what_somebody_holds_is_given_up(patches: Patches) -> None:
    """Under cancel_other the run that executes is over by decree, and the next one starts beside it."""
    patches.sql("run_give_up_unheld", "owner IS NULL AND", "")


@defect
def a_delete_leaves_retries_waiting(patches: Patches) -> None:
    """A run that failed is tried again an hour after its schedule was deleted."""
    patches.sql("run_give_up_unheld", "owner IS NULL AND", "owner IS NULL AND ?3 <> 'deleted' AND")
