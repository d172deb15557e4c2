"""A look at everything at once, for ``foliot doctor`` and ``foliot top``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from foliot.model.run import FINAL
from foliot.model.schedule import Run, Schedule
from foliot.model.work import Instance, Queue

if TYPE_CHECKING:
    from foliot.cli.asking import Home

PAGE = 1_000
MOST_SCHEDULES = 10_000
"""How many schedules are looked at; a survey says when there are more."""
MOST_ASKED = 20
"""Of how many schedules the runs are asked for."""
FEW_RUNS = 5


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found; ``is_whole`` unless there are more schedules than were looked at."""

    schedules: tuple[Schedule, ...]
    is_whole: bool
    running: tuple[Run, ...]
    recent: tuple[Run, ...]
    instances: tuple[Instance, ...]
    queues: tuple[Queue, ...]


def survey(home: Home) -> Survey:
    """Look at schedules, the runs in flight of the busiest, the latest outcomes, instances and queues."""
    found = tuple(islice(every_schedule(home), MOST_SCHEDULES + 1))
    schedules = found[:MOST_SCHEDULES]
    busy = sorted((each for each in schedules if each.in_flight), key=lambda each: -each.in_flight)
    latest = sorted(schedules, key=lambda each: each.cursor, reverse=True)
    names = dict.fromkeys(each.schedule_id for each in [*busy[:MOST_ASKED], *latest[:MOST_ASKED]])
    runs = [run for name in names for run in home.runs(name, limit=FEW_RUNS).items]
    running = [run for name in [each.schedule_id for each in busy[:MOST_ASKED]] for run in home.describe(name).running]
    ended = [run for run in runs if run.state in FINAL]
    return Survey(
        schedules=schedules,
        is_whole=len(found) == len(schedules),
        running=tuple(sorted(running, key=lambda run: run.scheduled_for)),
        recent=tuple(sorted(ended, key=lambda run: run.finished_at or run.decided_at, reverse=True)),
        instances=home.list_instances(),
        queues=home.list_queues(),
    )


def every_schedule(home: Home) -> Iterator[Schedule]:
    """Yield every schedule of the namespace, page by page."""
    after: str | None = None
    while True:
        page = home.list_schedules(limit=PAGE, after=after)
        yield from page.items
        if page.next_page is None:
            return
        after = page.next_page
