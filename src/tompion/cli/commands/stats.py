"""``tompion upcoming``, ``stats``, ``problems`` and ``forecast``: views of all schedules together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from tompion.cli.connection import Connection, Limit, OneSchedule, drop_unset, watch_options, with_options
from tompion.cli.output import console
from tompion.cli.output.tables import Column, absolute, facts, heading, length, now, relative, table
from tompion.cli.output.views import absolute_in
from tompion.spec.duration import parse_duration

if TYPE_CHECKING:
    from tompion.cli.connection import Api
    from tompion.model.insight import EditDiff, Forecast, Problems, RunCounts, Stats, StatsBucket, Upcoming

T = TypeVar("T")
DEFAULT_ROWS = 12
"""Rows of a table without ``--buckets``. Each row sums several buckets."""
COUNTERS = ("succeeded", "failed", "skipped", "missed", "open", "ended")
WIDE_COUNTERS = ("open", "ended")
"""Counters that a narrow terminal omits."""
DIFF_MARKS = {"unchanged": " ", "removed": "-", "added": "+"}

Within = Annotated[
    str | None, typer.Option("--for", metavar="DURATION", help="How far ahead: 90s, 2h, 7d (1h).", show_default=False)
]
Since = Annotated[
    str | None, typer.Option("--for", metavar="DURATION", help="How far back: 15m, 24h (1h).", show_default=False)
]
Buckets = Annotated[int | None, typer.Option("--buckets", metavar="N", help="Number of equal time buckets.")]


@with_options(connection=watch_options)
def upcoming_command(
    connection: Connection, schedule: OneSchedule = None, within: Within = None, limit: Limit = None
) -> None:
    """List the upcoming ticks of all schedules, the earliest first.

    Example: tompion upcoming --for 2h
    """
    options = drop_unset(schedule_id=schedule, seconds=_parse_seconds(within), limit=limit)
    zones: dict[str, str] = {}

    def read(api: Api) -> Upcoming:
        upcoming = api.upcoming(**options)
        zones.update(connection.zones(api, (tick.schedule_id for tick in upcoming.ticks)))
        return upcoming

    connection.show(read, lambda upcoming: print_upcoming(upcoming, zones))


@with_options(connection=watch_options)
def stats_command(connection: Connection, since: Since = None, buckets: Buckets = None) -> None:
    """Count schedules, and the outcomes of recent ticks.

    Example: tompion stats --for 24h --buckets 24
    """
    options = drop_unset(seconds=_parse_seconds(since), buckets=buckets)
    connection.show(lambda api: api.stats(**options), lambda stats: print_stats(stats, buckets or DEFAULT_ROWS))


@with_options(connection=watch_options)
def problems_command(connection: Connection, limit: Limit = None) -> None:
    """List current problems, the most urgent first.

    Example: tompion problems --watch 10
    """
    connection.show(lambda api: api.problems(**drop_unset(limit=limit)), print_problems)


@with_options(connection=watch_options)
def forecast_command(connection: Connection, within: Within = None, buckets: Buckets = None) -> None:
    """Forecast how many runs start when, and find load spikes.

    Example: tompion forecast --for 24h --buckets 24
    """
    options = drop_unset(seconds=_parse_seconds(within), buckets=buckets)
    connection.show(
        lambda api: api.forecast(**options), lambda forecast: print_forecast(forecast, buckets or DEFAULT_ROWS)
    )


def counts_text(counts: RunCounts) -> str:
    """Return the number of schedules by state, in one line."""
    by_state = {"active": counts.active, "paused": counts.paused, "degraded": counts.degraded}
    text = ", ".join(f"{count:,} {state}" for state, count in by_state.items() if count) or "no schedules"
    return f"{text}{' (and more)' if counts.capped else ''}"


def print_upcoming(upcoming: Upcoming, zones: Mapping[str, str] | None = None) -> None:
    """Print upcoming ticks, in the zones of their schedules."""
    if not upcoming.ticks:
        console.note(f"No upcoming ticks until {absolute(upcoming.complete_until)}.")
        return
    present = now()
    with_fire_time = any(tick.fire_at != tick.run_at for tick in upcoming.ticks)
    columns = [Column("in"), Column("at"), Column("schedule", 16), *([Column("fires at")] if with_fire_time else [])]
    table(
        columns,
        [
            (
                relative(tick.fire_at, present).removeprefix("in "),
                absolute_in(zones, tick.schedule_id, tick.run_at),
                tick.schedule_id,
                *([f"{tick.fire_at:%H:%M:%S}.{tick.fire_at.microsecond // 1000:03}Z"] if with_fire_time else []),
            )
            for tick in upcoming.ticks
        ],
    )
    if upcoming.ticks[-1].fire_at >= upcoming.complete_until.replace(microsecond=0):
        until = absolute(upcoming.complete_until)
        console.note(f"The list is complete until {until}. Use a larger --limit or a shorter --for.")


def print_stats(stats: Stats, rows: int = DEFAULT_ROWS) -> None:
    """Print the statistics of a namespace."""
    counts = stats.schedules
    facts(
        [
            ("schedules", counts_text(counts)),
            ("closed", f"{counts.closed:,}"),
            ("runs", f"{counts.in_flight:,} in flight, {counts.waiting:,} waiting"),
        ]
    )
    heading("outcomes")
    columns = [Column("since"), *(Column(name, extra=name in WIDE_COUNTERS) for name in COUNTERS), Column("max late")]
    table(columns, [_stats_row(group) for group in _split(stats.buckets, rows)])
    if stats.complete_since > stats.buckets[0].start:
        console.note(f"The numbers before {absolute(stats.complete_since)} are incomplete.")


def print_problems(problems: Problems) -> None:
    """Print current problems."""
    if not problems.problems:
        console.note("No problems.")
        return
    present = now()
    columns = (
        Column("urgency"),
        Column("about", 12),
        Column("since", extra=True),
        Column("problem", 20, prose=True, wrap=True),
    )
    rows = [
        (problem.urgency, problem.subject, relative(problem.since, present), problem.text)
        for problem in problems.problems
    ]
    table(columns, rows)
    if problems.more:
        console.note("There are more problems. Use a larger --limit.")


def print_forecast(forecast: Forecast, rows: int) -> None:
    """Print how many runs will start in each time bucket, and the load spikes."""
    table(
        (Column("from"), Column("fires")),
        [
            (absolute(group[0].start), f"{sum(load.fires for load in group):,}")
            for group in _split(forecast.buckets, rows)
        ],
    )
    if forecast.spikes:
        heading("load spikes")
        columns = (Column("at"), Column("fires"), Column("advice", 20, prose=True, wrap=True))
        table(columns, [(absolute(spike.start), f"{spike.fires:,}", spike.advice) for spike in forecast.spikes])
    if forecast.one_in > 1:
        console.note(f"Estimated from the specs of one in {forecast.one_in} schedules.")
    if forecast.next_fire_only:
        console.note(f"For {forecast.next_fire_only:,} schedules only the next run is counted.")
    if forecast.capped:
        console.note("There are more schedules than were counted.")


def print_diff(diff: EditDiff) -> None:
    """Print the upcoming ticks that an edit would keep, remove and add."""
    for tick in diff.ticks:
        console.line(f"{DIFF_MARKS[tick.change]} {absolute(tick.at)}  {tick.local:%a %Y-%m-%d %H:%M:%S}")
    until = "" if diff.complete_until is None else f" until {absolute(diff.complete_until)}"
    console.note(f"{diff.unchanged} unchanged, {diff.removed} removed, {diff.added} added{until}. Nothing was written.")


def _parse_seconds(text: str | None) -> int | None:
    return None if text is None else parse_duration(text, field="--for")


def _split(buckets: Sequence[T], rows: int) -> list[Sequence[T]]:
    """Return the buckets in at most ``rows`` groups of neighbours."""
    size = -(-len(buckets) // rows)
    return [buckets[start : start + size] for start in range(0, len(buckets), size)]


def _stats_row(group: Sequence[StatsBucket]) -> tuple[str, ...]:
    late_ms = [bucket.late_max_ms for bucket in group if bucket.late_max_ms is not None]
    counts = [sum(getattr(bucket, name) for bucket in group) for name in COUNTERS]
    return (absolute(group[0].start), *(f"{count:,}" if count else "-" for count in counts), _max_late(late_ms))


def _max_late(late_ms: Sequence[int]) -> str:
    if not late_ms:
        return "-"
    max_ms = max(late_ms)
    return f"{max_ms / 1000:.3f}s" if max_ms < 60_000 else length(max_ms / 1000)
