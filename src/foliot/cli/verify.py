"""``foliot verify``: is every tick accounted for exactly once?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foliot.cli import render
from foliot.cli.options import DEFAULT_STORE, Json, Store, instant
from foliot.errors import InvalidTime, NotFound

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from foliot.model.chain import AuditProof
    from foliot.model.verification import Problem, Verification

MANY = 100
"""A check stops listing the problems of one schedule here."""
_WORDS = {
    "missing": ("tick", "missing"),
    "twice": ("tick", "twice"),
    "early": ("run", "early"),
    "invented": ("run", "invented"),
    "beyond": ("entry", "beyond the cursor"),
    "miscounted": ("span", "miscounted"),
    "unreadable": ("run", "unreadable"),
    "version": ("version", "missing or unreadable"),
    "gap": ("gap", "between versions"),
    "overlap": ("overlap", "between versions"),
    "dial": ("dial", "missing or wrong"),
    "counter": ("counter", "wrong"),
}
_PLURALS = {"entry": "entries"}

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
Retention = Annotated[
    str | None,
    typer.Option(
        "--retention",
        metavar="DURATION",
        help="How long the engines keep runs, if not 90d: their retention_ms.",
        show_default=False,
    ),
]


def verify_command(  # noqa: PLR0913 - each is an option of the command
    store: Store = DEFAULT_STORE,
    namespace: Namespace = "default",
    schedule: OneSchedule = None,
    start: Start = None,
    end: End = None,
    retention: Retention = None,
    as_json: Json = False,
) -> None:
    """Prove that each tick is in the ledger exactly once, and that the audit is as it was written.

    Exits 1 if something is not, 3 if there is nothing to verify.  Nothing is written, and a store is neither created
    nor migrated.  With --schedule, the audit is left alone.

    Example: foliot verify --store sqlite:///jobs.db --schedule report
    """
    from foliot.wiring import open_proof

    first, last = instant(start, "--start"), instant(end, "--end")
    if first is not None and last is not None and last < first:
        raise InvalidTime(f"--end: {end} is before --start, {start}")
    out = render.console()
    with open_proof(store, namespace, retention) as proof, _progress(out) as status:
        checks = proof.every(first, last) if schedule is None else iter([proof.one(schedule, first, last)])
        total = _report(checks, None if as_json else out, status)
        total.audit = proof.audit() if schedule is None else None
    if not total.schedules and (total.audit is None or total.audit.ok):
        raise NotFound(f"nothing to verify: there is no schedule in namespace {namespace!r}")
    if as_json:
        render.print_json(total.plain())
    else:
        if total.audit is not None and (total.audit.position or not total.audit.ok):
            render.paragraph(audit_line(total.audit))
        render.paragraph(summary(total))
    if total.wrong or (total.audit is not None and not total.audit.ok):
        raise typer.Exit(1)


class Total:
    """What was checked so far."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.schedules = self.ticks = self.wrong = self.unchecked = 0
        self.problems: list[Verification] = []
        self.audit: AuditProof | None = None

    def add(self, found: Verification) -> None:
        """Count one schedule."""
        self.schedules += 1
        self.ticks += found.ticks
        self.wrong += not found.ok
        self.unchecked += found.unchecked > 0

    def plain(self) -> dict[str, Any]:
        """Return it all as JSON-ready data; ``problems`` are the schedules that have some."""
        from foliot.wire import encode

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


def audit_line(found: AuditProof) -> str:
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
    least = "at least " if len(found.problems) >= MANY else ""
    checked = f" ({_counted(found.ticks, 'tick')} checked)" if found.ticks else ""
    return f"{found.schedule_id}: {least}{counts}{checked}; first {_first(found.problems[0])}"


def _report(checks: Iterable[Verification], out: Console | None, status: Status | None) -> Total:
    """Print a line for each schedule with problems as it is found, or keep it; return how much was checked."""
    total = Total()
    for found in checks:
        total.add(found)
        if not found.ok and out is not None:
            out.print(problem_line(found), soft_wrap=not out.is_terminal, markup=False)
        elif not found.ok:
            total.problems.append(found)
        if status is not None:
            status.update(f"checked {_counted(total.schedules, 'schedule')}, {_counted(total.ticks, 'tick')} …")
    return total


def _first(problem: Problem) -> str:
    return problem.text if problem.at is None else f"{problem.at:%Y-%m-%d %H:%M:%SZ}: {problem.text}"


@contextmanager
def _progress(out: Console) -> Iterator[Status | None]:
    """Something that moves on a terminal, and nothing in a pipe."""
    if not out.is_terminal:
        yield None
        return
    with out.status("checking …") as status:
        yield status


def _counted(number: int, noun: str, what: str = "") -> str:
    many = _PLURALS.get(noun, f"{noun}s")
    return f"{number:,} {noun if number == 1 else many} {what}".rstrip()
