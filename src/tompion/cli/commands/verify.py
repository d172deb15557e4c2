"""``tompion verify``: checks that every tick is accounted for exactly once."""

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
from tompion.cli.output.formats import print_data
from tompion.cli.output.progress import bar
from tompion.errors import InvalidInput, InvalidTime, NotFound

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Console

    from tompion.cli.connection import Api
    from tompion.model.audit_chain import AuditVerification
    from tompion.model.verification import Verification, Violation

MAX_LISTED_PROBLEMS = 100
"""Maximum problems that a verification lists for one schedule."""
KIND_WORDS = {
    "missing": ("tick", "missing"),
    "twice": ("tick", "twice"),
    "early": ("run", "early"),
    "invented": ("run", "invented"),
    "beyond": ("entry", "beyond the cursor or the first version"),
    "miscounted": ("dropped range", "miscounted"),
    "unreadable": ("run", "unreadable"),
    "version": ("version", "missing or unreadable"),
    "gap": ("gap", "between versions"),
    "overlap": ("overlap", "between versions"),
    "state": ("schedule state", "missing or wrong"),
    "counter": ("counter", "wrong"),
}
PLURALS = {"entry": "entries"}

Start = Annotated[
    str | None,
    typer.Option(
        "--start", metavar="TIME", help="Check ticks from this time: 7d, yesterday, or ISO 8601.", show_default=False
    ),
]
End = Annotated[
    str | None,
    typer.Option("--end", metavar="TIME", help="Check ticks up to this time.", show_default=False),
]
Retention = Annotated[
    str | None,
    typer.Option(
        "--retention",
        metavar="DURATION",
        help="Retention of runs: your retention_ms (90d).",
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
    """Verify that each tick was recorded exactly once.

    Each tick must be in the ledger exactly once, and the audit log unchanged.
    Exits 1 if there are problems, 3 if there is nothing to verify.

    Nothing is written, and a store is neither created nor migrated.
    With --schedule, the audit log is not checked.

    Example: tompion verify --store sqlite:///jobs.db --schedule report
    """
    first, last = parse_instant(start, "--start", past=True), parse_instant(end, "--end", past=True)
    if first is not None and last is not None and last < first:
        raise InvalidTime(f"--end: {end} is before --start, {start}")
    out = console.console()
    with open_verification(connection, retention) as verifier:
        count = verifier.count() if schedule is None and out.is_terminal else None
        with bar("verifying", 1 if schedule else count, out) as advance:
            checks = verifier.every(first, last) if schedule is None else iter([verifier.one(schedule, first, last)])
            total = _report(checks, None if connection.output.is_data else out, advance)
            total.audit = verifier.audit() if schedule is None else None
    if not total.schedules and (total.audit is None or total.audit.ok):
        namespace = connection.namespace or DEFAULT_NAMESPACE
        raise NotFound(f"nothing to verify: no schedule in namespace {namespace!r}")
    if connection.output.is_data:
        print_data(total.as_json(), connection.output)
    else:
        if total.audit is not None and (total.audit.position or not total.audit.ok):
            console.paragraph(audit_line(total.audit))
        console.paragraph(summary(total))
    if total.wrong or (total.audit is not None and not total.audit.ok):
        raise typer.Exit(1)


@contextmanager
def open_verification(connection: Connection, retention: str | None) -> Iterator[Verifier]:
    """Yield the verifier: of the store, or of a service, with one request per schedule."""
    if not connection.is_service:
        from tompion.bootstrap.store import open_verifier

        namespace = DEFAULT_NAMESPACE if connection.namespace is None else connection.namespace
        with open_verifier(connection.address, namespace, retention) as verifier:
            yield verifier
        return
    if retention is not None:
        raise InvalidInput("--retention and --url exclude each other: a service uses its own retention")
    with connection.open() as api:
        yield RemoteVerifier(api)


class Verifier(Protocol):
    """Verifies the schedules of a namespace and its audit log."""

    def count(self) -> int | None:
        """Return the number of schedules, or ``None`` if it is unknown."""

    def every(self, start: datetime | None = None, end: datetime | None = None) -> Iterator[Verification]:
        """Verify all schedules, deleted ones last."""

    def one(self, schedule_id: str, start: datetime | None = None, end: datetime | None = None) -> Verification:
        """Verify one schedule."""

    def audit(self) -> AuditVerification:
        """Verify the whole audit log."""


class RemoteVerifier:
    """Verifies with a service, one request per schedule."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def count(self) -> int | None:
        """Return the number of schedules, or ``None`` if it is unknown."""
        counts = self._api.stats(seconds=1, buckets=1).schedules
        return None if counts.capped else counts.active + counts.paused + counts.closed

    def every(self, start: datetime | None = None, end: datetime | None = None) -> Iterator[Verification]:
        """Verify all schedules, deleted ones last."""
        for schedule_id in self._schedules():
            try:
                verification = self.one(schedule_id, start, end)
            except NotFound:  # purged since it was listed
                continue
            yield verification

    def one(self, schedule_id: str, start: datetime | None = None, end: datetime | None = None) -> Verification:
        """Verify one schedule. Raise :class:`~tompion.errors.NotFound` if it does not exist."""
        return self._api.schedules.verify(schedule_id, **drop_unset(start=start, end=end))

    def audit(self) -> AuditVerification:
        """Verify the audit log up to its end or its first wrong row."""
        page = first = self._api.audit.verify()
        checked = page.checked
        while page.more:
            page = self._api.audit.verify(after=page.until)
            checked += page.checked
        return replace(page, after=first.after, checked=checked)

    def _schedules(self) -> Iterator[str]:
        for state in (None, "closed"):
            after: str | None = None
            while True:
                page = self._api.schedules.list(**drop_unset(status=state, after=after))
                yield from (schedule.schedule_id for schedule in page.items)
                after = page.next_page
                if after is None:
                    break


class Total:
    """Sum of the verifications so far."""

    def __init__(self) -> None:
        self.schedules: int = 0
        self.ticks: int = 0
        self.wrong: int = 0
        self.unchecked: int = 0
        self.problems: list[Verification] = []
        self.audit: AuditVerification | None = None

    def add(self, verification: Verification) -> None:
        """Add the verification of one schedule."""
        self.schedules += 1
        self.ticks += verification.ticks
        self.wrong += not verification.ok
        self.unchecked += verification.unchecked > 0

    def as_json(self) -> dict[str, Any]:
        """Return the sum as JSON-ready data. ``problems`` are the schedules with problems."""
        from tompion.contract.json import encode

        counts = {name: getattr(self, name) for name in ("schedules", "ticks", "wrong", "unchecked")}
        audit = {} if self.audit is None else {"audit": encode(self.audit)}
        return {**counts, "problems": encode(self.problems), **audit}


def summary(total: Total) -> str:
    """Return the last line: what was checked, the result, and what could not be checked."""
    if total.wrong:
        text = f"{total.wrong:,} of {_counted(total.schedules, 'schedule')} with problems; "
        text += f"{_counted(total.ticks, 'tick')} checked"
    elif total.ticks:
        result = "accounted" if total.ticks == 1 else "each accounted"
        text = f"{_counted(total.schedules, 'schedule')}, {_counted(total.ticks, 'tick')}: {result} for exactly once"
    else:
        text = f"{_counted(total.schedules, 'schedule')}, no ticks to account for"
    if total.unchecked:
        text += f"; not fully checked: {_counted(total.unchecked, 'schedule')} with a fixed delay, adaptive, or "
        text += "decided with older time zone data, whose ticks cannot be recomputed"
    return text


def audit_line(audit: AuditVerification) -> str:
    """Return the result of the verification of the audit log."""
    if not audit.ok:
        return f"audit: {audit.problem}"
    text = f"audit: {_counted(audit.checked, 'row')} unchanged"
    if audit.digest:
        text += f"; the hash chain ends at position {audit.position:,} with {audit.digest}"
    if audit.gone:
        text += f"; {_counted(audit.gone, 'row')} removed by retention"
    if audit.unsealed:
        text += f"; {_counted(audit.unsealed, 'row')} not in the chain yet"
    return text


def problem_line(verification: Verification) -> str:
    """Return the problems of one schedule: how many of each kind, and the first one."""
    problems = verification.problems
    kinds = Counter(problem.kind for problem in problems)
    counts = ", ".join(_counted(number, *KIND_WORDS[kind]) for kind, number in kinds.items())
    at_least = "at least " if len(problems) >= MAX_LISTED_PROBLEMS else ""
    checked = f" ({_counted(verification.ticks, 'tick')} checked)" if verification.ticks else ""
    return f"{verification.schedule_id}: {at_least}{counts}{checked}; first {_problem_text(problems[0])}"


def _report(checks: Iterable[Verification], out: Console | None, advance: Callable[[int], None]) -> Total:
    """Print a line for each schedule with problems, or collect them for JSON. Return the sum."""
    total = Total()
    for verification in checks:
        total.add(verification)
        if not verification.ok and out is not None:
            out.print(problem_line(verification), soft_wrap=not out.is_terminal, markup=False)
        elif not verification.ok:
            total.problems.append(verification)
        advance(total.schedules)
    return total


def _problem_text(problem: Violation) -> str:
    return problem.text if problem.at is None else f"{problem.at:%Y-%m-%d %H:%M:%SZ}: {problem.text}"


def _counted(number: int, noun: str, predicate: str = "") -> str:
    plural = PLURALS.get(noun, f"{noun}s")
    return f"{number:,} {noun if number == 1 else plural} {predicate}".rstrip()
