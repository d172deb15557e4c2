"""The time zone tables that a schedule is planned with, and what to do without them.

A schedule stores a text with the name and the fingerprint of each of its zones. Its state stores a number derived from
that text beside the next tick, so that an engine with other tables recognises a plan that is not its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256

from tompion.errors import UnknownZone
from tompion.model.spec import NamedCalendar, SpecDocument
from tompion.spec.calendar.cron import CronRule
from tompion.spec.compiler import cron_rules
from tompion.spec.zone.tables import load_zone

GONE = "gone"
"""The fingerprint of a zone that the installed data does not have. Indexes of the stores search for it at the end."""
MAX_CACHED_TEXTS = 16_384


def zones_text(spec: SpecDocument, calendars: tuple[NamedCalendar, ...] = ()) -> str:
    """Return the zone tables that the ticks of a spec are computed with, or an empty text if it has no time zone."""
    return _text_of(_zone_names(spec, calendars))


def current_zones_text(zones: str) -> str:
    """Return the text of the same zones with the installed tables."""
    return _text_of(part.rpartition(":")[0] for part in zones.split())


@lru_cache(maxsize=MAX_CACHED_TEXTS)
def tables_number(zones: str) -> int:
    """Return the number of zone tables, or 0 without any. Equal texts have equal numbers on every machine."""
    return int.from_bytes(sha256(zones.encode()).digest()[:8], "big", signed=True) if zones else 0


def in_utc(spec: SpecDocument, calendars: tuple[NamedCalendar, ...]) -> tuple[SpecDocument, tuple[NamedCalendar, ...]]:
    """Return a spec and its calendars with UTC in place of every zone that the installed data does not have."""
    unknown = [name for name in _zone_names(spec, calendars) if _fingerprint(name) == GONE]
    for name in unknown:
        in_text = re.compile(rf"(\bTZ=|_TZ=|TZID=\"?){re.escape(name)}", re.IGNORECASE)
        spec = replace(
            spec,
            timezone=None if spec.timezone == name else spec.timezone,
            cron=tuple(in_text.sub(r"\1UTC", text, count=1) for text in spec.cron),
            rrules=tuple(in_text.sub(r"\1UTC", text) for text in spec.rrules),
        )
    return spec, tuple(
        replace(calendar, timezone="UTC") if calendar.timezone in unknown else calendar for calendar in calendars
    )


def _zone_names(spec: SpecDocument, calendars: Iterable[NamedCalendar]) -> set[str]:
    """Return the zones of a spec: its own, those of its cron strings, and those of the calendars that it excludes."""
    names = {spec.timezone, *(calendar.timezone for calendar in calendars)}
    names |= {rule.zone for _, rule in cron_rules(spec) if isinstance(rule, CronRule)}
    return {name for name in names if name is not None}


def _text_of(names: Iterable[str]) -> str:
    prints = {name: _fingerprint(name) for name in names}
    return " ".join(f"{name}:{prints[name]}" for name in sorted(prints, key=lambda name: (prints[name] == GONE, name)))


def _fingerprint(name: str) -> str:
    try:
        return load_zone(name).fingerprint
    except UnknownZone:
        return GONE
