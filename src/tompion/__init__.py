"""Tompion: a durable, distributed schedule service.

The names in ``__all__`` are public. Everything else may change.
"""

from typing import TYPE_CHECKING

from tompion.config.settings import Settings
from tompion.errors import (
    AlreadyExists,
    Conflict,
    InvalidField,
    InvalidInput,
    InvalidSpec,
    InvalidTime,
    LaunchError,
    LimitExceeded,
    NotFound,
    OutcomeUnknown,
    RequestReused,
    ScheduleClosed,
    SchemaOutdated,
    SchemaTooNew,
    StaleToken,
    StoreError,
    StoreUnavailable,
    TompionError,
    TooManyRequests,
    UnknownZone,
)
from tompion.executors.base import RunContext
from tompion.model.page import Page
from tompion.model.schedule import Run, Schedule
from tompion.model.spec import Finding, NamedCalendar, Tick
from tompion.model.verification import Verification
from tompion.sdk.spec import Spec, read_icalendar
from tompion.spec.compiler import compile_spec as compile  # noqa: A004 - the public name, always used as tompion.compile
from tompion.spec.compiler import next_many
from tompion.spec.ticks import Ticks

if TYPE_CHECKING:
    from tompion.sdk.app import AsyncTompion, Tompion
    from tompion.sdk.run_launcher import RunLauncher

__all__ = [
    "AlreadyExists",
    "AsyncTompion",
    "Conflict",
    "Finding",
    "InvalidField",
    "InvalidInput",
    "InvalidSpec",
    "InvalidTime",
    "LaunchError",
    "LimitExceeded",
    "NamedCalendar",
    "NotFound",
    "OutcomeUnknown",
    "Page",
    "RequestReused",
    "Run",
    "RunContext",
    "RunLauncher",
    "Schedule",
    "ScheduleClosed",
    "SchemaOutdated",
    "SchemaTooNew",
    "Settings",
    "Spec",
    "StaleToken",
    "StoreError",
    "StoreUnavailable",
    "Tick",
    "Ticks",
    "Tompion",
    "TompionError",
    "TooManyRequests",
    "UnknownZone",
    "Verification",
    "compile",
    "next_many",
    "read_icalendar",
]

if not TYPE_CHECKING:  # a type checker uses the imports above, and must not accept every name

    def __getattr__(name: str) -> object:
        """Import the app classes on first use, so that computing ticks does not load the engine."""
        if name in ("AsyncTompion", "Tompion"):
            from tompion.sdk import app

            return globals().setdefault(name, getattr(app, name))
        if name == "RunLauncher":
            from tompion.sdk.run_launcher import RunLauncher

            return globals().setdefault(name, RunLauncher)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
