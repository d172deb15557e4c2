"""A forecast of the number of fires of all schedules, and of load spikes.

Many schedules share few specs, so the ticks of a spec are computed once and counted for each schedule with it. Specs
that depend on the schedule itself (``H``, jitter) are computed one by one. Both are bounded. Beyond the bounds, only
the next fire of a schedule counts, which the store has. If there are too many schedules to read all their specs, every
n-th is read and counted n times, which is in the result.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice
from statistics import median
from typing import NamedTuple, TypeAlias

from tompion.encoding.instant import datetime_ms
from tompion.errors import TompionError
from tompion.model.insight import Forecast, Load, LoadSpike, SameSpecSchedule, SpecGroup
from tompion.model.page import Page
from tompion.model.rows import DefinitionRow, SpecGroupRow
from tompion.operations.context import OperationContext
from tompion.operations.insight.time_buckets import TimeBuckets, check_buckets
from tompion.operations.paging import DEFAULT_PAGE, page_limit, page_name
from tompion.operations.schedules.repository import UNREADABLE, calendar_of, load_by_id
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.stored_definition import compiled_from_row
from tompion.spec.calendar.spread_minutes import spread_minutes
from tompion.spec.explain.specs import explain

MAX_WINDOW_S = 7 * 86_400
MAX_BUCKETS = 2_000
MAX_SCHEDULES = 200_000
MAX_READ = 25_000
"""The maximum number of schedules whose spec is read. If there are more, every second or third is read, and so on."""
MAX_SPECS = 300
MAX_TICKS = 30_000
"""The maximum number of ticks that one forecast computes."""
MAX_SPIKES = 5
MAX_GROUPS = 5
MIN_SPIKE = 10
SPIKE_FACTOR = 3
MAX_JITTER_MS = 30 * 60_000
CompiledGroup: TypeAlias = tuple[SpecGroupRow, CompiledSchedule]
"""The schedules with the same spec, and one of them compiled."""


class LaterFires(NamedTuple):
    """Fires by bucket, schedules by bucket and group, and the number of schedules whose fires are all counted."""

    fires: Counter[int]
    groups_by_bucket: defaultdict[int, Counter[int]]
    schedules: int


def forecast(context: OperationContext, *, seconds: int = 3_600, buckets: int = 60) -> Forecast:
    """Return the number of fires in the next seconds, in equal buckets, and the load spikes."""
    check_buckets(seconds, buckets, MAX_WINDOW_S, MAX_BUCKETS)
    length_ms = seconds * 1000 // buckets
    window = TimeBuckets(since_ms=context.now_ms // length_ms * length_ms, length_ms=length_ms, number=buckets)
    active = context.transaction.schedule_count_in_status(context.namespace, "active", MAX_SCHEDULES + 1)
    fires: Counter[int] = Counter()
    for index, count in context.transaction.state_count_fires_by_bucket(
        context.namespace, window.since_ms, window.until_ms, length_ms, MAX_SCHEDULES
    ):
        fires[index] += count
    scheduled = fires.total()  # so far only the next fire of each schedule
    sampling_step = max(1, -(-min(active, MAX_SCHEDULES) // MAX_READ))
    groups = _spec_groups(context, window.until_ms, sampling_step)
    later = _later_fires(groups, window)
    fires.update(later.fires)
    loads = tuple(Load(datetime_ms(window.start_ms(index)), fires[index]) for index in range(buckets))
    spikes = tuple(
        _spike(loads[index], [groups[group] for group, _ in later.groups_by_bucket[index].most_common(MAX_GROUPS)])
        for index in _heaviest_buckets(fires, buckets)
    )
    fully_counted = min(later.schedules, scheduled)
    return Forecast(loads, spikes, fully_counted, scheduled - fully_counted, sampling_step, active > MAX_SCHEDULES)


def same_spec(
    context: OperationContext, schedule_id: str, *, limit: int = DEFAULT_PAGE, after: str | None = None
) -> Page[SameSpecSchedule]:
    """Return the active schedules with the same spec as one, including itself, in the order of their ids.

    Each has its conflict token, so a caller can change exactly the state that it has read.
    """
    version = load_by_id(context, schedule_id).version
    limit = page_limit(context, limit)
    rows = context.transaction.schedule_list_same_spec(context.namespace, version, page_name(after), limit + 1)
    items = tuple(SameSpecSchedule(*row) for row in rows[:limit])
    return Page(items, items[-1].schedule_id if len(rows) > limit else None)


def _spec_groups(context: OperationContext, until_ms: int, sampling_step: int) -> list[CompiledGroup]:
    """Return the specs that fire, the most frequent first, with their counts. Unreadable specs are omitted."""
    groups = []
    rows = context.transaction.state_count_fires_by_spec(
        context.namespace, until_ms, MAX_SCHEDULES, sampling_step, MAX_SPECS
    )
    for sample in rows:
        row = sample._replace(schedules=sample.schedules * sampling_step)
        version = DefinitionRow(
            schedule_key=0,
            version=0,
            namespace=context.namespace,
            schedule_id=row.example,
            spec=row.spec,
            policy="{}",
            action="{}",
            payload=None,
            calendars=row.calendars,
        )
        try:
            calendars = tuple(map(calendar_of, context.transaction.calendar_list_for_version(version)))
            groups.append((row, compiled_from_row(version, calendars)))
        except (TompionError, *UNREADABLE):
            continue
    return groups


def _later_fires(groups: list[CompiledGroup], window: TimeBuckets) -> LaterFires:
    """Count the fires of each group after its next one, until ``MAX_TICKS`` ticks are computed."""
    result = LaterFires(Counter(), defaultdict(Counter), 0)
    ticks_left = MAX_TICKS
    for group, (row, compiled) in enumerate(groups):
        after_s = max(row.next_nominal_s, window.since_ms // 1000)
        fire_times = list(islice(_fire_times(compiled, after_s, window.until_ms), ticks_left + 1))
        if len(fire_times) > ticks_left:
            break
        ticks_left -= len(fire_times)
        result = result._replace(schedules=result.schedules + row.schedules)
        result.groups_by_bucket[window.index_of(row.next_fire_ms)][group] += row.schedules
        for fire_ms in fire_times:
            index = window.index_of(fire_ms)
            result.fires[index] += row.schedules
            result.groups_by_bucket[index][group] += row.schedules
    return result


def _fire_times(compiled: CompiledSchedule, after_s: int, until_ms: int) -> Iterator[int]:
    """Yield the fire times of the ticks after a tick."""
    tick = compiled.ticks.next_epoch(after_s)
    while tick is not None and (fire_ms := compiled.fire_ms(tick)) < until_ms:
        yield fire_ms
        tick = compiled.ticks.next_epoch(tick)


def _heaviest_buckets(fires: Counter[int], buckets: int) -> list[int]:
    """Return the buckets with far more fires than usual, the heaviest first."""
    usual = median(fires[index] for index in range(buckets))
    min_fires = max(MIN_SPIKE, SPIKE_FACTOR * usual)
    spikes = [index for index in fires if fires[index] >= min_fires]
    return sorted(spikes, key=lambda index: (-fires[index], index))[:MAX_SPIKES]


def _spike(load: Load, compiled_groups: list[CompiledGroup]) -> LoadSpike:
    groups = tuple(
        SpecGroup(
            row.example, explain(compiled.spec), row.schedules, _jitter_ms(row, compiled), spread_minutes(compiled.spec)
        )
        for row, compiled in compiled_groups
    )
    return LoadSpike(load.start, load.fires, groups, _advice(load.fires, groups))


def _jitter_ms(row: SpecGroupRow, compiled: CompiledSchedule) -> int | None:
    """Return half the time between two ticks, so that no fire time passes the next tick."""
    following = compiled.ticks.next_epoch(row.next_nominal_s)
    if compiled.spec.jitter_ms:
        return None
    gap_ms = MAX_JITTER_MS if following is None else (following - row.next_nominal_s) * 500
    return min(gap_ms, MAX_JITTER_MS)


def _advice(fires: int, groups: tuple[SpecGroup, ...]) -> str:
    without_jitter = [group for group in groups if group.jitter_ms is not None]
    if not without_jitter:
        return f"{fires} fires at once, and the schedules have jitter already. Move some to other minutes or hours."
    first = without_jitter[0]
    schedules = "one schedule" if first.schedules == 1 else f"{first.schedules} schedules"
    seconds = (first.jitter_ms or 0) // 1000
    hashed = "" if first.hashed is None else ", or H instead of the minute in the cron string,"
    return (
        f"{fires} fires at once, {schedules} with the spec of {first.example!r} among them. A jitter of {seconds} "
        f"seconds{hashed} would spread them."
    )
