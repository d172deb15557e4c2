"""What a service says of itself: that it is there, and what it was told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Health:
    """A service that is there, or ready; and which release it is."""

    status: str
    version: str


@dataclass(frozen=True, slots=True)
class Effective:
    """A setting: its value, where that came from, what it would be otherwise, what it means, and its unit."""

    name: str
    value: Any
    origin: str
    default: Any
    meaning: str
    unit: str | None


@dataclass(frozen=True, slots=True)
class EffectiveConfig:
    """Everything that a process was told, without its secrets, and what of it has a block of its own, by name."""

    file: str | None
    values: tuple[Effective, ...]
    executors: tuple[str, ...]
    schedules: tuple[str, ...]
    notifications: tuple[str, ...]
    issuers: tuple[str, ...]
    certificates: tuple[str, ...]
