"""``tompion verify``: is every tick accounted for exactly once?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from tompion.cli.connection import (
    DEFAULT_NAMESPACE,
    Connection,
    OneSchedule,
    connection_options,
    drop_unset,
    with_options,
)
from tompion.cli.options import parse_instant
from tompion.cli.output import console
from tompion.cli.output.progress import bar
from tompion.errors import InvalidInput, InvalidTime, NotFound

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Console

    from tompion.cli.connection import Api
    from tompion.model.audit import AuditVerification
    from tompion.model.verification import Verification, Violation

MAX_LISTED_PROBLEMS = 100
"""A check stops listing the problems of one schedule here."""
_WORDS = {
    "missing": ("tick", "missing"),
    "twice": ("tick", "twice"),
    "early": ("run", "early"),
    "invented": ("run", "invented"),
    "beyond": ("entry", "beyond the cursor or the first version"),
    "miscounted": ("span", "miscounted"),
    "unreadable": ("run", "unreadable"),
    "version": ("version", "missing or unreadable"),
    "gap": ("gap", "between versions"),
    "overlap": ("overlap", "between versions"),
    "state": ("schedule state", "missing or wrong"),
    "counter": ("counter", "wrong"),
}
_PLURALS = {"entry": "entries"}

Start = Annotated[
    str | None,
    typer.Option("--start", metavar="TIME", help="Only ticks from here on, with offset.", show_default=False),
]
End = Annotated[
    str | None, typer.Option("--end", metavar="TIME", help="Only ticks up to here, with offset.", show_default=False)
]
Retention = Annotated[
    str | None,
    typer.Option(
        "--retention",
        metavar="DURATION",
        help="How long the engines keep runs, if not 90d: their retention_ms.",
        show_default=False,
    ),
]


@with_options(connection=connection_options)
def verify_command(
    connection: Connection,
    schedule: OneSchedule = None,
    start: Start = None,
    end: End = None,
    retention: Retention = None,
) -> None:
    """Prove that each tick is in the ledger exactly once, and that the audit is as it was written.

    Exits 1 if something is not, 3 if there is nothing to verify.  Nothing is written, and a store is neither created
    nor migrated.  With --schedule, the audit is left alone.

    Example: tompion verify --store sqlite:///jobs.db --schedule report
    """
    first, last = parse_instant(start, "--start"), parse_instant(end, "--end")
    if first is not None and last is not None and last < first:
        raise InvalidTime(f"--end: {end} is before --start, {start}")
    out = console.console()
    with proving(connection, retention) as proof:
        known = proof.count() if schedule is None and out.is_terminal else None
        with bar("verifying", 1 if schedule else known, out) as move:
            checks = proof.every(first, last) if schedule is None else iter([proof.one(schedule, first, last)])
            total = _report(checks, None if connection.as_json else out, move)
            total.audit = proof.audit() if schedule is None else None
    if not total.schedules and (total.audit is None or total.audit.ok):
        whose = connection.namespace or DEFAULT_NAMESPACE
        raise NotFound(f"nothing to verify: there is no schedule in namespace {whose!r}")
    if connection.as_json:
        console.print_json(total.plain())
    else:
        if total.audit is not None and (total.audit.position or not total.audit.ok):
            console.paragraph(audit_line(total.audit))
        console.paragraph(summary(total))
    if total.wrong or (total.audit is not None and not total.audit.ok):
        raise typer.Exit(1)


@contextmanager
def proving(connection: Connection, retention: str | None) -> Iterator[VerifyProgress]:
    """Give what checks: the store itself, or a service that is asked about one schedule after the other."""
    if not connection.is_service:
        from tompion.bootstrap.store import open_verifier

        whose = DEFAULT_NAMESPACE if connection.namespace is None else connection.namespace
        with open_verifier(connection.address, whose, retention) as proof:
            yield proof
        return
    if retention is not None:
        raise InvalidInput("--retention: a service knows how long its runs are kept; leave it out with --url")
    with connection.open() as api:
        yield RemoteVerifier(api)


class VerifyProgress(Protocol):
    """What checks the schedules of a namespace, and its audit."""

    def count(self) -> int | None:
        """Return how many schedules there are, if anybody knows."""

    def every(self, start: datetime | None = None, end: datetime | None = None) -> Iterator[Verification]:
        """Check all schedules; the deleted ones last."""

    def one(self, schedule_id: str, start: datetime | None = None, end: datetime | None = None) -> Verification:
        """Check one schedule."""

    def audit(self) -> AuditVerification:
        """Check the audit up to its end."""


class RemoteVerifier:
    """The same check as on a store, asked of a service: one request for each schedule."""

    def __init__(self, api: Api) -> None:
        """Take who answers."""
        self._home = api

    def count(self) -> int | None:
        """Return how many schedules there are, if anybody knows."""
        found = self._home.stats(seconds=1, buckets=1).schedules
        return None if found.capped else found.active + found.paused + found.closed

    def every(self, start: datetime | None = None, end: datetime | None = None) -> Iterator[Verification]:
        """Check all schedules; the deleted ones last."""
        for schedule_id in self._schedules():
            try:
                found = self.one(schedule_id, start, end)
            except NotFound:  # purged since it was listed
                continue
            yield found

    def one(self, schedule_id: str, start: datetime | None = None, end: datetime | None = None) -> Verification:
        """Check one schedule.  Raises :class:`~tompion.errors.NotFound`."""
        return self._home.verify(schedule_id, **drop_unset(start=start, end=end))

    def audit(self) -> AuditVerification:
        """Check the audit up to its end, or to the first row that is not as it was written."""
        found = first = self._home.verify_audit()
        checked = found.checked
        while found.more:
            found = self._home.verify_audit(after=found.until)
            checked += found.checked
        return replace(found, after=first.after, checked=checked)

    def _schedules(self) -> Iterator[str]:
        for state in (None, "closed"):
            after: str | None = None
            while True:
                page = self._home.list_schedules(**drop_unset(state=state, after=after))
                yield from (each.schedule_id for each in page.items)
                after = page.next_page
                if after is None:
                    break


class Total:
    """What was checked so far."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.schedules = self.ticks = self.wrong = self.unchecked = 0
        self.problems: list[Verification] = []
        self.audit: AuditVerification | None = None

    def add(self, found: Verification) -> None:
        """Count one schedule."""
        self.schedules += 1
        self.ticks += found.ticks
        self.wrong += not found.ok
        self.unchecked += found.unchecked > 0

    def plain(self) -> dict[str, Any]:
        """Return it all as JSON-ready data; ``problems`` are the schedules that have some."""
        from tompion.contract.json import encode

        counted = {name: getattr(self, name) for name in ("schedules", "ticks", "wrong", "unchecked")}
        audit = {} if self.audit is None else {"audit": encode(self.audit)}
        return {**counted, "problems": encode(self.problems), **audit}


