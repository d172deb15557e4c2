"""Planted defects of lost workers: the runs beside a crashing run, and workers that resume."""

from __future__ import annotations

from tests.support.planting import Patches, defect
from tompion.engine.execution.launcher import Launcher


@defect
def suspects_are_launched_together(patches: Patches) -> None:
    """An instance claims a run that may have killed its workers while it executes another one."""
    patches.set(Launcher, "holds_suspect", property(lambda self: False))


@defect
def a_resumed_worker_launches_what_it_had_claimed(patches: Patches) -> None:
    """A process that stood still launches runs although its lease has expired meanwhile."""
    patches.set(Launcher, "_check_lease", lambda self, attempt: None)
