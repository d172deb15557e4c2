"""Information about a service: health and configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Health:
    """Liveness or readiness of a service, and its release."""

    status: str
    version: str


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """A setting: value, origin, default, meaning and unit."""

    name: str
    value: Any
    origin: str
    default: Any
    meaning: str
    unit: str | None


@dataclass(frozen=True, slots=True)
class EffectiveConfig:
    """The configuration of a process without its secrets, and the names of its configuration blocks."""

    file: str | None
    values: tuple[EffectiveSetting, ...]
    executors: tuple[str, ...]
    schedules: tuple[str, ...]
    notifications: tuple[str, ...]
    issuers: tuple[str, ...]
    certificates: tuple[str, ...]
