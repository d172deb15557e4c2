"""A look at everything at once, for ``tompion top``, and a longer one, for ``tompion doctor``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from tompion.model.insight import RunCounts, UpcomingTick
from tompion.model.page import Page
from tompion.model.run import FINAL, RunState
from tompion.model.schedule import Run, Schedule
from tompion.model.worker import InstanceInfo, Queue

if TYPE_CHECKING:
    from tompion.cli.connection import Api

PAGE = 1_000
MAX_SCHEDULES = 10_000
"""How many schedules are looked at; a survey says when there are more."""
SHOWN = 20
"""How many ticks and running runs there is room for."""
MAX_RECENT_RUNS = 200
"""Among how many runs the latest outcomes are looked for."""
AHEAD_S = 366 * 86_400
MAX_PAGES = 20
"""How many pages without enough runs are looked at before somebody is told where to go on."""


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """What there is at the moment."""

    schedules: RunCounts
    coming: tuple[UpcomingTick, ...]
    running: tuple[Run, ...]
    recent: tuple[Run, ...]
    instances: tuple[InstanceInfo, ...]
    queues: tuple[Queue, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was found; ``is_whole`` unless there are more schedules than were looked at."""

    tally: RunCounts
    schedules: tuple[Schedule, ...]
    is_whole: bool
    running: tuple[Run, ...]
    instances: tuple[InstanceInfo, ...]
    queues: tuple[Queue, ...]


def glance(api: Api) -> SnapshotRow:
    """Look at what comes next, what runs and the latest outcomes, however many schedules there are."""
    tally = api.stats(seconds=1, buckets=1).schedules
    ended = [run for run in api.recent_runs(limit=MAX_RECENT_RUNS).items if run.state in FINAL]
    return SnapshotRow(
        schedules=tally,
        coming=api.upcoming(seconds=AHEAD_S, limit=SHOWN).ticks,
        running=_in_flight(api, min(tally.in_flight, SHOWN), pages=1),
        recent=tuple(sorted(ended, key=lambda run: run.finished_at or run.decided_at, reverse=True)),
        instances=api.list_instances(),
        queues=api.list_queues(),
    )


def survey(api: Api) -> Snapshot:
    """Look at every schedule and every run in flight, but at so many only."""
    tally = api.stats(seconds=1, buckets=1).schedules
    found = tuple(islice(every_schedule(api), MAX_SCHEDULES + 1))
    return Snapshot(
        tally=tally,
        schedules=found[:MAX_SCHEDULES],
        is_whole=len(found) <= MAX_SCHEDULES,
        running=_in_flight(api, min(tally.in_flight, PAGE), pages=MAX_PAGES),
        instances=api.list_instances(),
        queues=api.list_queues(),
    )


def every_schedule(api: Api) -> Iterator[Schedule]:
    """Yield every schedule of the namespace, page by page."""
    after: str | None = None
    while True:
        page = api.list_schedules(limit=PAGE, after=after)
        yield from page.items
        if page.next_page is None:
            return
        after = page.next_page


def latest_runs(
    api: Api, limit: int, *, state: str | None = None, before: str | None = None, pages: int = MAX_PAGES
) -> Page[Run]:
    """Return the latest runs of all schedules; what a short page leaves room for comes from those after it."""
    page = api.recent_runs(state=state, limit=limit, before=before)
    for _ in range(pages - 1):
        missing = limit - len(page.items)
        if missing <= 0 or page.next_page is None:
            break
        more = api.recent_runs(state=state, limit=missing, before=page.next_page)
        page = Page(page.items + more.items, more.next_page)
    return page


def _in_flight(api: Api, wanted: int, *, pages: int) -> tuple[Run, ...]:
    """Return runs in flight, those that are executed first; nobody looks for more than there are."""
    found: tuple[Run, ...] = ()
    for state in (RunState.STARTED, RunState.ENQUEUED):
        if len(found) < wanted:
            found += latest_runs(api, wanted - len(found), state=state, pages=pages).items
    return found
