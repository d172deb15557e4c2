"""The libraries that Tompion is compared with, called as their documentation recommends.

Both get what suits them best: an aware datetime that exists already, ``datetime.UTC`` itself for UTC (which cronsim
recognises and handles faster), and zones that have been loaded before.  The zones come from the same pinned ``tzdata``
that Tompion reads, because the machine's own copy may be another release.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from functools import cache
from importlib.resources import files
from typing import TypeAlias
from zoneinfo import ZoneInfo

from croniter import CroniterError, croniter
from cronsim import CronSim, CronSimError

Iterator: TypeAlias = "croniter[datetime]"


@cache
def zone_for(name: str) -> tzinfo:
    """Return the zone as the other libraries want it."""
    if name == "UTC":
        return UTC
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as table:
        return ZoneInfo.from_file(table, key=name)


def moment_of(epoch: int, zone: str) -> datetime:
    """Return an instant as an aware datetime."""
    return datetime.fromtimestamp(epoch, zone_for(zone))


def new_croniter(expression: str, moment: datetime) -> Iterator:
    """Return croniter's object for an expression. A sixth field is the first, as it is for the others."""
    return croniter(expression, moment, datetime, second_at_beginning=True)


@cache
def reusable(expression: str) -> Iterator | None:
    """Return one object per expression, for all zones: it takes the zone from the datetime that it is set to."""
    try:
        return new_croniter(expression, datetime(1970, 1, 1, tzinfo=UTC))
    except CroniterError:
        return None


def croniter_next(iterator: Iterator, moment: datetime) -> int | None:
    """Return the next tick as croniter computes it, from an object that is used again and again."""
    try:
        iterator.set_current(moment)
        return int(iterator.get_next(datetime).timestamp())
    except CroniterError:
        return None


def cronsim_next(expression: str, moment: datetime) -> int | None:
    """Return the next tick as cronsim computes it. Its objects cannot be set to another instant, so it parses."""
    try:
        return int(next(CronSim(expression, moment)).timestamp())
    except (CronSimError, StopIteration):
        return None
