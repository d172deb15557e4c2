"""What a door in the manner of another system shows of a schedule, gathered in one transaction.

Its spec is in ranges there, its actions are the runs that were started, and its future is when they will be launched,
jitter included.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from foliot.errors import NotFound
from foliot.model.rows import ScheduleRow
from foliot.model.run import IN_FLIGHT, WAITING, RunRow, RunState, Source
from foliot.model.schedule import Run, Schedule, ScheduleState
from foliot.model.spec import SpecDocument
from foliot.operations.editing import Opened, find_whole, loaded, view_of
from foliot.operations.schedules import page_limit, page_name, schedule_filter
from foliot.operations.session import Session
from foliot.operations.views import at_ms, at_s, run_view
from foliot.plan.ahead import upcoming
from foliot.plan.rule import Rule
from foliot.spec.compiled import zone_of
from foliot.spec.moment import last_instant, read_moment
from foliot.spec.structured import structured
from foliot.store.base import FAR_S

FUTURE = 10
RECENT = 10
LOOKED_AT = 100
"""Among how many of the latest runs the latest started ones are looked for."""
MOST_TIMES = 1_000
UNSTARTED = WAITING | {RunState.SKIPPED}


@dataclass(frozen=True, slots=True)
class Dossier:
    """A schedule, and what is known around it; ``left_out`` names the parts of its spec that ``spec`` cannot say.

    The ``fire_at`` of ``recent`` runs is when each was to be launched: a backfill's or a trigger's is in the past.
    """

    schedule: Schedule
    spec: SpecDocument
    left_out: tuple[str, ...]
    document: Any
    running: tuple[Run, ...]
    recent: tuple[Run, ...]
    future: tuple[datetime, ...]
    starts_at: datetime | None
    ends_at: datetime | None


def dossier(session: Session, schedule_id: str) -> Dossier:
    """Return everything about a schedule that is not deleted.  Raises :class:`~foliot.errors.NotFound`."""
    return _gathered(session, opened_for_reading(session, schedule_id))


def dossiers(session: Session, *, limit: int, after: str | None = None) -> tuple[list[Dossier], str | None]:
    """Return the next schedules in the order of their ids, and after which there are more."""
    limit = page_limit(session, limit)
    everything = schedule_filter(None, None, None, None, None)
    rows = session.transaction.schedules_page(session.namespace, page_name(after), limit + 1, everything)
    dials = session.transaction.read_dials([row.schedule_key for row in rows[:limit]])
    found = [_gathered(session, loaded(session, row, dials.get(row.schedule_key))) for row in rows[:limit]]
    return found, rows[limit - 1].schedule_id if len(rows) > limit else None


def matching_times(session: Session, schedule_id: str, start_ms: int, end_ms: int) -> list[datetime]:
    """Return when a schedule would be launched for its ticks after one instant, up to another; at most a thousand."""
    return list(islice(_launches(opened_for_reading(session, schedule_id), start_ms, end_ms), MOST_TIMES))


def _launches(opened: Opened, start_ms: int, end_ms: int) -> Iterator[datetime]:
    rule = opened.rule
    tick = None if rule.follows else rule.ticks.next_epoch(start_ms // 1000)
    while tick is not None and (fire_ms := rule.fire_ms(tick)) <= end_ms:
        yield at_ms(fire_ms)
        tick = rule.ticks.next_epoch(tick)


def opened_for_reading(session: Session, schedule_id: str) -> Opened:
    """Return a schedule that is not deleted, and that nobody has locked."""
    opened = find_whole(session, schedule_id)
    if opened.row.state == ScheduleState.CLOSED:
        raise NotFound(f"there is no schedule {schedule_id!r} in namespace {session.namespace!r}")
    return opened


def _gathered(session: Session, opened: Opened) -> Dossier:
    row, dial, _, rule = opened
    ranged = structured(rule.spec)
    running = session.transaction.in_flight_of([(row.schedule_key, dial.in_flight)]) if dial.in_flight else []
    ahead = islice(upcoming(dial, rule, session.now_ms), FUTURE if dial.remaining is None else dial.remaining)
    return Dossier(
        schedule=view_of(session, opened),
        spec=ranged.spec,
        left_out=ranged.left,
        document=_document(session, row, opened),
        running=tuple(run_view(run, row) for run in running),
        recent=tuple(run_view(run._replace(fire_ms=_meant_ms(run, rule)), row) for run in _started(session, row)),
        future=tuple(at_ms(rule.fire_ms(tick)) for tick in islice(ahead, FUTURE)),
        starts_at=None if rule.start_s is None else at_s(rule.start_s),
        ends_at=_end_of(rule.spec),
    )


def _meant_ms(run: RunRow, rule: Rule) -> int:
    """When a run was to be launched; of a time that somebody asked for, when it would have been."""
    if run.source == Source.BACKFILL:
        return rule.fire_ms(run.nominal_s)
    asked_for_another = run.source == Source.TRIGGER and run.nominal_s != run.fire_ms // 1000
    return run.nominal_s * 1000 if asked_for_another else run.fire_ms


def _end_of(spec: SpecDocument) -> datetime | None:
    if spec.end_at is None:
        return None
    return at_s(last_instant(read_moment(spec.end_at, field="end_at"), zone_of(spec)))


def _started(session: Session, row: ScheduleRow) -> list[RunRow]:
    """The latest runs that were started, in the order in which they were; one that is queued is about to be."""
    latest = session.transaction.runs_page(row.schedule_key, (FAR_S, 0), LOOKED_AT)
    started = [run for run in latest if run.state not in UNSTARTED and (run.attempt or run.state in IN_FLIGHT)]
    return sorted(started, key=lambda run: (run.started_ms or run.decided_ms, run.id))[-RECENT:]


def _document(session: Session, row: ScheduleRow, opened: Opened) -> Any:
    action = opened.rule.action
    if action.workflow_id is None:
        return None
    found = session.transaction.workflow(row.namespace, action.workflow_id, action.workflow_version)
    return None if found is None else json.loads(found.document)
