"""Snapshots of a namespace for ``tompion top`` and ``tompion doctor``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from tompion.contract.fields import StatusOfRun
from tompion.model.insight import RunCounts, UpcomingTick
from tompion.model.page import Page
from tompion.model.run import FINAL, RunState
from tompion.model.schedule import Run, Schedule
from tompion.model.worker import InstanceInfo, Queue

if TYPE_CHECKING:
    from tompion.cli.connection import Api

PAGE_SIZE = 1_000
MAX_SCHEDULES = 10_000
MAX_ROWS = 20
"""Maximum ticks and running runs of ``tompion top``."""
MAX_RECENT_RUNS = 200
"""Maximum runs that are read for the latest outcomes."""
MAX_AHEAD_S = 366 * 86_400
MAX_PAGES = 20
"""Maximum pages that are read before the user gets the token of the next one."""


@dataclass(frozen=True, slots=True)
class TopSnapshot:
    """Current state of a namespace, a few rows of each kind."""

    schedules: RunCounts
    upcoming: tuple[UpcomingTick, ...]
    running: tuple[Run, ...]
    recent: tuple[Run, ...]
    instances: tuple[InstanceInfo, ...]
    queues: tuple[Queue, ...]


@dataclass(frozen=True, slots=True)
class DoctorSnapshot:
    """Every schedule and run in flight. ``is_complete`` is false if there are more than ``MAX_SCHEDULES``."""

    counts: RunCounts
    schedules: tuple[Schedule, ...]
    is_complete: bool
    running: tuple[Run, ...]
    instances: tuple[InstanceInfo, ...]
    queues: tuple[Queue, ...]


def read_top_snapshot(api: Api) -> TopSnapshot:
    """Read upcoming ticks, running runs and latest outcomes. The cost does not depend on the number of schedules."""
    counts = api.stats(seconds=1, buckets=1).schedules
    ended = [run for run in api.runs.recent(limit=MAX_RECENT_RUNS).items if run.status in FINAL]
    return TopSnapshot(
        schedules=counts,
        upcoming=api.upcoming(seconds=MAX_AHEAD_S, limit=MAX_ROWS).ticks,
        running=_runs_in_flight(api, min(counts.in_flight, MAX_ROWS), pages=1),
        recent=tuple(sorted(ended, key=lambda run: run.finished_at or run.created_at, reverse=True)),
        instances=api.instances.list(),
        queues=api.queues.list(),
    )


def read_doctor_snapshot(api: Api) -> DoctorSnapshot:
    """Read every schedule and every run in flight, up to the limits."""
    counts = api.stats(seconds=1, buckets=1).schedules
    schedules = tuple(islice(every_schedule(api), MAX_SCHEDULES + 1))
    return DoctorSnapshot(
        counts=counts,
        schedules=schedules[:MAX_SCHEDULES],
        is_complete=len(schedules) <= MAX_SCHEDULES,
        running=_runs_in_flight(api, min(counts.in_flight, PAGE_SIZE), pages=MAX_PAGES),
        instances=api.instances.list(),
        queues=api.queues.list(),
    )


def every_schedule(api: Api) -> Iterator[Schedule]:
    """Yield every schedule of the namespace, page by page."""
    after: str | None = None
    while True:
        page = api.schedules.list(limit=PAGE_SIZE, after=after)
        yield from page.items
        if page.next_page is None:
            return
        after = page.next_page


def latest_runs(
    api: Api, limit: int, *, status: StatusOfRun | None = None, before: str | None = None, pages: int = MAX_PAGES
) -> Page[Run]:
    """Return the latest runs of all schedules. Short pages are filled up from the pages after them."""
    page = api.runs.recent(status=status, limit=limit, before=before)
    for _ in range(pages - 1):
        missing = limit - len(page.items)
        if missing <= 0 or page.next_page is None:
            break
        following = api.runs.recent(status=status, limit=missing, before=page.next_page)
        page = Page(page.items + following.items, following.next_page)
    return page


def _runs_in_flight(api: Api, limit: int, *, pages: int) -> tuple[Run, ...]:
    """Return runs in flight, started ones first."""
    runs: tuple[Run, ...] = ()
    for status in (RunState.STARTED, RunState.ENQUEUED):
        if len(runs) < limit:
            runs += latest_runs(api, limit - len(runs), status=status, pages=pages).items
    return runs
