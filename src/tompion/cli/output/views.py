"""Output of schedules, runs, backfills and changes as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from tompion.cli.output import console
from tompion.cli.output.tables import Column, absolute, facts, heading, length, moment, now, relative, table, times_in
from tompion.model.action_options import listed_options

if TYPE_CHECKING:
    from tompion.model.bulk import ScheduleCount
    from tompion.model.hint import Outlook
    from tompion.model.insight import SameSpecSchedule
    from tompion.model.page import Page
    from tompion.model.schedule import (
        Backfill,
        Definition,
        Description,
        DroppedTicks,
        Run,
        Schedule,
        Version,
    )
    from tompion.model.verification import Verification

MAX_NEXT_TICKS = 5


def print_count(count: ScheduleCount) -> None:
    """Print how many schedules match."""
    at_least = "at least " if count.capped else ""
    console.line(f"{at_least}{count.matching:,} of {count.total:,}")


def print_same_spec(page: Page[SameSpecSchedule]) -> None:
    """Print schedules with the same spec."""
    rows = [(schedule.schedule_id, str(schedule.conflict_token)) for schedule in page.items]
    table((Column("schedule", 12), Column("token")), rows)
    print_next_page(page.next_page, "--after")


def print_schedules(page: Page[Schedule]) -> None:
    """Print a page of schedules."""
    if not page.items:
        console.note("No schedules. Create one with 'tompion schedules create'.")
        return
    present = now()
    columns = (
        Column("schedule", 12),
        Column("status"),
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
                schedule.schedule_id,
                schedule.status.value,
                _next_run(schedule),
                relative(schedule.next_run_at, present) if schedule.next_run_at else "",
                timing_text(schedule.definition),
                str(schedule.in_flight),
                str(schedule.waiting),
                action_text(schedule.definition),
            )
            for schedule in page.items
        ],
    )
    print_next_page(page.next_page, "--after")


def print_schedule(schedule: Schedule) -> None:
    """Print one schedule, with times in its zone."""
    with times_in(zone_of(schedule)):
        _print_schedule(schedule)


def absolute_in(zones: Mapping[str, str] | None, schedule_id: str, when: datetime) -> str:
    """Return an instant in the zone of a schedule. Without zones it is in the zone of the output."""
    if zones is None:
        return absolute(when)
    with times_in(zones.get(schedule_id)):
        return absolute(when)


def zone_of(schedule: Schedule) -> str:
    """Return the name of the zone of a schedule."""
    return schedule.definition.spec.timezone or "UTC"


def _next_run(schedule: Schedule) -> str:
    with times_in(zone_of(schedule)):
        return absolute(schedule.next_run_at)


def _print_schedule(schedule: Schedule) -> None:
    """Print the fields of a schedule."""
    present = now()
    definition = schedule.definition
    pairs = [
        ("schedule", schedule.schedule_id),
        ("status", _state(schedule)),
        ("when", timing_text(definition)),
        ("time zone", zone_of(schedule)),
        ("runs", action_text(definition)),
        ("next run", moment(schedule.next_run_at, present)),
        ("running", f"{schedule.in_flight}, {schedule.waiting} waiting"),
        ("so far", _counters(schedule)),
        ("policies", policy_text(definition)),
        ("version", f"{schedule.definition_version}, token {schedule.conflict_token}"),
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
    pairs.extend(("warning", warning) for warning in schedule.warnings)
    facts(pairs)


def print_description(description: Description) -> None:
    """Print everything about one schedule, with times in its zone."""
    with times_in(zone_of(description.schedule)):
        _print_description(description)


def _print_description(description: Description) -> None:
    """Print a schedule with its next ticks, runs, hints and backfills."""
    _print_schedule(description.schedule)
    present = now()
    if description.next_ticks:
        heading("next ticks")
        for tick in description.next_ticks[:MAX_NEXT_TICKS]:
            console.line(moment(tick, present))
    for tick in description.skipped_ticks:
        console.line(f"{moment(tick, present)}: to be skipped")
    if description.would_run_count:
        first = absolute(description.would_run_on_resume[0])
        console.line(f"a resume would run {description.would_run_count:,} ticks, the first of {first}")
    for name, runs in (
        ("running", description.running),
        ("waiting", description.waiting),
        ("recent runs", description.recent),
    ):
        if runs:
            heading(name)
            print_run_table(runs)
    if description.outlook is not None:
        heading("hints")
        print_outlook(description.outlook)
    if description.backfills:
        heading("backfills")
        print_backfills(description.backfills)
    if description.dropped_ranges:
        heading("dropped ticks")
        print_dropped(description.dropped_ranges)


def print_runs(page: Page[Run], *, of_many: bool = False, zones: Mapping[str, str] | None = None) -> None:
    """Print a page of runs, of one schedule or of many. ``zones`` are the zones of the schedules."""
    if page.items:
        print_run_table(page.items, of_many=of_many, zones=zones)
    elif page.next_page is None:
        console.note("No runs. Start one with 'tompion schedules trigger SCHEDULE'.")
    print_next_page(page.next_page, "--before")


def print_run_table(runs: Sequence[Run], *, of_many: bool = False, zones: Mapping[str, str] | None = None) -> None:
    """Print runs. With ``of_many``, each row has the schedule."""
    present = now()
    columns = (
        Column("run", 10),
        Column("status"),
        Column("for"),
        Column("", extra=True),
        Column("took"),
        Column("source", extra=True),
        Column("reason", 8, prose=True),
        Column("schedule", 12, extra=not of_many),
    )
    table(
        columns,
        [
            (
                run.run_id,
                run.status.value,
                absolute_in(zones, run.schedule_id, run.run_at),
                relative(run.run_at, present),
                run_duration(run),
                run.source,
                run_reason(run),
                run.schedule_id,
            )
            for run in runs
        ],
    )


def print_run(run: Run) -> None:
    """Print one run."""
    present = now()
    pairs = [
        ("run", run.run_id),
        ("schedule", run.schedule_id),
        ("status", run.status.value + (f" ({run.reason})" if run.reason else "")),
        ("source", run.source),
        ("for", moment(run.run_at, present)),
        ("fires", moment(run.fire_at, present)),
        ("started", moment(run.started_at, present)),
        ("finished", moment(run.finished_at, present)),
        ("took", run_duration(run)),
        ("attempt", str(run.attempt)),
        ("version", str(run.definition_version)),
        ("key", run.idempotency_key),
    ]
    for name, value in (("dst_adjustment", run.dst_adjustment), ("error", run.error), ("execution", run.execution_id)):
        if value:
            pairs.append((name, value))
    for name, data in (("progress", run.progress), ("result", run.result)):
        if data is not None:
            pairs.append((name, json.dumps(data, ensure_ascii=False)))
    facts(pairs)


def print_dry_run(backfills: Sequence[Backfill]) -> None:
    """Print the ticks that backfills would run."""
    total, undecided = sum(backfill.total for backfill in backfills), sum(backfill.undecided for backfill in backfills)
    ticks = [tick for backfill in backfills for tick in backfill.ticks]
    for tick in ticks:
        console.line(absolute(tick))
    more = f" {total - len(ticks):,} of them are not listed." if total > len(ticks) else ""
    waiting = f" {undecided:,} ticks are left out, because the schedule has not decided them yet." if undecided else ""
    console.note(f"Would run {total:,} ticks of {backfills[0].schedule_id}.{more}{waiting} Nothing was started.")


def print_backfills(backfills: Sequence[Backfill]) -> None:
    """Print backfills and their progress."""
    if not backfills:
        console.note("No backfills. Start one with 'tompion schedules backfill SCHEDULE START END'.")
        return
    columns = (
        Column("id"),
        Column("status"),
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
                str(backfill.backfill_id),
                backfill.status,
                f"{backfill.done:,} of {backfill.total:,}",
                absolute(backfill.start),
                absolute(backfill.end),
                backfill.only,
                backfill.overlap_policy,
                str(backfill.undecided),
            )
            for backfill in backfills
        ],
    )


def print_dropped(ranges: Sequence[DroppedTicks]) -> None:
    """Print ranges of dropped ticks."""
    if not ranges:
        console.note("No ticks were dropped.")
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
            (
                absolute(dropped.after),
                absolute(dropped.until),
                f"{dropped.ticks:,}",
                dropped.reason,
                absolute(dropped.decided_at),
            )
            for dropped in ranges
        ],
    )


def print_versions(versions: Sequence[Version]) -> None:
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
                str(version.version),
                absolute(version.created_at),
                version.author,
                timing_text(version.definition),
                action_text(version.definition),
            )
            for version in versions
        ],
    )


def print_outlook(outlook: Outlook) -> None:
    """Print the hints of an adaptive schedule and its next run."""
    present = now()
    cause = " because of a hint" if outlook.source == "hint" else ""
    bound = f", limited by the {outlook.bound} interval" if outlook.bound else ""
    facts(
        [
            ("next run", moment(outlook.next_run_at, present) + cause + bound),
            ("failures", f"{outlook.consecutive_failures} in a row"),
            *((("warning", outlook.warning),) if outlook.warning else ()),
        ]
    )
    for hint in outlook.hints:
        effect = f"every {length(hint.interval_ms / 1000)}" if hint.interval_ms else f"at {absolute(hint.at)}"
        reason = f": {hint.reason}" if hint.reason else ""
        console.line(f"hint by {hint.author}: {effect}, expires {moment(hint.expires_at, present)}{reason}")
    if not outlook.hints:
        console.note("No hints. Add one with 'tompion schedules hint SCHEDULE --interval-ms 120000'.")


def print_verification(verification: Verification) -> None:
    """Print the verification of one schedule."""
    name = verification.schedule_id
    if verification.ok:
        console.line(f"{name}: {verification.ticks:,} ticks, each accounted for exactly once")
    for problem in verification.problems:
        at = "" if problem.at is None else f"{absolute(problem.at)} "
        console.line(f"{name}: {problem.kind}: {at}{problem.text}")
    if verification.unchecked:
        console.note(f"{verification.unchecked} versions cannot be recomputed and were not checked.")


def timing_text(definition: Definition) -> str:
    """Return the timing of a schedule in one line."""
    spec = definition.spec
    parts = [*spec.cron]
    parts += [
        f"every {length(interval.every_s)}"
        + (f"/{length(interval.offset_s)}" if interval.offset_s else "")
        + (" after the end" if interval.anchor == "completion" else "")
        for interval in spec.intervals
    ]
    parts += [" ".join(rule.split()) for rule in spec.rrules]
    parts += ["a calendar"] * len(spec.calendars)
    parts += [f"at {time}" for time in spec.times]
    return "; ".join(parts) or "never"


def action_text(definition: Definition) -> str:
    """Return the action of a schedule."""
    action = definition.action
    if action.executor is not None:
        target = " ".join([action.executor, *map(str, listed_options(action.executor, action.options).values())])
    else:
        version = "" if action.workflow_version is None else f" version {action.workflow_version}"
        target = action.function or (f"workflow {action.workflow_id}{version}" if action.workflow_id else "nothing")
    return target if action.queue == "default" else f"{target} in queue {action.queue}"


def policy_text(definition: Definition) -> str:
    """Return the policies of a schedule in one line."""
    policy = definition.policy
    parts = [f"overlap {policy.overlap_policy}", f"catch-up {policy.catchup_policy}"]
    if policy.max_concurrent != 1:
        parts.append(f"{policy.max_concurrent} at a time")
    if policy.max_attempts != 1:
        parts.append(f"{policy.max_attempts} attempts")
    parts += [name.replace("_", " ") for name in ("pause_on_failure", "shadow", "adaptive") if getattr(policy, name)]
    return ", ".join(parts)


def run_duration(run: Run) -> str:
    """Return the execution time of a run."""
    if run.started_at is None or run.finished_at is None:
        return "-"
    seconds = (run.finished_at - run.started_at).total_seconds()
    return f"{seconds:.2f}s" if seconds < 60 else length(seconds)


def run_reason(run: Run) -> str:
    """Return the error or the reason of a run's state, one line."""
    text = run.error or run.reason or run.dst_adjustment or ""
    return text.partition("\n")[0]


def print_next_page(page: str | None, option: str) -> None:
    """Print the option that shows the next page of a list."""
    if page is not None:
        console.note(f"There are more: {option} {page}")


def _state(schedule: Schedule) -> str:
    if schedule.paused_at is None:
        return schedule.status.value
    note = f": {schedule.note}" if schedule.note else ""
    return f"{schedule.status.value} by {schedule.paused_by} {relative(schedule.paused_at, now())}{note}"


def _counters(schedule: Schedule) -> str:
    counters = schedule.counters
    return (
        f"{counters.starts:,} starts, {counters.successes:,} successes, {counters.failures:,} failures, "
        f"{counters.skipped:,} skipped, {counters.missed:,} missed"
    )
