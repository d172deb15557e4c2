"""Tables and name-value lists that fit a terminal. Output into a pipe is not truncated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from tompion.cli.output import console
from tompion.cli.output.formats import utc_times, wide_tables
from tompion.cli.output.text import shorten, wrap
from tompion.runtime.clock import SystemClock

GAP = "  "
MIN_NAME_WIDTH = 30
"""Width that long names keep before an extra column is shown."""
STYLES = {
    "active": "green",
    "paused": "yellow",
    "exhausted": "dim",
    "closed": "dim",
    "damaged": "bold red",
    "SUCCESS": "green",
    "FAILED": "red",
    "TIMED_OUT": "red",
    "TERMINATED": "red",
    "CANCELLED": "yellow",
    "SKIPPED": "dim",
    "STARTED": "cyan",
    "ENQUEUED": "cyan",
    "BUFFERED": "cyan",
    "PLANNED": "cyan",
    "ok": "green",
    "warn": "yellow",
    "bad": "bold red",
    "alive": "green",
    "silent": "red",
    "RUNNING": "cyan",
    "DONE": "green",
}
display_zone: ContextVar[str | None] = ContextVar("display_zone", default=None)
"""Zone of the times in the output. ``None`` is UTC."""
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


class Column(NamedTuple):
    """A column: its header, its minimum width, and whether it is shown only on wide terminals.

    A long name is shortened in the middle, because its ends identify it. Prose is truncated at its end, or wrapped.
    """

    head: str
    min_width: int | None = None
    extra: bool = False
    prose: bool = False
    wrap: bool = False


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under a header, fitted to the terminal."""
    out = console.console()
    for line in table_lines(columns, rows, out.width if out.is_terminal and not wide_tables.get() else None):
        out.print(line, soft_wrap=True)


def table_lines(columns: Sequence[Column], rows: Sequence[Sequence[str]], max_width: int | None) -> list[Text]:
    """Return the lines of a table. ``None`` is an unlimited width."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    natural = [
        max([cell_len(column.head), *(cell_len(row[number]) for row in cells)]) for number, column in enumerate(columns)
    ]
    visible = _visible_columns(columns, natural, max_width)
    widths = _fit_widths(columns, natural, visible, max_width)
    lines = [Text(_join([columns[number].head for number in visible], widths), style="bold")]
    for row in cells:
        parts = [
            _cell_parts(columns[number], row[number], width) for number, width in zip(visible, widths, strict=True)
        ]
        for position in range(max(map(len, parts))):
            line = Text()
            for cell_parts, width in zip(parts, widths, strict=True):
                cell = cell_parts[position] if position < len(cell_parts) else ""
                line.append(cell, STYLES.get(cell, "none")).append(" " * (width - cell_len(cell)) + GAP)
            line.rstrip()
            lines.append(line)
    return lines


def _cell_parts(column: Column, text: str, width: int) -> list[str]:
    """Return the lines of a cell. Only a column that wraps has several."""
    if column.wrap:
        return wrap(text, width, 0)
    return [(_truncate if column.prose else shorten)(text, width)]


def facts(pairs: Sequence[tuple[str, str]]) -> None:
    """Print names and values. Long values are wrapped."""
    out = console.console()
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        line = f"{name:<{width}}{GAP}{one_line(value)}".rstrip()
        parts = wrap(line, out.width, width + len(GAP)) if out.is_terminal else [line]
        for number, part in enumerate(parts):
            text = Text(part)
            if not number:
                text.stylize("bold", 0, len(name))
                text.stylize(STYLES.get(value.partition(" ")[0], "none"), width + len(GAP))
            out.print(text, soft_wrap=True)


def heading(text: str) -> None:
    """Print a heading."""
    out = console.console()
    out.print()
    out.print(Text(text, style="bold underline"), soft_wrap=True)


def now() -> datetime:
    """Return the current time, for relative times."""
    return datetime.fromtimestamp(SystemClock().now(), UTC)


@contextmanager
def times_in(zone: str | None) -> Iterator[None]:
    """Print times in this zone while the context is active. ``--utc`` wins."""
    token = display_zone.set(None if utc_times.get() else zone)
    try:
        yield
    finally:
        display_zone.reset(token)


def absolute(when: datetime | None) -> str:
    """Return an instant in the zone of :func:`times_in`, or in UTC."""
    if when is None:
        return "-"
    zone = display_zone.get()
    if zone in (None, "UTC"):
        return f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"
    from tompion.sdk.zones import local_time

    return local_time(when, zone).isoformat(sep=" ", timespec="seconds")


def relative(when: datetime | None, present: datetime) -> str:
    """Return an instant relative to the present: ``in 2h 5m``, ``3d ago``."""
    if when is None:
        return "-"
    seconds = round((when - present).total_seconds())
    if seconds == 0:
        return "now"
    return f"in {length(seconds)}" if seconds > 0 else f"{length(-seconds)} ago"


def moment(when: datetime | None, present: datetime) -> str:
    """Return an instant, absolute and relative."""
    return "-" if when is None else f"{absolute(when)} ({relative(when, present)})"


def length(seconds: float) -> str:
    """Return a duration in its two largest units."""
    left = int(seconds)
    parts: list[str] = []
    for size, unit in _UNITS:
        if left >= size or (parts and len(parts) < 2):
            parts.append(f"{left // size}{unit}" if left >= size else "")
            left %= size
        if len(parts) == 2:
            break
    return " ".join(filter(None, parts)) or "0s"


def one_line(text: str) -> str:
    """Return a text without line breaks and control characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _truncate(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def _visible_columns(columns: Sequence[Column], natural: Sequence[int], max_width: int | None) -> list[int]:
    """Return the indexes of the columns to show. Extra columns are shown while they fit."""
    if max_width is None:
        return list(range(len(columns)))
    wanted = [
        width if column.min_width is None else min(width, max(column.min_width, MIN_NAME_WIDTH))
        for column, width in zip(columns, natural, strict=True)
    ]
    extra = [number for number, column in enumerate(columns) if column.extra]
    visible = [number for number, column in enumerate(columns) if not column.extra]
    for number in extra:
        if _total_width([wanted[index] for index in [*visible, number]]) > max_width:
            break
        visible.append(number)
    return sorted(visible)


def _fit_widths(
    columns: Sequence[Column], natural: Sequence[int], visible: list[int], max_width: int | None
) -> list[int]:
    """Return the width of each visible column. The widest column shrinks first."""
    widths = [natural[number] for number in visible]
    while max_width is not None and _total_width(widths) > max_width:
        shrinkable = [
            place
            for place, number in enumerate(visible)
            if columns[number].min_width is not None and widths[place] > (columns[number].min_width or 0)
        ]
        if not shrinkable:
            break
        widths[max(shrinkable, key=lambda place: widths[place])] -= 1
    return widths


def _total_width(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _join(cells: Sequence[str], widths: Sequence[int]) -> str:
    return GAP.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
