"""Pausing, resuming and triggering many schedules with one command: which are meant, asking first, page after page."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tompion.cli.connection import After, Connection, Limit, complete_schedules, drop_unset
from tompion.cli.output import console, progress
from tompion.errors import InvalidInput
from tompion.model.schedule import BulkResult

if TYPE_CHECKING:
    from tompion.cli.connection import Api

SOME_REFUSED = 1
NAMED = 3
"""How many schedules a question names."""

ScheduleIds = Annotated[
    list[str] | None,
    typer.Argument(metavar="[SCHEDULE]...", help="Ids of schedules.", autocompletion=complete_schedules),
]
State = Annotated[str | None, typer.Option("--state", help="active, paused, exhausted or closed.")]
Label = Annotated[str | None, typer.Option("--label", metavar="NAME=VALUE", help="With this label.")]
InText = Annotated[str | None, typer.Option("--text", help="In the id or the description.")]
OfWorkflow = Annotated[str | None, typer.Option("--workflow", metavar="ID", help="Of this workflow.")]
OfUser = Annotated[str | None, typer.Option("--user", metavar="ID", help="Of this user.")]


@dataclass(frozen=True, slots=True)
class BulkSelection:
    """Which schedules are meant, and how to go about it."""

    filters: dict[str, Any] = field(default_factory=dict)
    paging: dict[str, Any] = field(default_factory=dict)
    dry_run: bool = False
    yes: bool = False

    def is_one(self, schedule_ids: Sequence[str] | None) -> bool:
        """Return whether a single schedule is meant, by its id and nothing else."""
        return len(schedule_ids or ()) == 1 and self == replace(BulkSelection(), yes=self.yes)

    def question(self, schedule_ids: Sequence[str] | None) -> dict[str, Any]:
        """Return which schedules are meant, as the operation takes it."""
        if not schedule_ids and not self.filters:
            raise InvalidInput("which schedules? name them, choose by --label, --state, --text, …, or say --all")
        return drop_unset(schedule_ids=list(schedule_ids or ())) | self.filters


@dataclass(frozen=True, slots=True)
class BulkWork:
    """What is done to them: the words for it, and the operation."""

    verb: str
    done: str
    already: str
    operation: Callable[[Api], Callable[..., BulkResult]]


def choosing(  # noqa: PLR0913 - each is an option of the command
    state: State = None,
    label: Label = None,
    text: InText = None,
    workflow: OfWorkflow = None,
    user: OfUser = None,
    everything: Annotated[bool, typer.Option("--all", help="Every schedule.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show which ones.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask first.")] = False,
    limit: Limit = None,
    after: After = None,
) -> BulkSelection:
    """Read which schedules are meant."""
    filters = drop_unset(state=state, label=label, text=text, workflow_id=workflow, user_id=user)
    if everything:
        filters["everything"] = True
    return BulkSelection(filters, drop_unset(limit=limit, after=after), dry_run, yes)


def touch(
    connection: Connection,
    work: BulkWork,
    chosen: BulkSelection,
    schedule_ids: Sequence[str] | None,
    options: dict[str, Any],
) -> None:
    """Do it to all that are meant, and say to how many; exits 1 if any was refused."""
    if "token" in options:
        raise InvalidInput("--token: it is of one schedule, and many are meant")
    question = chosen.question(schedule_ids)
    with connection.open() as api:
        change = work.operation(api)
        if chosen.dry_run:
            found = _paged(connection, work, change, {**question, **options, "dry_run": True}, chosen.paging, None)
        else:
            total = None if chosen.yes or schedule_ids else _agreed(work, change, question, chosen.paging)
            found = _paged(connection, work, change, {**question, **options}, chosen.paging, total)
        connection.print_result(found, lambda touched: _summary(work, touched))
    if found.refused:
        raise typer.Exit(SOME_REFUSED)


def _agreed(work: BulkWork, change: Callable[..., BulkResult], question: dict[str, Any], paging: dict[str, Any]) -> int:
    """Show what is meant and ask whether it is; return how many there are."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidInput("--yes: needed where nobody can be asked; --dry-run shows which schedules are meant")
    found = BulkResult((), 0, (), True, None)
    for each in _pages(change, {**question, "dry_run": True}, paging):
        found = _merged(found, each)
    if not found.schedule_ids:
        return 0
    names = ", ".join(found.schedule_ids[:NAMED])
    rest = f" and {len(found.schedule_ids) - NAMED:,} more" if len(found.schedule_ids) > NAMED else ""
    typer.confirm(f"{work.verb} {_counted(len(found.schedule_ids))} ({names}{rest})?", abort=True, err=True)
    return len(found.schedule_ids) + found.unchanged


def _paged(  # noqa: PLR0913 - what is asked, and who is told how far it is
    connection: Connection,
    work: BulkWork,
    change: Callable[..., BulkResult],
    question: dict[str, Any],
    paging: dict[str, Any],
    total: int | None,
) -> BulkResult:
    """Ask page after page; whoever is stopped in the middle is told where to go on."""
    found = BulkResult((), 0, (), bool(question.get("dry_run")), None)
    try:
        with progress.bar(work.verb, total) as move:
            for each in _pages(change, question, paging):
                found = _merged(found, each)
                move(len(found.schedule_ids) + found.unchanged + len(found.refused))
    except BaseException:
        if found.next_page is not None and not connection.as_json:
            _summary(work, found)
        raise
    return found


def _pages(change: Callable[..., BulkResult], question: dict[str, Any], paging: dict[str, Any]) -> Any:
    """Yield what each page has come to; a limit is one page."""
    request_id, number = question.get("request_id"), 1
    page = change(**question, **paging)
    yield page
    while page.next_page is not None and "limit" not in paging:
        number += 1
        again = {} if request_id is None else {"request_id": f"{request_id}-{number}"}
        page = change(**{**question, **again, "after": page.next_page})
        yield page


def _merged(found: BulkResult, more: BulkResult) -> BulkResult:
    return BulkResult(
        schedule_ids=found.schedule_ids + more.schedule_ids,
        unchanged=found.unchanged + more.unchanged,
        refused=found.refused + more.refused,
        dry_run=more.dry_run,
        next_page=more.next_page,
    )


def _summary(work: BulkWork, found: BulkResult) -> None:
    if found.dry_run:
        for name in found.schedule_ids:
            console.line(name)
    for each in found.refused:
        console.line(f"refused {each.schedule_id}: {each.problem}")
    parts = [f"{f'would {work.verb}' if found.dry_run else work.done} {_counted(len(found.schedule_ids))}"]
    if found.unchanged:
        parts.append(f"{found.unchanged:,} {work.already}")
    if found.refused:
        parts.append(f"{len(found.refused):,} refused")
    rest = "" if found.next_page is None else f"; there is more: --after {found.next_page}"
    console.note(", ".join(parts) + rest)


def _counted(number: int) -> str:
    return f"{number:,} schedule{'' if number == 1 else 's'}"
