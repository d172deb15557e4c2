"""Progress bars on a terminal. Output into a pipe has none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tompion.cli.output import console
from tompion.model.backfill import RUNNING
from tompion.runtime.clock import pause_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from tompion.cli.connection import Api
    from tompion.model.schedule import Backfill

POLL_S = 0.5
MAX_BACKFILLS = 200
"""Maximum backfills that are polled. A schedule has at most 100 unfinished ones."""
NO_ENGINE = "No engine is running. The backfill starts as soon as one does; start one with 'tompion worker'."


@contextmanager
def bar(text: str, total: int | None, out: Console | None = None) -> Iterator[Callable[[int], None]]:
    """Yield a function that sets the number of completed steps. ``None`` is an unknown total.

    The bar is on standard error. Pass ``out`` if the caller prints to it meanwhile.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    out = out or console.console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as progress:
        task = progress.add_task(text, total=total)
        yield lambda done: progress.update(task, completed=done)


def wait_for_backfills(api: Api, backfills: Sequence[Backfill]) -> tuple[Backfill, ...]:
    """Wait until backfills are finished or no engine is running. Return their last state."""
    schedule_id, ids = backfills[0].schedule_id, {backfill.backfill_id for backfill in backfills}
    latest = tuple(backfills)
    with bar(f"backfill of {schedule_id}", sum(backfill.total for backfill in backfills)) as advance:
        while any(backfill.status == RUNNING for backfill in latest):
            if not any(instance.alive and instance.kind == "engine" for instance in api.instances.list()):
                console.note(NO_ENGINE)
                break
            pause_thread(POLL_S)
            page = api.schedules.backfills(schedule_id, limit=MAX_BACKFILLS)
            latest = tuple(backfill for backfill in page if backfill.backfill_id in ids)
            advance(sum(backfill.done for backfill in latest))
    return latest
