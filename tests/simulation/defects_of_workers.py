"""Planted defects of lost workers: the runs beside a crashing run, and workers that resume."""

from __future__ import annotations

from typing import Any

from tests.simulation.observed_store import ObservedStore
from tests.support.planting import Patches, defect
from tompion.engine import instance_watch
from tompion.engine.execution.launcher import Launcher


@defect
def suspects_are_launched_together(patches: Patches) -> None:
    """An instance claims a run that may have killed its workers while it executes another one."""
    patches.set(Launcher, "holds_suspect", property(lambda self: False))


@defect
def a_resumed_worker_launches_what_it_had_claimed(patches: Patches) -> None:
    """A process that stood still launches runs although its lease has expired meanwhile."""
    patches.set(Launcher, "_check_lease", lambda self, attempt: None)


@defect
def a_dead_process_keeps_its_lease(patches: Patches) -> None:
    """Nothing but the end of its lease shows that a process has ended."""
    patches.set(instance_watch, "CONFIRM_S", 1e9)


@defect
def a_slow_process_is_taken_for_a_dead_one(patches: Patches) -> None:
    """An instance whose last heartbeat is a few seconds old counts as dead."""

    def find(self: ObservedStore, own_id: int) -> Any:
        return self._store.read(
            lambda transaction: {
                lease.instance_id: lease.heartbeat_ms
                for lease in transaction.lease_list_valid(transaction.now_ms(), own_id)
            }
        )

    patches.set(ObservedStore, "find_absent", find)
