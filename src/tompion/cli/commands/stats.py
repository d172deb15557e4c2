"""``tompion upcoming`` and ``tompion stats``: what is to come, and what came of it, of all schedules together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tompion.cli.connection import Connection, Limit, OneSchedule, drop_unset, watch_options, with_options
from tompion.cli.output import console
from tompion.cli.output.tables import Column, absolute, facts, heading, length, now, relative, table
from tompion.spec.duration import parse_duration

if TYPE_CHECKING:
    from tompion.model.insight import RunCounts, Stats, StatsBucket, Upcoming
if TYPE_CHECKING:
    from tompion.model.insight import EditDiff, Forecast, Problems


ROWS = 12
"""How many buckets are shown unless somebody says how many; neighbours are added up."""


COUNTED = ("succeeded", "failed", "skipped", "missed", "open", "ended")


LESS = ("open", "ended")
"""What a narrow terminal does without."""


Within = Annotated[
    str | None, typer.Option("--for", metavar="DURATION", help="How far ahead: 90s, 2h, 7d (1h).", show_default=False)
]


Since = Annotated[
    str | None, typer.Option("--for", metavar="DURATION", help="How far back: 15m, 24h (1h).", show_default=False)
]


@with_options(connection=watch_options)
def upcoming_command(
    connection: Connection, schedule: OneSchedule = None, within: Within = None, limit: Limit = None
) -> None:
    """Show the ticks that will fire, of all schedules, the first one first.

    Example: tompion upcoming --for 2h
    """
    options = drop_unset(schedule_id=schedule, seconds=seconds(within), limit=limit)
    connection.show(lambda api: api.upcoming(**options), tick_list)


@with_options(connection=watch_options)
def stats_command(
    connection: Connection,
    since: Since = None,
    buckets: Annotated[int | None, typer.Option("--buckets", metavar="N", help="Number of equal time buckets.")] = None,
) -> None:
    """Show how many schedules there are, and what became of their ticks lately.

    Example: tompion stats --for 24h --buckets 24
    """
    options = drop_unset(seconds=seconds(since), buckets=buckets)
    connection.show(lambda api: api.stats(**options), lambda found: figures(found, buckets or ROWS))


def tally_text(found: RunCounts) -> str:
    """Return how many schedules there are, in one line."""
    counts = {"active": found.active, "paused": found.paused, "degraded": found.degraded}
    told = ", ".join(f"{count:,} {state}" for state, count in counts.items() if count) or "no schedules"
    return f"{told}{' (and more)' if found.capped else ''}"


def seconds(text: str | None) -> int | None:
    """Return how long ``--for`` says, if it was given."""
    return None if text is None else parse_duration(text, field="--for")


def tick_list(found: Upcoming) -> None:
    """Print which ticks are to come."""
    if not found.ticks:
        console.note(f"nothing is to come until {absolute(found.complete_until)}")
        return
    present = now()
    late = any(tick.fire_at != tick.scheduled_for for tick in found.ticks)
    columns = [Column("in"), Column("at"), Column("schedule", 16), *([Column("fires at")] if late else [])]
    table(
        columns,
        [
            (
                relative(tick.fire_at, present).removeprefix("in "),
                absolute(tick.scheduled_for),
                tick.schedule_id,
                *([f"{tick.fire_at:%H:%M:%S}.{tick.fire_at.microsecond // 1000:03}Z"] if late else []),
            )
            for tick in found.ticks
        ],
    )
    if found.ticks[-1].fire_at >= found.complete_until.replace(microsecond=0):
        console.note(f"there may be more after {absolute(found.complete_until)}: --limit, or a shorter --for")


def figures(found: Stats, rows: int = ROWS) -> None:
    """Print figures about a namespace."""
    schedules = found.schedules
    facts(
        [
            ("schedules", tally_text(schedules)),
            ("closed", f"{schedules.closed:,}"),
            ("runs", f"{schedules.in_flight:,} in flight, {schedules.waiting:,} waiting"),
        ]
    )
    heading("what was decided")
    size = -(-len(found.buckets) // rows)
    groups = [found.buckets[start : start + size] for start in range(0, len(found.buckets), size)]
    columns = [Column("since"), *(Column(name, extra=name in LESS) for name in COUNTED), Column("latest")]
    table(columns, [_row(group) for group in groups])
    if found.complete_since > found.buckets[0].start:
        console.note(f"not everything before {absolute(found.complete_since)} was looked at")


def _row(group: Sequence[StatsBucket]) -> tuple[str, ...]:
    late = [each.late_max_ms for each in group if each.late_max_ms is not None]
    counts = [sum(getattr(each, name) for each in group) for name in COUNTED]
    return (absolute(group[0].start), *(f"{count:,}" if count else "-" for count in counts), _late(late))


def _late(found: Sequence[int]) -> str:
    if not found:
        return "-"
    most = max(found)
    return f"{most / 1000:.3f}s" if most < 60_000 else length(most / 1000)


MARKS = {"unchanged": " ", "removed": "-", "added": "+"}
"""How a tick to come is marked, as in a comparison of two texts."""


Buckets = Annotated[int | None, typer.Option("--buckets", metavar="N", help="Number of equal time buckets.")]


@with_options(connection=watch_options)
def problems_command(connection: Connection, limit: Limit = None) -> None:
    """Show what somebody should look at, the most urgent first.

    Example: tompion problems --watch 10
    """
    connection.show(lambda api: api.problems(**drop_unset(limit=limit)), concerns)


@with_options(connection=watch_options)
def forecast_command(connection: Connection, within: Within = None, buckets: Buckets = None) -> None:
    """Show how many fires are to come, of all schedules, and where they come in spikes.

    Example: tompion forecast --for 24h --buckets 24
    """
    options = drop_unset(seconds=seconds(within), buckets=buckets)
    connection.show(lambda api: api.forecast(**options), lambda found: loads(found, buckets or ROWS))


def concerns(found: Problems) -> None:
    """Print what somebody should look at."""
    if not found.problems:
        console.note("No problems.")
        return
    present = now()
    columns = (Column("urgency"), Column("about", 12), Column("since", extra=True), Column("what", 20, prose=True))
    rows = [(each.urgency, each.subject, relative(each.since, present), each.text) for each in found.problems]
    table(columns, rows)
    if found.more:
        console.note("there is more: --limit")


def loads(found: Forecast, rows: int) -> None:
    """Print how many fires are to come, and the load spikes among them."""
    size = -(-len(found.buckets) // rows)
    groups = [found.buckets[start : start + size] for start in range(0, len(found.buckets), size)]
    table(
        (Column("from"), Column("fires")),
        [(absolute(each[0].start), f"{sum(load.fires for load in each):,}") for each in groups],
    )
    if found.spikes:
        heading("many at once")
        columns = (Column("at"), Column("fires"), Column("what to do", 20, prose=True))
        table(columns, [(absolute(each.start), f"{each.fires:,}", each.advice) for each in found.spikes])
    if found.one_in > 1:
        console.note(f"the specs of one in {found.one_in} schedules were read; the others are estimated")
    if found.next_fire_only:
        console.note(f"of {found.next_fire_only:,} schedules only the next fire is counted")
    if found.capped:
        console.note("there are more schedules than were counted")


def diff_lines(found: EditDiff) -> None:
    """Print which ticks to come would stay, go and come."""
    for tick in found.ticks:
        console.line(f"{MARKS[tick.change]} {absolute(tick.at)}  {tick.local:%a %Y-%m-%d %H:%M:%S}")
    ends = "" if found.complete_until is None else f" until {absolute(found.complete_until)}"
    console.note(f"{found.unchanged} stay, {found.removed} go, {found.added} come{ends}; nothing is written")
