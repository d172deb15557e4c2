"""The environment of an executor, and helpers that validate its settings and the options of a workflow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tompion.errors import InvalidField, LaunchRefused, display


@dataclass(frozen=True, slots=True)
class ExecutorEnv:
    """The limits of the process, and the public URL of the service that receives reports about runs."""

    max_threads: int = 32
    max_result_bytes: int = 16 * 1024
    public_url: str | None = None


def check_settings(options: Mapping[str, Any], executor: str, *names: str) -> None:
    """Reject a setting that the executor does not have."""
    for name in options:
        if name not in names:
            raise InvalidField(f"executors.{executor}.{name}", f"there is no such option; expected {', '.join(names)}")


def int_setting(options: Mapping[str, Any], executor: str, name: str, default: int, minimum: int = 1) -> int:
    """Return an integer setting."""
    value = options.get(name, default)
    if type(value) is not int or value < minimum:
        raise InvalidField(f"executors.{executor}.{name}", f"{display(value)}; expected a whole number from {minimum}")
    return value


def check_workflow_options(options: Mapping[str, Any], *names: str) -> None:
    """Reject a workflow option that the executor does not have."""
    for name in options:
        if name not in names:
            raise LaunchRefused(f"the workflow's option {name!r} is not known; expected {', '.join(names)}")
