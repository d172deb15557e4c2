"""What every operation is given: the things that differ between a process, a test and a simulation."""

from __future__ import annotations

from dataclasses import dataclass

from foliot.clock import Clock


@dataclass(frozen=True, slots=True)
class Context:
    """The surroundings of an operation."""

    clock: Clock
    version: str
