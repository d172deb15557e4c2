"""Cron strings with ``H`` instead of the minute: what gives each of many schedules a minute of its own."""

from __future__ import annotations

import re

from tompion.errors import InvalidSpec
from tompion.model.spec import Dialect, SpecDocument
from tompion.spec.calendar.cron import SHORTHANDS, parse_cron

_PARTS = re.compile(r"(?P<zone>(?:(?:CRON_)?TZ=\S*\s+)?)(?P<fields>.*?)(?P<comment>(?:\s+#.*)?)", re.DOTALL)
_FIXED = re.compile(r"\d{1,2}")
_STEP = re.compile(r"\*(/\d{1,2})")


def spread_minutes(spec: SpecDocument) -> tuple[str, ...] | None:
    """Return the cron strings of a spec with hashed minutes.

    ``None`` if one of them cannot have that, or if they are not all that makes ticks.
    """
    if not spec.cron or spec.calendars or spec.intervals or spec.rrules or spec.times:
        return None
    found = [_hashed(text, spec.dialect) for text in spec.cron]
    return None if None in found else tuple(text for text in found if text is not None)


def _hashed(text: str, dialect: Dialect) -> str | None:
    parts = _PARTS.fullmatch(text.strip())
    if parts is None:
        return None
    fields = SHORTHANDS.get(parts["fields"], parts["fields"]).split()
    place = 0 if len(fields) == 5 else 1  # six and more begin with seconds, where there is an H at all
    if len(fields) < 5:
        return None
    step = _STEP.fullmatch(fields[place])
    if _FIXED.fullmatch(fields[place]):
        fields[place] = "H"
    elif step is not None and fields[place + 1].startswith(
        "*"
    ):  # or it would be another kind of spec when clocks change
        fields[place] = f"H{step[1]}"
    else:
        return None
    made = f"{parts['zone']}{' '.join(fields)}{parts['comment']}"
    try:
        parse_cron(made, dialect)
    except InvalidSpec:
        return None
    return made
