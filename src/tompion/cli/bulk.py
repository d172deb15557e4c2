"""Pause, resume or trigger many schedules with one command: selection, confirmation and paging."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tompion.cli.connection import After, Connection, Limit, complete_schedules, drop_unset
from tompion.cli.output import console, progress
from tompion.errors import InvalidInput
from tompion.model.bulk import BulkResult

if TYPE_CHECKING:
    from tompion.cli.connection import Api

SOME_REJECTED = 1
MAX_NAMES = 3
"""Maximum schedules that the confirmation names."""

ScheduleIds = Annotated[
    list[str] | None,
    typer.Argument(metavar="SCHEDULE", help="Ids of schedules.", autocompletion=complete_schedules),
]
PANEL = "Select schedules"


def _filter(option: str, metavar: str, text: str) -> Any:
    return typer.Option(option, metavar=metavar, help=text, rich_help_panel=PANEL)


StatusFilter = Annotated[
    str | None, _filter("--status", "STATUS", "Only schedules that are active, paused, exhausted or closed.")
]
LabelFilter = Annotated[str | None, _filter("--label", "NAME=VALUE", "Only schedules with this label.")]
TextFilter = Annotated[str | None, _filter("--text", "TEXT", "Only schedules with this text in the id or description.")]
WorkflowFilter = Annotated[str | None, _filter("--workflow", "ID", "Only schedules of this workflow.")]
UserFilter = Annotated[str | None, _filter("--user", "ID", "Only schedules of this user.")]


def filter_options(
    status: StatusFilter = None,
    label: LabelFilter = None,
    text: TextFilter = None,
    workflow: WorkflowFilter = None,
    user: UserFilter = None,
) -> dict[str, Any]:
    """Return the filters of a list of schedules."""
    return drop_unset(status=status, label=label, text=text, workflow_id=workflow, user_id=user)


@dataclass(frozen=True, slots=True)
class BulkSelection:
    """Filters that select schedules, and options of the command."""

    filters: dict[str, Any] = field(default_factory=dict)
    paging: dict[str, Any] = field(default_factory=dict)
    dry_run: bool = False
    yes: bool = False

    def is_single(self, schedule_ids: Sequence[str] | None) -> bool:
        """Return whether the command is about one schedule, selected by its id only."""
        return len(schedule_ids or ()) == 1 and self == replace(BulkSelection(), yes=self.yes)

    def arguments(self, schedule_ids: Sequence[str] | None) -> dict[str, Any]:
        """Return the arguments of the operation that select the schedules."""
        if not schedule_ids and not self.filters:
            raise InvalidInput("no schedules selected; give ids, a filter such as --label or --status, or --all")
        return drop_unset(schedule_ids=list(schedule_ids or ())) | self.filters


@dataclass(frozen=True, slots=True)
class BulkAction:
    """An action on many schedules: its words and its operation."""

    verb: str
    done: str
    already: str
    operation: Callable[[Api], Callable[..., BulkResult]]


def selection_options(  # noqa: PLR0913 - each is an option of the command
    status: StatusFilter = None,
    label: LabelFilter = None,
    text: TextFilter = None,
    workflow: WorkflowFilter = None,
    user: UserFilter = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All schedules of the namespace.", rich_help_panel=PANEL)
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the schedules, change nothing.", rich_help_panel=PANEL)
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    limit: Limit = None,
    after: After = None,
) -> BulkSelection:
    """Return the selection of schedules."""
    filters = filter_options(status, label, text, workflow, user)
    if everything:
        filters["everything"] = True
    return BulkSelection(filters, drop_unset(limit=limit, after=after), dry_run, yes)


def run_bulk_action(
    connection: Connection,
    action: BulkAction,
    selection: BulkSelection,
    schedule_ids: Sequence[str] | None,
    options: dict[str, Any],
) -> None:
    """Run an action on all selected schedules and print the result. Exit 1 if it was rejected for any of them."""
    if "conflict_token" in options:
        raise InvalidInput("--token works with one schedule only; leave it out, or select one schedule")
    arguments = selection.arguments(schedule_ids)
    with connection.open() as api:
        operation = action.operation(api)
        if selection.dry_run:
            arguments |= {**options, "dry_run": True}
            result = _run_pages(connection, action, operation, arguments, selection.paging, None)
        else:
            confirm = not (selection.yes or schedule_ids)
            total = _confirm(action, operation, arguments, selection.paging) if confirm else None
            result = _run_pages(connection, action, operation, {**arguments, **options}, selection.paging, total)
        connection.print_result(result, lambda result: _print_summary(action, result))
    if result.refused:
        raise typer.Exit(SOME_REJECTED)


def _confirm(
    action: BulkAction, operation: Callable[..., BulkResult], arguments: dict[str, Any], paging: dict[str, Any]
) -> int:
    """Ask the user to confirm the action, and return the number of schedules."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidInput("--yes is required without a terminal; --dry-run lists the schedules")
    result = BulkResult((), 0, (), True, None)
    for page in _pages(operation, {**arguments, "dry_run": True}, paging):
        result = _merge(result, page)
    if not result.schedule_ids:
        return 0
    names = ", ".join(result.schedule_ids[:MAX_NAMES])
    hidden = len(result.schedule_ids) - MAX_NAMES
    rest = f" and {hidden:,} more" if hidden > 0 else ""
    typer.confirm(f"{action.verb} {_count_text(len(result.schedule_ids))} ({names}{rest})?", abort=True, err=True)
    return len(result.schedule_ids) + result.unchanged