def summary(total: Total) -> str:
    """Return the last line: how much there was, whether it is whole, and what nobody can tell."""
    if total.wrong:
        text = f"{total.wrong:,} of {_counted(total.schedules, 'schedule')} with problems; "
        text += f"{_counted(total.ticks, 'tick')} checked"
    elif total.ticks:
        each = "accounted" if total.ticks == 1 else "each accounted"
        text = f"{_counted(total.schedules, 'schedule')}, {_counted(total.ticks, 'tick')}: {each} for exactly once"
    else:
        text = f"{_counted(total.schedules, 'schedule')}, no ticks to account for"
    if total.unchecked:
        text += f"; not wholly checked: {_counted(total.unchecked, 'schedule')} with a fixed delay, adaptive, or "
        text += "decided with older time zone data, whose ticks cannot be computed anew"
    return text


def audit_line(found: AuditVerification) -> str:
    """Return whether the audit is as it was written, or where it is not."""
    if not found.ok:
        return f"audit: {found.problem}"
    text = f"audit: {_counted(found.checked, 'row')} as written"
    if found.digest:
        text += f"; at place {found.position:,} its chain ends with {found.digest}"
    if found.gone:
        text += f"; {_counted(found.gone, 'row')} gone by retention"
    if found.unsealed:
        text += f"; {_counted(found.unsealed, 'row')} not in the chain yet"
    return text


def problem_line(found: Verification) -> str:
    """Return what is wrong with one schedule: how much of which kind, and the first of it."""
    kinds = Counter(problem.kind for problem in found.problems)
    counts = ", ".join(_counted(number, *_WORDS[kind]) for kind, number in kinds.items())
    least = "at least " if len(found.problems) >= MAX_LISTED_PROBLEMS else ""
    checked = f" ({_counted(found.ticks, 'tick')} checked)" if found.ticks else ""
    return f"{found.schedule_id}: {least}{counts}{checked}; first {_first(found.problems[0])}"


def _report(checks: Iterable[Verification], out: Console | None, move: Callable[[int], None]) -> Total:
    """Print a line for each schedule with problems as it is found, or keep it; return how much was checked."""
    total = Total()
    for found in checks:
        total.add(found)
        if not found.ok and out is not None:
            out.print(problem_line(found), soft_wrap=not out.is_terminal, markup=False)
        elif not found.ok:
            total.problems.append(found)
        move(total.schedules)
    return total


def _first(problem: Violation) -> str:
    return problem.text if problem.at is None else f"{problem.at:%Y-%m-%d %H:%M:%SZ}: {problem.text}"


def _counted(number: int, noun: str, what: str = "") -> str:
    many = _PLURALS.get(noun, f"{noun}s")
    return f"{number:,} {noun if number == 1 else many} {what}".rstrip()
