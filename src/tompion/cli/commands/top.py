"""``tompion top``: live view of upcoming ticks, running runs and recent outcomes."""

from __future__ import annotations

import select
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tompion.cli.commands.stats import counts_text
from tompion.cli.connection import Connection, connection_options, with_options
from tompion.cli.output import console
from tompion.cli.output.tables import Column, absolute, now, relative, table_lines
from tompion.cli.output.views import run_duration, run_reason
from tompion.cli.snapshot import TopSnapshot, read_top_snapshot

if TYPE_CHECKING:
    from rich.console import Group

SECTIONS = 4
MIN_ROWS, MAX_ROWS = 2, 15


@with_options(connection=connection_options)
def top_command(
    connection: Connection,
    once: Annotated[bool, typer.Option("--once", help="Print one frame and exit.")] = False,
    every: Annotated[float, typer.Option("--every", metavar="SECONDS", min=0.1, help="Refresh interval.")] = 2.0,
) -> None:
    """Watch ticks, runs, engines and queues. Press q to quit.

    Example: tompion top --url http://127.0.0.1:8640
    """
    out = console.console()
    with connection.open() as api:
        if once or connection.output.is_data or not out.is_terminal:
            connection.print_result(
                read_top_snapshot(api),
                lambda snapshot: out.print(frame(snapshot, out.width, MAX_ROWS), soft_wrap=True),
            )
            return
        from rich.live import Live

        with _key_reader() as read_key, Live(console=out, screen=True, auto_refresh=False) as live:
            while True:
                rows = max(MIN_ROWS, min(MAX_ROWS, (out.height - 2 * SECTIONS - 3) // SECTIONS))
                live.update(frame(read_top_snapshot(api), out.width, rows), refresh=True)
                if read_key(every) == "q":
                    return


def frame(snapshot: TopSnapshot, width: int, rows: int) -> Group:
    """Return one frame. Each section has at most ``rows`` rows."""
    from rich.console import Group

    lines = [_summary(snapshot)]
    for title, section in (
        ("next ticks", _next_ticks(snapshot, width, rows)),
        ("running", _running(snapshot, width, rows)),
        ("recent", _recent(snapshot, width, rows)),
        ("instances and queues", _instances_and_queues(snapshot, width, rows)),
    ):
        lines += [Text(), Text(title, style="bold underline"), *section]
    return Group(*lines)


def _summary(snapshot: TopSnapshot) -> Text:
    counts = snapshot.schedules
    runs = f"{counts.in_flight:,} runs in flight, {counts.waiting:,} waiting"
    return Text(f"{absolute(now())}  {counts_text(counts)}; {runs}")


def _next_ticks(snapshot: TopSnapshot, width: int, rows: int) -> list[Text]:
    present = now()
    columns = (Column("in"), Column("at"), Column("schedule", 16))
    cells = [
        (relative(tick.fire_at, present).removeprefix("in "), absolute(tick.fire_at), tick.schedule_id)
        for tick in snapshot.upcoming[:rows]
    ]
    return _section(columns, cells, width, "No upcoming ticks. Create a schedule with 'tompion schedules create'.")


def _running(snapshot: TopSnapshot, width: int, rows: int) -> list[Text]:
    present = now()
    columns = (Column("since"), Column("status"), Column("schedule", 16), Column("run", 12), Column("source"))
    cells = [
        (relative(run.started_at or run.fire_at, present), run.status.value, run.schedule_id, run.run_id, run.source)
        for run in snapshot.running[:rows]
    ]
    return _section(columns, cells, width, "No running runs.")


def _recent(snapshot: TopSnapshot, width: int, rows: int) -> list[Text]:
    """Return the lines about the latest finished runs."""
    present = now()
    columns = (
        Column("ended"),
        Column("status"),
        Column("took"),
        Column("schedule", 16),
        Column("reason", 8, prose=True),
    )
    cells = [
        (
            relative(run.finished_at or run.created_at, present),
            run.status.value,
            run_duration(run),
            run.schedule_id,
            run_reason(run),
        )
        for run in snapshot.recent[:rows]
    ]
    return _section(columns, cells, width, "No finished runs yet.")


def _instances_and_queues(snapshot: TopSnapshot, width: int, rows: int) -> list[Text]:
    """Return the lines about instances and queues."""
    present = now()
    columns = (Column("kind"), Column("name", 16), Column("status"), Column("", 16, prose=True))
    cells = [
        (
            instance.kind,
            instance.name,
            "alive" if instance.alive else "silent",
            f"heartbeat {relative(instance.last_heartbeat_at, present)}",
        )
        for instance in snapshot.instances
        if instance.stopped_at is None
    ]
    cells += [
        (
            "queue",
            queue.queue,
            "paused" if queue.paused else "active",
            f"{queue.waiting:,} waiting, served by {queue.served_by}",
        )
        for queue in snapshot.queues
    ]
    return _section(columns, cells[:rows], width, "No engine is running. Start one with 'tompion worker'.")


def _section(columns: Sequence[Column], cells: Sequence[Sequence[str]], width: int, empty: str) -> list[Text]:
    return table_lines(columns, cells, width) if cells else [Text(empty, style="dim")]


class _KeyReader:
    """Waits for a key for a limited time."""

    def __init__(self, is_terminal: bool) -> None:
        self._is_terminal = is_terminal

    def __call__(self, seconds: float) -> str:
        ready, _, _ = select.select([sys.stdin] if self._is_terminal else [], [], [], seconds)
        return sys.stdin.read(1) if ready else ""


@contextmanager
def _key_reader() -> Iterator[_KeyReader]:
    """Switch the terminal to single keys while the context is active."""
    if not sys.stdin.isatty():
        yield _KeyReader(False)
        return
    import termios
    import tty

    previous = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        yield _KeyReader(True)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, previous)