def _run_pages(  # noqa: PLR0913 - the request and its progress
    connection: Connection,
    action: BulkAction,
    operation: Callable[..., BulkResult],
    arguments: dict[str, Any],
    paging: dict[str, Any],
    total: int | None,
) -> BulkResult:
    """Run the action page by page. If it is interrupted, print how to continue."""
    result = BulkResult((), 0, (), bool(arguments.get("dry_run")), None)
    try:
        with progress.bar(action.verb, total) as advance:
            for page in _pages(operation, arguments, paging):
                result = _merge(result, page)
                advance(len(result.schedule_ids) + result.unchanged + len(result.refused))
    except BaseException:
        if result.next_page is not None and not connection.output.is_data:
            _print_summary(action, result)
        raise
    return result


def _pages(
    operation: Callable[..., BulkResult], arguments: dict[str, Any], paging: dict[str, Any]
) -> Iterator[BulkResult]:
    """Yield the result of each page. With ``--limit`` there is one page."""
    request_id, number = arguments.get("request_id"), 1
    page = operation(**arguments, **paging)
    yield page
    while page.next_page is not None and "limit" not in paging:
        number += 1
        next_id = {} if request_id is None else {"request_id": f"{request_id}-{number}"}
        page = operation(**{**arguments, **next_id, "after": page.next_page})
        yield page


def _merge(result: BulkResult, page: BulkResult) -> BulkResult:
    return BulkResult(
        schedule_ids=result.schedule_ids + page.schedule_ids,
        unchanged=result.unchanged + page.unchanged,
        refused=result.refused + page.refused,
        dry_run=page.dry_run,
        next_page=page.next_page,
        run_ids=result.run_ids + page.run_ids,
    )


def _print_summary(action: BulkAction, result: BulkResult) -> None:
    """Print the result of a change of many schedules."""
    if result.dry_run:
        for name in result.schedule_ids:
            console.line(name)
    for run_id in result.run_ids:
        console.line(run_id)
    for refusal in result.refused:
        console.line(f"{refusal.schedule_id}: rejected: {refusal.problem}")
    verb = f"Would {action.verb}" if result.dry_run else action.done
    parts = [f"{verb} {_count_text(len(result.schedule_ids))}"]
    if result.unchanged:
        parts.append(f"{result.unchanged:,} {action.already}")
    if result.refused:
        parts.append(f"{len(result.refused):,} rejected")
    rest = "" if result.next_page is None else f" There are more: --after {result.next_page}"
    console.note(f"{', '.join(parts)}.{rest}")


def _count_text(number: int) -> str:
    return f"{number:,} schedule{'' if number == 1 else 's'}"
