"""What an executor may know of the process that it is in, and how it reads its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tompion.errors import InvalidField, LaunchRefused, display


@dataclass(frozen=True, slots=True)
class ExecutorEnv:
    """A process: its limits, and where the service can be reached that takes reports about runs."""

    max_threads: int = 32
    max_result_bytes: int = 16 * 1024
    public_url: str | None = None


def only(options: Mapping[str, Any], executor: str, *known: str) -> None:
    """Refuse a configuration that says something that nobody would obey."""
    for name in options:
        if name not in known:
            raise InvalidField(f"executors.{executor}.{name}", f"there is no such option; expected {', '.join(known)}")


def whole(options: Mapping[str, Any], executor: str, name: str, default: int, least: int = 1) -> int:
    """Return a whole number of a configuration."""
    value = options.get(name, default)
    if type(value) is not int or value < least:
        raise InvalidField(f"executors.{executor}.{name}", f"{display(value)}; expected a whole number from {least}")
    return value


def known_options(options: Mapping[str, Any], *known: str) -> None:
    """Refuse a workflow whose options say something that its executor would not obey."""
    for name in options:
        if name not in known:
            raise LaunchRefused(f"the workflow's option {name!r} is not known; expected {', '.join(known)}")
