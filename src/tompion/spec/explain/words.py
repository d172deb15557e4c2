"""Wording helpers for explanations: lists, ordinals, durations, times and dates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from tompion.encoding.instant import wall_datetime
from tompion.spec.calendar.days import DAY
from tompion.spec.datetime_text import read_moment

MAX_LISTED = 5
"""A longer arithmetic progression is shortened to its first three members and its last."""

MAX_LEADING = 3
"""Number of members at the beginning of a shortened list."""

MAX_NOTE_CHARS = 80
"""Notes and names from users are cut to this many characters."""

_NTH = ("first", "second", "third", "fourth", "fifth")
_SUFFIXES = {1: "st", 2: "nd", 3: "rd"}
_UNITS = ((DAY, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
_MAX_UNDIVIDED = {3600: 72, 60: 120, 1: 120}
"""Up to this many hours, minutes or seconds are not converted: 90 minutes, 36 hours."""


def join_words(words: Iterable[str], last: str = "and") -> str:
    """Return ``a``, ``a and b`` or ``a, b and c``."""
    *heads, tail = words
    return f"{', '.join(heads)} {last} {tail}" if heads else tail


def count_text(number: int, noun: str) -> str:
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

    With a ``cycle``, a run that reaches its end continues at 0: hours 22 to 2 of 24 are the run ``(22, 26)``.
    """
    pairs: list[tuple[int, int]] = []
    for value in values:
        if pairs and pairs[-1][1] == value - 1:
            pairs[-1] = (pairs[-1][0], value)
        else:
            pairs.append((value, value))
    if cycle and len(pairs) > 1 and pairs[0][0] == 0 and pairs[-1][1] == cycle - 1:
        head = pairs.pop(0)
        pairs[-1] = (pairs[-1][0], head[1] + cycle)
    return pairs


def progression(values: Sequence[int]) -> int:
    """Return the step of an arithmetic progression of at least two values, 0 for other values."""
    steps = {after - before for before, after in pairwise(values)}
    return steps.pop() if len(steps) == 1 else 0


def numbers(values: Sequence[int], show: Callable[[int], str] = str) -> str:
    """Return a list of numbers in words: ``0, 7, 14, … 56`` or ``1 to 5, 8 and 9``. It is always unambiguous."""
    if progression(values) > 1 and len(values) > MAX_LISTED:
        return f"{', '.join(show(value) for value in values[:MAX_LEADING])}, … {show(values[-1])}"
    words: list[str] = []
    for first, last in runs(values):
        if last - first < 2:
            words += [show(value) for value in range(first, last + 1)]
        else:
            words.append(f"{show(first)} to {show(last)}")
    return join_words(words)


def shorten_list(words: Sequence[str], noun: str) -> str:
    """Return a list. If it is long, only its beginning and the number of other members."""
    if len(words) <= MAX_LISTED:
        return join_words(words)
    return join_words([*words[:MAX_LEADING], f"{len(words) - MAX_LEADING} more {noun}"])


def duration(seconds: int) -> str:
    """Return ``15 minutes``, ``90 minutes``, ``2 hours and 30 minutes`` and so on."""
    for size, noun in _UNITS:
        if seconds % size == 0 and seconds // size <= _MAX_UNDIVIDED.get(size, seconds):
            return count_text(seconds // size, noun)
    words = []
    for size, noun in _UNITS:
        count, seconds = divmod(seconds, size)
        if count:
            words.append(count_text(count, noun))
    return join_words(words)


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
    """Return a second of the day as ``09:00`` or ``09:00:30``. The next day begins again at ``00:00``."""
    second %= DAY
    text = f"{second // 3600:02}:{second % 3600 // 60:02}"
    return f"{text}:{second % 60:02}" if seconds else text


def wall(local: int) -> str:
    """Return a wall time as ``2026-03-29 09:00``, with seconds if it has any."""
    when = wall_datetime(local)
    return f"{when.date().isoformat()} {clock(local % DAY, seconds=bool(local % 60))}"


def moment(text: str, between: str = " ") -> str:
    """Return an ISO date or time as ``2026-03-29``, ``2026-03-29 09:00`` or ``2026-03-29 09:00 UTC+02:00``."""
    value = datetime.fromisoformat(text)
    if read_moment(text, field="").kind == "day":
        return value.date().isoformat()
    precision = "microseconds" if value.microsecond else "seconds" if value.second else "minutes"
    written = f"{value.date().isoformat()}{between}{value.time().isoformat(precision)}"
    offset = value.utcoffset()
    if offset is None:
        return written
    name = value.replace(tzinfo=UTC).tzname() if not offset else value.tzname()
    return f"{written} {name}"


def clean_note(text: str) -> str:
    """Return a user's text on one line and not too long."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_NOTE_CHARS else line[: MAX_NOTE_CHARS - 1] + "…"


def note_suffix(text: str) -> str:
    """Return a user's note in brackets with a space before it, an empty text without a note."""
    line = clean_note(text)
    return f" ({line})" if line else ""


def in_zone(name: str) -> str:
    """Return ``in Europe/Berlin time``."""
    return "in UTC" if name == "UTC" else f"in {name} time"


def sentence(text: str) -> str:
    """Return a clause with a capital letter and a full stop."""
    return f"{text[0].upper()}{text[1:]}."
