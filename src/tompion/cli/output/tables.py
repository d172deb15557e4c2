"""Tables and facts for people: they fit a terminal, and a pipe gets everything whole."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from tompion.cli.logging.text import shortened, wrapped
from tompion.cli.output import console
from tompion.runtime.clock import SystemClock

GAP = "  "
MIN_NAME_WIDTH = 30
"""How much of a long name must be seen before there is room for another column."""
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
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


class Column(NamedTuple):
    """A column: its head, how narrow it may get, and whether it is only there where there is room for it.

    A name gives way in the middle, because its ends tell most names apart; prose gives way at its end.
    """

    head: str
    least: int | None = None
    extra: bool = False
    prose: bool = False


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under a head; on a terminal, in as many columns as it has."""
    out = console.console()
    for line in table_lines(columns, rows, out.width if out.is_terminal else None):
        out.print(line, soft_wrap=True)


def table_lines(columns: Sequence[Column], rows: Sequence[Sequence[str]], room: int | None) -> list[Text]:
    """Return the lines of a table; ``room`` is how wide it may be, ``None`` without end."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    natural = [
        max([cell_len(column.head), *(cell_len(row[number]) for row in cells)]) for number, column in enumerate(columns)
    ]
    shown = _shown(columns, natural, room)
    widths = _fitted(columns, natural, shown, room)
    lines = [Text(_joined([columns[number].head for number in shown], widths), style="bold")]
    for row in cells:
        line = Text()
        for number, width in zip(shown, widths, strict=True):
            cell = (_cut if columns[number].prose else shortened)(row[number], width)
            line.append(cell, STYLES.get(cell, "none")).append(" " * (width - cell_len(cell)) + GAP)
        line.rstrip()
        lines.append(line)
    return lines


def facts(pairs: Sequence[tuple[str, str]]) -> None:
    """Print names and what they are; a long text goes on below."""
    out = console.console()
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        line = f"{name:<{width}}{GAP}{one_line(value)}".rstrip()
        parts = wrapped(line, out.width, width + len(GAP)) if out.is_terminal else [line]
        for number, part in enumerate(parts):
            text = Text(part)
            if not number:
                text.stylize("bold", 0, len(name))
                text.stylize(STYLES.get(value.partition(" ")[0], "none"), width + len(GAP))
            out.print(text, soft_wrap=True)


def heading(text: str) -> None:
    """Print the name of what follows."""
    out = console.console()
    out.print()
    out.print(Text(text, style="bold underline"), soft_wrap=True)


def now() -> datetime:
    """Return the present, for saying how far away something is."""
    return datetime.fromtimestamp(SystemClock().now(), UTC)


def absolute(when: datetime | None) -> str:
    """Return an instant in UTC."""
    return "-" if when is None else f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"


def relative(when: datetime | None, present: datetime) -> str:
    """Return how far away an instant is: ``in 2h 5m``, ``3d ago``."""
    if when is None:
        return "-"
    seconds = round((when - present).total_seconds())
    if seconds == 0:
        return "now"
    return f"in {length(seconds)}" if seconds > 0 else f"{length(-seconds)} ago"


def moment(when: datetime | None, present: datetime) -> str:
    """Return an instant, and how far away it is."""
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
    """Return a text that can neither break a line nor colour the terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def _shown(columns: Sequence[Column], natural: Sequence[int], room: int | None) -> list[int]:
    """The numbers of the columns that are there: the extra ones only while there is enough room for all."""
    if room is None:
        return list(range(len(columns)))
    enough = [
        width if column.least is None else min(width, max(column.least, MIN_NAME_WIDTH))
        for column, width in zip(columns, natural, strict=True)
    ]
    extra = [number for number, column in enumerate(columns) if column.extra]
    shown = [number for number, column in enumerate(columns) if not column.extra]
    for number in extra:
        if _total([enough[each] for each in [*shown, number]]) > room:
            break
        shown.append(number)
    return sorted(shown)


def _fitted(columns: Sequence[Column], natural: Sequence[int], shown: list[int], room: int | None) -> list[int]:
    """How wide each column is: the widest that may gives way first."""
    widths = [natural[number] for number in shown]
    while room is not None and _total(widths) > room:
        giving = [
            place
            for place, number in enumerate(shown)
            if columns[number].least is not None and widths[place] > (columns[number].least or 0)
        ]
        if not giving:
            break
        widths[max(giving, key=lambda place: widths[place])] -= 1
    return widths


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _joined(cells: Sequence[str], widths: Sequence[int]) -> str:
    return GAP.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
