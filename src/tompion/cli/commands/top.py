"""``tompion top``: what runs, what comes, and what came of it, as it happens."""

from __future__ import annotations

import select
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tompion.cli.commands.stats import tally_text
from tompion.cli.connection import Connection, connection_options, with_options
from tompion.cli.output import console
from tompion.cli.output.tables import Column, absolute, now, relative, table_lines
from tompion.cli.output.views import took, why
from tompion.cli.snapshot import SnapshotRow, glance

if TYPE_CHECKING:
    from rich.console import Group

PARTS = 4
MIN_ROWS, MAX_ROWS = 2, 15


@with_options(connection=connection_options)
def top_command(
    connection: Connection,
    once: Annotated[bool, typer.Option("--once", help="Print one frame and leave, as in a pipe.")] = False,
    every: Annotated[float, typer.Option("--every", metavar="SECONDS", min=0.1, help="How often to look.")] = 2.0,
) -> None:
    """Watch the next ticks, running runs, recent outcomes, instances and queues; q or Ctrl-C ends it.

    Example: tompion top --url http://127.0.0.1:8640
    """
    out = console.console()
    with connection.open() as api:
        if once or connection.as_json or not out.is_terminal:
            connection.print_result(
                glance(api), lambda found: out.print(frame(found, out.width, MAX_ROWS), soft_wrap=True)
            )
            return
        from rich.live import Live

        with _keys() as pressed, Live(console=out, screen=True, auto_refresh=False) as live:
            while True:
                rows = max(MIN_ROWS, min(MAX_ROWS, (out.height - 2 * PARTS - 3) // PARTS))
                live.update(frame(glance(api), out.width, rows), refresh=True)
                if pressed(every) == "q":
                    return


def frame(found: SnapshotRow, width: int, rows: int) -> Group:
    """Return one frame: each part has so many rows at most."""
    from rich.console import Group

    lines = [_summary(found)]
    for title, part in (
        ("next ticks", _next(found, width, rows)),
        ("running", _running(found, width, rows)),
        ("recent", _recent(found, width, rows)),
        ("instances and queues", _around(found, width, rows)),
    ):
        lines += [Text(), Text(title, style="bold underline"), *part]
    return Group(*lines)


def _summary(found: SnapshotRow) -> Text:
    counted = found.schedules
    flying = f"{counted.in_flight:,} runs in flight, {counted.waiting:,} waiting"
    return Text(f"{absolute(now())}  {tally_text(counted)}; {flying}")


def _next(found: SnapshotRow, width: int, rows: int) -> list[Text]:
    present = now()
    columns = (Column("in"), Column("at"), Column("schedule", 16))
    cells = [
        (relative(tick.fire_at, present).removeprefix("in "), absolute(tick.fire_at), tick.schedule_id)
        for tick in found.coming[:rows]
    ]
    return _part(columns, cells, width, "nothing is to come; 'tompion schedules create' makes a schedule")


def _running(found: SnapshotRow, width: int, rows: int) -> list[Text]:
    present = now()
    columns = (Column("since"), Column("state"), Column("schedule", 16), Column("run", 12), Column("source"))
    cells = [
        (relative(run.started_at or run.fire_at, present), run.state.value, run.schedule_id, run.run_id, run.source)
        for run in found.running[:rows]
    ]
    return _part(columns, cells, width, "nothing runs")


def _recent(found: SnapshotRow, width: int, rows: int) -> list[Text]:
    present = now()
    columns = (Column("ended"), Column("state"), Column("took"), Column("schedule", 16), Column("why", 8, prose=True))
    cells = [
        (relative(run.finished_at or run.decided_at, present), run.state.value, took(run), run.schedule_id, why(run))
        for run in found.recent[:rows]
    ]
    return _part(columns, cells, width, "nothing has run yet")


def _around(found: SnapshotRow, width: int, rows: int) -> list[Text]:
    present = now()
    columns = (Column("what"), Column("name", 16), Column("state"), Column("", 16, prose=True))
    alive = [each for each in found.instances if each.stopped_at is None]
    cells = [
        (
            each.kind,
            each.name,
            "alive" if each.alive else "silent",
            f"heard of {relative(each.last_heartbeat_at, present)}",
        )
        for each in alive
    ]
    cells += [
        (
            "queue",
            each.queue,
            "paused" if each.paused else "active",
            f"{each.waiting:,} waiting, served by {each.served_by}",
        )
        for each in found.queues
    ]
    return _part(columns, cells[:rows], width, "nobody runs schedules here; 'tompion worker' does")


def _part(columns: Sequence[Column], cells: Sequence[Sequence[str]], width: int, empty: str) -> list[Text]:
    return table_lines(columns, cells, width) if cells else [Text(empty, style="dim")]


class _Pressed:
    """Waits for a key, but no longer than that."""

    def __init__(self, is_terminal: bool) -> None:
        self._is_terminal = is_terminal

    def __call__(self, seconds: float) -> str:
        ready, _, _ = select.select([sys.stdin] if self._is_terminal else [], [], [], seconds)
        return sys.stdin.read(1) if ready else ""


@contextmanager
def _keys() -> Iterator[_Pressed]:
    """Let single keys be read, without a return after them."""
    if not sys.stdin.isatty():
        yield _Pressed(False)
        return
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        yield _Pressed(True)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
