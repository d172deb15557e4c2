"""Replaces the minute of cron strings with ``H``, which gives each schedule its own minute."""

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

    Return ``None`` if one of them cannot be converted, or if the spec has other sources.
    """
    if not spec.cron or spec.calendars or spec.intervals or spec.rrules or spec.times:
        return None
    texts = [_with_hashed_minute(text, spec.dialect) for text in spec.cron]
    return None if None in texts else tuple(text for text in texts if text is not None)


def _with_hashed_minute(text: str, dialect: Dialect) -> str | None:
    """Return a cron string with ``H`` as its minute, or ``None`` if that would change its meaning."""
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
    elif step is not None and fields[place + 1].startswith("*"):  # otherwise its DST class would change
        fields[place] = f"H{step[1]}"
    else:
        return None
    hashed = f"{parts['zone']}{' '.join(fields)}{parts['comment']}"
    try:
        parse_cron(hashed, dialect)
    except InvalidSpec:
        return None
    return hashed
