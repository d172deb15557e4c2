"""The small change of English that explanations are made of: lists, ordinals, durations, clock times and dates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from tompion.spec.calendar.days import DAY
from tompion.spec.datetime_text import read_moment
from tompion.spec.occurrence import wall_datetime

MAX_LISTED = 5
"""A longer arithmetic progression is shortened to its first three members and its last."""

LEADING = 3
"""How many members of a shortened list are shown."""

MAX_NOTE_CHARS = 80
"""Notes and names that users wrote are cut to so many characters."""

_NTH = ("first", "second", "third", "fourth", "fifth")
_SUFFIXES = {1: "st", 2: "nd", 3: "rd"}
_UNITS = ((DAY, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
_UNDIVIDED = {3600: 72, 60: 120, 1: 120}
"""Up to so many hours, minutes or seconds nobody converts: 90 minutes, 36 hours."""


def joined(words: Iterable[str], last: str = "and") -> str:
    """Return ``a``, ``a and b`` or ``a, b and c``."""
    *heads, tail = words
    return f"{', '.join(heads)} {last} {tail}" if heads else tail


def counted(number: int, noun: str) -> str:
    """Return ``1 minute`` or ``15 minutes``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def ordinal(number: int) -> str:
    """Return ``1st``, ``2nd``, ``11th`` and so on."""
    suffix = "th" if number // 10 % 10 == 1 else _SUFFIXES.get(number % 10, "th")
    return f"{number}{suffix}"


def nth(number: int) -> str:
    """Return ``first``, ``20th`` or, counted from the end, ``last`` and ``second-to-last``."""
    if number == -1:
        return "last"
    if number < 0:
        return f"{nth(-number)}-to-last"
    return _NTH[number - 1] if number <= len(_NTH) else ordinal(number)


def runs(values: Sequence[int], cycle: int = 0) -> list[tuple[int, int]]:
    """Split sorted values into runs of neighbours, each as its first and its last value.

    With a ``cycle``, a run that reaches its end goes on at 0: hours 22 to 2 of 24 are the run ``(22, 26)``.
    """
    found: list[tuple[int, int]] = []
    for value in values:
        if found and found[-1][1] == value - 1:
            found[-1] = (found[-1][0], value)
        else:
            found.append((value, value))
    if cycle and len(found) > 1 and found[0][0] == 0 and found[-1][1] == cycle - 1:
        head = found.pop(0)
        found[-1] = (found[-1][0], head[1] + cycle)
    return found


def progression(values: Sequence[int]) -> int:
    """Return the step of an arithmetic progression of at least two values; 0 if it is none."""
    steps = {after - before for before, after in pairwise(values)}
    return steps.pop() if len(steps) == 1 else 0


def numbers(values: Sequence[int], show: Callable[[int], str] = str) -> str:
    """Return numbers as a person lists them: ``0, 7, 14, … 56`` or ``1 to 5, 8 and 9``; nothing is left in doubt."""
    if progression(values) > 1 and len(values) > MAX_LISTED:
        return f"{', '.join(show(value) for value in values[:LEADING])}, … {show(values[-1])}"
    words: list[str] = []
    for first, last in runs(values):
        if last - first < 2:
            words += [show(value) for value in range(first, last + 1)]
        else:
            words.append(f"{show(first)} to {show(last)}")
    return joined(words)


def shortened(words: Sequence[str], noun: str) -> str:
    """Return a list, cut to its beginning and the number of what is left where it is long."""
    if len(words) <= MAX_LISTED:
        return joined(words)
    return joined([*words[:LEADING], f"{len(words) - LEADING} more {noun}"])


def duration(seconds: int) -> str:
    """Return ``15 minutes``, ``90 minutes``, ``2 hours and 30 minutes`` and so on."""
    for size, noun in _UNITS:
        if seconds % size == 0 and seconds // size <= _UNDIVIDED.get(size, seconds):
            return counted(seconds // size, noun)
    words = []
    for size, noun in _UNITS:
        count, seconds = divmod(seconds, size)
        if count:
            words.append(counted(count, noun))
    return joined(words)


def every(seconds: int) -> str:
    """Return ``every minute`` or ``every 15 minutes``."""
    one_unit = any(seconds == size for size, _noun in _UNITS)
    return f"every {duration(seconds).removeprefix('1 ') if one_unit else duration(seconds)}"


def short_duration(milliseconds: int) -> str:
    """Return ``500 ms``, ``1.5 s``, ``30 s``, ``5 min`` or ``2 h``."""
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    for size, unit in ((3_600_000, "h"), (60_000, "min")):
        if milliseconds % size == 0:
            return f"{milliseconds // size} {unit}"
    whole, rest = divmod(milliseconds, 1000)
    return f"{whole}.{rest:03}".rstrip("0").rstrip(".") + " s"


def clock(second: int, *, seconds: bool) -> str:
    """Return a second of the day as ``09:00`` or ``09:00:30``; the next day begins again at ``00:00``."""
    second %= DAY
    shown = f"{second // 3600:02}:{second % 3600 // 60:02}"
    return f"{shown}:{second % 60:02}" if seconds else shown


def wall(local: int) -> str:
    """Return a wall time as ``2026-03-29 09:00``, with seconds if it has any."""
    shown = wall_datetime(local)
    return f"{shown.date().isoformat()} {clock(local % DAY, seconds=bool(local % 60))}"


def moment(text: str, between: str = " ") -> str:
    """Return an ISO date or time as ``2026-03-29``, ``2026-03-29 09:00`` or ``2026-03-29 09:00 UTC+02:00``."""
    value = datetime.fromisoformat(text)
    if read_moment(text, field="").kind == "day":
        return value.date().isoformat()
    precision = "microseconds" if value.microsecond else "seconds" if value.second else "minutes"
    shown = f"{value.date().isoformat()}{between}{value.time().isoformat(precision)}"
    offset = value.utcoffset()
    if offset is None:
        return shown
    name = value.replace(tzinfo=UTC).tzname() if not offset else value.tzname()
    return f"{shown} {name}"


def cleaned(text: str) -> str:
    """Return what a user wrote on one line and not too long."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_NOTE_CHARS else line[: MAX_NOTE_CHARS - 1] + "…"


def noted(text: str) -> str:
    """Return a user's note in brackets, ready to be appended; nothing if there is none."""
    line = cleaned(text)
    return f" ({line})" if line else ""


def in_zone(name: str) -> str:
    """Return ``in Europe/Berlin time``."""
    return "in UTC" if name == "UTC" else f"in {name} time"


def sentence(text: str) -> str:
    """Return a clause with a capital letter and a full stop."""
    return f"{text[0].upper()}{text[1:]}."
