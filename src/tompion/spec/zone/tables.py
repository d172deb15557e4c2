"""Time zones as sorted tables of integers.

A :class:`Zone` is built once from the pinned ``tzdata`` package. The machine's own database is never read, so all
instances of one release agree to the second. A lookup is a bisection in a tuple.

There are two views of the same offsets:

* ``starts`` / ``offsets`` — the plain *segments*: segment ``i`` lasts from ``starts[i - 1]`` up to ``starts[i]``.
* ``cuts`` / ``cut_offsets`` / ``cut_limits`` — the segments cut finer, at both ends of everything that a transition
  disturbs: the repeated hour (both passes) and the time after a gap to which ticks may be shifted. An instant up to the
  limit of its piece maps to and from wall time by adding the offset, whatever the DST policy. In a disturbed piece the
  limit is ``DISTURBED``, and the careful path decides. So the common case takes one bisection and one comparison.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import tzdata

from tompion.errors import UnknownZone, display
from tompion.spec.calendar.days import HORIZON
from tompion.spec.zone.tzif import Transition, read_transitions

DISTURBED = float("-inf")
"""The limit of a piece in which adding the offset is not enough."""

FOREVER = 1 << 62

MAX_NAME_CHARS = 100
"""No zone has a longer name."""

TZDATA_VERSION: str = tzdata.IANA_VERSION
"""The release of the IANA database from which all tables come, such as ``2026f``."""


class Zone:
    """The offsets of one zone from 1970 to the end of 2200.

    ``local_highs`` has, for each transition, the wall time that no earlier segment, and no gap before it, reaches.
    ``fingerprint`` changes exactly when the tables change, so that an upgrade plans only affected schedules again.
    """

    __slots__ = ("cut_limits", "cut_offsets", "cuts", "fingerprint", "local_highs", "name", "offsets", "starts")

    def __init__(self, name: str, first_offset: int, transitions: list[Transition]) -> None:
        self.name: str = name
        self.starts: tuple[int, ...] = tuple(instant for instant, _offset in transitions)
        self.offsets: tuple[int, ...] = (first_offset, *(offset for _instant, offset in transitions))
        self.local_highs: tuple[int, ...] = tuple(
            start + max(before, after)
            for start, before, after in zip(self.starts, self.offsets, self.offsets[1:], strict=False)
        )
        self.fingerprint: str = hashlib.sha256(repr((self.starts, self.offsets)).encode()).hexdigest()[:16]
        pieces = _cut_segments(self.starts, self.offsets)
        self.cuts: tuple[int, ...] = tuple(piece.begin for piece in pieces)
        # The first values are for instants before 1970.
        self.cut_offsets: tuple[int, ...] = (0, *(piece.offset for piece in pieces))
        self.cut_limits: tuple[float, ...] = (DISTURBED, *(piece.limit for piece in pieces))

    def offset_at(self, epoch: int) -> int:
        """Return the offset from UTC in seconds at an instant."""
        return self.offsets[bisect_right(self.starts, epoch)]

    def segment_at(self, epoch: int) -> int:
        """Return the index of the segment of an instant."""
        return bisect_right(self.starts, epoch)

    def begin_of(self, segment: int) -> int:
        """Return the first instant of a segment."""
        return self.starts[segment - 1] if segment else -FOREVER

    def end_of(self, segment: int) -> int:
        """Return the first instant after a segment."""
        return self.starts[segment] if segment < len(self.starts) else FOREVER

    def __repr__(self) -> str:
        """Return the name of the zone and the release of its table."""
        return f"Zone({self.name!r}, tzdata {TZDATA_VERSION})"


class _Piece(NamedTuple):
    """A part of a segment. Up to ``limit``, no transition disturbs it."""

    begin: int
    offset: int
    limit: float = DISTURBED


def _cut_segments(starts: Sequence[int], offsets: Sequence[int]) -> list[_Piece]:
    """Cut segments at both ends of the time that each transition disturbs.

    A fold disturbs both of its passes. A gap disturbs as much time after it as it is wide.
    """
    pieces: list[_Piece] = []
    begin = 0
    for start, before, after in zip(starts, offsets, offsets[1:], strict=False):
        width = abs(after - before)
        is_gap = after > before
        disturbed_from = start if is_gap else max(start - width, begin)
        pieces.append(_Piece(begin, before, limit=disturbed_from))
        if disturbed_from < start:
            pieces.append(_Piece(disturbed_from, before))
        pieces.append(_Piece(start, after))
        begin = start + width
    return [*pieces, _Piece(begin, offsets[-1], limit=HORIZON), _Piece(HORIZON, offsets[-1])]


@cache
def zone_names() -> frozenset[str]:
    """Return every name in the pinned time zone data."""
    return frozenset(files("tzdata").joinpath("zones").read_text(encoding="utf-8").split())


def load_zone(name: str | None) -> Zone:
    """Return the zone called ``name``. ``None`` is UTC. Raises :class:`UnknownZone`."""
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
    return {name.casefold(): name for name in zone_names()}


def _suggestion(name: str) -> str | None:
    if len(name) > MAX_NAME_CHARS:  # it cannot be a zone, and searching for close matches is slow
        return None
    folded = _folded_names()
    close = get_close_matches(name.casefold().replace(" ", "_"), folded, n=1, cutoff=0.75)
    if not close:  # a city without its continent is a frequent error
        close = [
            candidate for candidate in folded if candidate.rpartition("/")[2] == name.casefold().replace(" ", "_")
        ][:1]
    return f"did you mean {folded[close[0]]!r}?" if close else None
