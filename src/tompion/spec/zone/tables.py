"""Time zones as sorted tables of integers.

A :class:`Zone` is built once from the pinned ``tzdata`` package; the machine's own database is never looked at, so
every instance of one release agrees to the second.  Look-ups are a bisection in a tuple.

Two views of the same offsets:

* ``starts`` / ``offsets`` — the plain *segments*: segment ``i`` lasts from ``starts[i - 1]`` up to ``starts[i]``.
* ``cuts`` / ``cut_offsets`` / ``cut_limits`` — the segments cut finer, at both ends of everything that a transition
  disturbs: the hour that is repeated (both passes) and the stretch after a gap that shifted ticks may land in.  An
  instant up to the limit of its piece maps to and from wall time by adding the offset, whatever the DST policy; in a
  disturbed piece the limit is ``DISTURBED`` and the careful path decides.  This is what keeps the common case at one
  bisection and one comparison.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from difflib import get_close_matches
from functools import cache
from importlib.resources import files

import tzdata

from tompion.errors import UnknownZone, display
from tompion.spec.calendar.days import HORIZON
from tompion.spec.zone.tzif import Transition, read_transitions

DISTURBED = float("-inf")
"""The limit of a piece in which plain addition is not to be trusted."""

FOREVER = 1 << 62

MAX_NAME = 100
"""No zone has a longer name."""

TZDATA_VERSION: str = tzdata.IANA_VERSION
"""The release of the IANA database that all tables come from, such as ``2026f``."""


class Zone:
    """One zone's offsets from 1970 to the end of 2200."""

    __slots__ = ("cut_limits", "cut_offsets", "cuts", "fingerprint", "local_highs", "name", "offsets", "starts")

    def __init__(self, name: str, first_offset: int, transitions: list[Transition]) -> None:
        """Build both views from the offset at the epoch and the changes after it."""
        self.name = name
        self.starts = tuple(instant for instant, _offset in transitions)
        self.offsets = (first_offset, *(offset for _instant, offset in transitions))
        self.local_highs = tuple(
            start + max(before, after)
            for start, before, after in zip(self.starts, self.offsets, self.offsets[1:], strict=False)
        )
        """For each transition, the wall time that no earlier segment, and no gap before it, reaches."""
        self.fingerprint = hashlib.sha256(repr((self.starts, self.offsets)).encode()).hexdigest()[:16]
        """Changes exactly when the tables change, so that an upgrade re-plans only what it must."""
        self._cut()

    def _cut(self) -> None:
        cuts, offsets = [0], [0, self.offsets[0]]
        limits: list[float] = [DISTURBED, DISTURBED]
        for start, before, after in zip(self.starts, self.offsets, self.offsets[1:], strict=False):
            width = abs(after - before)
            calm_until = start if after > before else max(start - width, cuts[-1])
            limits[-1] = calm_until
            if calm_until < start:
                cuts.append(calm_until)
                offsets.append(before)
                limits.append(DISTURBED)
            cuts += [start, start + width]
            offsets += [after, after]
            limits += [DISTURBED, DISTURBED]
        limits[-1] = HORIZON
        self.cuts = (*cuts, HORIZON)
        self.cut_offsets = (*offsets, self.offsets[-1])
        self.cut_limits = (*limits, DISTURBED)

    def offset_at(self, epoch: int) -> int:
        """Return the offset from UTC in seconds that holds at an instant."""
        return self.offsets[bisect_right(self.starts, epoch)]

    def segment_at(self, epoch: int) -> int:
        """Return the index of the segment that an instant lies in."""
        return bisect_right(self.starts, epoch)

    def begin_of(self, segment: int) -> int:
        """Return the first instant of a segment."""
        return self.starts[segment - 1] if segment else -FOREVER

    def end_of(self, segment: int) -> int:
        """Return the first instant after a segment."""
        return self.starts[segment] if segment < len(self.starts) else FOREVER

    def __repr__(self) -> str:
        """Name the zone and the release its table comes from."""
        return f"Zone({self.name!r}, tzdata {TZDATA_VERSION})"


@cache
def zone_names() -> frozenset[str]:
    """Return every name that the pinned time zone data knows."""
    return frozenset(files("tzdata").joinpath("zones").read_text(encoding="utf-8").split())


def load_zone(name: str | None) -> Zone:
    """Return the zone called ``name``; ``None`` is UTC.  Raises :class:`UnknownZone`."""
    return _load("UTC" if name is None else name)


@cache
def _load(name: str) -> Zone:
    if name not in zone_names():
        raise UnknownZone(
            f"unknown time zone {display(name)}",
            field="timezone",
            expected="an IANA name such as 'Europe/Berlin'",
            hint=_suggestion(name),
        )
    resource = files("tzdata").joinpath("zoneinfo", *name.split("/"))
    return Zone(name, *read_transitions(resource.read_bytes()))


@cache
def _folded_names() -> dict[str, str]:
    return {known.casefold(): known for known in zone_names()}


def _suggestion(name: str) -> str | None:
    if len(name) > MAX_NAME:  # nobody means a zone by this, and looking for likeness takes its time
        return None
    folded = _folded_names()
    close = get_close_matches(name.casefold().replace(" ", "_"), folded, n=1, cutoff=0.75)
    if not close:  # a bare city is what people type most often
        close = [known for known in folded if known.rpartition("/")[2] == name.casefold().replace(" ", "_")][:1]
    return f"did you mean {folded[close[0]]!r}?" if close else None
