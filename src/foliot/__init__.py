"""Foliot: a durable, distributed schedule service.

The names below are the public ones; everything else may move.
"""

from foliot.authoring import Spec, read_icalendar
from foliot.errors import FoliotError, InvalidInput, InvalidSpec, InvalidTime, LimitExceeded, UnknownZone
from foliot.model.finding import Finding
from foliot.model.spec import NamedCalendar
from foliot.model.tick import Tick
from foliot.spec.compiled import compile_spec as compile  # noqa: A004 - the public name, always used as foliot.compile
from foliot.spec.compiled import next_many
from foliot.spec.ticks import Ticks

__all__ = [
    "Finding",
    "FoliotError",
    "InvalidInput",
    "InvalidSpec",
    "InvalidTime",
    "LimitExceeded",
    "NamedCalendar",
    "Spec",
    "Tick",
    "Ticks",
    "UnknownZone",
    "compile",
    "next_many",
    "read_icalendar",
]
