"""Tompion: a durable, distributed schedule service.

The names in ``__all__`` are public. Everything else may change.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tompion.config.settings import Settings
    from tompion.engine.telemetry.events import Event
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
    from tompion.executors.current_run import RunLogFilter, current_run
    from tompion.model.page import Page
    from tompion.model.schedule import Run, Schedule
    from tompion.model.spec import Finding, NamedCalendar, Tick
    from tompion.model.verification import Verification
    from tompion.sdk.app import AsyncTompion, Tompion
    from tompion.sdk.run_launcher import RunLauncher
    from tompion.sdk.spec import Spec, read_icalendar
    from tompion.spec.compiler import compile_spec as compile  # noqa: A004 - the public name, always used as tompion.compile
    from tompion.spec.compiler import next_many
    from tompion.spec.ticks import Ticks

__all__ = [
    "AlreadyExists",
    "AsyncTompion",
    "Conflict",
    "Event",
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
    "RunLogFilter",
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
    "current_run",
    "next_many",
    "read_icalendar",
]

if not TYPE_CHECKING:  # a type checker uses the imports above, and must not accept every name
    _MODULES = {
        "AsyncTompion": "tompion.sdk.app",
        "Event": "tompion.engine.telemetry.events",
        "Finding": "tompion.model.spec",
        "NamedCalendar": "tompion.model.spec",
        "Page": "tompion.model.page",
        "Run": "tompion.model.schedule",
        "RunContext": "tompion.executors.base",
        "RunLauncher": "tompion.sdk.run_launcher",
        "RunLogFilter": "tompion.executors.current_run",
        "Schedule": "tompion.model.schedule",
        "Settings": "tompion.config.settings",
        "Spec": "tompion.sdk.spec",
        "Tick": "tompion.model.spec",
        "Ticks": "tompion.spec.ticks",
        "Tompion": "tompion.sdk.app",
        "Verification": "tompion.model.verification",
        "compile": "tompion.spec.compiler",
        "current_run": "tompion.executors.current_run",
        "next_many": "tompion.spec.compiler",
        "read_icalendar": "tompion.sdk.spec",
    }
    """Modules of the public names. The other names are errors."""

    def __getattr__(name: str) -> object:
        """Import a public name on first use, so that the command line and a client load only what they need."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(_MODULES.get(name, "tompion.errors"))
        return globals().setdefault(name, getattr(module, "compile_spec" if name == "compile" else name))

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
