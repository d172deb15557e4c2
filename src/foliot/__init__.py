"""Foliot: a durable, distributed schedule service.

The names below are the public ones; everything else may move.
"""

from typing import TYPE_CHECKING

from foliot.authoring import Spec, read_icalendar
from foliot.errors import (
    AlreadyExists,
    Conflict,
    FoliotError,
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
    TooManyRequests,
    UnknownZone,
)
from foliot.launch.base import Launch
from foliot.model.finding import Finding
from foliot.model.page import Page
from foliot.model.schedule import Run, Schedule
from foliot.model.spec import NamedCalendar
from foliot.model.tick import Tick
from foliot.model.verification import Verification
from foliot.settings import Settings
from foliot.spec.compiled import compile_spec as compile  # noqa: A004 - the public name, always used as foliot.compile
from foliot.spec.compiled import next_many
from foliot.spec.ticks import Ticks

if TYPE_CHECKING:
    from foliot.embedded import Foliot, SyncFoliot
    from foliot.launcher import RunLauncher

__all__ = [
    "AlreadyExists",
    "Conflict",
    "Finding",
    "Foliot",
    "FoliotError",
    "InvalidField",
    "InvalidInput",
    "InvalidSpec",
    "InvalidTime",
    "Launch",
    "LaunchError",
    "LimitExceeded",
    "NamedCalendar",
    "NotFound",
    "OutcomeUnknown",
    "Page",
    "RequestReused",
    "Run",
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
    "SyncFoliot",
    "Tick",
    "Ticks",
    "TooManyRequests",
    "UnknownZone",
    "Verification",
    "compile",
    "next_many",
    "read_icalendar",
]

if not TYPE_CHECKING:  # a type checker has seen the import above, and must not believe that every name exists

    def __getattr__(name: str) -> object:
        """Load the twins when they are first asked for: whoever only computes ticks does not wait for an engine."""
        if name in ("Foliot", "SyncFoliot"):
            from foliot import embedded

            return globals().setdefault(name, getattr(embedded, name))
        if name == "RunLauncher":
            from foliot.launcher import RunLauncher

            return globals().setdefault(name, RunLauncher)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
