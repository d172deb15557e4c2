"""Bars for work that takes a while; a pipe gets none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tompion.cli.output import console
from tompion.model.backfill import RUNNING
from tompion.runtime.clock import wait_here

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from tompion.cli.connection import Home
    from tompion.model.schedule import Backfill

LOOK_S = 0.5
"""How often a backfill is looked at."""
MAX_BACKFILLS = 200
"""How many backfills are looked at; a schedule has at most a hundred unfinished ones."""
NOBODY = "no engine is alive here: the backfill is recorded, and begins when one is ('tompion worker')"


@contextmanager
def bar(text: str, total: int | None, out: Console | None = None) -> Iterator[Callable[[int], None]]:
    """Give what moves a bar to a number of steps done; ``None`` is a total that nobody knows.

    Whoever prints meanwhile prints to ``out``; otherwise the bar is beside the output.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    out = out or console.console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as shown:
        task = shown.add_task(text, total=total)
        yield lambda done: shown.update(task, completed=done)


def awaited(home: Home, asked: Sequence[Backfill]) -> tuple[Backfill, ...]:
    """Wait until backfills are over, or nobody is there to run them; return how they are then."""
    schedule_id, wanted = asked[0].schedule_id, {each.backfill_id for each in asked}
    found = tuple(asked)
    with bar(f"backfill of {schedule_id}", sum(each.total for each in asked)) as move:
        while any(each.state == RUNNING for each in found):
            if not any(each.alive and each.kind == "engine" for each in home.list_instances()):
                console.note(NOBODY)
                break
            wait_here(LOOK_S)
            found = tuple(
                each for each in home.backfills(schedule_id, limit=MAX_BACKFILLS) if each.backfill_id in wanted
            )
            move(sum(each.done for each in found))
    return found
