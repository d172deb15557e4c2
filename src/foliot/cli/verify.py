"""``foliot verify``: is every tick accounted for exactly once?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from foliot.cli import render
from foliot.cli.options import DEFAULT_STORE, Store, instant
from foliot.errors import NotFound

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from foliot.embedded import SyncFoliot
    from foliot.model.verification import Problem, Verification

PAGE = 200
MANY = 100
"""A check stops listing the problems of one schedule here."""

Namespace = Annotated[str, typer.Option("--namespace", metavar="NAME", help="Whose schedules.")]
OneSchedule = Annotated[
    str | None, typer.Option("--schedule", metavar="ID", help="Only this schedule.", show_default=False)
]
Start = Annotated[
    str | None,
    typer.Option("--start", metavar="TIME", help="Only ticks from here on, with offset.", show_default=False),
]
End = Annotated[
    str | None, typer.Option("--end", metavar="TIME", help="Only ticks up to here, with offset.", show_default=False)
]


def verify_command(
    store: Store = DEFAULT_STORE,
    namespace: Namespace = "default",
    schedule: OneSchedule = None,
    start: Start = None,
    end: End = None,
) -> None:
    """Prove that each tick is in the ledger exactly once.  Exits 1 if one is not.

    Example: foliot verify --store sqlite:///jobs.db --schedule report
    """
    from foliot.embedded import SyncFoliot
    from foliot.wiring import refuse_missing

    first, last = instant(start, "--start"), instant(end, "--end")
    refuse_missing(store)
    out = render.console()
    checked = ticks = wrong = 0
    with SyncFoliot(store, engine=False, namespace=namespace) as foliot, _progress(out) as status:
        for found in _checks(foliot, schedule, first, last):
            checked, ticks = checked + 1, ticks + found.ticks
            if not found.ok:
                wrong += 1
                out.print(problem_line(found), soft_wrap=True, markup=False)
            if status is not None:
                status.update(f"checked {_counted(checked, 'schedule')}, {_counted(ticks, 'tick')} …")
    if wrong:
        render.paragraph(f"{wrong:,} of {_counted(checked, 'schedule')} with problems; {_counted(ticks, 'tick')}")
        raise typer.Exit(1)
    each = "accounted" if ticks == 1 else "each accounted"
    render.paragraph(f"{_counted(checked, 'schedule')}, {_counted(ticks, 'tick')}: {each} for exactly once")


def problem_line(found: Verification) -> str:
    """Return what is wrong with one schedule: how much of which kind, and the first of it."""
    kinds = Counter(problem.kind for problem in found.problems)
    counts = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items())
    least = "at least " if len(found.problems) >= MANY else ""
    return f"{found.schedule_id}: {least}{counts} of {_counted(found.ticks, 'tick')}; first {_first(found.problems[0])}"


def _first(problem: Problem) -> str:
    return problem.text if problem.at is None else f"{problem.at:%Y-%m-%d %H:%M:%SZ}: {problem.text}"


def _checks(
    foliot: SyncFoliot, schedule: str | None, start: datetime | None, end: datetime | None
) -> Iterator[Verification]:
    if schedule is not None:
        yield foliot.verify(schedule, start=start, end=end)
        return
    for schedule_id in _every_schedule(foliot):
        try:
            found = foliot.verify(schedule_id, start=start, end=end)
        except NotFound:  # purged since it was listed
            continue
        yield found


def _every_schedule(foliot: SyncFoliot) -> Iterator[str]:
    """The ids of all schedules, those that have been deleted last."""
    for state in (None, "closed"):
        after: str | None = None
        while True:
            page = foliot.list_schedules(state=state, limit=PAGE, after=after)
            yield from (each.schedule_id for each in page.items)
            after = page.next_page
            if after is None:
                break


@contextmanager
def _progress(out: Console) -> Iterator[Status | None]:
    """Something that moves on a terminal, and nothing in a pipe."""
    if not out.is_terminal:
        yield None
        return
    with out.status("checking …") as status:
        yield status


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
