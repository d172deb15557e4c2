"""What the commands show people: schedules, runs and everything around them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tompion.cli.output import console
from tompion.cli.output.tables import Column, absolute, facts, heading, length, moment, now, relative, table
from tompion.model.insight import SameSpecSchedule
from tompion.model.page import Page
from tompion.model.schedule import (
    Backfill,
    Change,
    Definition,
    Description,
    DroppedTicks,
    Run,
    Schedule,
    ScheduleCount,
    Version,
)

if TYPE_CHECKING:
    from tompion.model.hint import Outlook
    from tompion.model.verification import Verification

MAX_NEXT_TICKS = 5


def counted(found: ScheduleCount) -> None:
    """Print how many schedules match."""
    at_least = "at least " if found.capped else ""
    console.line(f"{at_least}{found.matching:,} of {found.total:,}")


def sharers(page: Page[SameSpecSchedule]) -> None:
    """Print schedules that share a spec."""
    table((Column("schedule", 12), Column("token")), [(each.schedule_id, str(each.token)) for each in page.items])
    more(page.next_page, "--after")


def schedule_list(page: Page[Schedule]) -> None:
    """Print a page of schedules."""
    if not page.items:
        console.note("no schedules here; 'tompion schedules create NAME --cron \"0 9 * * *\" --function tasks:report'")
        return
    present = now()
    columns = (
        Column("schedule", 12),
        Column("state"),
        Column("next run"),
        Column(""),
        Column("when", 10, prose=True),
        Column("running", extra=True),
        Column("waiting", extra=True),
        Column("runs", extra=True),
    )
    table(
        columns,
        [
            (
                each.schedule_id,
                each.state.value,
                absolute(each.next_run_at),
                relative(each.next_run_at, present) if each.next_run_at else "",
                timing_text(each.definition),
                str(each.in_flight),
                str(each.waiting),
                action_text(each.definition),
            )
            for each in page.items
        ],
    )
    more(page.next_page, "--after")


def schedule_facts(schedule: Schedule) -> None:
    """Print one schedule."""
    present = now()
    definition = schedule.definition
    pairs = [
        ("schedule", schedule.schedule_id),
        ("state", _state(schedule)),
        ("when", timing_text(definition)),
        ("time zone", definition.spec.timezone or "UTC"),
        ("runs", action_text(definition)),
        ("next run", moment(schedule.next_run_at, present)),
        ("running", f"{schedule.in_flight}, {schedule.waiting} waiting"),
        ("so far", _counters(schedule)),
        ("policies", policy_text(definition)),
        ("version", f"{schedule.version}, token {schedule.token}"),
        ("changed", moment(schedule.updated_at, present)),
    ]
    if schedule.paused_until is not None:
        pairs.insert(2, ("until", moment(schedule.paused_until, present)))
    if schedule.remaining_actions is not None:
        pairs.append(("remaining", str(schedule.remaining_actions)))
    if definition.labels:
        pairs.append(("labels", " ".join(f"{name}={value}" for name, value in definition.labels)))
    if definition.payload is not None:
        pairs.append(("payload", json.dumps(definition.payload, ensure_ascii=False)))
    if definition.description:
        pairs.append(("description", definition.description))
    if schedule.degraded:
        pairs.append(("degraded", schedule.degraded))
    facts(pairs)


def description(found: Description) -> None:
    """Print everything about one schedule."""
    schedule_facts(found.schedule)
    present = now()
    if found.next_ticks:
        heading("next ticks")
        for tick in found.next_ticks[:MAX_NEXT_TICKS]:
            console.line(moment(tick, present))
    for tick in found.skipped_ticks:
        console.line(f"{moment(tick, present)}: to be skipped")
    if found.would_run_count:
        first = absolute(found.would_run_on_resume[0])
        console.line(f"a resume would run {found.would_run_count:,} ticks, the first of {first}")
    for name, runs in (("running", found.running), ("waiting", found.waiting), ("recent runs", found.recent)):
        if runs:
            heading(name)
            run_rows(runs)
    if found.outlook is not None:
        heading("hints")
        outlook(found.outlook)
    if found.backfills:
        heading("backfills")
        backfill_list(found.backfills)
    if found.dropped_ranges:
        heading("dropped ticks")
        dropped_list(found.dropped_ranges)


def run_list(page: Page[Run], *, of_many: bool = False) -> None:
    """Print a page of runs: of one schedule, or of many."""
    if page.items:
        run_rows(page.items, of_many=of_many)
    elif page.next_page is None:
        console.note("no runs; 'tompion schedules trigger SCHEDULE' starts one")
    more(page.next_page, "--before")


def run_rows(runs: Sequence[Run], *, of_many: bool = False) -> None:
    """Print runs; where they are of many schedules, each row says of which."""
    present = now()
    columns = (
        Column("run", 10),
        Column("state"),
        Column("for"),
        Column("took"),
        Column("source", extra=True),
        Column("why", 8, prose=True),
        Column("schedule", 12, extra=not of_many),
    )
    table(
        columns,
        [
            (
                each.run_id,
                each.state.value,
                f"{absolute(each.scheduled_for)} {relative(each.scheduled_for, present)}",
                took(each),
                each.source,
                why(each),
                each.schedule_id,
            )
            for each in runs
        ],
    )


def run_facts(run: Run) -> None:
    """Print one run."""
    present = now()
    pairs = [
        ("run", run.run_id),
        ("schedule", run.schedule_id),
        ("state", run.state.value + (f" ({run.reason})" if run.reason else "")),
        ("source", run.source),
        ("for", moment(run.scheduled_for, present)),
        ("fires", moment(run.fire_at, present)),
        ("started", moment(run.started_at, present)),
        ("finished", moment(run.finished_at, present)),
        ("took", took(run)),
        ("attempt", str(run.attempt)),
        ("version", str(run.version)),
        ("key", run.key),
    ]
    for name, value in (("dst_adjustment", run.dst_adjustment), ("error", run.error), ("execution", run.execution_id)):
        if value:
            pairs.append((name, value))
    for name, data in (("progress", run.progress), ("result", run.result)):
        if data is not None:
            pairs.append((name, json.dumps(data, ensure_ascii=False)))
    facts(pairs)


def backfill_list(found: Sequence[Backfill]) -> None:
    """Print backfills."""
    if not found:
        console.note("no backfills; 'tompion schedules backfill SCHEDULE START END' starts one")
        return
    columns = (
        Column("id"),
        Column("state"),
        Column("done"),
        Column("from"),
        Column("to"),
        Column("only", extra=True),
        Column("overlap", extra=True),
        Column("undecided", extra=True),
    )
    table(
        columns,
        [
            (
                str(each.backfill_id),
                each.state,
                f"{each.done:,} of {each.total:,}",
                absolute(each.start),
                absolute(each.end),
                each.only,
                each.overlap,
                str(each.undecided),
            )
            for each in found
        ],
    )


def dropped_list(found: Sequence[DroppedTicks]) -> None:
    """Print which ticks were dropped together."""
    if not found:
        console.note("no ticks were dropped")
        return
    columns = (
        Column("after"),
        Column("until"),
        Column("ticks"),
        Column("reason", 8, prose=True),
        Column("decided", extra=True),
    )
    table(
        columns,
        [
            (absolute(each.after), absolute(each.until), f"{each.ticks:,}", each.reason, absolute(each.decided_at))
            for each in found
        ],
    )


def change_list(page: Page[Change]) -> None:
    """Print who changed what."""
    if not page.items:
        console.note("nobody has changed anything yet")
        return
    present = now()
    columns = (
        Column("at"),
        Column("", extra=True),
        Column("who", 8),
        Column("did"),
        Column("schedule", 10, extra=True),
        Column("version", extra=True),
        Column("what", 12, prose=True),
    )
    table(
        columns,
        [
            (
                absolute(each.at),
                relative(each.at, present),
                each.actor,
                each.operation,
                each.schedule_id or "-",
                str(each.version),
                _changed(each.before, each.after),
            )
            for each in page.items
        ],
    )
    more(page.next_page, "--before")


def version_list(found: Sequence[Version]) -> None:
    """Print the versions of a schedule."""
    columns = (
        Column("version"),
        Column("created"),
        Column("by", 8),
        Column("when", 10, prose=True),
        Column("runs", extra=True),
    )
    table(
        columns,
        [
            (
                str(each.version),
                absolute(each.created_at),
                each.author,
                timing_text(each.definition),
                action_text(each.definition),
            )
            for each in found
        ],
    )


def outlook(found: Outlook) -> None:
    """Print the hints of an adaptive schedule, and what it does next."""
    present = now()
    because = f" because of a {found.source}" if found.source == "hint" else ""
    bounded = f", moved by its {found.bound} interval" if found.bound else ""
    facts(
        [
            ("next run", moment(found.next_run_at, present) + because + bounded),
            ("failures", f"{found.consecutive_failures} in a row"),
            *((("warning", found.warning),) if found.warning else ()),
        ]
    )
    for hint in found.hints:
        what = f"every {length(hint.interval_ms / 1000)}" if hint.interval_ms else f"at {absolute(hint.at)}"
        why_given = f": {hint.reason}" if hint.reason else ""
        console.line(f"hint by {hint.author}: {what}, expires {moment(hint.expires_at, present)}{why_given}")
    if not found.hints:
        console.note("no hints; 'tompion schedules hint SCHEDULE --interval-ms 120000' gives one")


def verification(found: Verification) -> None:
    """Print whether the ticks of one schedule are accounted for."""
    if found.ok:
        console.line(f"{found.schedule_id}: {found.ticks:,} ticks, each accounted for exactly once")
    for problem in found.problems:
        at = "" if problem.at is None else f"{absolute(problem.at)} "
        console.line(f"{found.schedule_id}: {problem.kind}: {at}{problem.text}")
    if found.unchecked:
        console.note(f"{found.unchecked} versions could not be computed anew, and were not checked")


def timing_text(definition: Definition) -> str:
    """Return when a schedule runs, in one line."""
    spec = definition.spec
    parts = [*spec.cron]
    parts += [
        f"every {length(each.every_s)}"
        + (f"/{length(each.offset_s)}" if each.offset_s else "")
        + (" after the end" if each.anchor == "completion" else "")
        for each in spec.intervals
    ]
    parts += [" ".join(rule.split()) for rule in spec.rrules]
    parts += ["a calendar"] * len(spec.calendars)
    parts += [f"at {time}" for time in spec.times]
    return "; ".join(parts) or "never"


def action_text(definition: Definition) -> str:
    """Return what a schedule starts."""
    action = definition.action
    version = "" if action.workflow_version is None else f" version {action.workflow_version}"
    what = action.function or (f"workflow {action.workflow_id}{version}" if action.workflow_id else "nothing")
    return what if action.queue == "default" else f"{what} in queue {action.queue}"


def policy_text(definition: Definition) -> str:
    """Return how a schedule behaves, in one line."""
    policy = definition.policy
    parts = [f"overlap {policy.overlap_policy}", f"catch-up {policy.catchup_policy}"]
    if policy.max_concurrent != 1:
        parts.append(f"{policy.max_concurrent} at a time")
    if policy.max_attempts != 1:
        parts.append(f"{policy.max_attempts} attempts")
    parts += [name.replace("_", " ") for name in ("pause_on_failure", "shadow", "adaptive") if getattr(policy, name)]
    return ", ".join(parts)


def took(run: Run) -> str:
    """Return how long a run has taken."""
    if run.started_at is None or run.finished_at is None:
        return "-"
    seconds = (run.finished_at - run.started_at).total_seconds()
    return f"{seconds:.2f}s" if seconds < 60 else length(seconds)


def why(run: Run) -> str:
    """Return what there is to say about a run's state."""
    told = run.error or run.reason or run.dst_adjustment or ""
    return told.partition("\n")[0]


def more(page: str | None, option: str) -> None:
    """Say how to see the rest of a list."""
    if page is not None:
        console.note(f"there is more: {option} {page}")


def _state(schedule: Schedule) -> str:
    if schedule.paused_at is None:
        return schedule.state.value
    note = f": {schedule.pause_note}" if schedule.pause_note else ""
    return f"{schedule.state.value} by {schedule.paused_by} {relative(schedule.paused_at, now())}{note}"


def _counters(schedule: Schedule) -> str:
    counted = schedule.counters
    return (
        f"{counted.starts:,} starts, {counted.successes:,} successes, {counted.failures:,} failures, "
        f"{counted.skipped:,} skipped, {counted.missed:,} missed"
    )


def _changed(before: Any, after: Any) -> str:
    """What a change was, as short as it can be said: what differs, or all that is new."""
    if not isinstance(after, dict):
        return "" if after is None else json.dumps(after, ensure_ascii=False)
    known = before if isinstance(before, dict) else {}
    differing = {name: value for name, value in after.items() if known.get(name) != value}
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in differing.items())
